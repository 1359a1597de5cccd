//! What control groups leave a process: processors, memory, I/O. Both versions of them, also side by side.

use std::fs;
use std::path::{Path, PathBuf};

use super::mounts::MountTable;
use crate::protocol::facts::{IoLimit, LimitFacts};

/// Version 1 writes the highest number of pages for no limit.
const NO_LIMIT: u64 = 1 << 62;

/// Limits on the process that this folder of `/proc` belongs to.
#[must_use]
pub fn limits(process: &Path) -> LimitFacts {
    let groups = ControlGroups::of(process);
    let mut io = Vec::new();
    for group in groups.having("blkio") {
        for (file, field) in IO_FILES {
            add_rules(&read(&group.join(file)), field, &mut io);
        }
        parse_io_max(&read(&group.join("io.max")), &mut io);
    }
    LimitFacts {
        cpus: parse_allowed(&read(&process.join("status"))).unwrap_or_default(),
        cpu_quota: groups.having("cpu").iter().filter_map(|group| quota(group)).min_by(f64::total_cmp),
        memory_bytes: groups.having("memory").iter().filter_map(|group| memory(group)).min(),
        io,
    }
}

/// The file that tells how long the processors were withheld by the lowest quota, if there is one at all.
#[must_use]
pub fn throttling_file(process: &Path) -> Option<PathBuf> {
    let groups = ControlGroups::of(process).having("cpu");
    let limited = groups.iter().filter_map(|group| Some((quota(group)?, group)));
    let (_, lowest) = limited.min_by(|(a, _), (b, _)| a.total_cmp(b))?;
    Some(lowest.join("cpu.stat"))
}

/// Time for which processors were withheld, microseconds, from a `cpu.stat` of either version.
#[must_use]
pub fn parse_throttled(cpu_stat: &str) -> Option<u64> {
    let value = |name: &str| {
        let line = cpu_stat.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '))?;
        line.trim().parse::<u64>().ok()
    };
    value("throttled_usec").or_else(|| Some(value("throttled_time")? / 1000))
}

/// `Cpus_allowed_list` of a process's `status`, such as `0-3,8`.
#[must_use]
pub fn parse_allowed(status: &str) -> Option<String> {
    let list = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"))?;
    Some(list.trim().to_owned())
}

/// Version 1's files of I/O limits, each for one field.
const IO_FILES: [(&str, Field); 4] = [
    ("blkio.throttle.read_bps_device", |limit| &mut limit.read_bytes_per_s),
    ("blkio.throttle.write_bps_device", |limit| &mut limit.write_bytes_per_s),
    ("blkio.throttle.read_iops_device", |limit| &mut limit.reads_per_s),
    ("blkio.throttle.write_iops_device", |limit| &mut limit.writes_per_s),
];

type Field = fn(&mut IoLimit) -> &mut Option<u64>;

/// Lines `major:minor limit`.
fn add_rules(text: &str, field: Field, io: &mut Vec<IoLimit>) {
    for line in text.lines() {
        if let Some((number, limit)) = line.trim().split_once(' ')
            && let Ok(limit) = limit.trim().parse()
        {
            lower(number, field, limit, io);
        }
    }
}

/// Lines `major:minor rbps=max wbps=max riops=500 wiops=max`.
fn parse_io_max(text: &str, io: &mut Vec<IoLimit>) {
    for line in text.lines() {
        let mut words = line.split_ascii_whitespace();
        let Some(number) = words.next() else { continue };
        for (name, limit) in words.filter_map(|word| word.split_once('=')) {
            let field: Field = match name {
                "rbps" => |limit| &mut limit.read_bytes_per_s,
                "wbps" => |limit| &mut limit.write_bytes_per_s,
                "riops" => |limit| &mut limit.reads_per_s,
                "wiops" => |limit| &mut limit.writes_per_s,
                _ => continue,
            };
            if let Ok(limit) = limit.parse() {
                lower(number, field, limit, io);
            }
        }
    }
}

