//! What the arithmetic predicts before anything runs: sizes, and how the buffer pool will do.
//!
//! Hit ratio and misses follow Che's approximation: under independent references a page with rate λ is
//! in an LRU cache with probability 1 − e^(−λt), where t, the cache's characteristic time, makes the
//! expected number of cached pages equal to the cache's size. InnoDB's midpoint insertion keeps pages
//! that are touched again a little longer than plain LRU, so skewed keys may do slightly better.

use serde::{Deserialize, Serialize};

use super::options::free_pages_kept;
use crate::protocol::job::Dataset;
use crate::workload::Workload;
use crate::workload::keys::Density;
use crate::workload::pages::PageVisits;
use crate::workload::schema::{EXTENT_SLACK_BYTES, FILL_FACTOR, INDEX_FILL_FACTOR, PAGE_OVERHEAD_BYTES};

/// Pages of the pool that hold no leaf pages of the tables, as a share: undo and inner nodes.
const POOL_OVERHEAD: f64 = 0.03;
/// Inner nodes of the trees, as a share of their leaves.
const INNER_NODES: f64 = 0.01;
/// Bytes of system, undo, temporary and doublewrite files beside the tables and the redo log.
const SERVER_FILES_BYTES: u64 = 160 << 20;
/// Redo bytes for a row loaded.
const REDO_BYTES_PER_ROW: f64 = 260.0;
/// Bytes of an index entry in a sort file, merge copies included.
const SORT_BYTES_PER_ENTRY: u64 = 32;
/// Bytes of an entry of an index on `id`: 5 header, id, row number, and its share of a slot.
const ID_ENTRY_BYTES: f64 = 15.5;

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
    /// Most space taken while loading: dataset, redo log, sort files, temporary and system tablespaces, bytes.
    pub space_bytes: u64,
    /// Bytes written to the device while loading.
    pub load_write_bytes: u64,
}

/// Size of a dataset on disk, bytes, before a pool has been chosen for it.
#[must_use]
pub fn dataset_bytes(dataset: &Dataset) -> u64 {
    Pages::of(dataset).bytes(dataset)
}

/// Predicts how `workload` will do on `dataset` with a pool and redo log of these sizes.
#[must_use]
pub fn estimate(
    dataset: &Dataset,
    workload: &Workload,
    pool_bytes: u64,
    log_bytes: u64,
    load_threads: u32,
) -> Estimate {
    let pages = Pages::of(dataset);
    let rows = u64::from(dataset.tables) * dataset.rows;
    let bytes = pages.bytes(dataset);
    let pool_pages = pool_bytes / u64::from(dataset.page_bytes);
    let visits = workload.page_visits(&dataset.schema, pages.rows_per_leaf, pages.entries_per_leaf);
    let groups = groups(dataset, workload, &pages, visits);
    let cached_leaves = pool_pages.saturating_sub(free_pages_kept(pool_pages)) as f64 * (1.0 - POOL_OVERHEAD);
    let hits = hits_per_transaction(&groups, cached_leaves);
    let visits_per_transaction = groups.iter().map(|group| group.visits_per_transaction).sum::<f64>();
    let hit_ratio = if visits_per_transaction > 0.0 { (hits / visits_per_transaction).min(1.0) } else { 1.0 };
    // Every page is written twice, through the doublewrite buffer, and every row goes through the log.
    let load_write_bytes = if rows > 0 { 2 * bytes + (rows as f64 * REDO_BYTES_PER_ROW) as u64 } else { 0 };
    Estimate {
        rows,
        bytes_per_row: if rows > 0 { bytes as f64 / rows as f64 } else { 0.0 },
        dataset_bytes: bytes,
        clustered_pages: pages.clustered as u64,
        index_pages: pages.index as u64,
        pool_pages,
        visits_per_transaction,
        hit_ratio,
        misses_per_transaction: visits_per_transaction * (1.0 - hit_ratio),
        space_bytes: bytes + log_bytes + SERVER_FILES_BYTES + sort_bytes(dataset, load_threads),
        load_write_bytes,
    }
}

/// Space that building indexes takes for a while: each builder sorts a table's entries in a file.
fn sort_bytes(dataset: &Dataset, load_threads: u32) -> u64 {
    if dataset.schema.create_index(1).is_none() {
        return 0;
    }
    u64::from(load_threads.min(dataset.tables)) * dataset.rows * SORT_BYTES_PER_ENTRY
}

/// Leaf pages of a dataset, all tables together.
struct Pages {
    rows_per_leaf: f64,
    entries_per_leaf: f64,
    clustered: f64,
    index: f64,
    /// Of the index on `id`, in tables without a primary key.
    ids: f64,
}

impl Pages {
    fn of(dataset: &Dataset) -> Self {
        let schema = &dataset.schema;
        let usable = f64::from(dataset.page_bytes) - PAGE_OVERHEAD_BYTES;
        let per_leaf = |fill: f64, bytes: f64| (usable * fill / bytes).floor().max(1.0);
        let rows_per_leaf = per_leaf(FILL_FACTOR, schema.clustered_record_bytes());
        let entries_per_leaf = per_leaf(INDEX_FILL_FACTOR, schema.index_record_bytes());
        let (tables, rows) = (f64::from(dataset.tables), dataset.rows as f64);
        let leaves = |per_leaf: f64| tables * (rows / per_leaf).ceil();
        Self {
            rows_per_leaf,
            entries_per_leaf,
            clustered: leaves(rows_per_leaf),
            index: if schema.has_k_index() { leaves(entries_per_leaf) } else { 0.0 },
            ids: if schema.secondary { leaves(per_leaf(FILL_FACTOR, ID_ENTRY_BYTES)) } else { 0.0 },
        }
    }

