//! drivestone answers one question: how fast does this storage make a real database?
//!
//! Data flows one way. `docs/architecture.md` has the map, and a test holds the modules to it.

pub mod agent;
pub mod analysis;
pub mod cli;
pub mod durable;
pub mod fleet;
pub mod load;
pub mod plan;
pub mod protocol;
pub mod report;
pub mod result;
pub mod run;
pub mod server;
pub mod spec;
pub mod stats;
pub mod sysbench;
pub mod telemetry;
pub mod workload;
