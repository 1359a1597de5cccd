//! What drives told around a run, with figures that can be checked by hand.

use super::finding;
use super::story::{Line, SECOND_NS, Story, conclude_records, name};
use crate::analysis::*;
use crate::protocol::Event;
use crate::protocol::sample::{DriveHealth, HealthSample, SilentDrive};
use crate::result::Record;

/// A drive that has written 100 units and been well.
fn drive(device: &str) -> DriveHealth {
    DriveHealth {
        device: device.into(),
        source: "smartctl 7.3".into(),
        host_written_bytes: Some(51_200_000),
        host_read_bytes: Some(512_000),
        host_unit_bytes: Some(512_000),
        nand_written_bytes: Some(1_000_000_000),
        nand_unit_bytes: Some(1),
        used_pct: Some(3),
        temperature_c: Some(40),
        media_errors: Some(1),
        throttled_s: Some(60),
        failing: Some(false),
        ..DriveHealth::default()
    }
}

/// The same after a run in which 112 units were written, 1.5 times as much of NAND, and one was read.
fn later(device: &str) -> DriveHealth {
    DriveHealth {
        host_written_bytes: Some(51_200_000 + 57_344_000),
        host_read_bytes: Some(1_024_000),
        nand_written_bytes: Some(1_000_000_000 + 86_016_000),
        temperature_c: Some(55),
        ..drive(device)
    }
}

fn sample(at_s: i64, drives: Vec<DriveHealth>) -> HealthSample {
    HealthSample { at_ns: at_s * SECOND_NS, drives, silent: Vec::new(), thermal_throttles: Some(5) }
}

fn silent(at_s: i64) -> HealthSample {
    let silent = vec![SilentDrive { device: "vda".into(), reason: "a virtual disk".into() }];
    HealthSample { silent, thermal_throttles: None, ..sample(at_s, Vec::new()) }
}

/// A journal in which each instance, and the observer if there is one, tells this before and after.
fn told(
    story: &Story,
    of_instances: [Option<HealthSample>; 2],
    of_observer: [Option<HealthSample>; 2],
) -> ResultAnalysis {
    let event = |sample: &Option<HealthSample>| sample.clone().map(|own| Record::Event(Event::Health(own)));
    let mut lines: Vec<Line> = Vec::new();
    for (from, record) in story.records() {
        let is_started = matches!(record, Record::RunStarted { .. });
        let is_ended = matches!(record, Record::RunEnded { .. });
        if is_started {
            let before = (0..story.mixes.len()).filter_map(|n| Some((name(n), event(&of_instances[0])?)));
            lines.extend(before);
        }
        if matches!(record, Record::Event(Event::LoadEnded(_))) {
            lines.extend(event(&of_instances[1]).map(|after| (from.clone(), after)));
        }
        lines.push((from, record));
        let observers = if is_started { event(&of_observer[0]) } else { event(&of_observer[1]) };
        let observers = observers.filter(|_| is_started || is_ended);
        lines.extend(observers.map(|own| ("node".to_owned(), own)));
    }
    conclude_records(story.plan(), lines)
}

fn one() -> Story {
    Story { mixes: vec![vec![(400, 10_000_000)]], ..Story::default() }
}

fn of_one(before: HealthSample, after: HealthSample) -> RunAnalysis {
    told(&one(), [Some(before), Some(after)], [None, None]).runs.remove(0)
}

#[test]
fn a_drives_growth_is_that_of_its_transactions() {
    let run = of_one(sample(10, vec![drive("vdb")]), sample(20, vec![later("vdb")]));
    let wear = run.wear.as_ref().unwrap();
    let own = &wear.drives[0];
    // 400 a second for six seconds and one of warm-up.
    assert_eq!((own.transactions, own.seconds, own.observed), (2_800, Some(10.0), false));
    let written = Growth { bytes: 57_344_000, unit_bytes: Some(512_000), too_coarse: false };
    assert_eq!(own.host_written, Some(written));
    assert_eq!(own.host_written_per_transaction, Some(20_480.0));
    assert_eq!(own.nand_written_per_transaction, Some(30_720.0));
    assert_eq!(own.write_amplification, Some(1.5));
    assert_eq!(own.kernel_written_bytes, Some(57_344_000));
    assert_eq!(own.temperature_c, Change { before: Some(40), after: Some(55) });
    let read = own.host_read.unwrap();
    assert_eq!((read.bytes, read.too_coarse), (512_000, true), "one unit says little");
    let healthy = finding(&run, "drives_healthy");
    assert_eq!(healthy.holds, Some(true));
    assert_eq!(
        healthy.text,
        "vdb added no media error and no time of being slowed down by heat; processors were not slowed down by heat"
    );
}

