//! A run as far as it has been read.

use super::check::check;
use super::command::Command;
use super::interval::LAST_SECOND;
use super::number::count;
use super::places::{Places, impossible};
use super::{Dialect, Interval, Summary, SysbenchError, SysbenchRun};

/// What 1.1 says of a warm-up, which its times may or may not include.
pub const WARM_UP: &str = "Warmup time";

/// 0.4's mode of which only a command line tells the kind of statement.
const NON_TRANSACTIONAL: &str = "oltp nontrx";

/// A run being read.
#[derive(Debug, Default)]
pub struct Draft {
    version: Option<String>,
    command: Option<Command>,
    /// `Running the test with following options:` was read.
    pub has_head: bool,
    threads: Option<u32>,
    report_interval_s: Option<u64>,
    mode: Option<&'static str>,
    remarks: Vec<String>,
    pub intervals: Vec<Interval>,
    pub summary: Option<Summary>,
    /// The report has a part about SQL.
    pub has_sql: bool,
    /// It has 1.1's title.
    pub has_throughput: bool,
    /// Its title is 0.4's and 0.5's.
    pub has_old_title: bool,
    /// Interval lines are 0.5's.
    pub has_old_intervals: bool,
    /// There was an interval or a report of a test without a database.
    pub has_no_database: bool,
    /// Its reports are of the time between checkpoints, so that none is of the whole run.
    pub has_checkpoints: bool,
    pub fatal: Option<String>,
    /// The last interval line was said so many times more, in this line.
    repeated: Option<(u64, usize)>,
    pub places: Places,
}

/// What a draft has become.
pub enum Finished {
    Run(Box<SysbenchRun>),
    /// A run of another test.
    NoDatabase,
    /// Nothing, or a command other than `run`.
    Nothing,
}

impl Draft {
    pub fn new(file: &str, version: Option<String>, command: Option<Command>) -> Self {
        Self { version, command, places: Places::of_file(file), ..Self::default() }
    }

    /// Whether anything of a run is there, so that another one would be a new run.
    pub fn has_content(&self) -> bool {
        self.has_head || !self.intervals.is_empty() || self.summary.is_some()
    }

    /// Takes a line of the head, if it is one.
    pub fn take_head(&mut self, line: &str, number: usize) -> Result<(), SysbenchError> {
        const REMARKS: [&str; 8] = [
            "Using ",
            "Doing ",
            "Skipping ",
            "Maximum number of ",
            "Target transaction rate",
            WARM_UP,
            "Initializing random number ",
            "Random number generator ",
        ];
        let refuse = |field: &str, why: (String, &'static str)| {
            impossible(&self.places.file, Some(number), field, why.0, why.1)
        };
        if let Some((_, value)) = line.split_once("Number of threads:") {
            let threads = count(value).map_err(|why| refuse("threads", why))?.map(|(threads, _)| threads);
            let threads = threads.map(|threads| {
                u32::try_from(threads)
                    .map_err(|_| refuse("threads", (threads.to_string(), "it is at most 4294967295")))
            });
            self.threads = threads.transpose()?;
            self.places.figures.insert("threads", number);
        } else if let Some((_, value)) = line.split_once("Report intermediate results every") {
            let seconds = count(value).map_err(|why| refuse("report interval", why))?;
            self.report_interval_s = seconds.map(|(seconds, _)| seconds).filter(|seconds| *seconds > 0);
        } else if self.intervals.is_empty() && self.remarks.len() < 30 {
            self.mode = self.mode.or(match line {
                "Running mixed OLTP test" => Some("sysbench04_complex"),
                "Running simple OLTP test" => Some("sysbench04_simple"),
                "Running non-transactional test" => Some(NON_TRANSACTIONAL),
                _ => None,
            });
            if REMARKS.iter().any(|remark| line.starts_with(remark)) {
                self.remarks.push(line.to_owned());
            }
        }
        Ok(())
    }

    /// Takes an interval line.
    ///
    /// # Errors
    /// When what was said to be repeated before it cannot be.
    pub fn take_interval(&mut self, interval: Interval, number: usize) -> Result<(), SysbenchError> {
        self.repeat(Some(interval.second))?;
        // A line that was copied twice is one.
        if self.intervals.last() != Some(&interval) {
            self.intervals.push(interval);
            self.places.intervals.push(number);
        }
        Ok(())
    }

    /// Takes `(last message repeated N times)` after an interval line.
    pub fn take_repetition(&mut self, times: u64, number: usize) {
        self.repeated = Some((times, number));
    }

