//! Stacks of devices: how bytes multiply, what vanishes, who else uses them, and limits that they reach.

use super::story::{Story, host_facts};
use super::*;
use crate::protocol::facts::{DeviceFacts, DeviceKind, IoLimit};
use crate::protocol::sample::{HostSample, MeasuredProcess, ProcessIo};

/// A partition (8:16, as the story samples it) on a RAID1 of two disks.
fn raid() -> Vec<DeviceFacts> {
    let device = |name: &str, number: &str, kind, below: &[&str]| DeviceFacts {
        name: name.into(),
        number: number.into(),
        kind,
        below: below.iter().map(|number| (*number).to_owned()).collect(),
        ..DeviceFacts::default()
    };
    vec![
        device("vdb", "8:16", DeviceKind::Partition, &["9:0"]),
        device("md0", "9:0", DeviceKind::Raid, &["8:32", "8:48"]),
        device("sdc", "8:32", DeviceKind::Disk, &[]),
        device("sdd", "8:48", DeviceKind::Disk, &[]),
    ]
}

/// Every write goes to both disks, three reads of four to the first.
fn mirror(sample: &mut HostSample) {
    let top = sample.disks[0].clone();
    for (name, number, quarters) in [("md0", "9:0", 4), ("sdc", "8:32", 3), ("sdd", "8:48", 1)] {
        let mut disk = top.clone();
        (disk.name, disk.number) = (name.into(), number.into());
        disk.reads.ios = disk.reads.ios / 4 * quarters;
        disk.reads.sectors_512 = disk.reads.sectors_512 / 4 * quarters;
        sample.disks.push(disk);
    }
}

fn one() -> Story {
    Story { mixes: vec![vec![(400, 10_000_000)]], facts: Some(host_facts(raid())), ..Story::default() }
}

#[test]
fn bytes_multiply_on_their_way_down() {
    let run = Story { retell: Box::new(|_, _, sample| mirror(sample)), ..one() }.run();
    let stack = &run.per_instance[0].stack;
    let told: Vec<_> = stack
        .layers
        .iter()
        .map(|l| (l.name.as_str(), l.depth, l.read_multiplication, l.write_multiplication))
        .collect();
    assert_eq!(
        told,
        [
            ("vdb", 0, None, None),
            ("md0", 1, Some(1.0), Some(1.0)),
            ("sdc", 2, Some(0.75), Some(1.0)),
            ("sdd", 2, Some(0.25), Some(1.0)),
        ]
    );
    assert_eq!((stack.read_multiplication, stack.write_multiplication), (Some(1.0), Some(2.0)));
    assert_eq!(stack.layers[2].rates.unwrap().reads_per_s, 1_500.0);
    assert_eq!(run.figures.unwrap().device.unwrap().reads_per_s, 2_000.0, "only the headline device's");
}

#[test]
fn a_leaf_without_counters_leaves_the_sum_unknown() {
    let retell = |_: usize, _: i64, sample: &mut HostSample| {
        mirror(sample);
        sample.disks.pop();
    };
    let run = Story { retell: Box::new(retell), ..one() }.run();
    let stack = &run.per_instance[0].stack;
    assert_eq!((stack.layers[3].rates, stack.layers[2].read_multiplication), (None, Some(0.75)));
    assert_eq!((stack.read_multiplication, stack.write_multiplication), (None, None));
    assert!(stack.layers.iter().all(|layer| !layer.vanished), "it was never there");
}

#[test]
fn without_a_probe_nothing_is_said_of_leaves() {
    let story = Story { facts: None, retell: Box::new(|_, _, sample| mirror(sample)), ..one() };
    let stack = &story.run().per_instance[0].stack;
    assert_eq!((stack.layers.len(), stack.layers[1].kind, stack.read_multiplication), (4, None, None));
    assert_eq!(stack.layers[1].read_multiplication, Some(1.0));
}