/// The lowest limit of a group and those above it holds.
fn lower(number: &str, field: Field, limit: u64, io: &mut Vec<IoLimit>) {
    let place = io.iter().position(|known| known.number == number).unwrap_or_else(|| {
        io.push(IoLimit { number: number.to_owned(), ..IoLimit::default() });
        io.len() - 1
    });
    let known = field(&mut io[place]);
    *known = Some(known.map_or(limit, |known| known.min(limit)));
}

/// Processors' worth of time that a group may use.
fn quota(group: &Path) -> Option<f64> {
    let version_2 = read(&group.join("cpu.max"));
    let (quota, period) = match version_2.split_once(' ') {
        Some((quota, period)) => (quota.to_owned(), period.to_owned()),
        None => (read(&group.join("cpu.cfs_quota_us")), read(&group.join("cpu.cfs_period_us"))),
    };
    let (quota, period): (f64, f64) = (quota.trim().parse().ok()?, period.trim().parse().ok()?);
    (quota > 0.0 && period > 0.0).then(|| quota / period)
}

fn memory(group: &Path) -> Option<u64> {
    let limits =
        ["memory.max", "memory.limit_in_bytes"].map(|file| read(&group.join(file)).trim().parse().ok());
    limits.into_iter().flatten().filter(|limit| *limit < NO_LIMIT).min()
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_default()
}

/// The groups that a process is in, by controller.
struct ControlGroups {
    /// Controllers of a hierarchy (version 2's have none), and its groups: the process's own, then those above it.
    hierarchies: Vec<(Vec<String>, Vec<PathBuf>)>,
}

impl ControlGroups {
    fn of(process: &Path) -> Self {
        let mounts = MountTable::parse(&fs::read(process.join("mountinfo")).unwrap_or_default());
        let text = read(&process.join("cgroup"));
        let hierarchies = text.lines().filter_map(|line| {
            let mut fields = line.splitn(3, ':').skip(1);
            let (controllers, path) = (fields.next()?, fields.next()?);
            let controllers: Vec<String> =
                controllers.split(',').filter(|name| !name.is_empty()).map(str::to_owned).collect();
            let mount = mounts.iter().find(|mount| match controllers.first() {
                Some(first) => {
                    mount.filesystem == "cgroup"
                        && mount.super_options.split(',').any(|option| option == first)
                }
                None => mount.filesystem == "cgroup2",
            })?;
            Some((controllers, groups_up_to(&mount.mount_point, path)))
        });
        Self { hierarchies: hierarchies.collect() }
    }

    /// Groups that may limit by a controller. Those of version 2 may by each: its `io` is version 1's `blkio`.
    fn having(&self, controller: &str) -> Vec<PathBuf> {
        let fits =
            |controllers: &[String]| controllers.is_empty() || controllers.iter().any(|c| c == controller);
        let hierarchies = self.hierarchies.iter().filter(|(controllers, _)| fits(controllers));
        hierarchies.flat_map(|(_, groups)| groups.iter().cloned()).collect()
    }
}

