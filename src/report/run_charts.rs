//! Which charts a run gets.

use super::chart::{Axis, Chart, Colour, Scale, Series, Shaded, Size, Style};
use super::imported::ordinal;
use crate::analysis::{CpuShares, ImportedRun, RunAnalysis, SecondPoint};
use crate::stats::device::DeviceRates;

const MIB: f64 = 1024.0 * 1024.0;
/// Said in an empty chart over time.
const NOT_SAMPLED: &str = "no data: not sampled, or unknown on this host";

/// What stands below an axis of seconds.
pub(super) const TIME: &str = "Time since the start of measuring (s)";

/// The charts of a run, in reading order.
pub(super) fn charts(run: &RunAnalysis) -> Vec<Chart> {
    let points = &run.series;
    if let Some(imported) = &run.imported {
        return told(points, imported);
    }
    let mut charts = vec![throughput(points), latency(points)];
    charts.extend(run.load.open_loop.map(|_| queue(points)));
    charts.push(percentiles(run));
    charts.extend(device(points));
    charts.push(host(points));
    charts.push(memory(points));
    charts.extend(database(points));
    charts
}

/// The charts of what a log tells; none without interval lines.
fn told(points: &[SecondPoint], imported: &ImportedRun) -> Vec<Chart> {
    if points.is_empty() {
        return Vec::new();
    }
    let mut charts = vec![throughput(points)];
    if let Some(percentile) = imported.percentile {
        let name = format!("{} percentile of each interval", ordinal(percentile));
        let series = vec![line(points, &name, Colour::Vermilion, |p| p.percentile_ms)];
        charts.push(Chart { size: Size::Wide, ..over_time(points, "Latency", "ms", series) });
    }
    charts.push(errors(points));
    charts
}

/// The charts of a host that only sampled.
pub(super) fn observed(points: &[SecondPoint]) -> Vec<Chart> {
    let mut charts = device(points);
    // Without pressure and with one device, throughput, operations, wait and processors tell it all.
    charts.truncate(3);
    charts.push(host(points));
    charts
}

fn throughput(points: &[SecondPoint]) -> Chart {
    let tps = line(points, "TPS", Colour::Blue, |p| Some(p.tps));
    let tps = Series { style: Style::Area, ..tps };
    Chart { size: Size::Wide, ..over_time(points, "Throughput", "TPS", vec![tps]) }
}

fn queue(points: &[SecondPoint]) -> Chart {
    let queued = line(points, "due and not begun", Colour::Purple, |p| p.queued.map(|n| n as f64));
    let queued = Series { style: Style::Area, ..queued };
    Chart {
        size: Size::Wide,
        ..over_time(points, "Queue at the end of each second", "transactions", vec![queued])
    }
}

fn latency(points: &[SecondPoint]) -> Chart {
    let series = vec![
        line(points, "maximum", Colour::Grey, |p| p.max_ms),
        line(points, "99th percentile", Colour::Vermilion, |p| p.p99_ms),
        line(points, "average", Colour::Blue, |p| p.avg_ms),
        line(points, "median", Colour::Green, |p| p.p50_ms),
    ];
    let mut chart = over_time(points, "Latency", "ms", series);
    chart.size = Size::Wide;
    chart.y = log_if_spread(&chart);
    chart
}

fn percentiles(run: &RunAnalysis) -> Chart {
    let percentiles = &run.percentiles;
    let points = percentiles.iter().map(|&(percentile, ms)| (percentile, Some(ms))).collect();
    let all = Series { name: "latency".to_owned(), points, style: Style::Line, colour: Colour::Blue };
    let scale = Scale::nines(percentiles.iter().map(|(percentile, _)| *percentile));
    let mut chart = Chart {
        title: "Latency by percentile".to_owned(),
        unit: "ms".to_owned(),
        x: Axis { label: "Percentile of transactions (%)".to_owned(), scale, bounds: None },
        y: Axis::of(Scale::Linear),
        series: vec![all],
        labels: Vec::new(),
        shaded: None,
        size: Size::Wide,
        when_empty: match run.figures {
            Some(_) => "no data: no transaction completed in the measured interval".to_owned(),
            None => "no data: the instances were not all together for long enough".to_owned(),
        },
    };
    chart.y = log_if_spread(&chart);
    chart
}

