//! iostat's columns from two raw samples of a device.

use serde::Serialize;

use crate::protocol::sample::{DiskCounters, FlushCounters, OperationCounters};

/// Rates and means of one device between two samples, under iostat's names.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct DeviceRates {
    /// Reads a second.
    #[serde(rename = "r/s")]
    pub reads_per_s: f64,
    /// kB (1024 bytes) read a second.
    #[serde(rename = "rkB/s")]
    pub read_kb_per_s: f64,
    /// Reads merged a second.
    #[serde(rename = "rrqm/s")]
    pub reads_merged_per_s: f64,
    /// Share of reads that were merged, percent.
    #[serde(rename = "%rrqm")]
    pub reads_merged_pct: f64,
    /// Mean time of a read, ms; 0 when there was none.
    #[serde(rename = "r_await")]
    pub read_await_ms: f64,
    /// Mean size of a read, kB.
    #[serde(rename = "rareq-sz")]
    pub read_size_kb: f64,
    /// Writes a second.
    #[serde(rename = "w/s")]
    pub writes_per_s: f64,
    /// kB written a second.
    #[serde(rename = "wkB/s")]
    pub write_kb_per_s: f64,
    /// Writes merged a second.
    #[serde(rename = "wrqm/s")]
    pub writes_merged_per_s: f64,
    /// Share of writes that were merged, percent.
    #[serde(rename = "%wrqm")]
    pub writes_merged_pct: f64,
    /// Mean time of a write, ms.
    #[serde(rename = "w_await")]
    pub write_await_ms: f64,
    /// Mean size of a write, kB.
    #[serde(rename = "wareq-sz")]
    pub write_size_kb: f64,
    /// Discards a second; `None` before Linux 4.18, like the five below.
    #[serde(rename = "d/s")]
    pub discards_per_s: Option<f64>,
    /// kB discarded a second.
    #[serde(rename = "dkB/s")]
    pub discard_kb_per_s: Option<f64>,
    /// Discards merged a second.
    #[serde(rename = "drqm/s")]
    pub discards_merged_per_s: Option<f64>,
    /// Share of discards that were merged, percent.
    #[serde(rename = "%drqm")]
    pub discards_merged_pct: Option<f64>,
    /// Mean time of a discard, ms.
    #[serde(rename = "d_await")]
    pub discard_await_ms: Option<f64>,
    /// Mean size of a discard, kB.
    #[serde(rename = "dareq-sz")]
    pub discard_size_kb: Option<f64>,
    /// Flushes a second; `None` before Linux 5.5, like the next.
    #[serde(rename = "f/s")]
    pub flushes_per_s: Option<f64>,
    /// Mean time of a flush, ms.
    #[serde(rename = "f_await")]
    pub flush_await_ms: Option<f64>,
    /// Mean number of requests in the queue.
    #[serde(rename = "aqu-sz")]
    pub queue_size: f64,
    /// Share of the time with a request in flight, percent. Says nothing about parallel devices' limits.
    #[serde(rename = "%util")]
    pub util_pct: f64,
}

