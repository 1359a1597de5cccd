//! A run as its user sees it, shown from a thread of its own: a terminal that stands still (Ctrl-S, a pipe
//! that nobody reads) must not stop the run or its journal.

use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use indicatif::HumanCount;

use super::screen::Screen;
use crate::plan::Plan;
use crate::protocol::event::PrepareStep;
use crate::run::live::Interval;
use crate::run::{Progress, Watcher};
use crate::spec::ByteSize;

/// What waits for a terminal that stands still; what comes then is not shown. The journal has it all.
const WAITING: usize = 256;
/// Longest wait, at the end, for a terminal to take what waits.
const PATIENCE: Duration = Duration::from_secs(2);

/// Shows a run on standard error.
pub struct Terminal {
    threads: u32,
    warmup_s: u64,
    shown: SyncSender<Shown>,
    thread: JoinHandle<()>,
}

/// What the thread is given to show.
enum Shown {
    Line(String),
    Progress(PrepareStep, u64, u64),
}

impl Terminal {
    /// A terminal for a plan.
    pub fn new(plan: &Plan) -> Self {
        let (threads, warmup_s) = plan.runs.first().map_or((0, 0), |run| (run.threads, run.warmup_s));
        let (shown, incoming) = sync_channel(WAITING);
        Self { threads, warmup_s, shown, thread: thread::spawn(move || show(&incoming)) }
    }

    /// Shows what waits, unless the terminal stands still.
    pub fn finish(self) {
        drop(self.shown);
        let deadline = Instant::now() + PATIENCE;
        while !self.thread.is_finished() && Instant::now() < deadline {
            thread::sleep(Duration::from_millis(5));
        }
    }
}

fn show(incoming: &Receiver<Shown>) {
    let mut screen = Screen::default();
    for shown in incoming {
        match shown {
            Shown::Line(text) => screen.line(&text),
            Shown::Progress(step, done, total) => screen.progress(step, done, total),
        }
    }
    screen.clear();
}

impl Watcher for Terminal {
    fn saw(&mut self, progress: &Progress) {
        let shown = match progress {
            Progress::Preparing { step, done, total } => Shown::Progress(*step, *done, *total),
            other => Shown::Line(self.line(other)),
        };
        // Full when the terminal stands still.
        let _ = self.shown.try_send(shown);
    }
}

impl Terminal {
    fn line(&self, progress: &Progress) -> String {
        match progress {
            Progress::ServerStarting => "Starting the server …".to_owned(),
            Progress::ServerReady(ready) => {
                let what = if ready.initialized { "a new" } else { "an existing" };
                format!("{} serves {what} data directory, {}", ready.version, ready.data_dir)
            }
            Progress::Prepared { manifest, reused } => {
                let size = ByteSize::of_bytes(manifest.measured.file_bytes);
                let how = match reused {
                    true => format!("reused; runs since its load: {}", manifest.runs_since),
                    false => "loaded".to_owned(),
                };
                let rows = HumanCount(manifest.measured.rows);
                format!("Dataset: {rows} rows, {size} on disk ({how})")
            }
            Progress::Connecting { threads } => format!("Connecting load threads: {threads} …"),
            Progress::Started => {
                format!("Load threads started: {}; warm-up: {} s", self.threads, self.warmup_s)
            }
            Progress::Interval(interval) => interval_line(interval),
            Progress::ServerStopping => "Stopping the server …".to_owned(),
            Progress::Interrupted => {
                "Interrupted: stopping in good order; once more ends everything at once".to_owned()
            }
            Progress::Warning(text) => format!("warning: {text}"),
            Progress::Preparing { .. } => String::new(),
        }
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