    fn bytes(&self, dataset: &Dataset) -> u64 {
        let pages = (self.clustered + self.index + self.ids) * (1.0 + INNER_NODES);
        let slack = f64::from(dataset.tables) * EXTENT_SLACK_BYTES;
        (pages * f64::from(dataset.page_bytes) + slack) as u64
    }
}

/// Pages that are visited equally often.
struct Group {
    pages: f64,
    visits_per_transaction: f64,
}

/// Divides the leaves into groups along the key distribution.
fn groups(dataset: &Dataset, workload: &Workload, pages: &Pages, visits: PageVisits) -> Vec<Group> {
    let density = Density::new(workload.keys, workload.table_size);
    // The distribution covers the ids addressed, the pages the rows loaded.
    let ids_per_row = if dataset.rows > 0 { workload.table_size as f64 / dataset.rows as f64 } else { 0.0 };
    let loaded = |share: f64| (share * ids_per_row).min(1.0);
    // Within a page, rows are read together.
    let edges = density.edges(pages.rows_per_leaf / workload.table_size as f64);
    let along_keys = |leaves: f64, even: f64| {
        let edges = edges.windows(2).map(|edge| (edge[0], edge[1]));
        edges
            .map(|(from, to)| {
                let share = loaded(to) - loaded(from);
                let by_key = visits.by_key * (density.cumulative(to) - density.cumulative(from));
                Group { pages: leaves * share, visits_per_transaction: by_key + even * share }
            })
            .collect::<Vec<_>>()
    };
    let mut groups = along_keys(pages.clustered, visits.even);
    if pages.ids > 0.0 {
        // Each row is found through the index on its id.
        groups.extend(along_keys(pages.ids, 0.0));
    }
    groups.push(Group { pages: pages.index, visits_per_transaction: visits.index });
    groups
}

/// Che's approximation. Visits to ids beyond the last row find the same last page: hits.
fn hits_per_transaction(groups: &[Group], cached: f64) -> f64 {
    let all: f64 = groups.iter().map(|group| group.pages).sum();
    let visits: f64 = groups.iter().map(|group| group.visits_per_transaction).sum();
    if cached >= all {
        return visits;
    }
    let in_cache = |group: &Group, time: f64| match group.pages > 0.0 {
        true => -(-group.visits_per_transaction / group.pages * time).exp_m1(),
        false => 1.0,
    };
    let filled = |time: f64| groups.iter().map(|g| g.pages * in_cache(g, time)).sum::<f64>();
    let (mut low, mut high) = (0.0, 1.0);
    while filled(high) < cached && high < 1e18 {
        high *= 2.0;
    }
    for _ in 0..200 {
        let middle = f64::midpoint(low, high);
        if filled(middle) < cached { low = middle } else { high = middle }
    }
    groups.iter().map(|group| group.visits_per_transaction * in_cache(group, high)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::schema::TableSchema;
    use crate::workload::{KeyDistribution, WorkloadKind};

    const GIB: u64 = 1 << 30;

    fn published(keys: KeyDistribution) -> (Dataset, Workload) {
        let dataset = Dataset {
            tables: 100,
            rows: 10_000_000,
            keys,
            schema: TableSchema::DEFAULT,
            seed: 1,
            page_bytes: 16384,
            character_set: "latin1".into(),
        };
        (dataset, Workload::new(WorkloadKind::OltpReadWrite, 100, 10_000_000, keys))
    }

    #[test]
    fn the_published_method_with_uniform_keys_hits_about_its_share_of_pages() {
        let (dataset, mix) = published(KeyDistribution::Uniform);
        let e = estimate(&dataset, &mix, 24 * GIB, GIB, 8);
        assert!((230e9..265e9).contains(&(e.dataset_bytes as f64)), "{e:?}");
        assert!((0.07..0.13).contains(&e.hit_ratio), "{e:?}");
    }

    #[test]
    fn special_keys_sit_in_the_pool_while_the_dataset_does_not() {
        let (dataset, mix) = published(KeyDistribution::SPECIAL);
        let e = estimate(&dataset, &mix, 24 * GIB, GIB, 8);
        assert!((0.7..0.85).contains(&e.hit_ratio), "{e:?}");
        assert!(e.misses_per_transaction > 1.0);
    }

    #[test]
    fn a_pool_as_large_as_the_dataset_misses_nothing() {
        let (dataset, mix) = published(KeyDistribution::Uniform);
        let e = estimate(&dataset, &mix, 300 * GIB, GIB, 8);
        assert_eq!((e.hit_ratio, e.misses_per_transaction), (1.0, 0.0));
    }

    #[test]
    fn addressing_a_tenth_of_the_rows_needs_a_tenth_of_the_pool() {
        let (dataset, mut mix) = published(KeyDistribution::Uniform);
        mix.table_size /= 10;
        let e = estimate(&dataset, &mix, 60 * GIB, GIB, 8);
        assert!(e.hit_ratio > 0.9, "{e:?}");
    }

    #[test]
    fn a_larger_pool_never_hits_less() {
        let (dataset, mix) = published(KeyDistribution::SPECIAL);
        let ratios: Vec<f64> =
            (1..30).map(|n| estimate(&dataset, &mix, n * 8 * GIB, GIB, 8).hit_ratio).collect();
        assert!(ratios.windows(2).all(|w| w[0] <= w[1]), "{ratios:?}");
    }
}