#[test]
fn a_device_that_vanishes_is_told() {
    let leaves = |_: usize, second: i64, sample: &mut HostSample| {
        mirror(sample);
        if second > 3 {
            sample.disks.truncate(3);
        }
    };
    let gone = |story: Story| {
        let run = story.run();
        let layers = run.per_instance[0].stack.layers.iter();
        layers.filter(|layer| layer.vanished).map(|layer| layer.name.clone()).collect::<Vec<_>>()
    };
    assert_eq!(gone(Story { retell: Box::new(leaves), ..one() }), ["sdd"]);
    let story = Story { retell: Box::new(|_, _, sample| mirror(sample)), vanishes: Some("sdc"), ..one() };
    assert_eq!(gone(story), ["sdc"], "it came back, but it had been away");
    let top = |_: usize, second: i64, sample: &mut HostSample| {
        if second > 3 {
            sample.disks.clear();
        }
    };
    let run = Story { retell: Box::new(top), ..one() }.run();
    assert_eq!((run.device_name.as_deref(), run.figures.as_ref().unwrap().device), (Some("vdb"), None));
    assert!(run.per_instance[0].stack.layers[0].vanished);
    assert_eq!(finding(&run, "no_other_io").holds, None);
}

/// What others add to the device each second.
fn others(read_bytes: u64, written_bytes: u64) -> Story {
    let retell = move |_: usize, second: i64, sample: &mut HostSample| {
        let n = (second + 1).unsigned_abs();
        sample.disks[0].reads.sectors_512 += read_bytes / 512 * n;
        sample.disks[0].writes.sectors_512 += written_bytes / 512 * n;
    };
    Story { retell: Box::new(retell), ..one() }
}

#[test]
fn io_that_nobody_accounts_for_is_others() {
    // The story reads 32.8 MB, writes 8.2 MB and syncs 300 times a second.
    for (read, written, holds, text) in [
        (0, 0, Some(true), "196.6 MB read, 196.6 MB by this measurement (+0.0 MB, +0.0 %)"),
        (600_000, 1_300_000, Some(true), ""),
        (700_000, 0, Some(false), "; others have read as well"),
        (0, 1_400_000, Some(false), "; others have written as well"),
        (9_000_000, 9_000_000, Some(false), "; others have read and written as well"),
    ] {
        let run = others(read, written).run();
        let found = finding(&run, "no_other_io");
        assert_eq!(found.holds, holds, "{read} {written}: {}", found.text);
        assert!(found.text.contains(text), "{}", found.text);
        let waits = &finding(&run, "device_bound").text;
        assert_eq!(waits.contains("others used"), holds == Some(false), "{waits}");
    }
}

#[test]
fn own_io_that_went_elsewhere_could_hide_others() {
    let retell = |_: usize, second: i64, sample: &mut HostSample| {
        sample.io[0].write_bytes += 5_000_000 * (second + 1).unsigned_abs();
    };
    let run = Story { retell: Box::new(retell), ..one() }.run();
    let found = finding(&run, "no_other_io");
    assert_eq!(found.holds, None);
    assert!(found.text.contains("went to another device"), "{}", found.text);
}

#[test]
fn a_server_that_is_another_process_accounts_for_nothing() {
    let retell = |_: usize, second: i64, sample: &mut HostSample| {
        sample.io[0].pid = if second > 3 { 2 } else { 1 };
    };
    let run = Story { retell: Box::new(retell), ..one() }.run();
    assert_eq!(finding(&run, "no_other_io").holds, None);
}

#[test]
fn the_coordinator_counts_where_its_journal_lies_on_the_device() {
    let writes = |_: usize, second: i64, sample: &mut HostSample| {
        let n = (second + 1).unsigned_abs();
        sample.disks[0].writes.sectors_512 += 10_000 * n;
        sample.io.push(ProcessIo {
            process: MeasuredProcess::Coordinator,
            pid: 9,
            read_bytes: 0,
            write_bytes: 10_000 * 512 * n,
            cancelled_write_bytes: 0,
        });
    };
    let mut facts = host_facts(raid());
    let story = |facts| Story { facts: Some(facts), retell: Box::new(writes), ..one() };
    assert_eq!(finding(&story(facts.clone()).run(), "no_other_io").holds, Some(false));
    facts.journal_mount = facts.target.mount.clone();
    assert_eq!(finding(&story(facts).run(), "no_other_io").holds, Some(true));
}