#[test]
fn too_coarse_a_counter_makes_no_ratio() {
    let in_gib = |bytes| DriveHealth {
        nand_written_bytes: Some(bytes),
        nand_unit_bytes: Some(1 << 30),
        ..later("vdb")
    };
    let run = of_one(
        sample(10, vec![DriveHealth { host_written_bytes: Some(51_200_000), ..in_gib(5 << 30) }]),
        sample(20, vec![in_gib(6 << 30)]),
    );
    let own = &run.wear.as_ref().unwrap().drives[0];
    assert_eq!(own.nand_written.map(|nand| (nand.bytes, nand.too_coarse)), Some((1 << 30, true)));
    assert_eq!((own.write_amplification, own.nand_written_per_transaction), (None, None));
    assert_eq!(own.host_written_per_transaction, Some(20_480.0));
}

#[test]
fn what_is_not_known_at_both_ends_has_not_grown() {
    let went_back = of_one(sample(10, vec![later("vdb")]), sample(20, vec![drive("vdb")]));
    assert_eq!(went_back.wear.as_ref().unwrap().drives[0].host_written, None);
    let another = DriveHealth { source: "nvme smart-log".into(), ..later("vdb") };
    let other_tool = of_one(sample(10, vec![drive("vdb")]), sample(20, vec![another]));
    let own = &other_tool.wear.as_ref().unwrap().drives[0];
    assert_eq!((own.host_written, own.media_errors.before), (None, None));
    assert_eq!((own.used_pct.after, own.source.as_str()), (Some(3), "nvme smart-log"));
    assert_eq!(finding(&other_tool, "drives_healthy").holds, None);
    let cut_short = told(&one(), [Some(sample(10, vec![drive("vdb")])), None], [None, None]);
    let own = &cut_short.runs[0].wear.as_ref().unwrap().drives[0];
    assert_eq!((own.host_written, own.used_pct.before, own.seconds), (None, Some(3), None));
    assert_eq!(finding(&cut_short.runs[0], "drives_healthy").holds, None);
}

#[test]
fn nobody_is_blamed_who_was_not_asked() {
    let run = told(&one(), [None, None], [None, None]).runs.remove(0);
    assert_eq!(run.wear, None);
    assert!(run.findings.iter().all(|finding| finding.id != "drives_healthy"));
}

#[test]
fn silence_is_told_once() {
    let result = told(&Story::default(), [Some(silent(10)), Some(silent(20))], [None, None]);
    assert_eq!(result.notes, ["wear and health were not told by vda on vm1, vm2, vm3, vm4 (a virtual disk)"]);
    let run = &result.runs[0];
    let wear = run.wear.as_ref().unwrap();
    assert_eq!((wear.drives.len(), wear.silent.len()), (0, 4));
    let healthy = finding(run, "drives_healthy");
    assert_eq!(healthy.holds, None);
    assert_eq!(
        healthy.text,
        "no drive told its media errors at both ends: vda on vm1, vda on vm2, vda on vm3, vda on vm4"
    );
}

#[test]
fn each_sign_of_illness_is_told() {
    type Change = fn(&mut HealthSample);
    let ill: [(Change, &str); 4] = [
        (|own| own.drives[0].media_errors = Some(3), "vdb counted 2 more media errors"),
        (|own| own.drives[0].throttled_s = Some(180), "vdb was slowed down by heat for 120 s"),
        (|own| own.drives[0].failing = Some(true), "vdb judges itself failing"),
        (|own| own.thermal_throttles = Some(12), "processors were slowed down by heat 7 times"),
    ];
    for (change, text) in ill {
        let mut after = sample(20, vec![later("vdb")]);
        change(&mut after);
        let run = of_one(sample(10, vec![drive("vdb")]), after);
        let healthy = finding(&run, "drives_healthy");
        assert_eq!((healthy.holds, healthy.text.as_str()), (Some(false), text));
    }
}

#[test]
fn a_drive_that_is_silent_beside_others_leaves_it_open() {
    let with_silent = |at_s, own| HealthSample { silent: silent(0).silent, ..sample(at_s, vec![own]) };
    let run = of_one(with_silent(10, drive("vdb")), with_silent(20, later("vdb")));
    let healthy = finding(&run, "drives_healthy");
    assert_eq!(healthy.holds, None);
    assert!(healthy.text.ends_with("; nothing is known of vda"), "{}", healthy.text);
}

/// The drives below the guests' virtual disks.
#[test]
fn an_observers_drive_is_that_of_all_transactions() {
    let story = Story { observed: Some(1.0), ..Story::default() };
    let of_observer = [Some(sample(910, vec![drive("sdb")])), Some(sample(920, vec![later("sdb")]))];
    let result = told(&story, [Some(silent(10)), Some(silent(20))], of_observer);
    let run = &result.runs[0];
    let own = &run.wear.as_ref().unwrap().drives[0];
    assert_eq!(
        (own.host.as_str(), own.observed, own.transactions),
        ("node", true, 10_800),
        "one has no warm-up"
    );
    let each = 57_344_000.0 / 10_800.0;
    assert_eq!((own.host_written_per_transaction, own.seconds), (Some(each), Some(10.0)));
    let healthy = finding(run, "drives_healthy");
    assert_eq!(healthy.holds, Some(true), "{}", healthy.text);
    assert!(healthy.text.starts_with("sdb on node added no media error"), "{}", healthy.text);
}
