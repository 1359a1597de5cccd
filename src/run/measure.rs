//! One measured interval.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use super::Progress;
use super::hosts::{Host, labelled};
use super::live::{Interval, Live};
use super::ramp::{Measured, StepFigures};
use super::session::{END_TIMEOUT, Halt, Happening, NEVER, Session, failure};
use crate::fleet::clock::ClockOffset;
use crate::plan::{IdlePolicy, LossPolicy, RunPlan};
use crate::protocol::clock::{SECOND_NS, monotonic_ns};
use crate::protocol::event::{LoadEndCause, LoadEnded};
use crate::protocol::job::{LoadJob, StartJob};
use crate::protocol::{Event, Job};
use crate::result::{COORDINATOR, HostStart, Record};

/// Longest wait for load threads to connect and prepare their statements.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(300);
/// Longest wait for the first answered ping.
const CLOCK_TIMEOUT: Duration = Duration::from_secs(10);
/// An instance that completes nothing for so long is spoken of.
const STALL_S: u32 = 10;
/// Time between deciding on a start and starting: jobs must have arrived by then.
const LEAD_NS: i64 = 300_000_000;

impl Session<'_> {
    /// Connects, starts, and follows a run to its end.
    ///
    /// # Errors
    /// When nothing is to follow. What was measured is in the journal.
    pub(super) fn measure(&mut self, run: usize) -> Result<Measured, Halt> {
        let plan = self.plan.runs[run].clone();
        let Some(instances) = self.choose(&plan)? else {
            let left = self.names(|host| host.is_instance() && host.takes_part()).len();
            let mut text = format!(
                "run {} was not started: {left} of its {} instances are left",
                run + 1,
                plan.instances
            );
            if let Some(reasons) = self.reasons_of_losses(|_| true) {
                text += &format!("; {reasons}");
            }
            self.warn(text.clone());
            return Ok(Measured { shortfall: Some(text), figures: StepFigures::default() });
        };
        if self.plan.runs.len() > 1 {
            self.watcher.saw(&Progress::RunStarting { run, plan: &plan });
        }
        if run > 0 {
            self.settle(&instances)?;
        }
        self.connect(&plan, &instances)?;
        let starts = self.start(run, &plan, &instances)?;
        let mut figures = StepFigures::default();
        let ended = self.follow(&plan, &starts, &mut figures);
        self.names(|host| !host.is_instance()).iter().for_each(|host| self.fleet.send(host, Job::StopLoad));
        let shortfall = match &ended {
            Ok(()) => self.losses(&instances),
            Err(Halt::Interrupted) => Some("interrupted".to_owned()),
            Err(Halt::Killed) => Some("interrupted at once".to_owned()),
            Err(Halt::Failed(reason)) => Some(reason.clone()),
        };
        self.record(COORDINATOR, Record::RunEnded { run, shortfall: shortfall.clone() });
        ended.map(|()| Measured { shortfall, figures })
    }

    /// The instances of a run: the first that are there. Those that it needs serve, the others as the plan
    /// says. `None` when there are too few.
    fn choose(&mut self, plan: &RunPlan) -> Result<Option<Vec<String>>, Halt> {
        let present = |host: &Host| host.is_instance() && host.takes_part();
        let mut chosen = self.names(present);
        let needed = usize::try_from(plan.instances).unwrap_or(usize::MAX);
        if chosen.len() < needed {
            return Ok(None);
        }
        let idle = chosen.split_off(needed);
        self.needed.clone_from(&chosen);
        if self.plan.fleet.idle == IdlePolicy::Stop {
            let up = self.names(|host| host.server_is_up && idle.contains(&host.name));
            self.rest_servers(&up)?;
        }
        let down = self.names(|host| present(host) && !host.server_is_up && chosen.contains(&host.name));
        if !down.is_empty() {
            self.start_servers(&down)?;
        }
        chosen.retain(|host| self.takes_part(host));
        Ok((chosen.len() == needed).then_some(chosen))
    }

    fn connect(&mut self, plan: &RunPlan, instances: &[String]) -> Result<(), Halt> {
        let threads = plan.threads;
        self.watcher.saw(&Progress::Connecting { threads, instances: instances.len() });
        for host in instances {
            let (instance, generation) = self.count_run(host);
            let job = LoadJob {
                workload: self.plan.workload,
                threads,
                seed: plan.seed,
                generation,
                instance,
                ignored: self.plan.load.ignored.clone(),
                reconnect: self.plan.load.reconnect,
                reconnect_every: self.plan.load.reconnect_every,
                rate_per_s: plan.rate_per_s,
                cpus: self.plan.load.cpus.clone(),
            };
            self.fleet.send(host, Job::Load(job));
        }
        let ready = |event: &Event| matches!(event, Event::LoadReady { .. }).then_some(());
        self.gather(instances, CONNECT_TIMEOUT, "connecting the load threads", ready).map(drop)
    }

    /// Chooses the moments of the run, each host's in its own clock, and lets all of them go.
    fn start(&mut self, run: usize, plan: &RunPlan, instances: &[String]) -> Result<Vec<HostStart>, Halt> {
        let observers = self.names(|host| !host.is_instance() && host.takes_part());
        let mut clocks = Vec::new();
        for host in instances.iter().chain(&observers) {
            if let Some(offset) = self.clock_offset(host)? {
                clocks.push((host.clone(), offset));
            }
        }
        let slowest_ns = clocks.iter().map(|(_, offset)| offset.bound_ns).max().unwrap_or(0);
        let begin_ns = monotonic_ns() + LEAD_NS + 4 * slowest_ns;
        let mut starts = Vec::new();
        for (host, offset) in &clocks {
            let start = start_on(host.clone(), begin_ns, *offset, plan);
            let HostStart { begin_ns, t0_ns, end_ns, .. } = start;
            self.fleet.send(host, Job::Start(StartJob { begin_ns, t0_ns, end_ns, events: plan.events }));
            starts.push(start);
        }
        // The journal may be slow, and the start is near.
        for (host, offset) in clocks {
            let (offset_ns, bound_ns) = (offset.offset_ns, offset.bound_at(begin_ns));
            self.record(&host, Record::Clock { offset_ns, bound_ns });
        }
        let (observers, instances): (Vec<_>, _) =
            starts.into_iter().partition(|start: &HostStart| observers.contains(&start.host));
        self.record(COORDINATOR, Record::RunStarted { run, instances: instances.clone(), observers });
        self.watcher.saw(&Progress::Started { plan, instances: instances.len() });
        Ok(instances)
    }

    /// A host's clock, which its first answered ping tells; `None` for a host that is lost meanwhile.
    fn clock_offset(&mut self, host: &str) -> Result<Option<ClockOffset>, Halt> {
        let deadline = Instant::now() + CLOCK_TIMEOUT;
        while self.takes_part(host) {
            if let Some(offset) = self.fleet.clock_offset(host) {
                return Ok(Some(offset));
            }
            if Instant::now() > deadline {
                let text = format!("no answer to a ping in {} s", CLOCK_TIMEOUT.as_secs());
                self.give_up(host, labelled(self.plan, host, &text))?;
            }
            match self.next_event()? {
                Some(Happening::Lost(host, reason)) => self.give_up(&host, reason)?,
                Some(Happening::Interrupt) => return Err(Halt::Interrupted),
                _ => {}
            }
        }
        Ok(None)
    }

    /// Records seconds until every load has ended. A failure or an interrupt is remembered and the loads'
    /// ends still awaited, so that nothing they measured is lost.
    fn follow(
        &mut self,
        plan: &RunPlan,
        starts: &[HostStart],
        figures: &mut StepFigures,
    ) -> Result<(), Halt> {
        let mut course = Following {
            live: Live::new(plan.report_interval_s, starts),
            running: starts.iter().map(|start| start.host.clone()).collect(),
            halt: None,
            deadline: planned_end(starts),
            measured: 0,
            idle_s: BTreeMap::new(),
        };
        while !course.running.is_empty() {
            if Instant::now() > course.deadline {
                let text = "the load did not end when it should have";
                for late in course.running.clone() {
                    self.fail(&mut course, &late, labelled(self.plan, &late, text), true);
                }
                break;
            }
            let happening = self.next_event()?;
            if let Some(reason) = self.journal_failure().filter(|_| course.halt.is_none()) {
                // Keep what still fits.
                let halt = Halt::Failed(reason.to_owned());
                self.wind_up(&mut course, halt);
            }
            match happening {
                None => {}
                Some(Happening::Interrupt) => self.wind_up(&mut course, Halt::Interrupted),
                Some(Happening::Lost(host, reason)) => self.lose(&mut course, &host, reason),
                Some(Happening::Event(host, event)) => {
                    if let (Event::LoadSecond(second), Some(_)) = (&event, self.plan.load.ramp)
                        && second.second >= 0
                    {
                        figures.add(second);
                    }
                    self.follow_event(&mut course, &host, &event);
                }
            }
        }
        if course.measured == 0 {
            let losses = self.reasons_of_losses(|host| self.is_needed(host));
            let reason =
                losses.unwrap_or_else(|| "no transaction completed in the measured interval".to_owned());
            course.halt.get_or_insert(Halt::Failed(reason));
        }
        course.halt.map_or(Ok(()), Err)
    }

    fn follow_event(&mut self, course: &mut Following, host: &str, event: &Event) {
        if let Event::LoadSecond(second) = event {
            course.measured += if second.second >= 0 { second.latency.count } else { 0 };
            self.notice_stall(course, host, second.latency.count == 0);
        }
        if let Event::DeviceVanished { name } = event
            && self.plan.fleet.on_device_loss == LossPolicy::Stop
            && self.is_needed(host)
        {
            let text = format!("device {name} has vanished, and load.on_device_loss is `stop`");
            self.wind_up(course, Halt::Failed(labelled(self.plan, host, &text)));
        }
        let intervals = course.live.saw(host, event);
        self.show(&intervals);
        if let Some(reason) = failure(event) {
            let reason = labelled(self.plan, host, &reason);
            // A load reports its end even when its server has gone; the reason comes first.
            let is_over = !matches!(event, Event::ServerFailed { .. });
            self.fail(course, host, reason, is_over);
        }
        if let Event::LoadEnded(LoadEnded { cause, .. }) = event {
            match cause {
                // The reason follows as LoadFailed.
                LoadEndCause::Failed => {}
                // Unless somebody had a reason, nobody told it to.
                LoadEndCause::Stopped if course.halt.is_none() => {
                    let text = "the agent stopped the load before its time";
                    self.fail(course, host, labelled(self.plan, host, text), true);
                }
                _ => {
                    course.running.retain(|name| name != host);
                    // What becomes of it now takes nothing from this run.
                    self.needed.retain(|name| name != host);
                }
            }
        }
    }

    /// A stall is data, but somebody should know of one that lasts.
    fn notice_stall(&mut self, course: &mut Following, host: &str, is_idle: bool) {
        let idle_s = course.idle_s.entry(host.to_owned()).or_default();
        *idle_s = if is_idle { *idle_s + 1 } else { 0 };
        if *idle_s == STALL_S {
            let text = format!("nothing has completed for {STALL_S} s; does its server hang?");
            self.warn(labelled(self.plan, host, &text));
        }
    }

    /// A host is gone altogether.
    fn lose(&mut self, course: &mut Following, host: &str, reason: String) {
        let intervals = course.live.gone(host);
        self.show(&intervals);
        self.fail(course, host, reason, true);
    }

    /// A host cannot do its part any more; the others go on or stop as the plan says.
    fn fail(&mut self, course: &mut Following, host: &str, reason: String, is_over: bool) {
        if let Err(halt) = self.give_up(host, reason) {
            self.wind_up(course, halt);
        }
        if is_over {
            course.running.retain(|name| name != host);
        }
    }

    /// Remembers the first reason to end, tells every load to, and limits the wait for them.
    fn wind_up(&mut self, course: &mut Following, halt: Halt) {
        if course.halt.is_none() {
            course.halt = Some(halt);
            course.deadline = Instant::now() + END_TIMEOUT;
            course.running.iter().for_each(|host| self.fleet.send(host, Job::StopLoad));
        }
    }

    fn show(&mut self, intervals: &[Interval]) {
        intervals.iter().for_each(|interval| self.watcher.saw(&Progress::Interval(interval)));
    }

    /// What became of the instances that are missing at the end. One whose load had ended by then is not.
    fn losses(&self, instances: &[String]) -> Option<String> {
        let is_missing = |host: &str| instances.iter().any(|name| name == host) && self.is_needed(host);
        let reasons = self.reasons_of_losses(is_missing)?;
        let left = instances.iter().filter(|host| self.takes_part(host) || !self.is_needed(host)).count();
        Some(format!("{left} of {} instances ran to the end: {reasons}", instances.len()))
    }

    /// Why instances do not take part any more.
    fn reasons_of_losses(&self, of: impl Fn(&str) -> bool) -> Option<String> {
        let lost = self.hosts.iter().filter(|host| host.is_instance() && of(&host.name));
        let reasons: Vec<&str> = lost.filter_map(|host| host.lost.as_deref()).collect();
        (!reasons.is_empty()).then(|| reasons.join("; "))
    }
}

