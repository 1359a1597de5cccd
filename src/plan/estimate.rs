//! What the arithmetic predicts before anything runs.

use serde::{Deserialize, Serialize};

/// Predicted sizes and buffer-pool behaviour.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Estimate {
    /// Rows in all tables.
    pub rows: u64,
    /// Bytes a row takes on disk, secondary index included.
    pub bytes_per_row: f64,
    /// Size of the dataset on disk, bytes.
    pub dataset_bytes: u64,
    /// Leaf pages of primary keys.
    pub clustered_pages: u64,
    /// Leaf pages of secondary indexes.
    pub index_pages: u64,
    /// Pages that the buffer pool holds.
    pub pool_pages: u64,
    /// Leaf pages that a transaction visits.
    pub visits_per_transaction: f64,
    /// Share of the visits answered by the pool in steady state, 0–1.
    pub hit_ratio: f64,
    /// Pages read from the device by a transaction in steady state.
    pub misses_per_transaction: f64,
    /// Space taken at the end of the load: dataset, redo log, temporary and system tablespaces, bytes.
    pub space_bytes: u64,
    /// Bytes written to the device while loading.
    pub load_write_bytes: u64,
}
