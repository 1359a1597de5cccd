//! The figures of one run.

use super::figures::{Figures, Telemetry, Unfinished, figures, percentiles, unfinished};
use super::findings::{self, Evidence, InFlight};
use super::fleet::{self, InstanceAnalysis, InstanceSecond, ObserverAnalysis, SegmentAnalysis};
use super::gather::Gathered;
use super::gather_run::{GatheredInstance, GatheredRun};
use super::load::analyze_load;
use super::merging::{SegmentTotals, Totals};
use super::samples::{HostMoment, ServerMoment};
use super::wear::analyze_wear;
use super::window::Ends;
use super::{RunAnalysis, layers, machine, outcome, series};
use crate::plan::Plan;
use crate::protocol::clock::SECOND_NS;
use crate::protocol::event::LoadEndCause;

/// Share of the planned duration that the headline must cover.
const LEAST_COVERED: f64 = 0.5;

/// Figures, series and findings of a run.
pub fn analyze_run(run: &GatheredRun, gathered: &Gathered, plan: &Plan) -> RunAnalysis {
    let (outcome, reason) = outcome::of_run(run, gathered);
    let nothing = SegmentTotals::new(run.instances.len());
    let headline = headline(run).or((!run.is_fleet()).then_some((0, &nothing)));
    let in_flight = in_flight(run, headline.map(|(_, totals)| totals));
    let views: Vec<View> = run
        .instances
        .iter()
        .enumerate()
        .map(|(place, instance)| {
            let own = headline.and_then(|(_, totals)| totals.each.get(place));
            View::of(instance, own.or_else(|| run.merging.whole(place)).unwrap_or(&nothing.all))
        })
        .collect();
    let together = headline.map(|(_, totals)| {
        let ages = in_flight.as_ref().map(|in_flight| in_flight.unfinished.as_slice());
        all_as_one(&totals.all, ages, &views)
    });
    let per_instance = views.iter().map(|view| view.analysis(run, gathered)).collect::<Vec<_>>();
    // Instances are compared over the same seconds or not at all.
    let compared = headline.filter(|_| run.is_fleet()).map(|_| per_instance.as_slice());
    let mut analysis = RunAnalysis {
        number: run.number,
        outcome,
        reason,
        workload: plan.workload.kind.name().to_owned(),
        threads: run.plan.threads,
        rate_per_s: run.plan.rate_per_s,
        instances: run.plan.instances,
        instances_present: run.present(),
        figures: together,
        device_name: device_name(&per_instance),
        series: series::points(run),
        percentiles: headline.map(|(_, totals)| percentiles(&totals.all.latency)).unwrap_or_default(),
        segments: segments(run, headline.map(|(place, _)| place)),
        fairness: compared.and_then(fleet::fairness),
        others_print: compared.and_then(fleet::others_print),
        observers: observers(run, gathered, headline.map(|(_, totals)| &totals.all)),
        per_instance,
        load: analyze_load(run),
        wear: analyze_wear(run),
        findings: Vec::new(),
        imported: None,
    };
    let evidence: Vec<Evidence> = views
        .iter()
        .zip(&analysis.per_instance)
        .map(|(view, own)| Evidence {
            run,
            instance: view.instance,
            known: gathered.hosts.get(&own.host),
            plan,
            figures: &own.figures,
            stack: &own.stack,
            machine: &own.machine,
            host: view.host.as_ref(),
            server: view.server.as_ref(),
        })
        .collect();
    analysis.findings = findings::all(&evidence, run, gathered, &analysis, in_flight.as_ref());
    analysis
}

