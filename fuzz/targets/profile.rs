//! A test profile, and `--set key=value` for each line below a line of `---set`. What it and a hardware profile
//! lead to is refused, or a plan that may be read back.
#![no_main]

use std::path::Path;

use drivestone::plan::{resolve::resolve, validate::validate};
use drivestone::spec::{parse_hardware, parse_profile};

const HARDWARE: &str = include_str!("../../hardware/example-ssh-hosts.yaml");

libfuzzer_sys::fuzz_target!(|text: &str| {
    let (profile, set) = text.split_once("\n---set\n").unwrap_or((text, ""));
    let overrides: Vec<String> = set.lines().map(str::to_owned).collect();
    match parse_profile("profile.yaml", profile, &overrides) {
        Err(error) => assert!(!error.to_string().is_empty()),
        Ok(profile) => {
            let hardware = parse_hardware("hardware.yaml", HARDWARE).unwrap();
            match resolve(&hardware, &profile, Path::new("/"), 1) {
                Err(error) => assert!(!error.to_string().is_empty()),
                Ok(plan) => assert_eq!(validate(&plan), Ok(())),
            }
        }
    }
});
