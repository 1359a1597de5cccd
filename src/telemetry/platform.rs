//! The machine, and settings that change its speed.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use super::devices::{active_of, text_in};
use super::memory::parse_meminfo;
use crate::protocol::facts::PlatformFacts;

/// What `/sys` and `/proc`, or what stands for them, tell.
#[must_use]
pub fn platform(sysfs: &Path, proc_root: &Path) -> PlatformFacts {
    let text = |entry: &str| text_in(sysfs, entry);
    let cpus = numbered(&sysfs.join("devices/system/cpu"), "cpu");
    let of_each = |file: &str| cpus.iter().filter_map(|cpu| text_in(cpu, file)).collect::<BTreeSet<String>>();
    let governors: Vec<String> = of_each("cpufreq/scaling_governor").into_iter().collect();
    let meminfo = fs::read_to_string(proc_root.join("meminfo")).unwrap_or_default();
    let nodes = numbered(&sysfs.join("devices/system/node"), "node");
    PlatformFacts {
        vendor: text("class/dmi/id/sys_vendor"),
        product: text("class/dmi/id/product_name"),
        governor: (!governors.is_empty()).then(|| governors.join(", ")),
        turbo: text("devices/system/cpu/intel_pstate/no_turbo")
            .map(|off| off == "0")
            .or_else(|| text("devices/system/cpu/cpufreq/boost").map(|on| on == "1")),
        highest_khz: of_each("cpufreq/cpuinfo_max_freq").iter().filter_map(|khz| khz.parse().ok()).max(),
        transparent_hugepages: text("kernel/mm/transparent_hugepage/enabled").map(|modes| active_of(&modes)),
        swap_bytes: parse_meminfo(&meminfo, "SwapTotal").unwrap_or(0),
        numa_nodes: nodes.iter().filter_map(|node| text_in(node, "cpulist")).collect(),
    }
}

/// Folders with this name and a number after it, by number.
pub(super) fn numbered(parent: &Path, name: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(parent).into_iter().flatten().flatten();
    let mut found: Vec<(u32, PathBuf)> = entries
        .filter_map(|entry| {
            Some((entry.file_name().to_str()?.strip_prefix(name)?.parse().ok()?, entry.path()))
        })
        .collect();
    found.sort();
    found.into_iter().map(|(_, path)| path).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_with_two_nodes() {
        let root = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, format!("{text}\n")).unwrap();
        };
        write("class/dmi/id/sys_vendor", "Dell Inc.");
        write("class/dmi/id/product_name", "PowerEdge R730");
        for (cpu, governor) in [("cpu0", "performance"), ("cpu1", "powersave"), ("cpu10", "performance")] {
            write(&format!("devices/system/cpu/{cpu}/cpufreq/scaling_governor"), governor);
            write(&format!("devices/system/cpu/{cpu}/cpufreq/cpuinfo_max_freq"), "3500000");
        }
        write("devices/system/cpu/intel_pstate/no_turbo", "0");
        write("kernel/mm/transparent_hugepage/enabled", "always [madvise] never");
        write("devices/system/node/node0/cpulist", "0-11");
        write("devices/system/node/node1/cpulist", "12-23");
        write("meminfo", "SwapTotal: 1024 kB");
        let expected = PlatformFacts {
            vendor: Some("Dell Inc.".into()),
            product: Some("PowerEdge R730".into()),
            governor: Some("performance, powersave".into()),
            turbo: Some(true),
            highest_khz: Some(3_500_000),
            transparent_hugepages: Some("madvise".into()),
            swap_bytes: 1 << 20,
            numa_nodes: vec!["0-11".into(), "12-23".into()],
        };
        assert_eq!(platform(root.path(), root.path()), expected);
        assert_eq!(platform(Path::new("/nowhere"), Path::new("/nowhere")), PlatformFacts::default());
    }
}