/// iostat's columns between two samples of one device, `elapsed_ns` apart by a monotonic clock.
///
/// Means of a whole interval come from its first and last sample, never from averaging rates. Ticks
/// wrap at 32 bits and are taken as such: an interval must be shorter than 2³² ms of the busiest
/// tick counter. `None`: no time passed, the samples are of different devices, or a counter ran
/// backwards because the device was created anew in between.
#[must_use]
pub fn device_rates(first: &DiskCounters, second: &DiskCounters, elapsed_ns: i64) -> Option<DeviceRates> {
    if elapsed_ns <= 0 || first.number != second.number || first.name != second.name {
        return None;
    }
    // iostat's own order of operations: its last digit depends on it where a figure lies between two.
    let hundredths = elapsed_ns as f64 / 1e7;
    let a_second = |growth: f64| growth / hundredths * 100.0;
    let reads = Operations::between(&first.reads, &second.reads)?;
    let writes = Operations::between(&first.writes, &second.writes)?;
    let discards = match (&first.discards, &second.discards) {
        (Some(first), Some(second)) => Some(Operations::between(first, second)?),
        _ => None,
    };
    let flushes = match (&first.flushes, &second.flushes) {
        (Some(first), Some(second)) => Some(Operations::between(&of_flushes(first), &of_flushes(second))?),
        _ => None,
    };
    let queue_ms = f64::from(second.queue_ticks_ms.wrapping_sub(first.queue_ticks_ms));
    let busy_ms = f64::from(second.busy_ticks_ms.wrapping_sub(first.busy_ticks_ms));
    Some(DeviceRates {
        reads_per_s: a_second(reads.ios),
        read_kb_per_s: a_second(reads.sectors_512) / 2.0,
        reads_merged_per_s: a_second(reads.merges),
        reads_merged_pct: reads.merged_pct(),
        read_await_ms: reads.await_ms(),
        read_size_kb: reads.size_kb(),
        writes_per_s: a_second(writes.ios),
        write_kb_per_s: a_second(writes.sectors_512) / 2.0,
        writes_merged_per_s: a_second(writes.merges),
        writes_merged_pct: writes.merged_pct(),
        write_await_ms: writes.await_ms(),
        write_size_kb: writes.size_kb(),
        discards_per_s: discards.map(|d| a_second(d.ios)),
        discard_kb_per_s: discards.map(|d| a_second(d.sectors_512) / 2.0),
        discards_merged_per_s: discards.map(|d| a_second(d.merges)),
        discards_merged_pct: discards.map(Operations::merged_pct),
        discard_await_ms: discards.map(Operations::await_ms),
        discard_size_kb: discards.map(Operations::size_kb),
        flushes_per_s: flushes.map(|f| a_second(f.ios)),
        flush_await_ms: flushes.map(Operations::await_ms),
        queue_size: a_second(queue_ms) / 1000.0,
        util_pct: a_second(busy_ms) / 10.0,
    })
}

/// Several devices as one: rates and queues added, waits and sizes weighted by requests, `%util` their
/// mean. `None` without any device; a rate that one of them lacks is unknown for all.
#[must_use]
pub fn sum_of_devices(devices: &[DeviceRates]) -> Option<DeviceRates> {
    if devices.is_empty() {
        return None;
    }
    let sum = |rate: fn(&DeviceRates) -> f64| devices.iter().map(rate).sum::<f64>();
    let some = |rate: fn(&DeviceRates) -> Option<f64>| devices.iter().map(rate).sum::<Option<f64>>();
    let weighted = |value: fn(&DeviceRates) -> Option<f64>, rate: fn(&DeviceRates) -> Option<f64>| {
        let parts = devices.iter().map(|d| Some(value(d)? * rate(d)?));
        Some(ratio(parts.sum::<Option<f64>>()?, some(rate)?))
    };
    let (reads, writes) = (sum(|d| d.reads_per_s), sum(|d| d.writes_per_s));
    let (reads_merged, writes_merged) = (sum(|d| d.reads_merged_per_s), sum(|d| d.writes_merged_per_s));
    let discards_merged = some(|d| d.discards_merged_per_s);
    Some(DeviceRates {
        reads_per_s: reads,
        read_kb_per_s: sum(|d| d.read_kb_per_s),
        reads_merged_per_s: reads_merged,
        reads_merged_pct: ratio(100.0 * reads_merged, reads_merged + reads),
        read_await_ms: ratio(sum(|d| d.read_await_ms * d.reads_per_s), reads),
        read_size_kb: ratio(sum(|d| d.read_kb_per_s), reads),
        writes_per_s: writes,
        write_kb_per_s: sum(|d| d.write_kb_per_s),
        writes_merged_per_s: writes_merged,
        writes_merged_pct: ratio(100.0 * writes_merged, writes_merged + writes),
        write_await_ms: ratio(sum(|d| d.write_await_ms * d.writes_per_s), writes),
        write_size_kb: ratio(sum(|d| d.write_kb_per_s), writes),
        discards_per_s: some(|d| d.discards_per_s),
        discard_kb_per_s: some(|d| d.discard_kb_per_s),
        discards_merged_per_s: discards_merged,
        discards_merged_pct: discards_merged
            .zip(some(|d| d.discards_per_s))
            .map(|(merged, discards)| ratio(100.0 * merged, merged + discards)),
        discard_await_ms: weighted(|d| d.discard_await_ms, |d| d.discards_per_s),
        discard_size_kb: weighted(|d| d.discard_size_kb, |d| d.discards_per_s),
        flushes_per_s: some(|d| d.flushes_per_s),
        flush_await_ms: weighted(|d| d.flush_await_ms, |d| d.flushes_per_s),
        queue_size: sum(|d| d.queue_size),
        util_pct: sum(|d| d.util_pct) / devices.len() as f64,
    })
}