fn device(points: &[SecondPoint]) -> Vec<Chart> {
    let of = |name: &str, colour, value: fn(&DeviceRates) -> Option<f64>| {
        line(points, name, colour, move |p| p.device.as_ref().and_then(value))
    };
    let throughput = vec![
        of("read", Colour::Blue, |d| Some(d.read_kb_per_s / 1024.0)),
        of("write", Colour::Vermilion, |d| Some(d.write_kb_per_s / 1024.0)),
    ];
    let operations = vec![
        of("r/s", Colour::Blue, |d| Some(d.reads_per_s)),
        of("w/s", Colour::Vermilion, |d| Some(d.writes_per_s)),
        of("f/s", Colour::Green, |d| d.flushes_per_s),
    ];
    let wait = vec![
        of("r_await", Colour::Blue, |d| (d.reads_per_s > 0.0).then_some(d.read_await_ms)),
        of("w_await", Colour::Vermilion, |d| (d.writes_per_s > 0.0).then_some(d.write_await_ms)),
        of("f_await", Colour::Green, |d| d.flush_await_ms.filter(|_| d.flushes_per_s.unwrap_or(0.0) > 0.0)),
    ];
    let mut wait = over_time(points, "Device wait", "ms", wait);
    wait.y = log_if_spread(&wait);
    let busy = vec![
        of("%util", Colour::Blue, |d| Some(d.util_pct)),
        line(points, "pressure some", Colour::Vermilion, |p| percent(p.io_some)),
        line(points, "pressure full", Colour::Purple, |p| percent(p.io_full)),
    ];
    vec![
        over_time(points, "Device throughput", "MiB/s", throughput),
        over_time(points, "Device operations", "per second", operations),
        wait,
        in_percent(over_time(points, "Device utilisation and I/O pressure", "%", busy)),
        over_time(
            points,
            "Device queue",
            "requests",
            vec![of("aqu-sz", Colour::Blue, |d| Some(d.queue_size))],
        ),
    ]
}

fn host(points: &[SecondPoint]) -> Chart {
    let of = |name: &str, colour, share: fn(&CpuShares) -> f64| {
        let series = line(points, name, colour, move |p| p.cpu.as_ref().map(|cpu| 100.0 * share(cpu)));
        Series { style: Style::Stacked, ..series }
    };
    let shares = vec![
        of("user", Colour::Blue, |c| c.user),
        of("system", Colour::Vermilion, |c| c.system),
        of("softirq", Colour::Grey, |c| c.softirq),
        of("I/O wait", Colour::Green, |c| c.iowait),
        of("steal", Colour::Purple, |c| c.steal),
    ];
    in_percent(over_time(points, "Host processors", "%", shares))
}

fn memory(points: &[SecondPoint]) -> Chart {
    let series = vec![
        line(points, "page cache", Colour::Blue, |p| p.page_cache_bytes.map(|bytes| bytes / MIB)),
        line(points, "available", Colour::Green, |p| p.available_bytes.map(|bytes| bytes / MIB)),
    ];
    over_time(points, "Host memory", "MiB", series)
}

fn database(points: &[SecondPoint]) -> Vec<Chart> {
    let one = |title: &str, unit: &str, name: &str, value: fn(&SecondPoint) -> Option<f64>| {
        over_time(points, title, unit, vec![line(points, name, Colour::Blue, value)])
    };
    vec![
        one("Buffer-pool misses", "per second", "misses", |p| p.misses_per_s),
        one("Dirty pages of the buffer pool", "%", "dirty", |p| percent(p.dirty_share)),
        one("Checkpoint age", "MiB", "age", |p| p.checkpoint_age_bytes.map(|bytes| bytes as f64 / MIB)),
        errors(points),
    ]
}

fn errors(points: &[SecondPoint]) -> Chart {
    let mut series = vec![line(points, "errors", Colour::Blue, |p| Some(p.errors_per_s))];
    if points.iter().any(|p| p.reconnects_per_s > 0.0) {
        series.push(line(points, "reconnects", Colour::Vermilion, |p| Some(p.reconnects_per_s)));
    }
    over_time(points, "SQL errors", "per second", series)
}

