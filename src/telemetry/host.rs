//! What a host is, and its processor and pressure counters.

use std::fs;
use std::path::Path;

use nix::unistd::geteuid;

use super::devices::BlockDevices;
use super::limits::limits;
use super::memory::parse_meminfo;
use super::platform::platform;
use crate::protocol::facts::{
    DatasetState, HostFacts, LimitFacts, MountFacts, ObserverFacts, PlatformFacts, ServerFacts, TargetFacts,
};
use crate::protocol::sample::{CpuCounters, StallTotals};

/// This host, with what others found about target, server, dataset, socket and journal. What /proc does not
/// tell is empty or 0.
#[must_use]
pub fn facts(
    target: TargetFacts,
    server: ServerFacts,
    dataset: DatasetState,
    dataset_bytes: u64,
    socket_path: String,
    open_files: u64,
    journal_mount: Option<MountFacts>,
) -> HostFacts {
    let text = |path: &str| text_of(Path::new(path));
    let memory = text("/proc/meminfo");
    let machine = machine();
    // `arch` exists since Linux 6.1; before, what this program was built for is close enough.
    let architecture = Some(kernel("arch")).filter(|a| !a.is_empty());
    HostFacts {
        hostname: kernel("hostname"),
        boot_id: Some(kernel("random/boot_id")).filter(|id| !id.is_empty()),
        kernel: machine.kernel,
        architecture: architecture.unwrap_or_else(|| std::env::consts::ARCH.to_owned()),
        os: machine.os,
        cpu_model: machine.cpu_model,
        cpus: machine.cpus,
        memory_bytes: machine.memory_bytes,
        memory_available_bytes: parse_meminfo(&memory, "MemAvailable")
            .or_else(|| parse_meminfo(&memory, "MemFree"))
            .unwrap_or(0),
        uid: geteuid().as_raw(),
        target,
        server,
        dataset,
        dataset_bytes,
        socket_path,
        open_files,
        journal_mount,
        platform: machine.platform,
        limits: machine.limits,
    }
}

/// This machine without what is under test.
#[derive(Debug, Clone)]
pub struct Machine {
    /// `uname -sr`.
    pub kernel: String,
    /// PRETTY_NAME of os-release.
    pub os: Option<String>,
    /// Processor model.
    pub cpu_model: Option<String>,
    /// Processors online.
    pub cpus: u32,
    /// Total memory, bytes.
    pub memory_bytes: u64,
    /// The machine and its settings.
    pub platform: PlatformFacts,
    /// Limits on what is started from here.
    pub limits: LimitFacts,
}

/// What /proc and /sys tell of this machine.
#[must_use]
pub fn machine() -> Machine {
    let text = |path: &str| text_of(Path::new(path));
    Machine {
        kernel: kernel_and_release(),
        os: parse_pretty_name(&text("/etc/os-release"))
            .or_else(|| parse_pretty_name(&text("/usr/lib/os-release"))),
        cpu_model: parse_cpu_model(&text("/proc/cpuinfo")),
        cpus: count_cpus(&text("/proc/stat")),
        memory_bytes: parse_meminfo(&text("/proc/meminfo"), "MemTotal").unwrap_or(0),
        platform: platform(Path::new("/sys"), Path::new("/proc")),
        limits: limits(Path::new("/proc/self")),
    }
}

/// Facts about a host that only samples the device that `path` is or is on; `None` when there is none.
#[must_use]
pub fn observer_facts(path: &Path) -> Option<ObserverFacts> {
    let devices = BlockDevices::of_this_host();
    let devices = devices.facts_of_stack(&devices.mounts().device_of(path)?);
    (!devices.is_empty()).then(|| ObserverFacts {
        hostname: kernel("hostname"),
        kernel: kernel_and_release(),
        cpus: count_cpus(&text_of(Path::new("/proc/stat"))),
        memory_bytes: parse_meminfo(&text_of(Path::new("/proc/meminfo")), "MemTotal").unwrap_or(0),
        devices,
    })
}

/// What the kernel says of itself below `/proc/sys/kernel`.
fn kernel(name: &str) -> String {
    text_of(&Path::new("/proc/sys/kernel").join(name)).trim().to_owned()
}

/// `uname -sr`.
fn kernel_and_release() -> String {
    format!("{} {}", kernel("ostype"), kernel("osrelease")).trim().to_owned()
}

fn text_of(path: &Path) -> String {
    String::from_utf8_lossy(&fs::read(path).unwrap_or_default()).into_owned()
}

/// The `cpu` line of `/proc/stat`, which is its first. Columns that old kernels lack count as 0.
#[must_use]
pub fn parse_cpu(stat: &str) -> Option<CpuCounters> {
    let line = stat.lines().find_map(|line| line.strip_prefix("cpu "))?;
    let mut columns = line.split_ascii_whitespace().map(str::parse::<u64>);
    let mut required = || columns.next()?.ok();
    let (user, nice, system, idle) = (required()?, required()?, required()?, required()?);
    let mut optional = || columns.next().and_then(Result::ok).unwrap_or(0);
    let (iowait, hard, soft, steal) = (optional(), optional(), optional(), optional());
    Some(CpuCounters {
        user: user.saturating_add(nice),
        system,
        idle,
        iowait,
        interrupts: hard,
        softirq: soft,
        steal,
    })
}

