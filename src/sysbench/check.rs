//! What cannot be: figures of a run that contradict each other.

use super::draft::WARM_UP;
use super::interval::LAST_SECOND;
use super::number::{COUNT_EXPECTED, MOST};
use super::places::Places;
use super::{Interval, Summary, SysbenchError, SysbenchRun};

/// A printed figure is rounded to two decimals.
const ROUNDING: f64 = 0.011;
/// Rates and the figures that they are made of were taken at slightly different moments.
const SAME_MOMENT: f64 = 0.05;
/// Rates count from a little after the start of the time that is printed, seconds.
const START_S: f64 = 0.002;
/// A percentile is the middle of a bucket, which may lie beyond the extreme that it holds.
const BUCKET: f64 = 0.02;

/// Refuses a run whose figures cannot be.
///
/// # Errors
/// The first that cannot be, with what would be right.
pub fn check(run: &SysbenchRun, places: &Places) -> Result<(), SysbenchError> {
    if run.threads == 0 {
        return Err(places.refuse("threads", 0, "a run has at least one thread".to_owned()));
    }
    let mut before: Option<&Interval> = None;
    for (at, interval) in run.intervals.iter().enumerate() {
        check_interval(run, at, interval, before, places)?;
        before = Some(interval);
    }
    let Some(summary) = &run.summary else { return Ok(()) };
    numbers(summary, places)?;
    counts(summary, places)?;
    rates(summary, places)?;
    latencies(summary, places)?;
    if let (Some(last), Some(seconds)) = (run.intervals.last(), summary.seconds) {
        let longest = seconds + run.report_interval_s.unwrap_or(1) as f64 + 1.0;
        let warmed_up = run.remarks.iter().any(|remark| remark.starts_with(WARM_UP));
        if last.second as f64 > longest && !warmed_up {
            let expected = format!("the run took {seconds} s");
            return Err(places.refuse_interval(run.intervals.len() - 1, "second", last.second, expected));
        }
    }
    Ok(())
}

fn check_interval(
    run: &SysbenchRun,
    at: usize,
    interval: &Interval,
    before: Option<&Interval>,
    places: &Places,
) -> Result<(), SysbenchError> {
    let refuse = |field: &str, value: String, expected: String| {
        Err(places.refuse_interval(at, field, value, expected))
    };
    let rates = [
        ("tps", Some(interval.tps)),
        ("qps", interval.qps),
        ("reads a second", interval.reads_per_s),
        ("writes a second", interval.writes_per_s),
        ("other a second", interval.other_per_s),
        ("latency percentile", interval.percentile.map(|percentile| percentile.ms)),
        ("errors a second", interval.errors_per_s),
        ("reconnects a second", interval.reconnects_per_s),
    ];
    if let Some((field, value)) = unlikely(&rates) {
        return refuse(field, value.to_string(), "it is a finite number of 0 or more".to_owned());
    }
    if interval.second > LAST_SECOND {
        return refuse("second", interval.second.to_string(), format!("it is at most {LAST_SECOND}"));
    }
    if let Some(before) = before.filter(|before| before.second > interval.second) {
        let expected =
            format!("the line before it ends at second {}, and time does not go back", before.second);
        return refuse("second", interval.second.to_string(), expected);
    }
    if interval.threads > run.threads {
        let expected = format!("the run has {} threads", run.threads);
        return refuse("threads", interval.threads.to_string(), expected);
    }
    let parts = interval.reads_per_s.zip(interval.writes_per_s).zip(interval.other_per_s);
    if let (Some(qps), Some(((reads, writes), other))) = (interval.qps, parts) {
        let sum = reads + writes + other;
        if (sum - qps).abs() > 3.0 * ROUNDING + qps * 1e-6 {
            return refuse("qps", qps.to_string(), format!("reads, writes and other add up to {sum:.2}"));
        }
    }
    let rank = run.summary.as_ref().and_then(|summary| summary.percentile).or(run.intervals[0].percentile);
    if let Some(own) = interval.percentile.filter(|own| !(1..=100).contains(&own.rank)) {
        return refuse("percentile", own.rank.to_string(), "it is 1 to 100".to_owned());
    }
    if let (Some(own), Some(others)) = (interval.percentile, rank)
        && own.rank != others.rank
    {
        let expected = format!("the rest of the run speaks of percentile {}", others.rank);
        return refuse("percentile", own.rank.to_string(), expected);
    }
    Ok(())
}

