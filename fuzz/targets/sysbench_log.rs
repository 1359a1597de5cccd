//! What sysbench prints. What is read passes the checks again, can be stored, and is reported.
#![no_main]

#[path = "input/bundle.rs"]
#[expect(dead_code, reason = "its journals are those of other targets")]
mod bundle;

use drivestone::analysis::analyze;
use drivestone::report::{Format, render};
use drivestone::result::import::{IMPORT_FORMAT, IMPORTED, Import, read_import};
use drivestone::sysbench::{parse, without_passwords};

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    if let Some(blanked) = without_passwords(bytes) {
        assert_eq!(without_passwords(&blanked).unwrap_or_default(), blanked);
    }
    let Ok(log) = parse("log", bytes) else { return };
    let import = Import {
        format: IMPORT_FORMAT,
        drivestone: "0".to_owned(),
        name: "log".to_owned(),
        device: None,
        file: "log".to_owned(),
        imported: "2026-11-30T11:00:00Z".to_owned(),
        log,
    };
    let folder = bundle::folder();
    std::fs::write(folder.join(IMPORTED), serde_json::to_vec(&import).unwrap()).unwrap();
    assert_eq!(read_import(folder).unwrap(), Some(import));
    let result = analyze(folder).unwrap();
    for format in Format::ALL {
        render(format, std::slice::from_ref(&result)).unwrap();
    }
});
