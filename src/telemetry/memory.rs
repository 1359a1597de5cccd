//! Memory: `/proc/meminfo` and the swap counters of `/proc/vmstat`.

use crate::protocol::sample::MemorySample;

/// A sample from the texts of both files; `None` when the first does not tell what is available.
#[must_use]
pub fn parse_memory_sample(meminfo: &str, vmstat: &str) -> Option<MemorySample> {
    let bytes = |name: &str| parse_meminfo(meminfo, name);
    let sum = |names: [&str; 2]| names.into_iter().filter_map(bytes).fold(0, u64::saturating_add);
    let pages = |name: &str| {
        let line = vmstat.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        line.and_then(|count| count.trim().parse().ok()).unwrap_or(0)
    };
    let swap = bytes("SwapTotal").unwrap_or(0);
    Some(MemorySample {
        available_bytes: bytes("MemAvailable").or_else(|| bytes("MemFree"))?,
        page_cache_bytes: sum(["Cached", "Buffers"]).saturating_sub(bytes("Shmem").unwrap_or(0)),
        dirty_bytes: sum(["Dirty", "Writeback"]),
        swap_used_bytes: swap.saturating_sub(bytes("SwapFree").unwrap_or(swap)),
        swapped_in_pages: pages("pswpin"),
        swapped_out_pages: pages("pswpout"),
    })
}

/// Bytes of one line of `/proc/meminfo`.
#[must_use]
pub fn parse_meminfo(meminfo: &str, name: &str) -> Option<u64> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn single_lines() {
        let text = "MemTotal:       24684084 kB\nMemFree:          100 kB\nMemAvailable:   200 kB\n";
        assert_eq!(parse_meminfo(text, "MemTotal"), Some(24_684_084 * 1024));
        assert_eq!(parse_meminfo(text, "MemAvailable"), Some(204_800));
        assert_eq!(parse_meminfo(text, "Mem"), None);
    }

    #[test]
    fn the_page_cache_is_without_shared_memory() {
        let meminfo = "MemAvailable: 900 kB\nBuffers: 20 kB\nCached: 500 kB\nSwapCached: 7 kB\nShmem: 100 kB\n\
                       Dirty: 3 kB\nWriteback: 2 kB\nWritebackTmp: 9 kB\nSwapTotal: 50 kB\nSwapFree: 40 kB\n";
        let vmstat = "nr_free_pages 5\npswpin 11\npswpout 12\npswpinother 1\n";
        let expected = MemorySample {
            available_bytes: 900 << 10,
            page_cache_bytes: 420 << 10,
            dirty_bytes: 5 << 10,
            swap_used_bytes: 10 << 10,
            swapped_in_pages: 11,
            swapped_out_pages: 12,
        };
        assert_eq!(parse_memory_sample(meminfo, vmstat), Some(expected));
        assert_eq!(parse_memory_sample("Cached: 5 kB\n", vmstat), None);
    }

    proptest! {
        #[test]
        fn text_never_panics(text in "((Mem|Swap)(Total|Free|Available):|Cached:|pswpin|[ -~\n]){0,30}") {
            let _ = parse_memory_sample(&text, &text);
        }
    }
}
