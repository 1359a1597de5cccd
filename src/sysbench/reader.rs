//! One pass over the lines of a log.

use std::collections::VecDeque;

use super::command::{Command, Typed, typed};
use super::draft::{Draft, Finished};
use super::interval::{self, Told};
use super::places::impossible;
use super::summary;
use super::text::Line;
use super::{Summary, SysbenchError, SysbenchLog, SysbenchRun};

/// Lines of a terminal that one line of sysbench's may fill.
const MOST_PARTS: usize = 5;
/// Longest text of a fatal error that is kept, characters.
const LONGEST_ERROR: usize = 500;
/// Lines that a command line may fill.
const MOST_COMMAND_LINES: usize = 30;
/// Interval lines of a log: more than a day of seconds.
const MOST_INTERVALS: u64 = 100_000;
/// Interval lines of a log that were only said to be like the one before: a few bytes stand for each.
const MOST_REPEATED: u64 = 10_000;
/// Runs of a log.
const MOST_RUNS: usize = 1_000;

/// Reads the lines of a log.
///
/// # Errors
/// See [`super::parse`].
pub fn read(file: &str, mut lines: impl Iterator<Item = Line>) -> Result<SysbenchLog, SysbenchError> {
    let mut reader = Reader {
        file,
        draft: Draft::new(file, None, None),
        typed: None,
        in_report: false,
        after_interval: false,
        runs: Vec::new(),
        others: 0,
        intervals: 0,
        repeated: 0,
        notes: Vec::new(),
    };
    // The lines that may belong to the one that is read; a log may be long.
    let mut ahead: VecDeque<Line> = lines.by_ref().take(MOST_COMMAND_LINES).collect();
    while let Some(line) = ahead.pop_front() {
        ahead.extend(lines.next());
        let used = reader.take(&line, ahead.make_contiguous())?;
        ahead.drain(..used);
        ahead.extend(lines.by_ref().take(used));
    }
    reader.finish_run()?;
    reader.log()
}

struct Reader<'a> {
    file: &'a str,
    draft: Draft,
    /// The command line of the run that comes.
    typed: Option<Command>,
    in_report: bool,
    /// The line before was an interval.
    after_interval: bool,
    runs: Vec<SysbenchRun>,
    /// Runs of tests without a database.
    others: usize,
    /// Interval lines so far, of all runs.
    intervals: u64,
    /// Lines that were said to be repeated so far, of all runs.
    repeated: u64,
    notes: Vec<String>,
}

