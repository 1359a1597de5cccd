//! A run as its user sees it, shown from a thread of its own: a terminal that stands still (Ctrl-S, a pipe
//! that nobody reads) must not stop the run or its journal.

use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use indicatif::HumanCount;

use super::screen::{Prepared, Screen};
use crate::plan::Plan;
use crate::run::live::Interval;
use crate::run::{Progress, Watcher};
use crate::spec::ByteSize;
use crate::stats::device::{DeviceRates, sum_of_devices};

/// What waits for a terminal that stands still; what comes then is not shown. The journal has it all.
const WAITING: usize = 256;
/// Longest wait, at the end, for a terminal to take what waits.
const PATIENCE: Duration = Duration::from_secs(2);

/// Shows a run on standard error.
pub struct Terminal {
    /// There are several hosts, and lines say which they speak of.
    is_fleet: bool,
    runs: usize,
    shown: SyncSender<Shown>,
    thread: JoinHandle<()>,
}

/// What the thread is given to show.
enum Shown {
    Line(String),
    Progress(Prepared),
}

impl Terminal {
    /// A terminal for a plan.
    pub fn new(plan: &Plan) -> Self {
        let is_fleet = plan.fleet.instances.len() + plan.fleet.observers.len() > 1;
        let (shown, incoming) = sync_channel(WAITING);
        Self { is_fleet, runs: plan.runs.len(), shown, thread: thread::spawn(move || show(&incoming)) }
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
            Shown::Progress(prepared) => screen.progress(prepared),
        }
    }
    screen.clear();
}

impl Watcher for Terminal {
    fn saw(&mut self, progress: &Progress) {
        let shown = match progress {
            Progress::Preparing { host, step, done, total } => {
                let instance = if self.is_fleet { (*host).to_owned() } else { String::new() };
                Shown::Progress(Prepared { instance, step: *step, done: *done, total: *total })
            }
            // The end of a run on one host says why.
            Progress::Lost { .. } if !self.is_fleet => return,
            other => Shown::Line(self.line(other)),
        };
        // Full when the terminal stands still.
        let _ = self.shown.try_send(shown);
    }
}

impl Terminal {
    fn line(&self, progress: &Progress) -> String {
        match progress {
            Progress::ServersStarting { count } => format!("Starting {} …", self.servers(*count)),
            Progress::ServerReady { host, ready } => {
                let what = if ready.initialized { "a new" } else { "an existing" };
                let text = format!("{} serves {what} data directory, {}", ready.version, ready.data_dir);
                self.labelled(host, text)
            }
            Progress::Prepared { host, manifest, reused } => {
                let size = ByteSize::of_bytes(manifest.measured.file_bytes);
                let how = match reused {
                    true => format!("reused; runs since its load: {}", manifest.runs_since),
                    false => "loaded".to_owned(),
                };
                let rows = HumanCount(manifest.measured.rows);
                self.labelled(host, format!("Dataset: {rows} rows, {size} on disk ({how})"))
            }
            Progress::RunStarting { run, plan } => {
                let (number, all) = (run + 1, self.runs);
                let instances = match plan.instances {
                    1 if !self.is_fleet => String::new(),
                    n => format!("{n} {} × ", instances_word(n as usize)),
                };
                let threads = if plan.threads == 1 { "thread" } else { "threads" };
                let rate = plan
                    .rate_per_s
                    .map_or_else(String::new, |rate| format!(", {rate} transactions a second"));
                format!("Run {number} of {all}: {instances}{} {threads}{rate}", plan.threads)
            }
            Progress::Connecting { threads, instances } if *instances > 1 => {
                format!("Connecting load threads: {threads} on each of {instances} instances …")
            }
            Progress::Connecting { threads, .. } => format!("Connecting load threads: {threads} …"),
            Progress::Started { plan, instances } => {
                let threads = plan.threads as usize * instances;
                format!("Load threads started: {threads}; warm-up: {} s", plan.warmup_s)
            }
            Progress::Lost { observer: true, reason, .. } => {
                format!("LOST an observer, the run goes on without its samples: {reason}")
            }
            Progress::Lost { reason, .. } => format!("LOST: {reason}"),
            Progress::Interval(interval) => interval_line(interval, self.is_fleet),
            Progress::Settling { count } => format!("Letting {} settle …", self.servers(*count)),
            Progress::ServersStopping { count } => format!("Stopping {} …", self.servers(*count)),
            Progress::Waiting { hosts } if self.is_fleet => {
                format!("Waiting for the server on {} …", hosts.join(", "))
            }
            Progress::Waiting { .. } => "Waiting for the server …".to_owned(),
            Progress::Interrupted => {
                "Interrupted: stopping in good order; once more ends everything at once".to_owned()
            }
            Progress::Warning(text) => format!("warning: {text}"),
            Progress::Preparing { .. } => String::new(),
        }
    }

