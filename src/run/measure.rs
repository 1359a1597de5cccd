//! One measured interval.

use std::time::{Duration, Instant};

use super::Progress;
use super::live::Live;
use super::session::{END_TIMEOUT, Halt, Happening, NEVER, Session, failure};
use crate::plan::RunPlan;
use crate::protocol::clock::{SECOND_NS, monotonic_ns};
use crate::protocol::event::{LoadEndCause, LoadEnded};
use crate::protocol::job::{LoadJob, StartJob};
use crate::protocol::{Event, Job};
use crate::result::{COORDINATOR, HostStart, Record};

/// Longest wait for load threads to connect and prepare their statements.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(300);
/// Time between deciding on a start and starting: jobs must have arrived by then.
const LEAD_NS: i64 = 300_000_000;

impl Session<'_> {
    /// Connects, starts, and follows a load to its end.
    ///
    /// # Errors
    /// When it did not run to its planned end. What was measured is in the journal.
    pub(super) fn measure(&mut self, run: usize) -> Result<(), Halt> {
        let plan = self.plan.runs[run].clone();
        self.connect(run, &plan)?;
        let start = self.start(run, &plan)?;
        let ended = self.follow(&plan, &start);
        let shortfall = match &ended {
            Ok(()) => None,
            Err(Halt::Interrupted) => Some("interrupted".to_owned()),
            Err(Halt::Killed) => Some("interrupted at once".to_owned()),
            Err(Halt::Failed(reason)) => Some(reason.clone()),
        };
        self.record(COORDINATOR, Record::RunEnded { run, shortfall });
        ended
    }

    fn connect(&mut self, run: usize, plan: &RunPlan) -> Result<(), Halt> {
        self.watcher.saw(&Progress::Connecting { threads: plan.threads });
        self.fleet.send(&Job::Load(LoadJob {
            workload: self.plan.workload.mix,
            threads: plan.threads,
            seed: plan.seed,
            generation: self.runs_before + u32::try_from(run).unwrap_or(0),
            instance: 0,
        }));
        self.wait_within(CONNECT_TIMEOUT, "connecting the load threads", |event| {
            matches!(event, Event::LoadReady { .. }).then_some(())
        })
    }

    /// Chooses the moments of the run in the agent's clock and lets it go.
    fn start(&mut self, run: usize, plan: &RunPlan) -> Result<StartJob, Halt> {
        let offset = self.clock_offset()?;
        let seconds = |s: u64| i64::try_from(s).unwrap_or(i64::MAX / SECOND_NS) * SECOND_NS;
        let begin_ns = offset.to_agent(monotonic_ns() + LEAD_NS);
        let t0_ns = begin_ns + seconds(plan.warmup_s);
        let end_ns = plan.duration_s.map(|duration| t0_ns + seconds(duration));
        let start = StartJob { begin_ns, t0_ns, end_ns, events: plan.events };
        let host = self.fleet.host().to_owned();
        let instances = vec![HostStart { host, begin_ns, t0_ns, end_ns }];
        self.record(COORDINATOR, Record::RunStarted { run, instances, observers: Vec::new() });
        self.fleet.send(&Job::Start(start));
        self.watcher.saw(&Progress::Started);
        Ok(start)
    }

    /// The agent's clock, which its first answered ping tells.
    fn clock_offset(&mut self) -> Result<crate::fleet::clock::ClockOffset, Halt> {
        loop {
            if let Some(offset) = self.fleet.clock_offset() {
                return Ok(offset);
            }
            match self.next_event()? {
                Some(Happening::Lost(reason)) => return Err(Halt::Failed(reason)),
                Some(Happening::Interrupt) => return Err(Halt::Interrupted),
                _ => {}
            }
        }
    }

    /// Records seconds until the load has ended. A failure or an interrupt is remembered and the load's
    /// end still awaited, so that nothing it measured is lost.
    fn follow(&mut self, plan: &RunPlan, start: &StartJob) -> Result<(), Halt> {
        let mut live = Live::new(plan.report_interval_s, start);
        let mut ending = Ending { halt: None, deadline: planned_end(start) };
        let mut measured = 0;
        loop {
            if Instant::now() > ending.deadline {
                return Err(ending
                    .halt
                    .unwrap_or_else(|| Halt::Failed("the load did not end when it should have".to_owned())));
            }
            let happening = self.next_event()?;
            if let Some(reason) = self.journal_failure().filter(|_| ending.halt.is_none()) {
                // Keep what still fits.
                ending.begin(Halt::Failed(reason.to_owned()));
                self.fleet.send(&Job::StopLoad);
            }
            let event = match happening {
                None => continue,
                Some(Happening::Lost(reason)) => return Err(ending.halt.unwrap_or(Halt::Failed(reason))),
                Some(Happening::Interrupt) => {
                    ending.begin(Halt::Interrupted);
                    self.fleet.send(&Job::StopLoad);
                    continue;
                }
                Some(Happening::Event(event)) => event,
            };
            if let Event::LoadSecond(second) = &event {
                measured += if second.second >= 0 { second.latency.count } else { 0 };
            }
            if let Some(interval) = live.saw(&event) {
                self.watcher.saw(&Progress::Interval(&interval));
            }
            if let Some(reason) = failure(&event) {
                ending.begin(Halt::Failed(reason));
            }
            if let Event::LoadEnded(LoadEnded { cause: LoadEndCause::Stopped, .. }) = &event {
                // Unless somebody had a reason, nobody told it to.
                ending.begin(Halt::Failed("the agent stopped the load before its time".to_owned()));
            }
            let over = match &event {
                // The reason follows as LoadFailed.
                Event::LoadEnded(ended) => ended.cause != LoadEndCause::Failed,
                Event::LoadFailed { .. } => true,
                _ => false,
            };
            if over && measured == 0 {
                ending.begin(Halt::Failed("no transaction completed in the measured interval".to_owned()));
            }
            if over {
                return ending.halt.map_or(Ok(()), Err);
            }
        }
    }
}

/// Whether a load is being ended before its time, and when to stop waiting for it.
struct Ending {
    halt: Option<Halt>,
    deadline: Instant,
}

impl Ending {
    /// Remembers the first reason and limits the wait.
    fn begin(&mut self, halt: Halt) {
        if self.halt.is_none() {
            self.halt = Some(halt);
            self.deadline = Instant::now() + END_TIMEOUT;
        }
    }
}

/// When a load that is bounded by time is overdue. One bounded by events alone has no such moment.
fn planned_end(start: &StartJob) -> Instant {
    let length = start.end_ns.map(|end_ns| u64::try_from(end_ns - start.begin_ns).unwrap_or(0));
    Instant::now() + length.map_or(NEVER, |ns| Duration::from_nanos(ns) + END_TIMEOUT)
}
