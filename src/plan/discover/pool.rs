//! How large the buffer pool should be, with the arithmetic beside it.

use super::Discovery;
use super::text::gib;
use crate::spec::ByteSize;

/// The published method's pool, and the bytes of its database.
const PUBLISHED_POOL: u64 = 24 << 30;
const PUBLISHED_DATASET: u64 = 260_000_000_000;
/// Pools are rounded down to this, as the server would.
const CHUNK: u64 = 128 << 20;
/// A smaller pool is better given as a share of the dataset.
const LEAST_POOL: u64 = CHUNK;

/// Lines of the `memory:` section.
pub(super) fn proposal(found: &Discovery) -> Vec<String> {
    let (memory, whose) = match found.limits.memory_bytes {
        Some(limit) if limit < found.memory_bytes => (limit, "that the control group leaves"),
        _ => (found.memory_bytes, "of memory"),
    };
    let dataset = found.free_bytes / 5 * 4;
    let of_dataset = (dataset as f64 * PUBLISHED_POOL as f64 / PUBLISHED_DATASET as f64) as u64;
    let least = PUBLISHED_POOL.min(memory / 2).min(of_dataset);
    let mut lines = vec![
        "# The working set must exceed the pool, or memory is measured instead of the device. The pool is"
            .to_owned(),
        "# the smallest of these:".to_owned(),
        format!("#   {:>9}  the published method's, for a database of 260 GB", gib(PUBLISHED_POOL)),
        format!("#   {:>9}  half of the {} {whose}", gib(memory / 2), gib(memory)),
        format!(
            "#   {:>9}  24 GiB : 260 GB of a dataset of {}, which leaves a fifth of the {} that are free",
            gib(of_dataset),
            gib(dataset),
            gib(found.free_bytes)
        ),
    ];
    if least < LEAST_POOL {
        lines.push(
            "# That is very little: a share of whatever dataset is chosen holds for all of them.".to_owned(),
        );
        lines.push("buffer_pool: 10%".to_owned());
    } else {
        lines.push(format!("buffer_pool: {}", ByteSize::of_bytes(least / CHUNK * CHUNK)));
    }
    lines
}
