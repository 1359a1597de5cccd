//! Ends of a run: who was there, and what was measured, however it ended.

use super::story::{DURATION_S, Line, SECOND_NS, Story, conclude_records, name};
use super::*;
use crate::protocol::Event;
use crate::protocol::event::{LoadEndCause, LoadEnded};
use crate::result::{COORDINATOR, Ending, Record};

fn event(host: &str, event: Event) -> Line {
    (host.to_owned(), Record::Event(event))
}

fn lost(host: &str) -> Line {
    (host.to_owned(), Record::Lost { reason: format!("{host}: ssh: connection reset") })
}

/// How a load ended after so many measured seconds.
fn ended(instance: usize, cause: LoadEndCause, seconds: f64) -> Line {
    let measured_ns = (seconds * SECOND_NS as f64) as u64;
    let ended = LoadEnded { cause, measured_ns, ..Story::default().ended(instance) };
    event(&name(instance), Event::LoadEnded(ended))
}

fn is_second(line: &Line, wanted: impl Fn(i64) -> bool) -> bool {
    matches!(&line.1, Record::Event(Event::LoadSecond(load)) if wanted(load.second))
}

fn is_end(line: &Line) -> bool {
    matches!(&line.1, Record::Event(Event::LoadEnded(_)))
}

/// The story's lines up to the ends of its loads: the first so many measured seconds of each instance.
fn until(seconds: [i64; 4]) -> Vec<Line> {
    let mut lines = Story::default().records();
    lines.truncate(lines.iter().position(is_end).unwrap());
    lines.retain(|line| {
        let last = (0..4).find(|&instance| name(instance) == line.0).map_or(DURATION_S, |n| seconds[n]);
        !is_second(line, |second| second >= last)
    });
    lines
}

fn close(lines: &mut Vec<Line>, ending: Ending, shortfall: Option<&str>) {
    let coordinator = |record| (COORDINATOR.to_owned(), record);
    let shortfall = shortfall.map(str::to_owned);
    lines.push(coordinator(Record::RunEnded { run: 0, shortfall: shortfall.clone() }));
    lines.push(coordinator(Record::Closed { ending, reason: shortfall }));
}

fn analyzed(lines: Vec<Line>) -> ResultAnalysis {
    conclude_records(Story::default().plan(), lines)
}

fn lost_hosts(run: &RunAnalysis) -> Vec<&str> {
    let lost = run.per_instance.iter().filter(|own| own.lost.is_some());
    lost.map(|own| own.host.as_str()).collect()
}

#[test]
fn loads_that_all_end_by_their_events_have_a_headline_however_early() {
    let run = |causes: [LoadEndCause; 4]| {
        let mut lines = until([2; 4]);
        lines.extend((0..4).map(|instance| ended(instance, causes[instance], 2.0)));
        close(&mut lines, Ending::Complete, None);
        analyzed(lines).runs.remove(0)
    };
    let events = run([LoadEndCause::Events; 4]);
    assert_eq!((events.outcome, events.instances_present), (Outcome::Complete, 4));
    let figures = events.figures.as_ref().unwrap();
    assert_eq!((figures.seconds, figures.tps), (2.0, 1_600.0));
    assert!(figures.latency.unwrap().oldest_in_flight_ms.is_some());
    use LoadEndCause::{Events, Stopped};
    assert_eq!(run([Events, Events, Events, Stopped]).figures, None, "somebody was to go on");
}

#[test]
fn when_one_ends_earlier_by_its_events_all_took_part_and_ages_are_of_another_moment() {
    let mut lines = until([3, 4, 4, 4]);
    lines.extend((0..4).map(|n| ended(n, LoadEndCause::Events, if n == 0 { 3.0 } else { 4.0 })));
    close(&mut lines, Ending::Complete, None);
    let run = analyzed(lines).runs.remove(0);
    assert_eq!((run.instances_present, run.figures.as_ref().unwrap().seconds), (4, 3.0));
    let present = finding(&run, "every_instance_present");
    assert_eq!(present.text, "all 4 instances took part, each to its end");
    let oldest = |own: &InstanceAnalysis| own.figures.latency.unwrap().oldest_in_flight_ms;
    let known: Vec<bool> = run.per_instance.iter().map(|own| oldest(own).is_some()).collect();
    assert_eq!(known, [true, false, false, false], "the others' ages are of a second later");
    assert_eq!(run.figures.as_ref().unwrap().latency.unwrap().oldest_in_flight_ms, None);
    assert_eq!((finding(&run, "closed_loop").holds, finding(&run, "in_flight_at_end").holds), (None, None));
}