impl Reader<'_> {
    /// Takes a line, and says how many of those that follow belong to it.
    fn take(&mut self, line: &Line, following: &[Line]) -> Result<usize, SysbenchError> {
        let text = line.text.trim();
        if text.is_empty() {
            return Ok(0);
        }
        if interval::begins(text) {
            return self.take_interval(line, following);
        }
        let after_interval = std::mem::take(&mut self.after_interval);
        if let Some(times) = repetition(text) {
            if after_interval {
                self.repeated = self.repeated.saturating_add(times);
                if self.repeated > MOST_REPEATED {
                    let expected = format!("at most {MOST_REPEATED} lines of a log are repeated ones");
                    let field = "last message repeated";
                    return Err(impossible(self.file, Some(line.number), field, times, expected));
                }
                self.draft.take_repetition(times, line.number);
            }
        } else if let Some((_, error)) = text.split_once("FATAL: ") {
            self.draft.fatal.get_or_insert_with(|| error.chars().take(LONGEST_ERROR).collect());
        } else if let Some(version) = banner(text) {
            self.next_run(Some(version.to_owned()))?;
        } else if text.ends_with("Running the test with following options:") {
            if self.draft.has_content() {
                self.next_run(None)?;
            }
            self.draft.has_head = true;
        } else if text.ends_with("Checkpoint report:") {
            if !std::mem::replace(&mut self.draft.has_checkpoints, true) {
                let note = "its reports are of the time between checkpoints; none is of the whole run";
                self.note(line.number, note);
            }
        } else if let Some(is_sql) = summary::title(&line.text) {
            self.begin_report(is_sql, text)?;
        } else if let Some(used) = self.take_command(text, following)? {
            return Ok(used);
        } else if self.in_report {
            self.take_report(line)?;
        } else {
            self.draft.take_head(text, line.number)?;
        }
        Ok(0)
    }

    fn take_interval(&mut self, line: &Line, following: &[Line]) -> Result<usize, SysbenchError> {
        let mut text = line.text.trim_end().to_owned();
        let mut used = 0;
        loop {
            let told = interval::read(&text).map_err(|(field, (value, why))| {
                impossible(self.file, Some(line.number), field, value, why)
            })?;
            match told {
                Told::Whole(interval) => {
                    if self.draft.summary.is_some() && !self.in_report && !self.draft.has_checkpoints {
                        self.next_run(None)?;
                    }
                    self.intervals += 1;
                    if self.intervals > MOST_INTERVALS {
                        let expected =
                            format!("a log has at most {MOST_INTERVALS}; give that of one benchmark");
                        let field = "number of interval lines";
                        return Err(impossible(
                            self.file,
                            Some(line.number),
                            field,
                            self.intervals,
                            expected,
                        ));
                    }
                    self.draft.has_old_intervals |= !text.contains("thds:");
                    self.draft.take_interval(interval, line.number)?;
                    self.after_interval = true;
                    return Ok(used);
                }
                Told::NoDatabase => {
                    self.draft.has_no_database = true;
                    return Ok(used);
                }
                Told::CutShort | Told::Nothing => match following.get(used) {
                    Some(part) if used < MOST_PARTS && continues(&part.text) => {
                        text.push_str(part.text.trim_end());
                        used += 1;
                    }
                    _ => {
                        self.note(line.number, "an interval line ends too early and is left out");
                        return Ok(0);
                    }
                },
            }
        }
    }

    fn begin_report(&mut self, is_sql: bool, text: &str) -> Result<(), SysbenchError> {
        self.draft.has_throughput |= summary::is_throughput(text);
        if is_sql {
            if self.draft.summary.is_some() {
                // A second report without a head between: of a checkpoint, or of a log that was cut together.
                match self.draft.has_checkpoints {
                    true => self.draft.summary = None,
                    false => self.next_run(None)?,
                }
            }
            self.draft.has_sql = true;
            self.draft.has_old_title |= text.ends_with("OLTP test statistics:");
        }
        self.in_report = true;
        self.draft.summary.get_or_insert_with(Summary::default);
        Ok(())
    }

    fn take_report(&mut self, line: &Line) -> Result<(), SysbenchError> {
        let summary = self.draft.summary.get_or_insert_with(Summary::default);
        summary::take(&line.text, line.number, summary, &mut self.draft.places)?;
        self.in_report = !summary::is_last(&line.text);
        Ok(())
    }

    /// Takes a command line, which may go on after a backslash; says how many lines it takes then.
    fn take_command(&mut self, text: &str, following: &[Line]) -> Result<Option<usize>, SysbenchError> {
        if !text.contains("sysbench") {
            return Ok(None);
        }
        let mut whole = text.to_owned();
        let mut used = 0;
        while let Some(part) = whole.strip_suffix('\\')
            && let Some(next) = following.get(used).filter(|_| used < MOST_COMMAND_LINES)
        {
            whole = format!("{part} {}", next.text.trim());
            used += 1;
        }
        match typed(&whole) {
            Some(Typed::Run(command)) => self.typed = Some(command),
            Some(Typed::Other) => self.typed = None,
            None => return Ok(None),
        }
        // Whatever comes is of another command.
        if self.draft.has_content() {
            self.finish_run()?;
        }
        Ok(Some(used))
    }

    fn next_run(&mut self, version: Option<String>) -> Result<(), SysbenchError> {
        self.finish_run()?;
        self.draft = Draft::new(self.file, version, self.typed.take());
        Ok(())
    }

    fn finish_run(&mut self) -> Result<(), SysbenchError> {
        (self.in_report, self.after_interval) = (false, false);
        let draft = std::mem::replace(&mut self.draft, Draft::new(self.file, None, None));
        match draft.finish()? {
            Finished::Run(_) if self.runs.len() >= MOST_RUNS => {
                let reason = format!("it has more than {MOST_RUNS} runs; give the log of one benchmark");
                return Err(SysbenchError::NotALog { file: self.file.to_owned(), reason });
            }
            Finished::Run(run) => self.runs.push(*run),
            Finished::NoDatabase => self.others += 1,
            Finished::Nothing => {}
        }
        Ok(())
    }

    fn note(&mut self, line: usize, what: &str) {
        const MOST: usize = 50;
        if self.notes.len() < MOST {
            self.notes.push(format!("line {line} of the log: {what}"));
        }
    }

    fn log(mut self) -> Result<SysbenchLog, SysbenchError> {
        let refuse = |reason: &str| {
            Err(SysbenchError::NotALog { file: self.file.to_owned(), reason: reason.to_owned() })
        };
        match (self.runs.is_empty(), self.others) {
            (true, 0) => refuse(
                "there is no run of sysbench in it, neither interval lines nor a final report; give the output of \
                 `sysbench … run`",
            ),
            (true, _) => {
                refuse("it is of a test without SQL statistics; give the log of a database test, whole")
            }
            (false, others) => {
                if others > 0 {
                    self.notes.push(format!("runs of tests without a database that were left out: {others}"));
                }
                Ok(SysbenchLog { runs: self.runs, notes: self.notes })
            }
        }
    }
}

/// The version in sysbench's first line: `sysbench 1.0.20 (using …)`, `sysbench 0.4.12:  multi-threaded …`.
fn banner(text: &str) -> Option<&str> {
    let (_, rest) = text.split_once("sysbench ")?;
    let end = rest.find([' ', ':'])?;
    let (version, about) = rest.split_at(end);
    let is_version = version.starts_with(|c: char| c.is_ascii_digit()) && version.contains('.');
    (is_version && (about.contains("(using") || about.contains("multi-threaded"))).then_some(version)
}

/// `(last message repeated 3 times)`
fn repetition(text: &str) -> Option<u64> {
    let (_, rest) = text.split_once("last message repeated ")?;
    let (times, rest) = rest.split_once(' ')?;
    rest.starts_with("time").then(|| times.parse().ok()).flatten()
}

/// Whether a line can be the rest of an interval line that was broken by a terminal.
fn continues(text: &str) -> bool {
    let text = text.trim();
    let is_other = interval::begins(text)
        || summary::title(text).is_some()
        || banner(text).is_some()
        || ["FATAL:", "ALERT:", "WARNING:", "Time limit", "Running the test"]
            .iter()
            .any(|word| text.contains(word))
        || repetition(text).is_some();
    !text.is_empty() && !is_other
}
