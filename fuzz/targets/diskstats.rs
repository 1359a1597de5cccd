//! `/proc/diskstats`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let numbers = ["8:0", "259:1", ""].map(String::from);
    let reading = drivestone::telemetry::diskstats::select(bytes, &numbers);
    assert!(reading.disks.len() <= numbers.len());
});