    /// Writes out the intervals that were only said to be like the last one, as far as they have room before
    /// the next.
    fn repeat(&mut self, next: Option<u64>) -> Result<(), SysbenchError> {
        let Some((times, number)) = self.repeated.take() else { return Ok(()) };
        let Some(last) = self.intervals.last().cloned() else { return Ok(()) };
        let step = self.interval_s();
        let end = last.second.saturating_add(times.saturating_mul(step));
        if next.is_some_and(|next| end >= next) {
            // Then it was the line itself that was said again.
            return Ok(());
        }
        if end > LAST_SECOND {
            let expected = format!("a run of at most {LAST_SECOND} s");
            return Err(impossible(
                &self.places.file,
                Some(number),
                "last message repeated",
                times,
                expected,
            ));
        }
        for nth in 1..=times {
            self.intervals.push(Interval { second: last.second + nth * step, ..last.clone() });
            self.places.intervals.push(number);
        }
        Ok(())
    }

    /// Seconds between interval lines: as told, or the shortest between two, or all of the first.
    fn interval_s(&self) -> u64 {
        let apart = self.intervals.windows(2).map(|pair| pair[1].second.saturating_sub(pair[0].second));
        let shortest = apart.filter(|seconds| *seconds > 0).min();
        let first = self.intervals.first().map(|interval| interval.second);
        self.report_interval_s.or(shortest).or(first).unwrap_or(1).max(1)
    }

    /// Ends reading, and checks what was read.
    ///
    /// # Errors
    /// When a figure cannot be, or nothing says how many threads there were.
    pub fn finish(mut self) -> Result<Finished, SysbenchError> {
        let end = self.summary.as_ref().and_then(|summary| summary.seconds);
        self.repeat(end.map(|seconds| seconds.ceil() as u64 + 1))?;
        if self.has_no_database || (self.summary.is_some() && !self.has_sql) {
            return Ok(Finished::NoDatabase);
        }
        if self.has_checkpoints {
            self.summary = None;
        }
        let failed = self.has_head && self.fatal.is_some();
        if self.intervals.is_empty() && self.summary.is_none() && !failed {
            return Ok(Finished::Nothing);
        }
        let Some(threads) = self.threads() else {
            let reason = "nothing in it says how many threads ran; give the whole output of `sysbench … run`, with \
                          its line \"Number of threads\"";
            return Err(SysbenchError::NotALog { file: self.places.file, reason: reason.to_owned() });
        };
        let report_interval_s =
            self.report_interval_s.or_else(|| (!self.intervals.is_empty()).then(|| self.interval_s()));
        let (dialect, test) = (self.dialect(), self.test());
        let run = SysbenchRun {
            dialect,
            version: self.version,
            test,
            threads,
            report_interval_s,
            options: self.command.map(|command| command.options).unwrap_or_default(),
            remarks: self.remarks,
            intervals: self.intervals,
            summary: self.summary,
            fatal: self.fatal,
        };
        check(&run, &self.places)?;
        Ok(Finished::Run(Box::new(run)))
    }

    /// Threads as the head tells, the command line, the interval lines, or the fairness of events.
    fn threads(&self) -> Option<u32> {
        let option = |name| self.command.as_ref()?.options.get(name)?.parse().ok();
        let running = self.intervals.iter().map(|interval| interval.threads).max();
        let shared = || {
            let summary = self.summary.as_ref()?;
            let threads = (summary.events? as f64 / summary.events_fairness?.0).round();
            (threads >= 1.0 && threads <= f64::from(u32::MAX)).then_some(threads as u32)
        };
        self.threads
            .or_else(|| option("threads"))
            .or_else(|| option("num-threads"))
            .or(running)
            .or_else(shared)
    }

    fn dialect(&self) -> Dialect {
        let version = self.version.as_deref().unwrap_or_default();
        let known = [("0.4", Dialect::V0_4), ("0.5", Dialect::V0_5), ("1.0", Dialect::V1_0)];
        if let Some((_, dialect)) = known.iter().find(|(prefix, _)| version.starts_with(prefix)) {
            return *dialect;
        }
        match () {
            () if !version.is_empty() || self.has_throughput => Dialect::V1_1,
            () if self.has_old_intervals => Dialect::V0_5,
            () if self.has_old_title => Dialect::V0_4,
            () => Dialect::V1_0,
        }
    }

    /// The test, named as drivestone names its own.
    fn test(&self) -> Option<String> {
        let command = self.command.as_ref();
        match (self.mode, command) {
            (Some(NON_TRANSACTIONAL), Some(command)) => {
                let statement = command.options.get("oltp-nontrx-mode").map_or("select", String::as_str);
                Some(format!("sysbench04_{statement}"))
            }
            (Some(mode), _) => Some(mode.to_owned()),
            (None, command) => command?.test.clone(),
        }
    }
}
