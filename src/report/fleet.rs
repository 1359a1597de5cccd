//! What a run of several instances adds to a report, in words and formatted figures.

use super::devices;
use super::document::{HeadlineRow, device_columns, latency_ms, outcome_word, rate_label};
use super::grid::Grid;
use super::machine;
use super::number::{self, MISSING, or_missing};
use crate::analysis::{InstanceAnalysis, ResultAnalysis, RunAnalysis, SegmentAnalysis};
use crate::plan::{IdlePolicy, LossPolicy, Plan};

/// Segments of a run that a report lists.
const MOST_SEGMENTS: usize = 8;

/// `4`: figures are of all that were planned. Without figures, how many of them took part to the end.
pub(super) fn instances_label(run: &RunAnalysis) -> String {
    if run.figures.is_some() { run.instances.to_string() } else { of_planned(run.instances_present, run) }
}

/// `PARTIAL`, or `PARTIAL, 3 of 4` beside figures of all when not all took part to the end.
pub(super) fn outcome_label(run: &RunAnalysis) -> String {
    let (word, present) = (outcome_word(run.outcome), run.instances_present);
    match run.figures.is_some() && run.is_fleet() && present < run.instances as usize {
        true => format!("{word}, {present} of {}", run.instances),
        false => word,
    }
}

fn of_planned(present: usize, run: &RunAnalysis) -> String {
    match run.is_fleet() && present < run.instances as usize {
        true => format!("{present} of {}", run.instances),
        false => run.instances.to_string(),
    }
}

/// Hosts, and what becomes of the others when one is lost or not needed; nothing for one host.
pub(super) fn plan_rows(plan: &Plan) -> Vec<(&'static str, String)> {
    let fleet = &plan.fleet;
    let names = |hosts: Vec<&str>| hosts.join(", ");
    let mut rows = Vec::new();
    if fleet.instances.len() > 1 {
        rows.push(("Hosts", names(fleet.instances.iter().map(|own| own.host.as_str()).collect())));
        let lost = match fleet.on_loss {
            LossPolicy::Stop => "the others stop",
            LossPolicy::Continue => "the others go on",
        };
        let idle = match fleet.idle {
            IdlePolicy::Leave => "their servers stay up",
            IdlePolicy::Stop => "their servers are stopped",
        };
        rows.push(("When an instance is lost", lost.to_owned()));
        rows.push(("Instances that a run does not need", idle.to_owned()));
    }
    if !fleet.observers.is_empty() {
        let observers: Vec<String> =
            fleet.observers.iter().map(|own| format!("{} ({})", own.host, own.device)).collect();
        rows.push(("Observers", observers.join(", ")));
    }
    rows
}

/// A row for each segment of a run whose window was cut, or that has no headline.
pub(super) fn segment_rows(run: &RunAnalysis) -> Vec<HeadlineRow> {
    let segments = &run.segments;
    if !run.is_fleet() || (segments.len() < 2 && run.figures.is_some()) {
        return Vec::new();
    }
    let mut rows: Vec<HeadlineRow> =
        segments.iter().take(MOST_SEGMENTS).map(|segment| segment_row(run, segment)).collect();
    if let (Some(last), Some(more)) = (rows.last_mut(), segments.len().checked_sub(MOST_SEGMENTS + 1)) {
        last.device += &format!(" … and {} more stretches", more + 1);
    }
    rows
}

fn segment_row(run: &RunAnalysis, segment: &SegmentAnalysis) -> HeadlineRow {
    let latency = |value| latency_ms(segment.latency.as_ref(), value);
    HeadlineRow {
        device: format!("· seconds {}", between(segment)),
        instances: of_planned(segment.hosts.len(), run),
        threads: run.threads.to_string(),
        rate: rate_label(run.rate_per_s, run.instances),
        tps: number::decimals(segment.tps, 2),
        avg_ms: latency(|l| l.avg_ms),
        p95_ms: latency(|l| l.p95_ms),
        p99_ms: latency(|l| l.p99_ms),
        tail_ms: latency(|l| l.p99_ms),
        peak_ms: latency(|l| l.peak_ms),
        errors: number::count(segment.errors),
        is_segment: true,
        outcome: if segment.headline { "headline" } else { "stretch" }.to_owned(),
        state: "stretch",
        findings: String::new(),
        alarming: false,
    }
}

