//! Open loops, ramps, statements, restarts: what the load threads tell beside their figures.

use super::story::{Line, Story, conclude_records, name};
use super::*;
use crate::plan::RampPlan;
use crate::protocol::Event;
use crate::protocol::event::{LatencyRecord, LoadEnded, LoadSecond, Settled};
use crate::result::{COORDINATOR, Record};
use crate::stats::latency::StatementHistogram;
use crate::workload::WorkloadKind;
use crate::workload::statement::StatementKind;

/// The story of one instance: 400 transactions a second, 10 ms each, for 6 s.
fn one() -> Story {
    Story { mixes: vec![vec![(400, 10_000_000)]], ..Story::default() }
}

/// The lines with every load's end changed.
fn with_end(lines: Vec<Line>, change: impl Fn(&mut LoadEnded)) -> Vec<Line> {
    let each = lines.into_iter().map(|(from, record)| match record {
        Record::Event(Event::LoadEnded(mut ended)) => {
            change(&mut ended);
            (from, Record::Event(Event::LoadEnded(ended)))
        }
        other => (from, other),
    });
    each.collect()
}

/// One run of an open loop with this rate, that left so many unserved, the oldest for so long.
fn open(rate: u32, unserved: (u64, u64)) -> ResultAnalysis {
    let mut plan = one().plan();
    plan.runs[0].rate_per_s = Some(rate);
    let mut lines = with_end(one().records(), |ended| ended.unserved = Some(unserved));
    for (_, record) in &mut lines {
        if let Record::Event(Event::LoadSecond(second)) = record {
            second.queued = Some(unserved.0.saturating_mul(u64::try_from(second.second + 1).unwrap()) / 6);
        }
    }
    conclude_records(plan, lines)
}

#[test]
fn a_rate_holds_within_chance_or_is_called_saturated() {
    // 2,400 are done. Of 2,616 asked for 99 % less 4 × √2,616 is 2,385; of 2,640, 2,408.
    for (rate, unserved, holds) in [
        (400, (0, 0), Some(true)),
        (436, (3, 1_000_000), Some(true)),
        (440, (0, 0), Some(false)),
        (400, (401, 900_000_000), Some(false)),
    ] {
        let run = open(rate, unserved).runs.remove(0);
        let found = finding(&run, "rate_held");
        assert_eq!(found.holds, holds, "{rate}, {unserved:?}: {}", found.text);
        assert_eq!(found.text.starts_with("saturated"), holds == Some(false), "{}", found.text);
        assert!(run.findings.iter().all(|finding| finding.id != "closed_loop"));
    }
    assert!(one().run().findings.iter().all(|finding| finding.id != "rate_held"));
}

#[test]
fn what_nobody_began_with_raises_tail_and_peak() {
    let run = open(400, (2_000, 4_000_000_000)).runs.remove(0);
    let latency = run.figures.as_ref().unwrap().latency.unwrap();
    assert_eq!((latency.p99_ms, latency.oldest_in_flight_ms), (10.0, Some(4_000.0)));
    // 2,400 done, 4 in flight, 2,000 waiting for up to 4 s: the slowest 44 of 4,404 waited over 3.9 s.
    let with = latency.p99_with_in_flight_ms.unwrap();
    assert!((3_900.0..=4_000.0).contains(&with), "{with}");
    assert_eq!(finding(&run, "in_flight_at_end").holds, Some(false));
    let told = run.load.open_loop.unwrap();
    assert_eq!((told.unserved, told.longest_queue, told.asked_per_s), (Some(2_000), Some(2_000), 400.0));
    assert_eq!(run.series.last().unwrap().queued, Some(2_000));
}

#[test]
fn no_number_of_unserved_is_too_large() {
    for unserved in [(u64::MAX, u64::MAX), (1, u64::MAX), (u64::MAX, 0)] {
        let run = open(400, unserved).runs.remove(0);
        assert_eq!(finding(&run, "rate_held").holds, Some(unserved.0 == 1), "{unserved:?}");
    }
}

