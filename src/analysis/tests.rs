//! Fleets: journals written here, with figures that can be checked by hand.

mod devices;
mod ends;
mod host;
mod load;
mod story;
mod wear;

use super::*;
use story::Story;

fn finding<'a>(run: &'a RunAnalysis, id: &str) -> &'a Finding {
    run.findings.iter().find(|finding| finding.id == id).unwrap_or_else(|| panic!("no finding {id}"))
}

#[test]
fn four_instances_add_up() {
    let run = Story::default().run();
    let figures = run.figures.as_ref().unwrap();
    assert_eq!((figures.tps, figures.transactions, figures.seconds), (1_600.0, 9_600, 6.0));
    assert_eq!((run.instances, run.instances_present, run.segments.len()), (4, 4, 1));
    let device = figures.device.unwrap();
    assert_eq!((device.reads_per_s, device.read_kb_per_s), (8_000.0, 128_000.0));
    assert_eq!((device.read_await_ms, device.write_await_ms, device.util_pct), (1.0, 2.0, 60.0));
    assert_eq!(run.device_name.as_deref(), Some("vdb × 4"));
    assert_eq!(figures.anatomy.misses_per_transaction, Some(5.0));
    assert_eq!(figures.anatomy.pool_hit_ratio, Some(0.75));
    assert_eq!(figures.cpu.unwrap().user, 0.3);
    assert_eq!(run.per_instance[2].figures.device.unwrap().reads_per_s, 2_000.0);
    let point = run.series.iter().find(|point| point.second == 3).unwrap();
    assert_eq!((point.tps, point.p99_ms, point.misses_per_s), (1_600.0, Some(10.0), Some(8_000.0)));
    assert_eq!(point.device.unwrap().reads_per_s, 8_000.0);
    assert_eq!(run.fairness.as_ref().unwrap().jain_index, 1.0);
}

#[test]
fn every_finding_of_a_fleet_holds_when_all_is_well() {
    let run = Story { observed: Some(1.02), ..Story::default() }.run();
    let doubtful: Vec<_> = run.findings.iter().filter(|f| f.holds != Some(true)).map(|f| f.id).collect();
    assert_eq!(doubtful, ["journal_off_device"], "{:#?}", run.findings);
    let texts = run.findings.iter().map(|f| format!("{}: {}", f.id, f.text)).collect::<Vec<_>>();
    insta::assert_snapshot!(texts.join("\n"));
}

#[test]
fn each_finding_of_a_fleet_can_fail() {
    let fails: [(Story, &str, &str); 7] = [
        (
            Story { lost: Some((1, 4)), ..Story::default() },
            "every_instance_present",
            "vm2 lost after second 4",
        ),
        (Story { late_ns: 60_000_000, ..Story::default() }, "common_window", "within 60.00 ms"),
        (Story { bound_ns: 30_000_000, ..Story::default() }, "common_window", "give or take 60.00 ms"),
        (Story { parted_ns: 80_000_000, ..Story::default() }, "common_window", "parted by 80.00 ms"),
        (Story { same_seeds: true, ..Story::default() }, "seeds_distinct", "only 4 seeds"),
        (Story { observed: Some(2.0), ..Story::default() }, "guest_vs_hypervisor", "replication"),
        (Story { durable: "2", ..Story::default() }, "durable_commits", "does not hold on vm4 (innodb_flush"),
    ];
    for (story, id, text) in fails {
        let run = story.run();
        let found = finding(&run, id);
        assert_eq!(found.holds, Some(false), "{id}: {}", found.text);
        assert!(found.text.contains(text), "{id}: {}", found.text);
    }
}

