//! What sysbench prints. What is read passes the checks again, and can be stored.
#![no_main]

use drivestone::sysbench::{SysbenchLog, parse, without_passwords};

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    if let Some(blanked) = without_passwords(bytes) {
        assert_eq!(without_passwords(&blanked).unwrap_or_default(), blanked);
    }
    let Ok(log) = parse("log", bytes) else { return };
    assert_eq!(log.validate("log"), Ok(()));
    let stored = serde_json::to_string(&log).unwrap();
    assert_eq!(serde_json::from_str::<SysbenchLog>(&stored).unwrap(), log);
});