/// Processors online: the `cpuN` lines of `/proc/stat`.
fn count_cpus(stat: &str) -> u32 {
    let numbered = |line: &&str| {
        line.strip_prefix("cpu").is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
    };
    u32::try_from(stat.lines().filter(numbered).count()).unwrap_or(u32::MAX)
}

/// Both totals of a file below `/proc/pressure`.
#[must_use]
pub fn parse_pressure(text: &str) -> Option<StallTotals> {
    let total = |kind: &str| {
        let line = text.lines().find(|line| line.split_ascii_whitespace().next() == Some(kind))?;
        line.split_ascii_whitespace().find_map(|field| field.strip_prefix("total="))?.parse().ok()
    };
    Some(StallTotals { some_us: total("some")?, full_us: total("full").unwrap_or(0) })
}

/// Model of the first processor. ARM kernels do not tell it.
fn parse_cpu_model(cpuinfo: &str) -> Option<String> {
    ["model name", "cpu model", "cpu"].iter().find_map(|key| {
        cpuinfo.lines().find_map(|line| {
            let (name, value) = line.split_once(':')?;
            let words: Vec<&str> = value.split_whitespace().collect();
            (name.trim() == *key && !words.is_empty()).then(|| words.join(" "))
        })
    })
}

/// PRETTY_NAME of os-release, which follows a shell's rules for quotes.
fn parse_pretty_name(os_release: &str) -> Option<String> {
    let value = os_release.lines().find_map(|line| line.trim().strip_prefix("PRETTY_NAME="))?.trim();
    let quoted = |quote| value.strip_prefix(quote).and_then(|v| v.strip_suffix(quote));
    let name = if let Some(literal) = quoted('\'') {
        literal.to_owned()
    } else {
        let mut name = String::new();
        let mut characters = quoted('"').unwrap_or(value).chars();
        while let Some(character) = characters.next() {
            name.extend(if character == '\\' { characters.next() } else { Some(character) });
        }
        name
    };
    (!name.is_empty()).then_some(name)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn processor_time() {
        let stat = "cpu  100 5 30 4000 60 7 8 9 50 2\ncpu0 50 5 15 2000 30 3 4 5 25 1\n\
                    cpu1 50 0 15 2000 30 4 4 4 25 1\nintr 12 0\nctxt 3\n";
        let expected = CpuCounters {
            user: 105,
            system: 30,
            idle: 4000,
            iowait: 60,
            interrupts: 7,
            softirq: 8,
            steal: 9,
        };
        assert_eq!(parse_cpu(stat), Some(expected));
        assert_eq!(count_cpus(stat), 2);
        let old = CpuCounters { user: 3, system: 3, idle: 4, ..CpuCounters::default() };
        assert_eq!(parse_cpu("cpu 1 2 3 4"), Some(old));
        assert_eq!(parse_cpu("cpu 1 2 3"), None);
        assert_eq!(parse_cpu("cpu0 1 2 3 4"), None);
    }

    #[test]
    fn pressure() {
        let text = "some avg10=0.12 avg60=0.17 avg300=0.33 total=5227015\n\
                    full avg10=0.12 avg60=0.15 avg300=0.28 total=3879774\n";
        let expected = StallTotals { some_us: 5_227_015, full_us: 3_879_774 };
        assert_eq!(parse_pressure(text), Some(expected));
        let without_full = StallTotals { some_us: 5, full_us: 0 };
        assert_eq!(parse_pressure("some avg10=0.12 total=5\n"), Some(without_full));
        assert_eq!(parse_pressure(""), None);
    }

    #[test]
    fn processor_models() {
        let x86 = "processor\t: 0\ncpu family\t: 6\nmodel\t: 85\nmodel name\t: Intel(R)  Xeon(R) E5\n";
        assert_eq!(parse_cpu_model(x86).as_deref(), Some("Intel(R) Xeon(R) E5"));
        assert_eq!(parse_cpu_model("processor : 0\ncpu : POWER9\n").as_deref(), Some("POWER9"));
        assert_eq!(parse_cpu_model("processor : 0\nCPU part : 0xd0c\n"), None);
    }

    #[test]
    fn names_of_distributions() {
        let name = |text: &str| parse_pretty_name(text);
        let debian = "NAME=\"Debian\"\nPRETTY_NAME=\"Debian GNU/Linux 12 (bookworm)\"\n";
        assert_eq!(name(debian).as_deref(), Some("Debian GNU/Linux 12 (bookworm)"));
        assert_eq!(name("PRETTY_NAME='a \\b'").as_deref(), Some("a \\b"));
        assert_eq!(name(r#"PRETTY_NAME="a \"b\" \$c""#).as_deref(), Some(r#"a "b" $c"#));
        assert_eq!(name("PRETTY_NAME=Void").as_deref(), Some("Void"));
        assert_eq!((name("PRETTY_NAME=\"\""), name("NAME=x")), (None, None));
    }

    proptest! {
        #[test]
        fn text_never_panics(text in "(cpu|some|PRETTY_NAME=|MemTotal:|model name|total=|[ -~\n]){0,30}") {
            let _ = (parse_cpu(&text), parse_pressure(&text), parse_cpu_model(&text));
            let _ = (count_cpus(&text), parse_pretty_name(&text));
        }
    }
}
