//! What control groups and a process's status say.
#![no_main]

use drivestone::telemetry::limits::{parse_allowed, parse_throttled};

libfuzzer_sys::fuzz_target!(|text: &str| {
    let _ = (parse_throttled(text), parse_allowed(text));
});