/// The first that is no finite number of 0 or more.
fn unlikely(values: &[(&'static str, Option<f64>)]) -> Option<(&'static str, f64)> {
    let told = values.iter().filter_map(|(field, value)| Some((*field, (*value)?)));
    told.into_iter().find(|(_, value)| !value.is_finite() || *value < 0.0)
}

fn numbers(summary: &Summary, places: &Places) -> Result<(), SysbenchError> {
    let figures = [
        ("transactions per second", summary.tps),
        ("total time", summary.seconds),
        ("events/s (eps)", summary.events_per_s),
        ("min", summary.min_ms),
        ("avg", summary.avg_ms),
        ("max", summary.max_ms),
        ("percentile", summary.percentile.map(|percentile| percentile.ms)),
        ("sum", summary.sum_ms),
    ];
    if let Some((field, value)) = unlikely(&figures) {
        return Err(places.refuse(field, value, "it is a finite number of 0 or more".to_owned()));
    }
    match summary.percentile {
        Some(percentile) if !(1..=100).contains(&percentile.rank) => {
            Err(places.refuse("percentile", percentile.rank, "it is 1 to 100".to_owned()))
        }
        _ => Ok(()),
    }
}

fn counts(summary: &Summary, places: &Places) -> Result<(), SysbenchError> {
    for (field, count) in summary.counts() {
        if let Some(count) = count.filter(|count| *count > MOST) {
            return Err(places.refuse(field, count, COUNT_EXPECTED.to_owned()));
        }
    }
    let [reads, writes, other] = [summary.reads, summary.writes, summary.other];
    let all = sum_of(&[reads, writes, other]);
    let equal = [
        ("total", summary.total, all, "read, write and other add up to"),
        ("queries", summary.queries, summary.total.map(u128::from), "the total of queries performed is"),
        (
            "read/write requests",
            summary.read_write_requests,
            sum_of(&[reads, writes]),
            "read and write add up to",
        ),
    ];
    for (field, told, expected, words) in equal {
        if let (Some(told), Some(expected)) = (told, expected)
            && u128::from(told) != expected
        {
            return Err(places.refuse(field, told, format!("{words} {expected}")));
        }
    }
    Ok(())
}

fn sum_of(parts: &[Option<u64>]) -> Option<u128> {
    parts.iter().map(|part| part.map(u128::from)).sum()
}

fn rates(summary: &Summary, places: &Places) -> Result<(), SysbenchError> {
    let Some(seconds) = summary.seconds else { return Ok(()) };
    let told = [
        ("transactions", "transactions per second", summary.transactions, summary.tps),
        ("events/s (eps)", "events/s (eps)", summary.events, summary.events_per_s),
    ];
    for (place, field, count, rate) in told {
        let (Some(count), Some(rate)) = (count, rate) else { continue };
        let expected = count as f64 / seconds;
        let uncertain = ROUNDING + expected * (SAME_MOMENT + START_S / seconds);
        // A time of 0.0000 s is less than what is printed.
        if seconds > 0.0 && (rate - expected).abs() > uncertain {
            let line = places.figures.get(place).copied();
            let expected = format!("{count} in {seconds} s are {expected:.2} a second");
            return Err(super::places::impossible(&places.file, line, field, rate, expected));
        }
    }
    Ok(())
}

fn latencies(summary: &Summary, places: &Places) -> Result<(), SysbenchError> {
    let Summary { min_ms, avg_ms, max_ms, percentile, sum_ms, events, .. } = summary;
    if let (Some(min), Some(avg)) = (min_ms, avg_ms)
        && min > &(avg + ROUNDING)
    {
        return Err(places.refuse("min", min, format!("the average is {avg}, and no minimum is above it")));
    }
    if let (Some(avg), Some(max)) = (avg_ms, max_ms)
        && avg > &(max + ROUNDING)
    {
        return Err(places.refuse("avg", avg, format!("the maximum is {max}, and no average is above it")));
    }
    if let (Some(percentile), Some(min), Some(max)) = (percentile, min_ms, max_ms) {
        let (ms, rank) = (percentile.ms, percentile.rank);
        // It stops at 100 s, where everything above is filed.
        let (least, most) = (min * (1.0 - BUCKET) - ROUNDING, max * (1.0 + BUCKET) + ROUNDING);
        if ms > most || ms < least.min(100_000.0 * (1.0 - BUCKET)) {
            let expected = format!("latencies are from {min} to {max}, and percentile {rank} is among them");
            return Err(places.refuse("percentile", ms, expected));
        }
    }
    if let (Some(avg), Some(sum), Some(events)) = (avg_ms, sum_ms, events) {
        let product = avg * *events as f64;
        if (product - sum).abs() > *events as f64 * ROUNDING + product * SAME_MOMENT + ROUNDING * 100.0 {
            let expected = format!("{events} events of {avg} ms on average took {product:.2} ms");
            return Err(places.refuse("sum", sum, expected));
        }
    }
    Ok(())
}
