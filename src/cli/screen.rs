//! What is drawn while a run goes on: lines, and progress bars between them.

use std::fmt::Write;
use std::io::IsTerminal as _;
use std::time::{Duration, Instant};

use indicatif::{HumanCount, ProgressBar, ProgressState, ProgressStyle};

use super::output;
use crate::protocol::event::PrepareStep;

/// Without a terminal, progress is a line now and then.
const PLAIN_INTERVAL: Duration = Duration::from_secs(10);
const BAR: &str = "{msg:<16} {bar:40} {percent:>3} %  {human_pos}/{human_len}  {rate}  {eta} left";

/// Standard error, and what is unfinished on it.
#[derive(Default)]
pub struct Screen {
    bar: Option<(PrepareStep, ProgressBar)>,
    plain: Option<PlainProgress>,
}

/// Progress as lines.
struct PlainProgress {
    step: PrepareStep,
    began: Instant,
    last: Instant,
}

impl Screen {
    /// Writes a line below what is there.
    pub fn line(&mut self, text: &str) {
        self.clear();
        output::note(text);
    }

    /// Draws how far a step has come.
    pub fn progress(&mut self, step: PrepareStep, done: u64, total: u64) {
        if std::io::stderr().is_terminal() {
            self.draw_bar(step, done, total);
        } else {
            self.plain_line(step, done, total);
        }
    }

    /// Clears what is unfinished.
    pub fn clear(&mut self) {
        if let Some((_, bar)) = self.bar.take() {
            bar.finish_and_clear();
        }
        self.plain = None;
    }

    fn draw_bar(&mut self, step: PrepareStep, done: u64, total: u64) {
        if self.bar.as_ref().is_none_or(|(drawn, _)| *drawn != step) {
            self.clear();
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

fn title(step: PrepareStep) -> &'static str {
    match step {
        PrepareStep::Rows => "Loading rows",
        PrepareStep::Index => "Building indexes",
        PrepareStep::Flush => "Flushing pages",
    }
}
