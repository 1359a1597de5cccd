//! A test profile, and `--set key=value` for each line below a line of `---set`.
#![no_main]

libfuzzer_sys::fuzz_target!(|text: &str| {
    let (profile, set) = text.split_once("\n---set\n").unwrap_or((text, ""));
    let overrides: Vec<String> = set.lines().map(str::to_owned).collect();
    if let Err(error) = drivestone::spec::parse_profile("profile.yaml", profile, &overrides) {
        assert!(!error.to_string().is_empty());
    }
});