/// A run between its start and its end.
struct Following {
    live: Live,
    /// Hosts whose load has not ended.
    running: Vec<String>,
    /// Why it is being ended before its time.
    halt: Option<Halt>,
    /// When to stop waiting.
    deadline: Instant,
    /// Transactions of the measured interval so far.
    measured: u64,
    /// For how many seconds each instance has completed nothing.
    idle_s: BTreeMap<String, u32>,
}

/// The moments of a run that begins at `begin_ns` of our clock, in a host's.
fn start_on(host: String, begin_ns: i64, offset: ClockOffset, plan: &RunPlan) -> HostStart {
    let seconds = |s: u64| i64::try_from(s).unwrap_or(i64::MAX / SECOND_NS) * SECOND_NS;
    let begin_ns = offset.to_agent(begin_ns);
    let t0_ns = begin_ns + seconds(plan.warmup_s);
    let end_ns = plan.duration_s.map(|duration| t0_ns + seconds(duration));
    HostStart { host, begin_ns, t0_ns, end_ns }
}

/// When a load that is bounded by time is overdue. One bounded by events alone has no such moment.
fn planned_end(starts: &[HostStart]) -> Instant {
    let length = |start: &HostStart| Some(u64::try_from(start.end_ns? - start.begin_ns).unwrap_or(0));
    let length = starts.iter().filter_map(length).max();
    Instant::now() + length.map_or(NEVER, |ns| Duration::from_nanos(ns) + END_TIMEOUT)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A clock that started `offset` away from the coordinator's and runs `ppm` too fast.
    #[derive(Debug, Clone, Copy)]
    struct Clock {
        offset: i64,
        ppm: i64,
    }

    impl Clock {
        fn at(self, ours_ns: i64) -> i64 {
            ours_ns + self.offset + ours_ns / 1_000_000 * self.ppm
        }
    }

    fn clock() -> impl Strategy<Value = (Clock, i64, i64)> {
        let clock = (-1_000_000_000_000_i64..1_000_000_000_000, -100_i64..=100);
        (clock.prop_map(|(offset, ppm)| Clock { offset, ppm }), 1_000_i64..5_000_000, 1_000_i64..5_000_000)
    }

    proptest! {
        /// One moment falls into the same second on every host, unless it lies nearer to the second's edge
        /// than the offsets are known at that moment.
        #[test]
        fn a_moment_is_in_the_same_second_everywhere(
            hosts in prop::collection::vec(clock(), 2..16),
            asked in 0_i64..3_600_000_000_000,
            warmup_s in 0_u64..600,
            after in 0_i64..3_600_000_000_000,
        ) {
            let plan = RunPlan {
                rate_per_s: None,
                sysbench_run: String::new(),
                threads: 1, instances: 2, warmup_s, duration_s: Some(3600), events: None,
                report_interval_s: 1, seed: 1,
            };
            let begin_ns = asked + LEAD_NS;
            let moment = begin_ns + after;
            let second = |at_ns: i64, start: &HostStart| (at_ns - start.t0_ns).div_euclid(SECOND_NS);
            let t0_ns = begin_ns + i64::try_from(warmup_s).unwrap() * SECOND_NS;
            let planned = (moment - t0_ns).div_euclid(SECOND_NS);
            let from_edge = (moment - t0_ns).rem_euclid(SECOND_NS);
            let from_edge = from_edge.min(SECOND_NS - from_edge);
            for (clock, there, back) in hosts {
                let offset = ClockOffset::from_round_trip(asked, clock.at(asked + there), asked + there + back);
                let start = start_on("vm".to_owned(), begin_ns, offset, &plan);
                // The clock's seconds are not quite ours either, so that the bound grows with the run.
                let known = offset.bound_at(moment);
                if from_edge > known {
                    prop_assert_eq!(second(clock.at(moment), &start), planned);
                }
                prop_assert!((second(clock.at(moment), &start) - planned).abs() <= 1 + known / SECOND_NS);
            }
        }
    }
}