#[test]
fn a_ramp_names_the_highest_rate_that_held() {
    let verdict = |rates: &[(u32, (u64, u64))], p99_ms: u64| {
        let runs: Vec<RunAnalysis> =
            rates.iter().map(|(rate, unserved)| open(*rate, *unserved).runs.remove(0)).collect();
        let found = ramp::analyze_ramp(&RampPlan { p99_ns: p99_ms * 1_000_000 }, &runs, None);
        let rate = |step: Option<RampStep>| step.map(|step| step.rate_per_s);
        (rate(found.held), rate(found.failed))
    };
    let long = (900, 2_000_000_000);
    let steps = [(100, (0, 0)), (200, (0, 0)), (300, long), (400, (0, 0)), (800, long), (1_600, long)];
    assert_eq!(verdict(&steps, 20), (Some(400), Some(800)), "a step below the highest may have failed");
    assert_eq!(verdict(&steps[..2], 20), (Some(200), None));
    assert_eq!(verdict(&steps, 5), (None, Some(100)));
    let runs: Vec<RunAnalysis> =
        steps.iter().map(|(rate, unserved)| open(*rate, *unserved).runs.remove(0)).collect();
    let found = ramp::analyze_ramp(&RampPlan { p99_ns: 20_000_000 }, &runs, None);
    assert_eq!(found.failed_below.iter().map(|step| step.rate_per_s).collect::<Vec<_>>(), [300]);
}

#[test]
fn a_ramp_that_ended_says_which_runs_it_needed() {
    let mut plan = one().plan();
    plan.load.ramp = Some(RampPlan { p99_ns: 20_000_000 });
    plan.runs[0].rate_per_s = Some(400);
    plan.runs.push(plan.runs[0].clone());
    let mut lines = with_end(one().records(), |ended| ended.unserved = Some((0, 0)));
    let last = lines.len() - 1;
    lines.insert(last, (COORDINATOR.to_owned(), Record::RampEnded { after: 0 }));
    let result = conclude_records(plan, lines);
    assert_eq!((result.outcome, result.runs.len()), (Outcome::Complete, 1));
    let ramp = result.ramp.unwrap();
    assert_eq!((ramp.last_run, ramp.held.unwrap().p99_ms, ramp.failed), (Some(0), Some(10.0), None));
}

#[test]
fn statements_of_all_instances_are_merged_and_unreadable_ones_noted() {
    let story = Story { mixes: vec![vec![(400, 10_000_000)]; 2], ..Story::default() };
    let record = |latency_ns| {
        let mut latencies = StatementHistogram::new();
        latencies.record_n(latency_ns, 50);
        latencies.to_record()
    };
    let damaged = LatencyRecord { count: 7, ..record(5) };
    let told = |instance, kind, record| {
        (name(instance), Record::Event(Event::LoadStatements([(kind, record)].into())))
    };
    let mut lines = story.records();
    let at =
        lines.iter().position(|(_, record)| matches!(record, Record::Event(Event::LoadEnded(_)))).unwrap();
    lines.insert(at, told(0, StatementKind::Commit, record(2_000_000)));
    lines.insert(at, told(1, StatementKind::Commit, record(4_000_000)));
    lines.insert(at, told(1, StatementKind::Begin, damaged));
    let result = conclude_records(story.plan(), lines);
    let statements = &result.runs[0].load.statements;
    assert_eq!(statements.iter().map(|own| own.kind).collect::<Vec<_>>(), [StatementKind::Commit]);
    assert_eq!((statements[0].count, statements[0].avg_ms, statements[0].time_share), (100, 3.0, 1.0));
    assert!(result.notes[0].starts_with("vm2: latencies of BEGIN: "), "{:?}", result.notes);
}

#[test]
fn in_an_open_loop_waiting_for_a_thread_is_not_the_devices_work() {
    let mut plan = one().plan();
    plan.runs[0].rate_per_s = Some(400);
    let mut latencies = StatementHistogram::new();
    // 2,400 transactions of which each spent 8 ms in statements; 5 pages of 1 ms, and a log write of 2 ms.
    latencies.record_n(8_000_000, 2_400);
    let told = Event::LoadStatements([(StatementKind::PointSelect, latencies.to_record())].into());
    let mut lines = one().records();
    let without = conclude_records(plan.clone(), lines.clone()).runs.remove(0);
    assert!(finding(&without, "device_bound").text.contains("the time that statements took is unknown"));
    let at = lines.iter().position(|(_, record)| matches!(record, Record::Event(Event::LoadEnded(_))));
    lines.insert(at.unwrap(), (name(0), Record::Event(told)));
    let run = conclude_records(plan, lines).runs.remove(0);
    let text = &finding(&run, "device_bound").text;
    assert!(text.contains("explain 88 % of the time that statements took"), "{text}");
}