#[test]
fn percentiles_come_from_merged_histograms() {
    // A: 9,950 × 10 ms and 50 × 20 ms, B: 100 × 500 ms, over six seconds each.
    let a = vec![(9_950, 10_000_000), (50, 20_000_000)];
    let run = Story { mixes: vec![a, vec![(100, 500_000_000)]], ..Story::default() }.run();
    let within = |got: f64, want: f64| assert!((got - want).abs() <= want * 0.001, "{got}, not {want}");
    let latency = run.figures.as_ref().unwrap().latency.unwrap();
    within(latency.p99_ms, 20.0);
    assert_eq!(latency.peak_ms, 500.0);
    within(latency.avg_ms, (9_950.0 * 10.0 + 50.0 * 20.0 + 100.0 * 500.0) / 10_100.0);
    let others = run.others_print.as_ref().unwrap();
    within(others.mean_p99_ms, 255.0);
    within(others.worst_p99_ms, 500.0);
    assert_eq!(others.worst_host, "vm2");
    let fairness = run.fairness.as_ref().unwrap();
    assert_eq!((fairness.slowest.as_str(), fairness.min_max_ratio), ("vm2", 0.01));
    assert_eq!(run.series.last().unwrap().p99_ms, Some(latency.p99_ms));
}

#[test]
fn the_headline_is_the_time_with_all_instances() {
    let run = Story { lost: Some((1, 4)), ..Story::default() }.run();
    assert_eq!((run.instances_present, run.figures.as_ref().unwrap().seconds), (3, 4.0));
    assert_eq!(run.figures.as_ref().unwrap().tps, 1_600.0);
    let cut: Vec<_> =
        run.segments.iter().map(|s| (s.hosts.len(), s.first_second, s.last_second, s.tps)).collect();
    assert_eq!(cut, [(4, 0, 3, 1_600.0), (3, 4, 5, 1_200.0)]);
    assert_eq!(run.segments.iter().map(|segment| segment.headline).collect::<Vec<_>>(), [true, false]);
    assert_eq!(run.per_instance[1].lost.as_deref(), Some("ssh: connection reset"));
    assert_eq!(finding(&run, "closed_loop").holds, None);
}

#[test]
fn without_half_of_the_plan_there_is_no_headline() {
    let result = Story { lost: Some((1, 2)), ..Story::default() }.analyzed();
    let run = &result.runs[0];
    assert_eq!((run.outcome, &run.figures), (Outcome::Partial, &None));
    assert_eq!(run.reason.as_deref(), Some("3 of 4 instances: vm2 was lost"));
    assert_eq!((result.outcome, &result.reason), (Outcome::Partial, &run.reason));
    assert_eq!(run.segments.iter().map(|s| s.seconds).collect::<Vec<_>>(), [2.0, 4.0]);
    let own: Vec<f64> = run.per_instance.iter().map(|own| own.figures.seconds).collect();
    assert_eq!(own, [6.0, 2.0, 6.0, 6.0], "each over what it measured");
    assert_eq!(run.percentiles, []);
    assert!(run.series.iter().any(|point| point.second == 5 && point.tps == 1_200.0));
}

#[test]
fn without_a_headline_each_instance_has_what_it_measured_even_if_none_was_lost() {
    let run = Story { seconds: 2, ..Story::default() }.run();
    assert_eq!((&run.figures, run.segments.len()), (&None, 1));
    let own: Vec<_> = run.per_instance.iter().map(|own| (own.figures.seconds, own.figures.tps)).collect();
    assert_eq!(own, [(2.0, 400.0); 4]);
}

#[test]
fn an_instance_whose_load_did_not_run_is_no_member() {
    let run = Story { late_s: 2, ..Story::default() }.run();
    let cut: Vec<_> = run.segments.iter().map(|s| (s.hosts.len(), s.first_second, s.last_second)).collect();
    assert_eq!(cut, [(3, 0, 1), (4, 2, 5)]);
    assert_eq!((run.instances_present, run.figures.as_ref().unwrap().tps), (3, 1_600.0));
    let present = finding(&run, "every_instance_present");
    assert_eq!(present.holds, Some(false));
    assert!(present.text.contains("vm2 began in second 3"), "{}", present.text);
    let never = Story { late_s: 10, ..Story::default() }.run();
    assert_eq!((&never.figures, never.segments.len()), (&None, 1));
}

#[test]
fn a_killed_coordinator_leaves_a_partial_fleet() {
    let result = Story { closed: false, ..Story::default() }.analyzed();
    assert_eq!((result.outcome, result.runs[0].outcome), (Outcome::Partial, Outcome::Partial));
    assert!(result.reason.unwrap().contains("after second 6 of 6"));
    assert_eq!(result.runs[0].figures.as_ref().unwrap().tps, 1_600.0);
}