/// Reads that the block layer calls quick, on a device that may do so many.
fn limited(limit: IoLimit, full_us: u64) -> Story {
    let mut facts = host_facts(raid());
    facts.limits.io = vec![limit];
    let retell = move |_: usize, second: i64, sample: &mut HostSample| {
        sample.disks[0].reads.ticks_ms /= 100;
        sample.disks[0].writes.ticks_ms /= 100;
        sample.disks[0].busy_ticks_ms /= 100;
        let stalled = full_us * (second + 1).unsigned_abs();
        sample.pressure.io =
            Some(crate::protocol::sample::StallTotals { some_us: stalled, full_us: stalled });
        mirror(sample);
    };
    Story { facts: Some(facts), retell: Box::new(retell), ..one() }
}

#[test]
fn a_control_groups_limit_that_was_reached_is_what_bounds() {
    let on = |number: &str| IoLimit { number: number.into(), ..IoLimit::default() };
    let reads = |number: &str, most| IoLimit { reads_per_s: Some(most), ..on(number) };
    for (limit, text) in [
        (
            reads("8:16", 2_050),
            "device-bound: its control group lets vdb do 2050 reads a second, of which it used 2000.0 (97.6 %)",
        ),
        (reads("8:32", 1_500), "device-bound: its control group lets sdc do 1500 reads a second"),
        (IoLimit { write_bytes_per_s: Some(8_200_000), ..on("9:0") }, "lets md0 write 8.2 MB a second"),
    ] {
        let run = limited(limit, 0).run();
        let found = finding(&run, "device_bound");
        assert_eq!(found.holds, Some(true), "{}", found.text);
        assert!(found.text.contains(text), "{}", found.text);
        assert!(found.text.contains("device waits explain 1 % of the average latency"), "{}", found.text);
    }
    // Not reached; of another device; none; and passed by far, since others use the device as well.
    let others = reads("8:16", 500);
    for limit in [reads("8:16", 2_200), reads("8:64", 2_000), on("8:16"), reads("8:16", 0), others] {
        assert_eq!(finding(&limited(limit, 0).run(), "device_bound").holds, None);
    }
}

#[test]
fn processors_that_are_kept_for_others_hide_no_busy_ones() {
    let of = |cpus: u32, quota: Option<f64>| {
        let mut facts = host_facts(raid());
        (facts.cpus, facts.limits.cpu_quota) = (cpus, quota);
        let run = Story { facts: Some(facts), ..one() }.run();
        finding(&run, "device_bound").clone()
    };
    // The story's processors are 30 % busy, and its server and load may use four.
    assert!(of(4, None).text.contains("the host's processors 30.0 % busy"));
    assert!(of(16, None).text.contains("the 4 of 16 processors that server and load may use 100.0 % busy"));
    assert!(of(4, Some(2.0)).text.contains("the 2 of 4 processors that server and load may use 60.0 % busy"));
    assert_eq!(of(16, None).holds, Some(false), "{}", of(16, None).text);
}

#[test]
fn a_cache_below_the_headline_device_is_told() {
    let retell = |_: usize, _: i64, sample: &mut HostSample| {
        mirror(sample);
        for leaf in &mut sample.disks[2..] {
            leaf.reads.sectors_512 /= 10;
        }
    };
    let run = Story { retell: Box::new(retell), ..one() }.run();
    let text = &finding(&run, "page_cache_bypassed").text;
    assert!(
        text.contains("the devices below it read 10 %, so a cache between them answered the rest"),
        "{text}"
    );
}

#[test]
fn a_limit_that_nobody_knows_shows_in_the_stalls() {
    let run = limited(IoLimit::default(), 700_000).run();
    let found = finding(&run, "device_bound");
    assert_eq!(found.holds, Some(true));
    assert!(found.text.starts_with("device-bound, with the waits above the block layer"), "{}", found.text);
}

#[test]
fn an_observers_device_has_a_stack_too() {
    let run = Story { observed: Some(1.0), ..one() }.run();
    let stack = &run.observers[0].stack;
    assert_eq!((stack.layers.len(), stack.layers[0].name.as_str()), (1, "sdb"));
    assert_eq!(stack.layers[0].rates, run.observers[0].device);
    assert_eq!((stack.below(), stack.read_multiplication), (&[][..], None));
}