#[test]
fn each_run_knows_in_what_state_it_found_its_servers() {
    let settled = Settled { waited_ms: 1_200, dirty_pages: 3, history: Some(9), file_bytes: 4_096 };
    let mut lines = one().records();
    lines.insert(0, (name(0), Record::Event(Event::Settled(settled))));
    let told = conclude_records(one().plan(), lines).runs.remove(0).load;
    assert_eq!(told.settled, [SettledServer { host: name(0), settled }]);
    assert_eq!(told.threads.map(|own| (own.threads, own.events_avg)), Some((4, 700.0)));
    assert_eq!(told.rows_added, Some(0));
}

#[test]
fn counters_of_a_server_that_was_started_again_say_nothing() {
    let mut lines = one().records();
    let mut seen = 0;
    let mut then = std::collections::BTreeMap::new();
    for (_, record) in &mut lines {
        if let Record::Event(Event::Server(sample)) = record {
            seen += 1;
            // From the fourth sample on they count anew, and soon pass what the first one said.
            if seen == 4 {
                then = sample.counters.clone();
            }
            then.iter().for_each(|(name, count)| *sample.counters.get_mut(name).unwrap() -= count);
        }
    }
    let run = conclude_records(one().plan(), lines).runs.remove(0);
    assert_eq!(run.figures.as_ref().unwrap().anatomy.misses_per_transaction, None);
    let bypassed = finding(&run, "page_cache_bypassed");
    assert_eq!(bypassed.holds, None);
    let durable = finding(&run, "durable_commits");
    for found in [bypassed, durable, finding(&run, "working_set_exceeds_pool"), finding(&run, "device_bound")]
    {
        assert!(found.text.contains("the server was started anew"), "{}: {}", found.id, found.text);
    }
}

#[test]
fn findings_keep_to_what_a_workload_does() {
    let of = |kind: WorkloadKind, writes: u64, misses: f64| {
        let mut plan = one().plan();
        (plan.workload.kind, plan.workload.transaction) = (kind, kind.has_transactions());
        plan.estimate.misses_per_transaction = misses;
        let mut lines = one().records();
        for (_, record) in &mut lines {
            if let Record::Event(Event::LoadSecond(second)) = record {
                second.writes = writes;
            }
        }
        conclude_records(plan, lines).runs.remove(0)
    };
    let reads = of(WorkloadKind::OltpPointSelect, 0, 1.0);
    let durable = finding(&reads, "durable_commits");
    assert_eq!((durable.holds, durable.text.contains("writes nothing")), (None, true), "{}", durable.text);
    let inserts = of(WorkloadKind::OltpInsert, 400, 0.0);
    let pool = finding(&inserts, "working_set_exceeds_pool");
    assert_eq!((pool.holds, pool.text.contains("looks no row up")), (None, true), "{}", pool.text);
    let large = of(WorkloadKind::OltpInsert, 400, 1.0);
    let pool = finding(&large, "working_set_exceeds_pool");
    assert_eq!(pool.holds, Some(true), "an index that exceeds the pool does miss: {}", pool.text);
    // 300 syncs a second: too few for 4 threads that commit 4,000 times, enough where only 400 changed a row.
    assert_eq!(finding(&inserts, "durable_commits").holds, Some(true));
    let device_waits = |run: &RunAnalysis| finding(run, "device_bound").text.clone();
    // One read of 1 ms for 5 pages of 10 ms; a log write of 2 ms only where a row was changed.
    assert!(device_waits(&reads).contains("explain 50 %"), "{}", device_waits(&reads));
    assert!(device_waits(&inserts).contains("explain 70 %"), "{}", device_waits(&inserts));
}