/// The segment whose figures are the run's: the longest with all planned instances, if it is long enough.
/// With one instance it always is. Loads that all ended by their events had no duration to keep.
fn headline(run: &GatheredRun) -> Option<(usize, &SegmentTotals)> {
    let (place, totals) = run.merging.full.as_ref()?;
    let measured: f64 = run.merging.segments.iter().map(|segment| segment.length_ns as f64).sum();
    let by_events = |own: &GatheredInstance| {
        own.done && own.ended.as_ref().is_some_and(|ended| ended.cause == LoadEndCause::Events)
    };
    let duration_s = run.plan.duration_s.filter(|_| !run.instances.iter().all(by_events));
    let base = duration_s.map_or(measured, |seconds| seconds as f64 * SECOND_NS as f64);
    let covers = totals.all.length_ns as f64 >= LEAST_COVERED * base;
    (covers || !run.is_fleet()).then_some((*place, totals))
}

/// What was in flight at the ends of the headline; unknown unless every load lived to say so, and the
/// headline begins at T0 and reaches the end of each.
fn in_flight(run: &GatheredRun, headline: Option<&SegmentTotals>) -> Option<InFlight> {
    let totals = headline?;
    if totals.all.span_ns().0 != 0 || run.instances.len() < run.plan.instances as usize {
        return None;
    }
    let mut all = InFlight { unfinished: Vec::new(), carried_in_ns: 0.0 };
    for (instance, own) in run.instances.iter().zip(&totals.each) {
        all.unfinished.extend(unfinished_at_end(instance, own)?);
        all.carried_in_ns += instance.ended.as_ref()?.carried_in_ns as f64;
    }
    Some(all)
}

/// What had not completed at the end of these seconds of an instance; unknown unless its load lived to say
/// so, and ended where they end.
fn unfinished_at_end(instance: &GatheredInstance, totals: &Totals) -> Option<Vec<Unfinished>> {
    let ended = instance.ended.as_ref()?;
    let is_end = i64::try_from(ended.measured_ns).is_ok_and(|end_ns| end_ns == totals.span_ns().1);
    is_end.then(|| unfinished(ended))
}

/// One instance with its samples at the ends of the interval that counts.
struct View<'a> {
    instance: &'a GatheredInstance,
    totals: &'a Totals,
    host: Option<Ends<'a, HostMoment>>,
    server: Option<Ends<'a, ServerMoment>>,
}

impl<'a> View<'a> {
    fn of(instance: &'a GatheredInstance, totals: &'a Totals) -> Self {
        let span = totals.span_ns();
        Self {
            instance,
            totals,
            host: Ends::of_span(&instance.samples.samples, instance.t0_ns, span),
            server: Ends::of_span(&instance.server, instance.t0_ns, span),
        }
    }

    fn rate(&self, counter: &str) -> Option<f64> {
        let ends = self.server.as_ref()?;
        Some(ends.growth(counter)? / ends.seconds())
    }

    fn device(&self) -> Option<crate::stats::device::DeviceRates> {
        series::rates(self.host.as_ref()?, &self.instance.samples)
    }

    fn cpu(&self) -> Option<crate::stats::cpu::CpuShares> {
        series::processors(self.host.as_ref()?)
    }

    fn analysis(&self, run: &GatheredRun, gathered: &Gathered) -> InstanceAnalysis {
        let instance = self.instance;
        let unfinished = unfinished_at_end(instance, self.totals);
        let telemetry =
            Telemetry { device: self.device(), cpu: self.cpu(), rate: &|counter| self.rate(counter) };
        let disk = self.host.as_ref().zip(instance.samples.device.as_deref());
        let name = disk.and_then(|(ends, number)| Some(ends.first.disk(number)?.0.to_owned()));
        let known = gathered.hosts.get(&instance.host);
        let lost = (!run.stayed(instance)).then(|| lost(instance, gathered));
        InstanceAnalysis {
            host: instance.host.clone(),
            device_name: name,
            stack: layers::analyze_stack(&instance.vanished, known, self.host.as_ref()),
            machine: machine::analyze_machine(instance, known, self.host.as_ref()),
            figures: figures(self.totals, unfinished.as_deref(), &telemetry),
            last_second: instance.last_second().filter(|second| *second >= 0),
            lost: lost.filter(|_| run.is_fleet()),
            series: instance
                .seconds
                .iter()
                .filter(|second| run.last_second().is_none_or(|last| second.second <= last))
                .map(|second| InstanceSecond {
                    second: second.second,
                    tps: second.tps,
                    p99_ms: second.p99_ms,
                })
                .collect(),
        }
    }
}

