//! `workload:` and `dataset:` of a test profile.

mod applies;

use serde::Deserialize;

use super::count::Count;
use super::error::SpecError;
use super::fraction::{Exponent, Share};
use super::load::Seed;
use super::profile::ProfileSpec;
use super::source::Source;
use crate::workload::{KeyDistribution, Repeats, WorkloadKind};

/// Largest number of ids or rows of a table.
const MOST_IDS: u64 = 1_000_000_000_000;

/// Tables of a dataset.
pub type Tables = Count<u32, 1, 10_000, 10>;
/// Ids addressed.
pub type Ids = Count<u64, 1, MOST_IDS, 100_000>;
/// Rows loaded into a table.
pub type Rows = Count<u64, 0, MOST_IDS, 100_000>;
/// Repeats of a statement in a transaction.
pub type Times = Count<u32, 0, 1_000, 1>;

/// The transaction. What is not given has sysbench's default.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WorkloadSpec {
    /// Its name.
    pub kind: WorkloadKind,
    /// How ids are picked.
    pub keys: KeyName,
    /// Ids addressed; as many as there are rows if not given.
    #[serde(default)]
    pub table_size: Option<Ids>,
    /// Rows in a range read.
    #[serde(default)]
    pub range_size: Option<Count<u64, 1, 1_000_000, 100>>,
    /// Reads of one row in a transaction.
    #[serde(default)]
    pub point_selects: Option<Times>,
    /// Range reads.
    #[serde(default)]
    pub simple_ranges: Option<Times>,
    /// Sums over a range.
    #[serde(default)]
    pub sum_ranges: Option<Times>,
    /// Sorted range reads.
    #[serde(default)]
    pub order_ranges: Option<Times>,
    /// Distinct range reads.
    #[serde(default)]
    pub distinct_ranges: Option<Times>,
    /// Whether there are range reads at all.
    #[serde(default)]
    pub range_selects: Option<bool>,
    /// Updates of `k`.
    #[serde(default)]
    pub index_updates: Option<Times>,
    /// Updates of `c`.
    #[serde(default)]
    pub non_index_updates: Option<Times>,
    /// Deletes, each with an insert of the same id.
    #[serde(default)]
    pub delete_inserts: Option<Times>,
    /// Leave BEGIN and COMMIT out.
    #[serde(default)]
    pub skip_trx: Option<bool>,
    /// Prepare statements once and execute them (`--db-ps-mode`).
    #[serde(default)]
    pub prepared: Option<bool>,
    /// Values in the list of `select_random_points`.
    #[serde(default)]
    pub random_points: Option<Count<u32, 1, 10_000, 10>>,
    /// Ranges in a statement of `select_random_ranges`.
    #[serde(default)]
    pub number_of_ranges: Option<Count<u32, 1, 10_000, 10>>,
    /// Width of such a range.
    #[serde(default)]
    pub delta: Option<Count<u64, 0, 1_000_000, 5>>,
    /// Uniforms in a gaussian pick (`--rand-spec-iter`).
    #[serde(default)]
    pub spec_iter: Option<Count<u32, 1, 1_000, 12>>,
    /// Percentage of ids that are hot (`--rand-spec-pct`).
    #[serde(default)]
    pub spec_pct: Option<Count<u32, 1, 100, 1>>,
    /// Percentage of picks that go to them (`--rand-spec-res`).
    #[serde(default)]
    pub spec_res: Option<Count<u32, 0, 99, 75>>,
    /// `--rand-pareto-h`.
    #[serde(default)]
    pub pareto_h: Option<Share>,
    /// `--rand-zipfian-exp`.
    #[serde(default)]
    pub zipfian_exp: Option<Exponent>,
}

/// Names of key distributions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum KeyName {
    /// Every id is as likely as any other.
    Uniform,
    /// Three quarters of the picks on one percent of the ids.
    Special,
    /// A bell in the middle.
    Gaussian,
    /// Four fifths of the picks on the lowest fifth of the ids.
    Pareto,
    /// Id *n* in proportion to *n* to the power −0.8.
    Zipfian,
}

/// The tables.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DatasetSpec {
    /// How many.
    pub tables: Tables,
    /// Rows loaded into each.
    pub rows: Rows,
    /// Parallel connections of the load.
    #[serde(default)]
    pub load_threads: Option<Count<u32, 1, 4096, 8>>,
    /// Settings of the server while it loads; which, follows from the size if not given.
    #[serde(default)]
    pub load_settings: Option<LoadSettingsSpec>,
    /// Seed of the row contents.
    #[serde(default = "default_seed")]
    pub seed: Seed,
    /// Ids are `AUTO_INCREMENT`, and inserts that add rows leave them to the server.
    #[serde(default = "yes")]
    pub auto_inc: bool,
    /// An ordinary index on `id` in place of the primary key.
    #[serde(default)]
    pub secondary: bool,
    /// An index on `k`.
    #[serde(default = "yes")]
    pub create_secondary: bool,
}

