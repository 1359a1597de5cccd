//! A run as its user sees it: progress while loading, then one line an interval.

use std::fmt::Write;
use std::io::IsTerminal as _;
use std::time::{Duration, Instant};

use indicatif::{HumanCount, ProgressBar, ProgressState, ProgressStyle};

use super::output;
use crate::plan::Plan;
use crate::protocol::event::PrepareStep;
use crate::run::live::Interval;
use crate::run::{Progress, Watcher};
use crate::spec::ByteSize;

/// Without a terminal, progress is a line now and then.
const PLAIN_INTERVAL: Duration = Duration::from_secs(10);
const BAR: &str = "{msg:<16} {bar:40} {percent:>3} %  {human_pos}/{human_len}  {rate}  {eta} left";

/// Shows a run on standard error.
pub struct Terminal {
    threads: u32,
    warmup_s: u64,
    bar: Option<(PrepareStep, ProgressBar)>,
    plain: Option<PlainProgress>,
}

/// Progress as lines.
struct PlainProgress {
    step: PrepareStep,
    began: Instant,
    last: Instant,
}

impl Terminal {
    /// A terminal for a plan.
    pub fn new(plan: &Plan) -> Self {
        let (threads, warmup_s) = plan.runs.first().map_or((0, 0), |run| (run.threads, run.warmup_s));
        Self { threads, warmup_s, bar: None, plain: None }
    }

    /// Clears what is unfinished.
    pub fn finish(&mut self) {
        if let Some((_, bar)) = self.bar.take() {
            bar.finish_and_clear();
        }
        self.plain = None;
    }

    fn preparing(&mut self, step: PrepareStep, done: u64, total: u64) {
        if std::io::stderr().is_terminal() {
            self.draw_bar(step, done, total);
        } else {
            self.plain_line(step, done, total);
        }
    }

    fn draw_bar(&mut self, step: PrepareStep, done: u64, total: u64) {
        if self.bar.as_ref().is_none_or(|(drawn, _)| *drawn != step) {
            self.finish();
            let bar = ProgressBar::new(total).with_message(title(step));
            if let Ok(style) = ProgressStyle::with_template(BAR) {
                let rate = |state: &ProgressState, out: &mut dyn Write| {
                    let _ = write!(out, "{}/s", HumanCount(state.per_sec() as u64));
                };
                bar.set_style(style.with_key("rate", rate));
            }
            self.bar = Some((step, bar));
        }
        if let Some((_, bar)) = &self.bar {
            bar.set_length(total);
            bar.set_position(done);
        }
    }

    fn plain_line(&mut self, step: PrepareStep, done: u64, total: u64) {
        let now = Instant::now();
        if self.plain.as_ref().is_none_or(|plain| plain.step != step) {
            self.plain = Some(PlainProgress { step, began: now, last: now });
            return;
        }
        let Some(plain) = &mut self.plain else { return };
        if now - plain.last < PLAIN_INTERVAL || done == 0 {
            return;
        }
        plain.last = now;
        let seconds = (now - plain.began).as_secs_f64();
        let rate = done as f64 / seconds;
        let left = (total - done.min(total)) as f64 / rate;
        output::note(&format!("{}: {done} of {total}, {rate:.0}/s, {left:.0} s left", title(step)));
    }
}

impl Watcher for Terminal {
    fn saw(&mut self, progress: &Progress) {
        if let Progress::Preparing { step, done, total } = progress {
            return self.preparing(*step, *done, *total);
        }
        self.finish();
        match progress {
            Progress::ServerStarting => output::note("Starting the server …"),
            Progress::ServerReady(ready) => {
                let what = if ready.initialized { "a new" } else { "an existing" };
                output::note(&format!("{} serves {what} data directory, {}", ready.version, ready.data_dir));
            }
            Progress::Prepared { manifest, reused } => {
                let size = ByteSize::of_bytes(manifest.measured.file_bytes);
                let how = match reused {
                    true => format!("reused; runs since its load: {}", manifest.runs_since),
                    false => "loaded".to_owned(),
                };
                let rows = HumanCount(manifest.measured.rows);
                output::note(&format!("Dataset: {rows} rows, {size} on disk ({how})"));
            }
            Progress::Connecting { threads } => {
                output::note(&format!("Connecting load threads: {threads} …"))
            }
            Progress::Started => {
                output::note(&format!("Load threads started: {}; warm-up: {} s", self.threads, self.warmup_s))
            }
            Progress::Interval(interval) => output::note(&interval_line(interval)),
            Progress::ServerStopping => output::note("Stopping the server …"),
            Progress::Interrupted => {
                output::note("Interrupted: stopping in good order; once more ends everything at once");
            }
            Progress::Warning(text) => output::warning(text),
            Progress::Preparing { .. } => {}
        }
    }
}

fn title(step: PrepareStep) -> &'static str {
    match step {
        PrepareStep::Rows => "Loading rows",
        PrepareStep::Index => "Building indexes",
        PrepareStep::Flush => "Flushing pages",
    }
}

/// sysbench's line, with the device in iostat's words beside it.
fn interval_line(interval: &Interval) -> String {
    let (name, seconds) = match interval.end_s > 0.0 {
        true => ("", interval.end_s),
        false => ("warm-up ", interval.end_s),
    };
    // An interval that was cut short ends within a second.
    let digits = if seconds.fract() == 0.0 { 0 } else { 1 };
    let ms = |value: Option<f64>| value.map_or_else(|| "-".to_owned(), |ms| format!("{ms:.2}"));
    let [reads, writes, other] = interval.statements;
    let mut line = format!(
        "[ {name}{seconds:.digits$}s ] thds: {} tps: {:.2} qps: {:.2} lat (ms,avg/99%): {}/{} err/s: {:.2}",
        interval.threads,
        interval.tps,
        reads + writes + other,
        ms(interval.avg_ms),
        ms(interval.p99_ms),
        interval.errors_per_s,
    );
    match &interval.device {
        Some((device, r)) => {
            line += &format!(
                " | {device} r/s: {:.0} w/s: {:.0} r_await: {:.2} w_await: {:.2} %util: {:.1}",
                r.reads_per_s, r.writes_per_s, r.read_await_ms, r.write_await_ms, r.util_pct
            );
        }
        None => line += " | device: -",
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    fn interval(end_s: f64, avg_ms: Option<f64>) -> Interval {
        Interval {
            end_s,
            threads: 32,
            tps: 845.2,
            statements: [11832.8, 3380.8, 1690.4],
            avg_ms,
            p99_ms: avg_ms.map(|ms| ms * 1.3),
            errors_per_s: 0.5,
            device: None,
        }
    }

    #[test]
    fn lines_read_like_sysbenchs() {
        let text = [interval(10.0, Some(37.86)), interval(-5.0, Some(37.86)), interval(3.0, None)]
            .map(|i| interval_line(&i))
            .join("\n");
        insta::assert_snapshot!(text);
    }
}
