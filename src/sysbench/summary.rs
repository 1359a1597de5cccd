//! The lines of a final report: a label and a figure.

use super::SysbenchError;
use super::interval::{FieldRefusal, percentile};
use super::number::{amount, count};
use super::places::{Places, impossible};
use super::{Percentile, Summary};

/// Titles with which the part about SQL begins, in 1.x and before.
const SQL_TITLES: [&str; 2] = ["SQL statistics:", "OLTP test statistics:"];
/// Titles with which the part about any test begins.
const GENERAL_TITLES: [&str; 3] = ["General statistics:", "Throughput:", "Test execution summary:"];

/// Labels of counts, and where they belong.
type Count = (&'static str, fn(&mut Summary) -> &mut Option<u64>);
const COUNTS: [Count; 11] = [
    ("read", |s| &mut s.reads),
    ("write", |s| &mut s.writes),
    ("other", |s| &mut s.other),
    ("total", |s| &mut s.total),
    ("transactions", |s| &mut s.transactions),
    ("queries", |s| &mut s.queries),
    ("read/write requests", |s| &mut s.read_write_requests),
    ("ignored errors", |s| &mut s.ignored_errors),
    ("deadlocks", |s| &mut s.ignored_errors),
    ("reconnects", |s| &mut s.reconnects),
    ("total number of events", |s| &mut s.events),
];

/// What 0.4 and 0.5 print in place of the sum of latencies.
const EXECUTION: &str = "total time taken by event execution";

/// Labels of times and rates, and where they belong; `true`: it is a latency.
type Amount = (&'static str, bool, fn(&mut Summary) -> &mut Option<f64>);
const AMOUNTS: [Amount; 8] = [
    ("total time", false, |s| &mut s.seconds),
    ("time elapsed", false, |s| &mut s.seconds),
    ("events/s (eps)", false, |s| &mut s.events_per_s),
    ("min", true, |s| &mut s.min_ms),
    ("avg", true, |s| &mut s.avg_ms),
    ("max", true, |s| &mut s.max_ms),
    ("sum", true, |s| &mut s.sum_ms),
    (EXECUTION, false, |s| &mut s.sum_ms),
];

/// Labels of pairs, and where they belong.
type Pair = (&'static str, fn(&mut Summary) -> &mut Option<(f64, f64)>);
const PAIRS: [Pair; 2] = [
    ("events (avg/stddev)", |s| &mut s.events_fairness),
    ("execution time (avg/stddev)", |s| &mut s.time_fairness_s),
];

/// Whether a line begins a report, and if so whether with the part about SQL.
pub fn title(line: &str) -> Option<bool> {
    let line = line.trim_end();
    let is_one_of = |titles: &[&str]| titles.iter().any(|title| line.ends_with(title));
    let is_sql = is_one_of(&SQL_TITLES);
    (is_sql || is_one_of(&GENERAL_TITLES)).then_some(is_sql)
}

/// Whether a line is the title with which 1.1's report differs from 1.0's.
pub fn is_throughput(line: &str) -> bool {
    line.trim() == GENERAL_TITLES[1]
}

/// Takes the figure of a line, if it is one.
///
/// # Errors
/// When it is one that cannot be.
pub fn take(
    line: &str,
    number: usize,
    summary: &mut Summary,
    places: &mut Places,
) -> Result<(), SysbenchError> {
    for take in [take_count, take_amount, take_pair, take_percentile] {
        match take(line, summary) {
            Ok(None) => {}
            Ok(Some(label)) => {
                places.figures.insert(label, number);
                break;
            }
            Err((field, (value, why))) => {
                return Err(impossible(&places.file, Some(number), field, value, why));
            }
        }
    }
    Ok(())
}

/// The label of what was taken, under which it is refused later.
type Taken = Result<Option<&'static str>, FieldRefusal>;

fn take_count(line: &str, summary: &mut Summary) -> Taken {
    for (label, place) in COUNTS {
        let Some(text) = labelled(line, label) else { continue };
        let Some((value, rest)) = count(text).map_err(|why| (label, why))? else { continue };
        *place(summary) = Some(value);
        if label == "transactions" {
            let rate = rest.trim_start().strip_prefix('(').map_or(Ok(None), amount);
            summary.tps = rate.map_err(|why| ("transactions per second", why))?.map(|(rate, _)| rate);
        }
        return Ok(Some(label));
    }
    Ok(None)
}

fn take_amount(line: &str, summary: &mut Summary) -> Taken {
    for (label, is_latency, place) in AMOUNTS {
        let Some(text) = labelled(line, label) else { continue };
        let Some((value, unit)) = amount(text).map_err(|why| (label, why))? else { continue };
        // 0.4 and 0.5 write units, and the sum in seconds; 1.x has ms without writing it.
        let in_seconds = if is_latency { unit.starts_with('s') } else { label == EXECUTION };
        *place(summary) = Some(if in_seconds { value * 1000.0 } else { value });
        return Ok(Some(canonical(label)));
    }
    Ok(None)
}

fn take_pair(line: &str, summary: &mut Summary) -> Taken {
    for (label, place) in PAIRS {
        let Some(text) = labelled(line, label) else { continue };
        let refused = |why| (label, why);
        let Some((mean, rest)) = amount(text).map_err(refused)? else { continue };
        let deviation = rest.trim_start().strip_prefix('/').map_or(Ok(None), amount).map_err(refused)?;
        *place(summary) = deviation.map(|(deviation, _)| (mean, deviation));
        return Ok(Some(label));
    }
    Ok(None)
}

fn take_percentile(line: &str, summary: &mut Summary) -> Taken {
    let found = percentile_line(line)?;
    summary.percentile = found.or(summary.percentile);
    Ok(found.map(|_| "percentile"))
}

/// The label under which a figure is refused, whatever a generation calls it.
fn canonical(label: &'static str) -> &'static str {
    match label {
        "time elapsed" => "total time",
        EXECUTION => "sum",
        label => label,
    }
}

/// Whether a line is the last of a report.
pub fn is_last(line: &str) -> bool {
    labelled(line, PAIRS[1].0).is_some()
}

/// The text after a label and its colon. Something like a logger's stamp may stand before the label.
fn labelled<'a>(line: &'a str, label: &str) -> Option<&'a str> {
    let places = line.match_indices(label);
    places.filter(|(at, _)| *at == 0 || line[..*at].ends_with(' ')).find_map(|(at, _)| {
        // `total` of `sub total:` is another label; `10:00:00`, `host sysbench[7]:` are none.
        let preceding = line[..at].split_whitespace().next_back().unwrap_or_default();
        let free = preceding.is_empty()
            || preceding.ends_with([':', ']', '|'])
            || preceding.contains(|c: char| c.is_ascii_digit());
        line[at + label.len()..].trim_start().strip_prefix(':').filter(|_| free)
    })
}

/// `95th percentile:  161.51`, `approx.  95 percentile:  10.87ms`.
fn percentile_line(line: &str) -> Result<Option<Percentile>, FieldRefusal> {
    let Some((before, value)) = line.split_once("percentile:") else { return Ok(None) };
    let name = before.trim_end();
    let name = ["st", "nd", "rd", "th"].iter().find_map(|suffix| name.strip_suffix(suffix)).unwrap_or(name);
    let digits = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '-').len();
    let Some((rank, _)) = count(&name[digits..]).map_err(|why| ("percentile", why))? else { return Ok(None) };
    match rank {
        0 => Err(("percentile", (rank.to_string(), "it is 1 to 100"))),
        rank => percentile(rank, value),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken(lines: &str) -> Summary {
        let (mut summary, mut places) = (Summary::default(), Places::of_file("a.log"));
        for (line, number) in lines.lines().zip(1..) {
            take(line, number, &mut summary, &mut places).unwrap();
        }
        summary
    }

    #[test]
    fn labels_are_not_parts_of_others() {
        let summary = taken(
            "    queries performed:\n  read/write requests:   3 (1.00 per sec.)\n  total time:  2.5s\n\
             Mar  1 10:00:00 host sysbench[7]:      read:   7\n2026-11-30T10:00:00Z  write: 4\n subtotal: 5\n sub total: 6\n  total number of events: 9",
        );
        assert_eq!((summary.reads, summary.read_write_requests, summary.total), (Some(7), Some(3), None));
        assert_eq!(summary.writes, Some(4));
        assert_eq!((summary.seconds, summary.events, summary.queries), (Some(2.5), Some(9), None));
    }

    #[test]
    fn units_are_minded() {
        let summary =
            taken("min: 0.0019s\n avg: 2.51ms\n max: 7.5\n total time taken by event execution: 59.934");
        assert_eq!((summary.min_ms, summary.avg_ms, summary.max_ms), (Some(1.9), Some(2.51), Some(7.5)));
        assert_eq!(summary.sum_ms, Some(59_934.0));
    }

    #[test]
    fn percentiles_are_named_in_two_ways() {
        let read = |line: &str| percentile_line(line).map(|found| found.map(|p| (p.rank, p.ms)));
        assert_eq!(read("         95th percentile:   161.51"), Ok(Some((95, 161.51))));
        assert_eq!(read("  approx.  99 percentile:   10.87ms"), Ok(Some((99, 10.87))));
        assert_eq!(read("     percentile stats:   disabled"), Ok(None));
        assert_eq!(read("é percentile: 1"), Ok(None));
        for refused in
            ["101th percentile: 1", "0th percentile: 1", "-5th percentile: 1", "95th percentile: nan"]
        {
            assert!(read(refused).is_err(), "{refused}");
        }
    }
}