/// Settings of the server while it loads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LoadSettingsSpec {
    /// Made for loading; the server is started anew before anything is measured.
    Fast,
    /// Those of the measurement.
    Measured,
}

fn default_seed() -> Seed {
    Count::of(1)
}

fn yes() -> bool {
    true
}

impl WorkloadSpec {
    /// The distribution with its parameters.
    #[must_use]
    pub fn distribution(&self) -> KeyDistribution {
        let iterations = self.spec_iter.map_or(12, |n| n.get());
        match self.keys {
            KeyName::Uniform => KeyDistribution::Uniform,
            KeyName::Special => {
                let hot_ids_pct = self.spec_pct.map_or(1, |pct| pct.get());
                let hot_picks_pct = self.spec_res.map_or(75, |pct| pct.get());
                match self.kind.is_04() {
                    true => KeyDistribution::Special04 { iterations, hot_ids_pct, hot_picks_pct },
                    false => KeyDistribution::Special { iterations, hot_ids_pct, hot_picks_pct },
                }
            }
            KeyName::Gaussian => KeyDistribution::Gaussian { iterations },
            KeyName::Pareto => {
                self.pareto_h.map_or(KeyDistribution::PARETO, |h| KeyDistribution::Pareto { h: h.get() })
            }
            KeyName::Zipfian => self
                .zipfian_exp
                .map_or(KeyDistribution::ZIPFIAN, |e| KeyDistribution::Zipfian { exponent: e.get() }),
        }
    }

    /// How often each statement stands in a transaction.
    #[must_use]
    pub fn repeats(&self) -> Repeats {
        let default = Repeats::DEFAULT;
        let times = |given: Option<Times>, default: u32| given.map_or(default, |times| times.get());
        let ranges = |given: Option<Times>, default: u32| match self.range_selects {
            Some(false) => 0,
            _ => times(given, default),
        };
        Repeats {
            point_selects: times(self.point_selects, default.point_selects),
            simple_ranges: ranges(self.simple_ranges, default.simple_ranges),
            sum_ranges: ranges(self.sum_ranges, default.sum_ranges),
            order_ranges: ranges(self.order_ranges, default.order_ranges),
            distinct_ranges: ranges(self.distinct_ranges, default.distinct_ranges),
            index_updates: times(self.index_updates, default.index_updates),
            non_index_updates: times(self.non_index_updates, default.non_index_updates),
            delete_inserts: times(self.delete_inserts, default.delete_inserts),
        }
    }
}

/// Checks what no single field can.
pub(super) fn check(spec: &ProfileSpec, source: &Source) -> Result<(), SpecError> {
    let (workload, dataset) = (&spec.workload, &spec.dataset);
    let refuse = |field: &str, message: String| {
        Err(SpecError::Refused { place: Box::new(source.place(field)), message })
    };
    applies::check(workload, source)?;
    let (kind, name) = (workload.kind, workload.kind.name());
    let (tables, rows) = (dataset.tables.get(), dataset.rows.get());
    if kind.has_one_table() && tables != 1 {
        return refuse(
            "dataset.tables",
            format!("`{tables}` is too many: {name} works on one table; write 1"),
        );
    }
    let inserts_chosen_ids =
        matches!(kind, WorkloadKind::OltpInsert | WorkloadKind::Insert04) && !dataset.auto_inc;
    if rows > 0 && inserts_chosen_ids {
        let text = format!(
            "`{rows}` rows would have ids that {name} inserts again when dataset.auto_inc is false; write 0, as \
             sysbench does"
        );
        return refuse("dataset.rows", text);
    }
    if kind == WorkloadKind::BulkInsert {
        if rows > 0 {
            let text = format!("`{rows}` is not what bulk_insert starts from: its tables are empty; write 0");
            return refuse("dataset.rows", text);
        }
        let threads = spec.load.threads.iter().map(|threads| threads.get()).max().unwrap_or(1);
        if tables < threads {
            let text =
                format!("`{tables}` is too few: bulk_insert needs a table for each of {threads} threads");
            return refuse("dataset.tables", text);
        }
    } else if rows == 0 && workload.table_size.is_none() {
        let text = "is missing, and dataset.rows is 0: say how many ids are addressed, for example 100000";
        return refuse("workload.table_size", text.to_owned());
    }
    let has_id_index = kind.is_04() || kind == WorkloadKind::BulkInsert;
    if dataset.secondary && has_id_index {
        let text = format!("is not for {name}, whose tables have a primary key; remove it");
        return refuse("dataset.secondary", text);
    }
    Ok(())
}