#[test]
fn transactions_shorter_than_the_loop_prove_nothing_about_it() {
    let story = Story { mixes: vec![vec![(400_000, 900)]], ..Story::default() };
    let found = finding(&story.run(), "closed_loop").clone();
    assert_eq!(found.holds, None);
    assert!(found.text.contains("0.90 µs"), "{}", found.text);
}

/// The story of one instance with each measured second changed, and its end.
fn changed(plan: Plan, second: impl Fn(&mut LoadSecond), end: impl Fn(&mut LoadEnded)) -> RunAnalysis {
    let mut lines = with_end(one().records(), end);
    for (_, record) in &mut lines {
        if let Record::Event(Event::LoadSecond(own)) = record {
            second(own);
        }
    }
    conclude_records(plan, lines).runs.remove(0)
}

#[test]
fn a_delete_that_found_no_row_needs_no_sync() {
    let mut plan = one().plan();
    (plan.workload.kind, plan.workload.transaction) = (WorkloadKind::Delete04, false);
    // 60,000 statements with 1,800 syncs; in warm-up 10,000 more.
    let deletes = |rows_added, ours| {
        let end = |ended: &mut LoadEnded| (ended.rows_added, ended.counted.ours) = (rows_added, ours);
        let run = changed(plan.clone(), |second| second.writes = 10_000, end);
        finding(&run, "durable_commits").clone()
    };
    assert_eq!(deletes(-60_000, 60_000).holds, Some(false), "each found a row: 15,000 syncs are needed");
    let few = deletes(-5_000, 60_000);
    assert_eq!((few.holds, few.text.contains("5000 commits")), (Some(true), true), "{}", few.text);
    let warm = deletes(-10_000, 70_000);
    assert_eq!((warm.holds, warm.text.contains("is not known")), (None, true), "{}", warm.text);
}

#[test]
fn outside_transactions_each_write_is_a_commit() {
    let with = |transaction| {
        let mut plan = one().plan();
        plan.workload.transaction = transaction;
        changed(plan, |second| second.writes = 1_600, |_| ())
    };
    let (inside, outside) = (with(true), with(false));
    // 1,800 syncs: enough for 2,400 commits of 4 threads, and too few for 9,600.
    assert_eq!(finding(&inside, "durable_commits").holds, Some(true));
    assert_eq!(finding(&outside, "durable_commits").holds, Some(false));
    // 5 pages of 1 ms and one log write of 2 ms, or four.
    assert!(finding(&inside, "device_bound").text.contains("explain 70 %"));
    assert!(finding(&outside, "device_bound").text.contains("explain 130 %"));
}

#[test]
fn a_fast_loop_may_spend_two_microseconds_between_transactions() {
    let loops = |n, latency_ns| {
        let story = Story { mixes: vec![vec![(n, latency_ns)]], ..Story::default() };
        let mut lines = with_end(story.records(), |ended| {
            (ended.in_flight_ns, ended.carried_in_ns) = (Vec::new(), 0);
        });
        lines.retain(|(_, record)| !matches!(record, Record::Lost { .. }));
        let run = conclude_records(story.plan(), lines).runs.remove(0);
        finding(&run, "closed_loop").clone()
    };
    // 4 threads: 4 s of 4 s less 2 % or 8 %.
    let fast = loops(98_000, 40_000);
    assert_eq!((fast.holds, fast.text.contains("2 µs between two")), (Some(true), true), "{}", fast.text);
    let held_up = loops(92_000, 40_000);
    assert_eq!(held_up.holds, Some(false));
    assert!(held_up.text.contains("outside transactions"), "{}", held_up.text);
    assert_eq!(loops(392, 10_000_000).holds, Some(false), "2 % of 10 ms is no time between transactions");
}