/// `12–60`: seconds as they pass, so that the last one ends at the second number; `12–59.3` when it was cut
/// short.
fn between(segment: &SegmentAnalysis) -> String {
    let (first, end) = (segment.first_second, segment.last_second.saturating_add(1));
    let cut = end.saturating_sub(first) as f64 - segment.seconds;
    // More than a second is missing where nobody reported one.
    match (0.05..1.0).contains(&cut) {
        true => format!("{first}–{:.1}", end as f64 - cut),
        false => format!("{first}–{end}"),
    }
}

/// What must stand beside the figures of a run of several instances.
pub(super) fn statements(run: &RunAnalysis) -> Vec<String> {
    if !run.is_fleet() {
        return Vec::new();
    }
    let mut said = Vec::new();
    let headline = run.segments.iter().find(|segment| segment.headline);
    match (&run.figures, headline) {
        (None, _) => said.push(
            "No headline: all instances together measured less than half of the planned time. Each stretch of \
             constant membership stands for itself."
                .to_owned(),
        ),
        (Some(_), Some(segment)) if run.segments.len() > 1 => said.push(format!(
            "The figures are of all {} instances in seconds {}, the longest stretch in which they were together.",
            run.instances,
            between(segment)
        )),
        _ => {}
    }
    if let Some(others) = &run.others_print {
        let latency = run.figures.as_ref().and_then(|figures| figures.latency.as_ref());
        let merged = latency.map(|latency| {
            format!("; the 99th percentile of all transactions is {} ms", number::ms(latency.p99_ms))
        });
        said.push(format!(
            "What others print: mean of the instances' 99th percentiles {} ms, worst instance's {} ms ({}){}.",
            number::ms(others.mean_p99_ms),
            number::ms(others.worst_p99_ms),
            others.worst_host,
            merged.unwrap_or_default()
        ));
    }
    if let Some(fairness) = &run.fairness {
        said.push(format!(
            "Fairness by TPS: Jain's index {}; the slowest instance, {}, did {} of the fastest.",
            number::decimals(fairness.jain_index, 4),
            fairness.slowest,
            number::percent(fairness.min_max_ratio)
        ));
    }
    said
}

/// The tables of a run of several instances: their load, their I/O, and what observers saw.
pub(super) fn grids(run: &RunAnalysis) -> Vec<Grid> {
    let mut grids = Vec::new();
    if run.is_fleet() && !run.per_instance.is_empty() {
        grids.extend([load_grid(run), io_grid(run)]);
        grids.extend(machine::grid(run));
    }
    if !run.observers.is_empty() {
        grids.push(observer_grid(run));
    }
    grids.extend(devices::below_grid(run));
    grids
}

fn load_grid(run: &RunAnalysis) -> Grid {
    let slowest = run.fairness.as_ref().map(|fairness| fairness.slowest.as_str());
    let row = |own: &InstanceAnalysis| {
        let figures = &own.figures;
        let latency = |value| latency_ms(figures.latency.as_ref(), value);
        let mut remarks = Vec::new();
        if own.lost.is_some() {
            let after = own.last_second.map(|second| format!("lost after {} s", second.saturating_add(1)));
            remarks.push(after.unwrap_or_else(|| "lost before T0".to_owned()));
        }
        if slowest == Some(&own.host) {
            remarks.push("slowest".to_owned());
        }
        vec![
            own.host.clone(),
            remarks.join(", "),
            number::decimals(figures.seconds, 1),
            number::decimals(figures.tps, 2),
            latency(|l| l.avg_ms),
            latency(|l| l.p95_ms),
            latency(|l| l.p99_ms),
            latency(|l| l.peak_ms),
            number::count(figures.errors),
        ]
    };
    Grid {
        title: "Instances: load".to_owned(),
        hint: match run.figures.is_some() {
            true => "Over the same seconds as the headline.",
            false => "Each over all the seconds that it measured.",
        },
        headers: vec!["Instance", "", "Seconds", "TPS", "Avg ms", "p95 ms", "p99 ms", "Peak ms", "Errors"],
        rows: run.per_instance.iter().map(row).collect(),
        labels: 2,
    }
}