/// The group's folder and those above it. In a container the path may be the host's, and the mount its own group.
fn groups_up_to(mount_point: &Path, path: &str) -> Vec<PathBuf> {
    let own = mount_point.join(path.trim_start_matches('/'));
    let own = if own.is_dir() { own } else { mount_point.to_path_buf() };
    own.ancestors().take_while(|group| group.starts_with(mount_point)).map(Path::to_path_buf).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A process's folder and hierarchies beside it, made of `path = text` pairs.
    fn machine(files: &[(&str, &str)]) -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text.replace("ROOT", root.path().to_str().unwrap())).unwrap();
        }
        root
    }

    #[test]
    fn version_2_takes_the_lowest_on_the_way_up() {
        let root = machine(&[
            ("self/cgroup", "0::/lab.slice/test.scope\n"),
            ("self/mountinfo", "30 1 0:28 / ROOT/cg rw - cgroup2 cgroup2 rw,nsdelegate\n"),
            ("self/status", "Name:\tx\nCpus_allowed:\tff\nCpus_allowed_list:\t0-3,8\n"),
            ("cg/cgroup.procs", ""),
            ("cg/lab.slice/cpu.max", "200000 100000\n"),
            ("cg/lab.slice/memory.max", "1073741824\n"),
            ("cg/lab.slice/io.max", "8:0 rbps=max wbps=1048576 riops=800 wiops=max\n"),
            ("cg/lab.slice/test.scope/cpu.max", "300000 100000\n"),
            ("cg/lab.slice/test.scope/memory.max", "max\n"),
            ("cg/lab.slice/test.scope/io.max", "8:0 rbps=max wbps=max riops=500 wiops=max\n8:16 riops=1\n"),
        ]);
        let found = limits(&root.path().join("self"));
        let limit = |number: &str, write_bytes_per_s, reads_per_s| IoLimit {
            number: number.into(),
            write_bytes_per_s,
            reads_per_s,
            ..IoLimit::default()
        };
        assert_eq!(found.io, [limit("8:0", Some(1 << 20), Some(500)), limit("8:16", None, Some(1))]);
        assert_eq!((found.cpus.as_str(), found.cpu_quota), ("0-3,8", Some(2.0)));
        assert_eq!(found.memory_bytes, Some(1 << 30));
        let file = throttling_file(&root.path().join("self")).unwrap();
        assert!(file.ends_with("cg/lab.slice/cpu.stat"), "{}", file.display());
    }

    #[test]
    fn version_1_has_a_hierarchy_a_controller() {
        let root = machine(&[
            ("self/cgroup", "4:memory:/a\n3:blkio:/a/b\n2:cpu,cpuacct:/host/path/of/a/container\n0::/\n"),
            (
                "self/mountinfo",
                "31 1 0:1 / ROOT/memory rw - cgroup cgroup rw,memory\n32 1 0:2 / ROOT/blkio rw - cgroup cgroup rw,blkio\n\
                 33 1 0:3 / ROOT/cpu rw - cgroup cgroup rw,cpu,cpuacct\n34 1 0:4 / ROOT/unified rw - cgroup2 none rw\n",
            ),
            ("memory/a/memory.limit_in_bytes", "9223372036854771712\n"),
            ("memory/memory.limit_in_bytes", "9223372036854771712\n"),
            ("blkio/a/blkio.throttle.read_iops_device", "7:3 600\n"),
            ("blkio/a/b/blkio.throttle.read_iops_device", "7:3 500\n254:0 9\n"),
            ("blkio/a/b/blkio.throttle.write_bps_device", "7:3 4194304\n"),
            ("cpu/cpu.cfs_quota_us", "150000\n"),
            ("cpu/cpu.cfs_period_us", "100000\n"),
        ]);
        let found = limits(&root.path().join("self"));
        assert_eq!((found.memory_bytes, found.cpu_quota), (None, Some(1.5)));
        let first = &found.io[0];
        assert_eq!(
            (first.number.as_str(), first.reads_per_s, first.write_bytes_per_s),
            ("7:3", Some(500), Some(4 << 20))
        );
        assert_eq!(found.io.len(), 2);
    }

    #[test]
    fn without_control_groups_there_are_no_limits() {
        let root = machine(&[("self/cgroup", "0::/\n"), ("self/mountinfo", "")]);
        assert_eq!(limits(&root.path().join("self")), LimitFacts::default());
        assert_eq!(throttling_file(Path::new("/nowhere")), None);
    }

    #[test]
    fn time_withheld_in_both_versions() {
        assert_eq!(parse_throttled("nr_throttled 1\nthrottled_time 5000\n"), Some(5));
        assert_eq!(parse_throttled("usage_usec 9\nthrottled_usec 7\n"), Some(7));
        assert_eq!(parse_throttled("nr_periods 0\n"), None);
    }

    proptest! {
        #[test]
        fn text_never_panics(text in "([0-9]{1,3}:[0-9]{1,3} |(rbps|wiops)=|max|[ -~\n]){0,30}") {
            let mut io = Vec::new();
            parse_io_max(&text, &mut io);
            add_rules(&text, IO_FILES[0].1, &mut io);
            let _ = (parse_throttled(&text), parse_allowed(&text));
        }
    }
}
