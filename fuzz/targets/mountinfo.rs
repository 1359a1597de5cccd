//! `/proc/self/mountinfo`.
#![no_main]

use std::path::Path;

use drivestone::telemetry::mounts::MountTable;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let table = MountTable::parse(bytes);
    for path in ["/", "/data/x", "/srv/deep"] {
        let Some(mount) = table.mount_of(Path::new(path)) else { continue };
        assert!(Path::new(path).starts_with(&mount.mount_point));
        let _ = (mount.options(), table.device_number(mount));
    }
});
