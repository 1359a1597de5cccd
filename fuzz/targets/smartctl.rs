//! What smartctl prints.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    if let Ok(health) = drivestone::telemetry::health::smartctl::parse(bytes) {
        assert!(!health.source.is_empty());
    }
});
