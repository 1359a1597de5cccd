//! The fields by name: examples for messages, the keys of `--set`, and near misses.

/// Fields that `--set` takes, each with a value that is right.
pub(super) const SETTABLE: [(&str, &str); 53] = [
    ("workload.kind", "oltp_read_write"),
    ("workload.keys", "uniform"),
    ("workload.table_size", "100000"),
    ("workload.range_size", "100"),
    ("workload.point_selects", "10"),
    ("workload.simple_ranges", "1"),
    ("workload.sum_ranges", "1"),
    ("workload.order_ranges", "1"),
    ("workload.distinct_ranges", "1"),
    ("workload.range_selects", "true"),
    ("workload.index_updates", "1"),
    ("workload.non_index_updates", "1"),
    ("workload.delete_inserts", "1"),
    ("workload.skip_trx", "false"),
    ("workload.prepared", "true"),
    ("workload.random_points", "10"),
    ("workload.number_of_ranges", "10"),
    ("workload.delta", "5"),
    ("workload.spec_iter", "12"),
    ("workload.spec_pct", "1"),
    ("workload.spec_res", "75"),
    ("workload.pareto_h", "0.2"),
    ("workload.zipfian_exp", "0.8"),
    ("dataset.tables", "10"),
    ("dataset.rows", "100000"),
    ("dataset.load_threads", "8"),
    ("dataset.load_settings", "fast"),
    ("dataset.seed", "1"),
    ("dataset.auto_inc", "true"),
    ("dataset.secondary", "false"),
    ("dataset.create_secondary", "true"),
    ("load.threads", "32"),
    ("load.warmup", "20s"),
    ("load.duration", "60s"),
    ("load.events", "100000"),
    ("load.rate", "500"),
    ("load.ramp.from", "100"),
    ("load.ramp.to", "2000"),
    ("load.ramp.steps", "10"),
    ("load.ramp.p99_ms", "50"),
    ("load.ignore_errors", "[1213, 1020, 1205]"),
    ("load.reconnect", "false"),
    ("load.reconnect_every", "100"),
    ("load.report_interval", "1s"),
    ("load.seed", "1234"),
    ("load.counts", "[4, 8]"),
    ("load.on_loss", "continue"),
    ("load.on_device_loss", "stop"),
    ("server.transport", "socket"),
    ("server.buffer_pool", "24GiB"),
    ("server.log_file_size", "1GiB"),
    ("server.page_size", "16KiB"),
    ("allow_cached", "false"),
];

/// Start of the keys that name a server variable.
pub(super) const VARIABLES: &str = "server.variables.";

/// Required fields that `--set` does not take.
const OTHERS: [(&str, &str); 17] = [
    ("name", "nvme-lab"),
    ("description", "what this profile is for"),
    ("device.path", "/mnt/dut"),
    ("memory.buffer_pool", "24GiB"),
    ("cpus.server", "0-7"),
    ("cpus.load", "8-15"),
    ("instances.libvirt.hypervisors", "[qemu+ssh://root@node1/system]"),
    ("instances.libvirt.machines", "4"),
    ("instances.libvirt.image.pool", "default"),
    ("instances.libvirt.image.volume", "debian-12.qcow2"),
    ("instances.libvirt.pool", "dut"),
    ("instances.libvirt.network", "default"),
    ("instances.libvirt.vcpus", "16"),
    ("instances.libvirt.memory", "60GiB"),
    ("instances.libvirt.disks.data", "400GB"),
    ("observers.host", "node1"),
    ("observers.device", "/dev/sdb"),
];

/// A right value of a field.
pub(super) fn example(field: &str) -> Option<&'static str> {
    SETTABLE.iter().chain(&OTHERS).find(|(key, _)| *key == field).map(|(_, value)| *value)
}

/// The candidate that was probably meant: at most a third of its letters differ.
pub(super) fn nearest<'a>(written: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let close = candidates.into_iter().filter_map(|candidate| {
        // A very long key is close to nothing, and the distance is quadratic.
        let comparable = written.len() <= 2 * candidate.len() + 2;
        let distance = comparable.then(|| edit_distance(written, candidate))?;
        (distance <= candidate.len().div_ceil(3).min(3)).then_some((distance, candidate))
    });
    close.min_by_key(|(distance, _)| *distance).map(|(_, candidate)| candidate)
}

/// Insertions, deletions and substitutions (Levenshtein) between two words.
fn edit_distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, from) in a.chars().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], i + 1);
        for (j, to) in b.iter().enumerate() {
            let substituted = diagonal + usize::from(from != *to);
            diagonal = row[j + 1];
            row[j + 1] = substituted.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_are_levenshtein() {
        assert_eq!(edit_distance("kitten", "sitting"), 3);
        assert_eq!(edit_distance("", "abc"), 3);
        assert_eq!(edit_distance("abc", "abc"), 0);
    }

    #[test]
    fn only_close_names_are_suggested() {
        let keys = ["threads", "warmup", "duration", "seed"];
        assert_eq!(nearest("thread", keys), Some("threads"));
        assert_eq!(nearest("warm_up", keys), Some("warmup"));
        assert_eq!(nearest("runtime", keys), None);
        assert_eq!(nearest(&"x".repeat(1 << 20), keys), None);
    }
}
