//! What a workload is, as pure values: statement mixes, key distributions and row contents.
//!
//! Nothing here knows a clock, a server or a thread: the same seed gives the same statements.

pub mod keys;
pub mod oltp;
pub mod random;
pub mod rows;
pub mod schema;

use serde::{Deserialize, Serialize};

pub use keys::KeyDistribution;

/// A workload by the name sysbench 1.x gives it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WorkloadKind {
    /// 14 reads and 4 writes between BEGIN and COMMIT.
    OltpReadWrite,
}

impl WorkloadKind {
    /// Every workload, for messages that list the choices.
    pub const ALL: [WorkloadKind; 1] = [WorkloadKind::OltpReadWrite];

    /// sysbench's name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            WorkloadKind::OltpReadWrite => "oltp_read_write",
        }
    }
}