#[test]
fn a_headline_that_does_not_begin_at_t0_knows_nothing_of_what_was_carried_in() {
    let mut lines = Story::default().records();
    lines.retain(|line| line.0 != "vm2" || !is_second(line, |second| second == 0));
    let run = analyzed(lines).runs.remove(0);
    assert_eq!(run.segments.iter().map(|s| s.headline).collect::<Vec<_>>(), [false, true]);
    assert_eq!(finding(&run, "closed_loop").holds, None);
}

#[test]
fn before_the_first_second_nobody_lags_behind() {
    let mut lines = until([0; 4]);
    lines.retain(|line| !is_second(line, |_| true));
    let killed = analyzed(lines.clone()).runs.remove(0);
    assert_eq!((killed.instances_present, lost_hosts(&killed)), (4, vec![]));
    assert_eq!(finding(&killed, "every_instance_present").holds, None);
    let later = analyzed(until([3, 3, 2, 3])).runs.remove(0);
    let present = finding(&later, "every_instance_present");
    assert_eq!(present.text, "all 4 instances took part as far as the journal goes");

    let mut interrupted = lines.clone();
    interrupted.extend((0..4).map(|instance| ended(instance, LoadEndCause::Stopped, 0.0)));
    close(&mut interrupted, Ending::Interrupted, Some("interrupted"));
    interrupted.pop();
    let reason = Some("stopped by its user".to_owned());
    interrupted.push((COORDINATOR.to_owned(), Record::Closed { ending: Ending::Interrupted, reason }));
    let run = analyzed(interrupted).runs.remove(0);
    assert_eq!((run.instances_present, run.outcome), (4, Outcome::Interrupted));
    assert_eq!(run.reason.as_deref(), Some("stopped by its user"), "not its own name");

    lines.push(lost("vm2"));
    close(&mut lines, Ending::Failed, Some("vm2: ssh: connection reset"));
    let run = analyzed(lines).runs.remove(0);
    assert_eq!((run.instances_present, lost_hosts(&run)), (3, vec!["vm2"]));
    let present = finding(&run, "every_instance_present");
    assert_eq!(
        (present.holds, present.text.as_str()),
        (Some(false), "3 of 4 instances took part all along; vm2 measured nothing: ssh: connection reset")
    );
}

#[test]
fn one_that_ended_as_planned_measured_everything_whatever_befell_it_then() {
    for cause in [LoadEndCause::Time, LoadEndCause::Events] {
        let mut lines = until([DURATION_S; 4]);
        lines.push(ended(1, cause, 6.0));
        lines.push(lost("vm2"));
        lines.extend([0, 2, 3].map(|instance| ended(instance, cause, 6.0)));
        close(&mut lines, Ending::Complete, None);
        let run = analyzed(lines).runs.remove(0);
        assert_eq!((run.outcome, run.instances_present, lost_hosts(&run)), (Outcome::Complete, 4, vec![]));
        assert_eq!(finding(&run, "every_instance_present").holds, Some(true));
    }
}

#[test]
fn what_a_lost_instance_still_says_does_not_bring_it_back() {
    for cause in [LoadEndCause::Stopped, LoadEndCause::Time] {
        let mut lines = until([DURATION_S, 4, DURATION_S, DURATION_S]);
        lines.push(lost("vm2"));
        lines.push(ended(1, cause, 4.0));
        lines.push(event("vm2", Event::ServerStopped));
        lines.extend([0, 2, 3].map(|instance| ended(instance, LoadEndCause::Time, 6.0)));
        close(&mut lines, Ending::Complete, None);
        let run = analyzed(lines).runs.remove(0);
        assert_eq!((run.instances_present, lost_hosts(&run)), (3, vec!["vm2"]), "{cause:?}");
        assert_eq!(run.outcome, Outcome::Partial);
        assert_eq!(run.per_instance[0].figures.latency.unwrap().oldest_in_flight_ms, None);
    }
}