/// A chart over the seconds of a run, its warm-up shaded.
fn over_time(points: &[SecondPoint], title: &str, unit: &str, series: Vec<Series>) -> Chart {
    let first = points.iter().map(|p| p.second).min().unwrap_or(0);
    let last = points.iter().map(|p| p.second).max().unwrap_or(0);
    let shaded = Shaded { from: first as f64, to: last.min(0) as f64, label: "warm-up".to_owned() };
    Chart {
        title: title.to_owned(),
        unit: unit.to_owned(),
        x: Axis { label: TIME.to_owned(), ..Axis::of(Scale::Seconds) },
        y: Axis::of(Scale::Linear),
        series,
        labels: Vec::new(),
        shaded: (first < 0).then_some(shaded),
        size: Size::Half,
        when_empty: NOT_SAMPLED.to_owned(),
    }
}

/// A line over the seconds of a run, or over the intervals of a log. One that is missing altogether is a gap
/// like any other.
fn line(
    points: &[SecondPoint],
    name: &str,
    colour: Colour,
    value: impl Fn(&SecondPoint) -> Option<f64>,
) -> Series {
    let apart = points.windows(2).map(|pair| pair[1].second.saturating_sub(pair[0].second) as f64);
    let step = apart.filter(|step| *step > 0.0).fold(f64::INFINITY, f64::min);
    let mut line: Vec<(f64, Option<f64>)> = Vec::with_capacity(points.len());
    for point in points {
        let second = point.second as f64;
        if let Some(&(before, _)) = line.last()
            && second - before > 1.5 * step
        {
            line.push((before + step, None));
        }
        line.push((second, value(point)));
    }
    Series { name: name.to_owned(), points: line, style: Style::Line, colour }
}

fn in_percent(mut chart: Chart) -> Chart {
    chart.y.bounds = Some((0.0, 100.0));
    chart
}

fn log_if_spread(chart: &Chart) -> Axis {
    let values = chart.series.iter().flat_map(|s| s.points.iter().filter_map(|(_, y)| *y));
    Axis::of(Scale::for_spread(values))
}

fn percent(share: Option<f64>) -> Option<f64> {
    share.map(|share| share * 100.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::chart::svg;
    use crate::report::sample;

    #[test]
    fn a_missing_second_and_an_idle_device_are_gaps() {
        let mut run = sample::run(60);
        run.series.retain(|p| p.second != 30);
        let all = charts(&run);
        let at = |chart: &Chart, x: f64| {
            chart.series[0].points.iter().find(|(second, _)| *second == x).map(|(_, y)| *y)
        };
        assert_eq!(at(&all[0], 30.0), Some(None));
        assert!(matches!(at(&all[0], 31.0), Some(Some(_))));

        run.series.iter_mut().filter_map(|p| p.device.as_mut()).for_each(|d| d.reads_per_s = 0.0);
        let wait = charts(&run).into_iter().find(|c| c.title == "Device wait").unwrap();
        assert!(wait.series[0].points.iter().all(|(_, y)| y.is_none()), "no read, no wait");
    }

    #[test]
    fn a_missing_interval_of_a_log_is_a_gap_and_the_others_are_not() {
        let mut run = sample::imported().runs.remove(0);
        let all = charts(&run);
        let told: Vec<_> =
            all.iter().map(|chart| (chart.title.as_str(), chart.series[0].points.len())).collect();
        assert_eq!(told, [("Throughput", 4), ("Latency", 4), ("SQL errors", 4)]);
        run.series.remove(1);
        let expected = [(0.0, Some(458.31)), (3.0, None), (6.0, Some(615.64)), (9.0, Some(625.35))];
        assert_eq!(charts(&run)[0].series[0].points, expected);
        run.series.clear();
        assert_eq!(charts(&run), []);
    }

    #[test]
    fn a_run_without_telemetry_says_so_in_every_device_chart() {
        let all = charts(&sample::run_without_telemetry());
        let silent = all.iter().filter(|c| svg::draw(c).unwrap().svg.contains(NOT_SAMPLED)).count();
        assert_eq!((all.len(), silent), (14, 10));
    }
}
