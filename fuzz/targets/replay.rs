//! Recordings for `drivestone iostat --replay`: whatever they hold, rates are possible ones.
#![no_main]

use drivestone::stats::device::device_rates;
use drivestone::telemetry::replay::parse_recording;

libfuzzer_sys::fuzz_target!(|text: &[u8]| {
    let Ok(recording) = parse_recording(text) else { return };
    for pair in recording.snapshots.windows(2) {
        assert!(pair[0].seconds < pair[1].seconds);
        for (before, after) in pair[0].disks.iter().zip(&pair[1].disks) {
            if let Some(rates) = device_rates(before, after, 1_000_000_000) {
                assert!(rates.reads_per_s >= 0.0 && rates.write_kb_per_s >= 0.0);
            }
        }
    }
});