fn io_grid(run: &RunAnalysis) -> Grid {
    let row = |own: &InstanceAnalysis| {
        let io = &own.figures.anatomy;
        let rate = |value: fn(&crate::stats::device::DeviceRates) -> f64, places| {
            or_missing(own.figures.device.as_ref().map(value), |value| number::decimals(value, places))
        };
        let busy = own.figures.cpu.map(|cpu| 1.0 - cpu.idle - cpu.iowait);
        vec![
            own.host.clone(),
            own.device_name.clone().unwrap_or_else(|| MISSING.to_owned()),
            rate(|d| d.reads_per_s, 1),
            rate(|d| d.read_await_ms, 2),
            rate(|d| d.writes_per_s, 1),
            rate(|d| d.write_await_ms, 2),
            rate(|d| d.util_pct, 1),
            or_missing(busy, number::percent),
            or_missing(io.misses_per_transaction, number::mean),
            or_missing(io.pool_hit_ratio, number::percent),
        ]
    };
    Grid {
        title: "Instances: I/O".to_owned(),
        hint: "Misses: buffer-pool misses a transaction. Hits: page requests answered by the pool.",
        headers: vec![
            "Instance", "Device", "r/s", "r_await", "w/s", "w_await", "%util", "CPU busy", "Misses", "Hits",
        ],
        rows: run.per_instance.iter().map(row).collect(),
        labels: 2,
    }
}

/// Columns that are left out, so that a line stays within a terminal.
const LEFT_OUT: [&str; 4] = ["rareq-sz", "wareq-sz", "f/s", "f_await"];

fn observer_grid(run: &RunAnalysis) -> Grid {
    let mut headers = vec!["Observer", "Device"];
    let mut rows = Vec::new();
    for observer in &run.observers {
        let name = observer.device_name.clone().unwrap_or_else(|| MISSING.to_owned());
        let mut row = vec![observer.host.clone(), name];
        let columns = observer.device.as_ref().map(device_columns).unwrap_or_default();
        let columns = columns.into_iter().filter(|(column, _)| !LEFT_OUT.contains(column));
        let (named, figures): (Vec<&str>, Vec<String>) = columns.unzip();
        if headers.len() == 2 {
            headers.extend(named);
        }
        row.extend(figures);
        rows.push(row);
    }
    let width = headers.len();
    rows.iter_mut().for_each(|row| row.resize_with(width, || MISSING.to_owned()));
    Grid {
        title: "Observers".to_owned(),
        hint: match run.figures.is_some() {
            true => "Hosts that only sampled, over the same seconds.",
            false => "Hosts that only sampled, over all seconds of the run.",
        },
        headers,
        rows,
        labels: 2,
    }
}

/// TPS and 99th percentile against the number of instances; `None` unless there are two numbers.
pub(super) fn scaling(result: &ResultAnalysis) -> Option<Grid> {
    let counted = scaling_points(result);
    let (first_count, first_tps, _) = *counted.first()?;
    let least = first_tps / f64::from(first_count);
    let row = |&(count, tps, p99): &(u32, f64, Option<f64>)| {
        let each = tps / f64::from(count);
        vec![
            count.to_string(),
            number::decimals(tps, 2),
            number::decimals(each, 2),
            if least > 0.0 { number::percent(each / least) } else { MISSING.to_owned() },
            or_missing(p99, number::ms),
        ]
    };
    (counted.len() > 1).then(|| Grid {
        title: "Scaling".to_owned(),
        hint: "Kept: TPS of an instance beside that at the smallest number of instances.",
        headers: vec!["Instances", "TPS", "TPS each", "Kept", "p99 ms"],
        rows: counted.iter().map(row).collect(),
        labels: 1,
    })
}

/// Instances, TPS and 99th percentile of each run with a headline, ascending; empty when all runs have
/// the same number or threads or rates differ as well.
pub(super) fn scaling_points(result: &ResultAnalysis) -> Vec<(u32, f64, Option<f64>)> {
    let point = |run: &RunAnalysis| {
        let figures = run.figures.as_ref()?;
        Some((run.instances, figures.tps, figures.latency.map(|latency| latency.p99_ms)))
    };
    let mut points: Vec<_> = result.runs.iter().filter_map(point).collect();
    points.sort_by_key(|(count, ..)| *count);
    let threads = result
        .runs
        .iter()
        .map(|run| (run.threads, run.rate_per_s))
        .collect::<std::collections::BTreeSet<_>>();
    let differ = points.first().map(|point| point.0) != points.last().map(|point| point.0);
    if differ && threads.len() == 1 { points } else { Vec::new() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stretch_that_was_cut_short_says_where() {
        let told = |seconds| {
            let (hosts, latency) = (Vec::new(), None);
            let (first_second, last_second, headline) = (12, 59, false);
            let (transactions, tps, errors) = (0, 0.0, 0);
            between(&SegmentAnalysis {
                hosts,
                first_second,
                last_second,
                seconds,
                headline,
                transactions,
                tps,
                latency,
                errors,
            })
        };
        assert_eq!([told(48.0), told(47.3), told(47.996)], ["12–60", "12–59.3", "12–60"]);
        assert_eq!(told(46.0), "12–60", "two seconds within it were never reported");
    }
}
