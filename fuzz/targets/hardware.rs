//! A hardware profile. What it and a test profile lead to is a plan that may be read back.
#![no_main]

use std::path::Path;

use drivestone::plan::{resolve::resolve, validate::validate};
use drivestone::spec::{parse_hardware, parse_profile};

const PROFILE: &str = include_str!("../../profiles/quick.yaml");

libfuzzer_sys::fuzz_target!(|text: &str| {
    match parse_hardware("hardware.yaml", text) {
        Err(error) => assert!(!error.to_string().is_empty()),
        Ok(hardware) => {
            let profile = parse_profile("profile.yaml", PROFILE, &[]).unwrap();
            let plan = resolve(&hardware, &profile, Path::new("/"), 1).unwrap();
            assert_eq!(validate(&plan), Ok(()));
        }
    }
});
