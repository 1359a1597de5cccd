//! `/proc/swaps`.
#![no_main]

libfuzzer_sys::fuzz_target!(|text: &[u8]| {
    let _ = drivestone::telemetry::swaps::parse_swaps(text);
});