/// Why an instance did not take part to the end, without the name of its host.
fn lost(instance: &GatheredInstance, gathered: &Gathered) -> String {
    let known = || gathered.hosts.get(&instance.host)?.lost.clone();
    let reason = instance.lost.clone().or_else(known).unwrap_or_else(|| "no reason was recorded".to_owned());
    let bare = reason.strip_prefix(&instance.host).and_then(|rest| rest.strip_prefix(": "));
    bare.map_or_else(|| reason.clone(), str::to_owned)
}

/// Figures of all instances together.
fn all_as_one(totals: &Totals, unfinished: Option<&[Unfinished]>, views: &[View]) -> Figures {
    let telemetry = Telemetry {
        device: series::devices_as_one(&views.iter().map(View::device).collect::<Vec<_>>()),
        cpu: series::processors_as_one(&views.iter().map(View::cpu).collect::<Vec<_>>()),
        rate: &|counter| views.iter().map(|view| view.rate(counter)).sum(),
    };
    figures(totals, unfinished, &telemetry)
}

/// The name of the one device; for several what they are, in words.
fn device_name(instances: &[InstanceAnalysis]) -> Option<String> {
    let names: Option<Vec<&str>> = instances.iter().map(|own| own.device_name.as_deref()).collect();
    match names?.as_slice() {
        [] => None,
        [only] => Some((*only).to_owned()),
        [first, others @ ..] if others.iter().all(|name| name == first) => {
            Some(format!("{first} × {}", others.len() + 1))
        }
        names => Some(format!("{} devices", names.len())),
    }
}

fn segments(run: &GatheredRun, headline: Option<usize>) -> Vec<SegmentAnalysis> {
    let host = |place: &usize| run.instances.get(*place).map(|instance| instance.host.clone());
    let segments = run.merging.segments.iter().enumerate();
    segments
        .map(|(place, merged)| {
            let seconds = merged.length_ns as f64 / 1e9;
            SegmentAnalysis {
                hosts: merged.segment.members.iter().filter_map(host).collect(),
                first_second: merged.segment.first,
                last_second: merged.segment.last,
                seconds,
                headline: headline == Some(place),
                transactions: merged.transactions,
                tps: if seconds > 0.0 { merged.transactions as f64 / seconds } else { 0.0 },
                latency: merged.latency,
                errors: merged.errors,
            }
        })
        .collect()
}

fn observers(run: &GatheredRun, gathered: &Gathered, headline: Option<&Totals>) -> Vec<ObserverAnalysis> {
    let measured = || {
        let begin = run.merging.segments.first()?.segment.first.saturating_mul(SECOND_NS);
        let last = run.merging.seconds.last()?;
        // The last second may have been cut short.
        let length_ns = i64::try_from(last.length_ns).unwrap_or(SECOND_NS);
        Some((begin, last.second.saturating_mul(SECOND_NS).saturating_add(length_ns)))
    };
    let span = headline.map(Totals::span_ns).or_else(measured);
    let observers = run.observers.iter();
    observers
        .map(|observer| {
            let samples = &observer.samples;
            let ends = span.and_then(|span| Ends::of_span(&samples.samples, observer.t0_ns, span));
            ObserverAnalysis {
                host: observer.host.clone(),
                device_name: samples.device_name().map(str::to_owned),
                device: ends.as_ref().and_then(|ends| series::rates(ends, samples)),
                stack: layers::analyze_stack(&[], gathered.hosts.get(&observer.host), ends.as_ref()),
                cpu: ends.as_ref().and_then(series::processors),
                series: series::observer_points(run, observer),
            }
        })
        .collect()
}