/// Three instances are stopped just before a second is over, the fourth just after.
fn interrupted(with_loss: bool) -> RunAnalysis {
    let mut lines = until([4, 4, 4, 5]);
    let mut cut_short = |line: &mut Line| match &mut line.1 {
        Record::Event(Event::LoadSecond(load)) if load.second == 4 => load.length_ns = 800_000,
        _ => {}
    };
    lines.iter_mut().for_each(&mut cut_short);
    if with_loss {
        lines.push(lost("vm2"));
    }
    let stopped = |&instance: &usize| !with_loss || instance != 1;
    let seconds = |instance| if instance == 3 { 4.0008 } else { 4.0 };
    lines.extend((0..4).filter(stopped).map(|n| ended(n, LoadEndCause::Stopped, seconds(n))));
    close(&mut lines, Ending::Interrupted, Some("interrupted"));
    analyzed(lines).runs.remove(0)
}

#[test]
fn an_interrupt_at_the_edge_of_a_second_is_no_change_of_members() {
    let run = interrupted(false);
    assert_eq!(run.segments.iter().map(|s| (s.hosts.len(), s.seconds)).collect::<Vec<_>>(), [(4, 4.0)]);
    assert_eq!((run.instances_present, run.figures.as_ref().unwrap().tps), (4, 1_600.0));
    let last = |own: &InstanceAnalysis| own.series.last().map(|second| second.second);
    assert_eq!(run.per_instance.iter().map(last).collect::<Vec<_>>(), [Some(3); 4]);
    assert_eq!(finding(&run, "in_flight_at_end").holds, None, "vm4's transactions are of a moment later");

    let run = interrupted(true);
    assert_eq!(run.segments.iter().map(|s| s.hosts.len()).collect::<Vec<_>>(), [4, 1]);
}

#[test]
fn an_observers_warning_within_a_run_is_told() {
    let story = Story { observed: Some(1.0), ..Story::default() };
    let mut lines = story.records();
    let place = lines.iter().position(is_end).unwrap();
    lines.insert(place, event("node", Event::Warning { text: "samples were late".to_owned() }));
    assert_eq!(conclude_records(story.plan(), lines).notes, ["node: samples were late"]);
}

#[test]
fn an_observer_is_told_to_the_end_of_a_last_second_that_was_cut_short() {
    let story = Story { observed: Some(1.0), lost: Some((1, 1)), seconds: 5, ..Story::default() };
    let mut lines = story.records();
    let samples = lines.iter().filter(|line| line.0 == "node").count();
    let end = lines.iter().rposition(|line| line.0 == "node").unwrap();
    lines.remove(end);
    for (_, record) in &mut lines {
        if let Record::Event(Event::LoadSecond(load)) = record {
            load.length_ns = if load.second == 4 { 100_000_000 } else { load.length_ns };
        }
    }
    let run = conclude_records(story.plan(), lines).runs.remove(0);
    assert_eq!((run.figures.as_ref(), samples), (None, 8), "facts, and a sample from -1 to 5");
    assert_eq!(run.observers[0].device.unwrap().reads_per_s, 2_000.0);
}

#[test]
fn a_clock_that_was_not_measured_again_counts_as_not_moved() {
    let text = |of: &dyn Fn(&str) -> bool| {
        let mut lines = Story { parted_ns: 80_000_000, ..Story::default() }.records();
        let start = lines.iter().position(|line| matches!(line.1, Record::RunStarted { .. })).unwrap();
        let mut later = lines.split_off(start);
        later.retain(|(from, record)| !matches!(record, Record::Clock { .. }) || of(from));
        lines.append(&mut later);
        let found = finding(&analyzed(lines).runs[0], "common_window").clone();
        (found.holds, found.text.contains("parted by 80.00 ms"))
    };
    assert_eq!(text(&|host| host != "vm3"), (Some(false), true));
    assert_eq!(text(&|_| false), (Some(true), false));
}

#[test]
fn an_interrupt_after_a_run_that_went_on_without_some_did_not_interrupt_it() {
    let mut lines = until([DURATION_S, 4, DURATION_S, DURATION_S]);
    lines.push(lost("vm2"));
    lines.extend([0, 2, 3].map(|instance| ended(instance, LoadEndCause::Time, 6.0)));
    close(&mut lines, Ending::Interrupted, Some("3 of 4 instances ran to the end: vm2"));
    let result = analyzed(lines);
    assert_eq!((result.outcome, result.runs[0].outcome), (Outcome::Interrupted, Outcome::Partial));
    assert_eq!(interrupted(true).outcome, Outcome::Interrupted);
}
