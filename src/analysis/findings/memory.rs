//! Whether the device was needed at all: buffer pool and page cache.

use super::{Checked, Evidence, tenths, unknown};
use crate::analysis::Finding;
use crate::plan::preflight::least_misses;
use crate::workload::Workload;
use crate::workload::statement::{StatementClass, StatementKind};

/// A pool with a smaller share of free pages than this counts as full.
const FULL: f64 = 0.05;
/// Misses differ from those expected by more than this share of them, or of one.
const SAME: f64 = 0.1;
/// Bytes at the device and bytes that InnoDB read agree within this.
const TOLERANCE: f64 = 0.02;
/// A page cache may grow by this for reasons of its own: logs, programs, the journal of the run.
const LEAST_GROWTH: f64 = 64.0 * 1024.0 * 1024.0;
/// Fewer bytes read than this prove nothing.
const LEAST_BYTES: f64 = 1e6;

/// The dataset is larger than the pool, and transactions did miss it.
pub fn working_set_exceeds_pool(evidence: &Evidence) -> Checked {
    let (id, title) = ("working_set_exceeds_pool", "Working set exceeded the pool");
    let Some(misses) = evidence.figures.anatomy.misses_per_transaction else {
        let why =
            evidence.not_sampled("the server's buffer-pool counters were not sampled over the interval");
        return unknown(id, title, why).into();
    };
    let e = &evidence.plan.estimate;
    if only_adds(&evidence.plan.workload) && e.misses_per_transaction < least_misses(&evidence.plan.workload)
    {
        let why = format!(
            "the workload looks no row up: those that are added at the end find their pages in any pool ({misses:.2} \
             pages were read for each transaction)"
        );
        return unknown(id, title, why).into();
    }
    let granted = evidence.variable("innodb_buffer_pool_size").and_then(|text| text.parse::<f64>().ok());
    let pool = granted.unwrap_or(evidence.plan.server.buffer_pool_bytes as f64);
    let dataset =
        evidence.known.and_then(|known| known.dataset.as_ref()).map_or(e.dataset_bytes, |d| d.file_bytes)
            as f64;
    let mut text = format!(
        "{misses:.2} pages were read for each transaction ({:.2} expected); the dataset of {:.2} GiB is {:.1} × \
         the pool",
        e.misses_per_transaction,
        dataset / GIB,
        dataset / pool
    );
    // A pool that holds all of the dataset need never fill, and an expectation that was met applied.
    let expected_others =
        (misses - e.misses_per_transaction).abs() > SAME * e.misses_per_transaction.max(1.0);
    let fills = dataset > pool && expected_others;
    if let Some(free) = unfilled_share(evidence).filter(|&free| fills && free > FULL) {
        text += &format!(
            "; the pool was still {:.0} % empty when the interval began, so the expectation does not apply yet",
            free * 100.0
        );
    }
    let finding = Finding {
        id,
        title,
        holds: Some(misses >= least_misses(&evidence.plan.workload) && dataset > pool),
        text,
    };
    Checked::by(finding, misses, 2, "pages read for each transaction")
}

/// Whether its statements do nothing but add rows.
fn only_adds(workload: &Workload) -> bool {
    let statements = workload.statements();
    let mut inner =
        statements.iter().map(|(kind, _)| *kind).filter(|kind| kind.class() != StatementClass::Other);
    inner.all(|kind| kind == StatementKind::Insert)
}

const GIB: f64 = (1_u64 << 30) as f64;

/// Pages of the pool, as a share, that were free when the interval began beyond those that the page
/// cleaner keeps free anyway.
fn unfilled_share(evidence: &Evidence) -> Option<f64> {
    let ends = evidence.server?;
    let kept = evidence.variable("innodb_lru_scan_depth")?.parse::<f64>().ok()?;
    let total = ends.at_start("Innodb_buffer_pool_pages_total").filter(|&total| total > 0.0)?;
    Some((ends.at_start("Innodb_buffer_pool_pages_free")? - kept).max(0.0) / total)
}

/// A page cache that grows by more than this share of the memory is no leftover of other programs.
const MOST_OF_MEMORY: f64 = 0.05;
/// Where the devices below read less than this share, something between them and the headline device keeps data.
const MOST_CACHED_BELOW: f64 = 0.9;

/// What InnoDB read arrived from the device.
pub fn page_cache_bypassed(evidence: &Evidence) -> Checked {
    let (id, title) = ("page_cache_bypassed", "Page cache bypassed");
    let Some(innodb) = evidence.growth("Innodb_data_read") else {
        let why = evidence.not_sampled("the server does not count the bytes it read, or was not sampled");
        return unknown(id, title, why).into();
    };
    let sectors = evidence.host.and_then(|ends| {
        let (first, last) = ends.disk(evidence.instance.samples.device.as_deref()?)?;
        last.reads.sectors_512.checked_sub(first.reads.sectors_512)
    });
    let Some(sectors) = sectors else {
        return unknown(id, title, "no device under the data directory was sampled").into();
    };
    let device = sectors as f64 * 512.0;
    if innodb < LEAST_BYTES {
        return unknown(id, title, format!("InnoDB read only {innodb:.0} bytes, too few to compare")).into();
    }
    let difference = device / innodb - 1.0;
    let mut text = format!(
        "the device delivered {:.1} MB while InnoDB read {:.1} MB ({:+.2} %)",
        device / 1e6,
        innodb / 1e6,
        difference * 100.0
    );
    if difference < -TOLERANCE {
        text += "; the rest came from a cache above the device";
    } else if difference > TOLERANCE {
        text += "; others read from the device as well, which could hide what a cache answered";
    }
    if let Some(below) = evidence.stack.read_multiplication.filter(|below| *below < MOST_CACHED_BELOW) {
        text += &format!(
            "; of that the devices below it read {:.0} %, so a cache between them answered the rest",
            below * 100.0
        );
    }
    let holds = (difference <= TOLERANCE).then_some(difference >= -TOLERANCE);
    let finding = Finding { id, title, holds, text };
    Checked::by(finding, difference * 100.0, 2, "% between device and InnoDB")
}

/// The page cache did not grow by what the device delivered, as it would if the server read through it.
pub fn page_cache_steady(evidence: &Evidence) -> Checked {
    let (id, title) = ("page_cache_steady", "Page cache steady");
    let (Some(memory), Some(ends)) = (evidence.machine.memory, evidence.host) else {
        return unknown(id, title, "the host's memory was not sampled over the interval").into();
    };
    let growth = memory.page_cache_last_bytes as f64 - memory.page_cache_first_bytes as f64;
    let read = evidence.figures.device.map(|device| device.read_kb_per_s * 1024.0 * ends.seconds());
    let host_bytes = evidence.known.and_then(|known| known.facts.as_ref()).map(|facts| facts.memory_bytes);
    let most = host_bytes.map_or(f64::INFINITY, |bytes| bytes as f64 * MOST_OF_MEMORY);
    let allowed = (read.unwrap_or(0.0) * TOLERANCE).min(most).max(LEAST_GROWTH);
    let mut text = format!(
        "that of the whole host went from {:.1} MB to {:.1} MB ({:+.1} MB; {:.1} MB are nothing unusual)",
        memory.page_cache_first_bytes as f64 / 1e6,
        memory.page_cache_last_bytes as f64 / 1e6,
        tenths(growth / 1e6),
        allowed / 1e6
    );
    if growth > allowed {
        text += ": the server, or another program, reads or writes through it";
    }
    let finding = Finding { id, title, holds: Some(growth <= allowed), text };
    Checked::by(finding, tenths(growth / 1e6), 1, "MB more")
}
