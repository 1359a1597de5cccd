//! What is drawn while a run goes on: lines, and progress bars below them.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::io::IsTerminal as _;
use std::time::{Duration, Instant};

use indicatif::{HumanCount, MultiProgress, ProgressBar, ProgressState, ProgressStyle};

use super::output;
use crate::protocol::event::PrepareStep;

/// Without a terminal, progress is a line now and then.
const PLAIN_INTERVAL: Duration = Duration::from_secs(10);
const BAR: &str = "{msg:<24} {bar:40} {percent:>3} %  {human_pos}/{human_len}  {rate}  {eta} left";

/// How far an instance's dataset has come.
#[derive(Debug, Clone)]
pub struct Prepared {
    /// The instance; empty when there is only one.
    pub instance: String,
    /// What is being done.
    pub step: PrepareStep,
    /// Units done.
    pub done: u64,
    /// Units in all.
    pub total: u64,
}

/// Standard error, and what is unfinished on it.
#[derive(Default)]
pub struct Screen {
    drawn: MultiProgress,
    /// One for each instance that is at work.
    bars: BTreeMap<String, (PrepareStep, ProgressBar)>,
    plain: Option<PlainProgress>,
}

/// Progress as lines.
struct PlainProgress {
    /// The latest of each instance.
    instances: BTreeMap<String, Prepared>,
    step: PrepareStep,
    began: Instant,
    last: Instant,
}

impl Screen {
    /// Writes a line above what is unfinished.
    pub fn line(&mut self, text: &str) {
        self.drawn.suspend(|| output::note(text));
    }

    /// Draws how far an instance has come.
    pub fn progress(&mut self, prepared: Prepared) {
        if std::io::stderr().is_terminal() {
            self.draw_bar(&prepared);
        } else {
            self.plain_line(prepared);
        }
    }

    /// Clears what is unfinished.
    pub fn clear(&mut self) {
        for (_, (_, bar)) in std::mem::take(&mut self.bars) {
            bar.finish_and_clear();
        }
        self.plain = None;
    }

    fn draw_bar(&mut self, prepared: &Prepared) {
        let Prepared { instance, step, done, total } = prepared;
        if self.bars.get(instance).is_none_or(|(drawn, _)| drawn != step) {
            if let Some((_, bar)) = self.bars.remove(instance) {
                bar.finish_and_clear();
            }
            let title = if instance.is_empty() {
                title(*step).to_owned()
            } else {
                format!("{instance} {}", title(*step))
            };
            let bar = self.drawn.add(ProgressBar::new(*total).with_message(title));
            if let Ok(style) = ProgressStyle::with_template(BAR) {
                let rate = |state: &ProgressState, out: &mut dyn Write| {
                    let _ = write!(out, "{}/s", HumanCount(state.per_sec() as u64));
                };
                bar.set_style(style.with_key("rate", rate));
            }
            self.bars.insert(instance.clone(), (*step, bar));
        }
        if let Some((_, bar)) = self.bars.get(instance) {
            bar.set_length(*total);
            bar.set_position(*done);
            if done == total {
                bar.finish_and_clear();
                self.bars.remove(instance);
            }
        }
    }

    fn plain_line(&mut self, prepared: Prepared) {
        let now = Instant::now();
        let step = prepared.step;
        let plain = self.plain.get_or_insert_with(|| PlainProgress {
            instances: BTreeMap::new(),
            step,
            began: now,
            last: now,
        });
        plain.instances.insert(prepared.instance.clone(), prepared);
        // The step that the last of them is at.
        let step = plain.instances.values().map(|instance| order(instance.step)).min().unwrap_or(0);
        if order(plain.step) != step {
            plain.step = STEPS[step];
            (plain.began, plain.last) = (now, now);
        } else if now - plain.last >= PLAIN_INTERVAL
            && let Some(line) = summary(plain.instances.values(), plain.step, now - plain.began)
        {
            plain.last = now;
            output::note(&line);
        }
    }
}

const STEPS: [PrepareStep; 3] = [PrepareStep::Rows, PrepareStep::Index, PrepareStep::Flush];

fn order(step: PrepareStep) -> usize {
    STEPS.iter().position(|other| *other == step).unwrap_or(0)
}

/// How far the instances at a step have come together; `None` while nothing is done.
fn summary<'a>(
    all: impl Iterator<Item = &'a Prepared> + Clone,
    step: PrepareStep,
    elapsed: Duration,
) -> Option<String> {
    let at_step = all.clone().filter(|instance| instance.step == step);
    let sum = |of: fn(&Prepared) -> u64| at_step.clone().map(of).sum::<u64>();
    let (done, total) = (sum(|p| p.done), sum(|p| p.total));
    if done == 0 {
        return None;
    }
    let rate = done as f64 / elapsed.as_secs_f64().max(1e-3);
    let left = (total - done.min(total)) as f64 / rate;
    let mut line = format!("{}: {done} of {total}, {rate:.0}/s, {left:.0} s left", title(step));
    let (here, everyone) = (at_step.clone().count(), all.count());
    if everyone > 1 {
        let share = |p: &Prepared| p.done as f64 / p.total.max(1) as f64;
        let slowest = at_step.min_by(|a, b| share(a).total_cmp(&share(b)))?;
        line += &format!(
            ", on {here} of {everyone} instances; slowest {} at {:.0} %",
            slowest.instance,
            100.0 * share(slowest)
        );
    }
    Some(line)
}

fn title(step: PrepareStep) -> &'static str {
    match step {
        PrepareStep::Rows => "Loading rows",
        PrepareStep::Index => "Building indexes",
        PrepareStep::Flush => "Flushing pages",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn progress_in_words() {
        let at =
            |instance: &str, step, done| Prepared { instance: instance.to_owned(), step, done, total: 1000 };
        let told = |all: &[Prepared]| summary(all.iter(), PrepareStep::Rows, Duration::from_secs(10));
        let one = told(&[at("", PrepareStep::Rows, 250)]).unwrap();
        let several = told(&[
            at("vm1", PrepareStep::Rows, 500),
            at("vm2", PrepareStep::Rows, 250),
            at("vm3", PrepareStep::Index, 3),
        ]);
        insta::assert_snapshot!([one, several.unwrap()].join("\n"));
        assert_eq!(told(&[at("", PrepareStep::Rows, 0)]), None);
    }
}