#[test]
fn a_lost_connection_is_a_reconnect_and_no_ignored_error() {
    let run = changed(
        one().plan(),
        |second| (second.errors, second.reconnects) = ([(2013, 4), (1062, 1)].into(), 4),
        |_| (),
    );
    let figures = run.figures.as_ref().unwrap();
    assert_eq!((figures.errors, figures.reconnects, figures.errors_by_code[&2013]), (6, 24, 24));
    assert_eq!((run.series[2].errors_per_s, run.series[2].reconnects_per_s), (5.0, 4.0));
    let found = finding(&run, "few_errors");
    assert_eq!(found.holds, Some(false), "{}", found.text);
    assert!(found.text.contains("24 × 2013 (connection lost)"), "{}", found.text);
    assert!(found.text.contains("6 × 1062 (duplicate key)"), "{}", found.text);
    assert_eq!(finding(&run, "commits_match").holds, None);
}

#[test]
fn statements_of_an_instance_are_compared_with_its_own_waits() {
    let story = Story { mixes: vec![vec![(400, 10_000_000)]; 2], ..Story::default() };
    let mut plan = story.plan();
    plan.runs[0].rate_per_s = Some(400);
    let mut lines = story.records();
    let at =
        lines.iter().position(|(_, record)| matches!(record, Record::Event(Event::LoadEnded(_)))).unwrap();
    for (instance, latency_ns) in [(0, 8_000_000), (1, 80_000_000)] {
        let mut latencies = StatementHistogram::new();
        latencies.record_n(latency_ns, 2_400);
        let told = Event::LoadStatements([(StatementKind::PointSelect, latencies.to_record())].into());
        lines.insert(at, (name(instance), Record::Event(told)));
    }
    let run = conclude_records(plan, lines).runs.remove(0);
    let text = &finding(&run, "device_bound").text;
    assert!(
        text.contains("holds on 1 of 2 (88 %")
            && text.contains("vm2 (undetermined: device waits explain 9 %"),
        "{text}"
    );
}

#[test]
fn a_segment_does_not_say_what_was_in_flight() {
    let run = Story { lost: Some((1, 4)), ..Story::default() }.run();
    let known = |latency: Option<LatencySummary>| latency.unwrap().p99_with_in_flight_ms;
    assert!(run.segments.iter().all(|segment| known(segment.latency).is_none()));
    assert_eq!(known(one().run().figures.unwrap().latency), Some(10.0));
}

#[test]
fn an_unfilled_pool_excuses_only_misses_that_were_not_expected() {
    let text = |expected: f64, dataset_bytes| {
        let mut plan = one().plan();
        (plan.estimate.misses_per_transaction, plan.estimate.dataset_bytes) = (expected, dataset_bytes);
        let mut lines = one().records();
        for (_, record) in &mut lines {
            match record {
                Record::Event(Event::Server(sample)) => {
                    sample.counters.insert("Innodb_buffer_pool_pages_free".into(), 900);
                    sample.counters.insert("Innodb_buffer_pool_pages_total".into(), 1_000);
                }
                Record::Event(Event::ServerReady(ready)) => {
                    ready.variables.insert("innodb_lru_scan_depth".into(), "0".into());
                }
                _ => {}
            }
        }
        let run = conclude_records(plan, lines).runs.remove(0);
        finding(&run, "working_set_exceeds_pool").text.clone()
    };
    // The pool has 30 MB; 5 pages are read for each transaction.
    assert!(text(21.0, 300_000_000).contains("still 90 % empty"));
    assert!(!text(5.1, 300_000_000).contains("empty"), "what was expected came about");
    assert!(!text(21.0, 20_000_000).contains("empty"), "the pool holds all and need never fill");
}

#[test]
fn busy_processors_decide_nothing_while_waits_are_unknown() {
    let with = |knows_misses: bool| {
        let mut lines = one().records();
        for (_, record) in &mut lines {
            match record {
                Record::Event(Event::Host(sample)) => {
                    (sample.cpu.user, sample.cpu.idle) = (sample.cpu.idle, 0)
                }
                Record::Event(Event::Server(sample)) if !knows_misses => {
                    sample.counters.remove("Innodb_buffer_pool_reads");
                }
                _ => {}
            }
        }
        let run = conclude_records(one().plan(), lines).runs.remove(0);
        finding(&run, "device_bound").clone()
    };
    assert_eq!(with(true).holds, Some(false), "{}", with(true).text);
    let unknown = with(false);
    assert_eq!((unknown.holds, unknown.text.contains("are unknown")), (None, true), "{}", unknown.text);
}