/// What one direction did between two samples.
#[derive(Clone, Copy)]
struct Operations {
    ios: f64,
    merges: f64,
    sectors_512: f64,
    ticks_ms: f64,
}

impl Operations {
    /// `None` when a counter ran backwards.
    fn between(first: &OperationCounters, second: &OperationCounters) -> Option<Self> {
        Some(Self {
            ios: second.ios.checked_sub(first.ios)? as f64,
            merges: second.merges.checked_sub(first.merges)? as f64,
            sectors_512: second.sectors_512.checked_sub(first.sectors_512)? as f64,
            ticks_ms: f64::from(second.ticks_ms.wrapping_sub(first.ticks_ms)),
        })
    }

    fn merged_pct(self) -> f64 {
        ratio(self.merges, self.merges + self.ios) * 100.0
    }

    fn await_ms(self) -> f64 {
        ratio(self.ticks_ms, self.ios)
    }

    fn size_kb(self) -> f64 {
        ratio(self.sectors_512, self.ios) / 2.0
    }
}

/// Flushes have neither merges nor sectors.
fn of_flushes(flushes: &FlushCounters) -> OperationCounters {
    OperationCounters { ios: flushes.ios, ticks_ms: flushes.ticks_ms, ..OperationCounters::default() }
}

/// 0 where there was nothing to divide by, as iostat prints it.
fn ratio(part: f64, whole: f64) -> f64 {
    if whole > 0.0 { part / whole } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const TEN_SECONDS: i64 = 10_000_000_000;

    fn operations([ios, merges, sectors_512]: [u64; 3], ticks_ms: u32) -> OperationCounters {
        OperationCounters { ios, merges, sectors_512, ticks_ms }
    }

    /// Write and queue ticks wrap in between, and so do read ticks.
    fn vector() -> (DiskCounters, DiskCounters) {
        let first = DiskCounters {
            name: "nvme0n1".into(),
            number: "259:0".into(),
            reads: operations([1000, 100, 80_000], 4_294_967_000),
            writes: operations([2000, 300, 160_000], 4_294_617_635),
            in_flight: 0,
            busy_ticks_ms: 500_000,
            queue_ticks_ms: 900_000,
            discards: Some(operations([10, 0, 800], 5)),
            flushes: Some(FlushCounters { ios: 40, ticks_ms: 60 }),
        };
        let second = DiskCounters {
            reads: operations([2000, 150, 112_000], 704),
            writes: operations([4000, 500, 224_000], 1_024_485),
            in_flight: 3,
            busy_ticks_ms: 510_000,
            queue_ticks_ms: 930_000,
            discards: Some(operations([20, 0, 1600], 10)),
            flushes: Some(FlushCounters { ios: 80, ticks_ms: 180 }),
            ..first.clone()
        };
        (first, second)
    }

    #[test]
    fn every_column_of_a_known_vector() {
        let (first, second) = vector();
        let rates = device_rates(&first, &second, TEN_SECONDS).unwrap();
        let columns: serde_json::Map<String, serde_json::Value> =
            serde_json::from_str(&serde_json::to_string(&rates).unwrap()).unwrap();
        let expected = [
            ("r/s", 100.0),
            ("rkB/s", 1600.0),
            ("rrqm/s", 5.0),
            ("%rrqm", 4.76),
            ("r_await", 1.0),
            ("rareq-sz", 16.0),
            ("w/s", 200.0),
            ("wkB/s", 3200.0),
            ("wrqm/s", 20.0),
            ("%wrqm", 9.09),
            ("w_await", 687.07),
            ("wareq-sz", 16.0),
            ("d/s", 1.0),
            ("dkB/s", 40.0),
            ("drqm/s", 0.0),
            ("%drqm", 0.0),
            ("d_await", 0.5),
            ("dareq-sz", 40.0),
            ("f/s", 4.0),
            ("f_await", 3.0),
            ("aqu-sz", 3.0),
            ("%util", 100.0),
        ];
        assert_eq!(columns.len(), expected.len());
        for (column, value) in expected {
            let got = columns[column].as_f64().unwrap();
            assert!((got - value).abs() < 0.005, "{column}: {got} where {value} is right");
        }
    }

    #[test]
    fn an_idle_device_has_zeros() {
        let (first, _) = vector();
        let rates = device_rates(&first, &first, TEN_SECONDS).unwrap();
        assert_eq!((rates.read_await_ms, rates.write_size_kb, rates.reads_merged_pct), (0.0, 0.0, 0.0));
        assert_eq!(rates.flush_await_ms, Some(0.0));
    }

    #[test]
    fn an_older_kernel_has_no_discards_and_no_flushes() {
        let (first, second) = vector();
        let older = |counters: DiskCounters| DiskCounters { discards: None, flushes: None, ..counters };
        let rates = device_rates(&older(first), &older(second), TEN_SECONDS).unwrap();
        assert_eq!((rates.discards_per_s, rates.discard_size_kb), (None, None));
        assert_eq!((rates.flushes_per_s, rates.flush_await_ms), (None, None));
        assert!((rates.reads_per_s - 100.0).abs() < 1e-9);
    }

    #[test]
    fn no_time_and_another_device_are_unknown() {
        let (first, second) = vector();
        assert_eq!(device_rates(&first, &second, 0), None);
        assert_eq!(device_rates(&first, &second, -1), None);
        let other = DiskCounters { number: "259:1".into(), ..second };
        assert_eq!(device_rates(&first, &other, TEN_SECONDS), None);
    }

    /// One of the ten counters that never run backwards.
    fn counter(counters: &mut DiskCounters, which: usize) -> &mut u64 {
        let operations = match which / 3 {
            0 => &mut counters.reads,
            1 => &mut counters.writes,
            2 => counters.discards.as_mut().unwrap(),
            _ => return &mut counters.flushes.as_mut().unwrap().ios,
        };
        match which % 3 {
            0 => &mut operations.ios,
            1 => &mut operations.merges,
            _ => &mut operations.sectors_512,
        }
    }

    #[test]
    fn several_devices_add_up() {
        let (first, second) = vector();
        let one = device_rates(&first, &second, TEN_SECONDS).unwrap();
        let idle = device_rates(&first, &first, TEN_SECONDS).unwrap();
        let all = sum_of_devices(&[one, one, idle]).unwrap();
        assert_eq!((all.reads_per_s, all.write_kb_per_s), (2.0 * one.reads_per_s, 2.0 * one.write_kb_per_s));
        assert_eq!((all.queue_size, all.util_pct), (2.0 * one.queue_size, one.util_pct * 2.0 / 3.0));
        let same = |a: f64, b: f64| assert!((a - b).abs() < 1e-9, "{a} and {b}");
        same(all.read_await_ms, one.read_await_ms);
        same(all.write_size_kb, one.write_size_kb);
        same(all.reads_merged_pct, one.reads_merged_pct);
        same(all.flush_await_ms.unwrap(), one.flush_await_ms.unwrap());
        let old = DeviceRates { flushes_per_s: None, flush_await_ms: None, ..one };
        assert_eq!(
            sum_of_devices(&[one, old]).unwrap().flushes_per_s,
            None,
            "unknown for one, unknown for all"
        );
        assert_eq!(sum_of_devices(&[]), None);
    }

    proptest! {
        /// Ticks give the same rates wherever they stand, also across the wrap.
        #[test]
        fn ticks_may_wrap(at in any::<[u32; 4]>(), read in 0_u32..100_000, write in 0_u32..100_000,
                          busy in 0_u32..10_000, queue in 0_u32..1_000_000) {
            let (mut first, mut second) = vector();
            let set = |counters: &mut DiskCounters, ticks: [u32; 4]| {
                [counters.reads.ticks_ms, counters.writes.ticks_ms, counters.busy_ticks_ms,
                    counters.queue_ticks_ms] = ticks;
            };
            set(&mut first, at);
            set(&mut second, [at[0].wrapping_add(read), at[1].wrapping_add(write),
                              at[2].wrapping_add(busy), at[3].wrapping_add(queue)]);
            let rates = device_rates(&first, &second, TEN_SECONDS).unwrap();
            prop_assert!((rates.read_await_ms - f64::from(read) / 1000.0).abs() < 1e-9);
            prop_assert!((rates.write_await_ms - f64::from(write) / 2000.0).abs() < 1e-9);
            prop_assert!((rates.util_pct - f64::from(busy) / 100.0).abs() < 1e-9);
            prop_assert!((rates.queue_size - f64::from(queue) / 10_000.0).abs() < 1e-9);
        }

        /// Whatever two samples say, no rate is negative or beyond what a counter can grow by.
        #[test]
        fn rates_are_possible(a in any::<[u32; 11]>(), b in any::<[u32; 11]>()) {
            let disk = |c: [u32; 11]| DiskCounters {
                reads: OperationCounters { ios: c[0].into(), merges: c[1].into(), sectors_512: c[2].into(), ticks_ms: c[3] },
                writes: OperationCounters { ios: c[4].into(), merges: c[5].into(), sectors_512: c[6].into(), ticks_ms: c[7] },
                busy_ticks_ms: c[8],
                queue_ticks_ms: c[9],
                flushes: Some(FlushCounters { ios: c[10].into(), ticks_ms: c[9] }),
                ..vector().0
            };
            if let Some(rates) = device_rates(&disk(a), &disk(b), 1_000_000_000) {
                let columns = serde_json::to_value(rates).unwrap();
                for (column, value) in columns.as_object().unwrap() {
                    let value = value.as_f64().unwrap_or(0.0);
                    prop_assert!((0.0..=1e10).contains(&value), "{column} {value}");
                }
            }
        }

        /// A device that was created anew is unknown, whichever of its counters shows it.
        #[test]
        fn a_reset_is_unknown(which in 0_usize..10, back in 1_u64..10) {
            let (first, mut second) = vector();
            // Discards are not merged in the vector, so that their merges could not run backwards.
            let first = DiskCounters { discards: Some(operations([10, 50, 800], 5)), ..first };
            second.discards = Some(operations([20, 50, 1600], 10));
            prop_assert!(device_rates(&first, &second, TEN_SECONDS).is_some());
            let mut before = first.clone();
            *counter(&mut second, which) = *counter(&mut before, which) - back;
            prop_assert_eq!(device_rates(&first, &second, TEN_SECONDS), None);
        }
    }
}