    fn servers(&self, count: usize) -> String {
        match count {
            1 if !self.is_fleet => "the server".to_owned(),
            1 => "1 server".to_owned(),
            _ => format!("{count} servers"),
        }
    }

    /// A text with its host's name, where there are several.
    fn labelled(&self, host: &str, text: String) -> String {
        if self.is_fleet { format!("{host}: {text}") } else { text }
    }
}

fn instances_word(n: usize) -> &'static str {
    if n == 1 { "instance" } else { "instances" }
}

/// sysbench's line, with the device in iostat's words beside it.
fn interval_line(interval: &Interval, is_fleet: bool) -> String {
    let (name, seconds) = match interval.end_s > 0.0 {
        true => ("", interval.end_s),
        false => ("warm-up ", interval.end_s),
    };
    // An interval that was cut short ends within a second.
    let digits = if seconds.fract() == 0.0 { 0 } else { 1 };
    let ms = |value: Option<f64>| value.map_or_else(|| "-".to_owned(), |ms| format!("{ms:.2}"));
    let [reads, writes, other] = interval.statements;
    let instances = if is_fleet { format!("inst: {} ", interval.instances) } else { String::new() };
    let mut line = format!(
        "[ {name}{seconds:.digits$}s ] {instances}thds: {} tps: {:.2} qps: {:.2} lat (ms,avg/99%): {}/{} err/s: {:.2}",
        interval.threads,
        interval.tps,
        reads + writes + other,
        ms(interval.avg_ms),
        ms(interval.p99_ms),
        interval.errors_per_s,
    );
    if interval.reconnects_per_s > 0.0 {
        line += &format!(" reconn/s: {:.2}", interval.reconnects_per_s);
    }
    if let Some(queued) = interval.queued {
        line += &format!(" queue: {queued}");
    }
    match interval.devices.as_slice() {
        [] => line += " | device: -",
        [(device, r)] => {
            line += &format!(
                " | {device} r/s: {:.0} w/s: {:.0} r_await: {:.2} w_await: {:.2} %util: {:.1}",
                r.reads_per_s, r.writes_per_s, r.read_await_ms, r.write_await_ms, r.util_pct
            );
        }
        several => {
            let rates: Vec<DeviceRates> = several.iter().map(|(_, rates)| *rates).collect();
            if let Some(r) = sum_of_devices(&rates) {
                line += &format!(
                    " | {} devices r/s: {:.0} w/s: {:.0}",
                    several.len(),
                    r.reads_per_s,
                    r.writes_per_s
                );
            }
        }
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    fn interval(end_s: f64, avg_ms: Option<f64>) -> Interval {
        Interval {
            end_s,
            instances: 1,
            threads: 32,
            tps: 845.2,
            statements: [11832.8, 3380.8, 1690.4],
            avg_ms,
            p99_ms: avg_ms.map(|ms| ms * 1.3),
            errors_per_s: 0.5,
            reconnects_per_s: 0.0,
            queued: None,
            devices: Vec::new(),
        }
    }

    #[test]
    fn lines_read_like_sysbenchs() {
        let open = Interval { queued: Some(17), reconnects_per_s: 2.0, ..interval(4.0, Some(37.86)) };
        let text = [interval(10.0, Some(37.86)), interval(-5.0, Some(37.86)), interval(3.0, None), open]
            .map(|i| interval_line(&i, false))
            .join("\n");
        insta::assert_snapshot!(text);
    }
}
