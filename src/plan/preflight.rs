//! What must be true before anything is created.
