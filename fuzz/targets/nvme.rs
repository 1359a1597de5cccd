//! What nvme-cli prints, whichever log it is taken for.
#![no_main]

use drivestone::telemetry::health::nvme;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let _ = nvme::smart_log(bytes);
    for told in [nvme::ocp_log(bytes), nvme::intel_log(bytes)].into_iter().flatten() {
        assert!(told.nand_written_bytes.is_some() && told.nand_unit_bytes.is_some());
    }
});
