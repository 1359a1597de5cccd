//! A hardware profile.
#![no_main]

libfuzzer_sys::fuzz_target!(|text: &str| {
    if let Err(error) = drivestone::spec::parse_hardware("hardware.yaml", text) {
        assert!(!error.to_string().is_empty());
    }
});
