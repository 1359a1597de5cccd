//! Ends of a run: who was there, and what was measured, however it ended.
