//! What the coordinator and the agents say to each other: jobs, events, samples, versions.
//!
//! Jobs travel to an agent's stdin and events come back from its stdout, one JSON object a line.
//! Events are also what the journal stores, so their field names are a file format: add, never rename.

pub mod clock;
pub mod cpus;
pub mod event;
pub mod facts;
pub mod job;
pub mod sample;

pub use event::Event;
pub use job::Job;

/// Version of jobs and events. Coordinator and agent must agree exactly.
pub const PROTOCOL_VERSION: u32 = 2;
