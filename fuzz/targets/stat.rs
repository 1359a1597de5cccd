//! `/proc/stat` and `/proc/pressure/io`.
#![no_main]

use drivestone::stats::cpu::cpu_shares;
use drivestone::telemetry::host::{parse_cpu, parse_pressure};

libfuzzer_sys::fuzz_target!(|text: &str| {
    let _ = parse_pressure(text);
    if let Some(counters) = parse_cpu(text) {
        let _ = cpu_shares(&Default::default(), &counters);
    }
});
