//! Runs: how many instances, how many threads, how fast; and what holds for all of them.

use crate::plan::{LoadPlan, RampPlan, RunPlan};
use crate::protocol::job::{IgnoredErrors, SettleJob};
use crate::spec::{
    CpuSetSpec, CpusSpec, Document, HardwareSpec, IgnoreErrorsSpec, LoadSpec, ProfileSpec, RampSpec,
    SpecError,
};

/// What counts as rest between runs: what is left to write and to purge is little against a run's own.
const SETTLE: SettleJob = SettleJob { dirty_pages: 64, history: 1_000, patience_s: 600 };

/// What holds for every run.
pub(super) fn load(spec: &ProfileSpec, cpus: &CpusSpec) -> LoadPlan {
    LoadPlan {
        ignored: match &spec.load.ignore_errors {
            IgnoreErrorsSpec::Default => IgnoredErrors::sysbenchs(),
            IgnoreErrorsSpec::All => IgnoredErrors::All,
            IgnoreErrorsSpec::Codes(codes) => IgnoredErrors::Codes(codes.iter().copied().collect()),
        },
        reconnect: spec.load.reconnect,
        reconnect_every: spec.load.reconnect_every.map(|every| every.get()),
        settle: SETTLE,
        ramp: spec.load.ramp.map(|ramp| RampPlan { p99_ns: u64::from(ramp.p99_ms.get()) * 1_000_000 }),
        sysbench_prepare: String::new(),
        cpus: cpus.load.as_ref().map(CpuSetSpec::numbers).unwrap_or_default(),
    }
}

/// A run for each number of instances (all of them if none is written), each number of threads, and each step of
/// a ramp. Their seed is the same: instances and threads have streams of their own.
pub(super) fn runs(
    hardware: &Document<HardwareSpec>,
    profile: &Document<ProfileSpec>,
    hosts: usize,
    fresh_seed: u64,
) -> Result<Vec<RunPlan>, SpecError> {
    let load = &profile.spec.load;
    let hosts = u32::try_from(hosts).unwrap_or(u32::MAX);
    refuse_missing_hosts(hardware, profile, hosts)?;
    let counts = match &load.counts {
        Some(counts) => counts.iter().map(|count| count.get()).collect(),
        None => vec![hosts],
    };
    let rates = match (load.ramp, load.rate) {
        (Some(ramp), _) => steps(ramp).into_iter().map(Some).collect(),
        (None, rate) => vec![rate.map(|rate| rate.get())],
    };
    let mut runs = Vec::new();
    for instances in counts {
        for threads in &load.threads {
            runs.extend(rates.iter().map(|rate| run(load, instances, threads.get(), *rate, fresh_seed)));
        }
    }
    Ok(runs)
}

fn run(load: &LoadSpec, instances: u32, threads: u32, rate_per_s: Option<u32>, fresh_seed: u64) -> RunPlan {
    RunPlan {
        threads,
        rate_per_s,
        instances,
        warmup_s: load.warmup.seconds(),
        duration_s: load.duration.map(|duration| duration.seconds()),
        events: load.events.map(|events| events.get()),
        report_interval_s: load.report_interval.seconds(),
        seed: load.seed.map_or(fresh_seed, |seed| seed.get()),
        sysbench_run: String::new(),
    }
}

/// Rates in equal ratios, rounded; steps that round to the same rate are one.
fn steps(ramp: RampSpec) -> Vec<u32> {
    let (from, to) = (f64::from(ramp.from.get()), f64::from(ramp.to.get()));
    let last = ramp.steps.get() - 1;
    let rate = |n: u32| from * (to / from).powf(f64::from(n) / f64::from(last));
    let mut steps: Vec<u32> = (0..=last).map(|n| rate(n).round() as u32).collect();
    steps.dedup();
    steps
}

fn refuse_missing_hosts(
    hardware: &Document<HardwareSpec>,
    profile: &Document<ProfileSpec>,
    hosts: u32,
) -> Result<(), SpecError> {
    let counts = profile.spec.load.counts.as_deref().unwrap_or_default();
    let Some(n) = counts.iter().position(|count| count.get() > hosts) else { return Ok(()) };
    let file = hardware.source.file();
    let there = match (&hardware.spec.instances, hosts) {
        (None, _) => format!("{file} names no `instances`, so there is 1, on this machine"),
        (Some(_), 1) => format!("{file} has 1 host"),
        (Some(_), _) => format!("{file} has {hosts} hosts"),
    };
    Err(SpecError::Refused {
        place: Box::new(profile.source.item_place("load.counts", n, "")),
        message: format!(
            "`{}` instances at once are more than there are: {there}; write counts up to {hosts}, or add hosts there",
            counts[n].get()
        ),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ramp_rises_in_equal_ratios() {
        let count = |text: &str| text.parse().unwrap();
        let ramp = |from: &str, to: &str, steps: &str| RampSpec {
            from: count(from),
            to: count(to),
            steps: steps.parse().unwrap(),
            p99_ms: "50".parse().unwrap(),
        };
        assert_eq!(steps(ramp("100", "1600", "5")), [100, 200, 400, 800, 1600]);
        assert_eq!(steps(ramp("1", "3", "9")), [1, 2, 3]);
    }
}
