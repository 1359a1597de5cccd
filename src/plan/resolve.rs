//! From what people wrote to the plan.
