//! How often the kernel saw processors slowed down by heat.

use std::collections::BTreeMap;
use std::path::Path;

use crate::telemetry::devices::text_in;
use crate::telemetry::platform::numbered;

/// Times since boot, of each logical processor and once of each package; `None` where nothing is counted.
pub fn throttles(sysfs: &Path) -> Option<u64> {
    let mut of_cores: Option<u64> = None;
    // Each processor has a count of its package's: they differ by what it missed.
    let mut of_packages: BTreeMap<u64, u64> = BTreeMap::new();
    for cpu in numbered(&sysfs.join("devices/system/cpu"), "cpu") {
        let number = |entry: &str| text_in(&cpu, entry)?.parse::<u64>().ok();
        let count = |what: &str| number(&format!("thermal_throttle/{what}_throttle_count"));
        if let Some(core) = count("core") {
            of_cores = Some(of_cores.unwrap_or(0).saturating_add(core));
        }
        if let Some(package) = count("package") {
            let highest = of_packages.entry(number("topology/physical_package_id").unwrap_or(0)).or_default();
            *highest = package.max(*highest);
        }
    }
    let all = of_packages.into_values().chain(of_cores);
    all.reduce(u64::saturating_add)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn cores_add_up_and_a_package_counts_once() {
        let sysfs = tempfile::tempdir().unwrap();
        let cpus = sysfs.path().join("devices/system/cpu");
        assert_eq!(throttles(sysfs.path()), None);
        let write = |file: &str, text: &str| {
            let path = cpus.join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        write("cpu0/topology/physical_package_id", "0\n");
        write("cpufreq/boost", "1\n");
        assert_eq!(throttles(sysfs.path()), None, "processors without counts");
        for (cpu, package, core_count, package_count) in [(0, 0, 1, 10), (1, 0, 2, 11), (2, 1, 4, 100)] {
            write(&format!("cpu{cpu}/topology/physical_package_id"), &format!("{package}\n"));
            write(&format!("cpu{cpu}/thermal_throttle/core_throttle_count"), &format!("{core_count}\n"));
            write(
                &format!("cpu{cpu}/thermal_throttle/package_throttle_count"),
                &format!("{package_count}\n"),
            );
        }
        assert_eq!(throttles(sysfs.path()), Some(7 + 11 + 100));
    }
}
