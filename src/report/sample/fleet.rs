//! Made-up analyses of several instances.

use super::{complete, cpu, noise, plan_of, rates, run};
use crate::analysis::{
    Fairness, Figures, Finding, InstanceAnalysis, InstanceSecond, ObserverAnalysis, ObserverSecond,
    OthersPrint, Outcome, ResultAnalysis, RunAnalysis, SegmentAnalysis, StackAnalysis,
};
use crate::stats::device::sum_of_devices;

/// A sweep over these numbers of instances, each run as planned, watched by one observer.
pub(in crate::report) fn sweep(counts: &[u32], seconds: i64) -> ResultAnalysis {
    let mut result = complete();
    let planned = &mut plan_of(&mut result).runs;
    *planned = counts.iter().map(|_| planned[0].clone()).collect();
    planned.iter_mut().zip(counts).for_each(|(run, count)| run.instances = *count);
    result.runs = counts.iter().map(|&count| fleet(count, seconds)).collect();
    result.runs.iter_mut().enumerate().for_each(|(number, run)| run.number = number);
    result
}

/// One run of 4 instances that lost the third after so many of 60 seconds.
pub(in crate::report) fn lost(after: i64) -> ResultAnalysis {
    let mut result = sweep(&[4], 60);
    let reason = "vm3 was lost: ssh: connection reset by peer";
    (result.outcome, result.reason) = (Outcome::Partial, Some(reason.into()));
    let run = &mut result.runs[0];
    (run.outcome, run.reason, run.instances_present) = (Outcome::Partial, result.reason.clone(), 3);
    let headline = after >= 30;
    run.segments =
        vec![segment(run, 0..4, 0, after - 1, headline), segment(run, [0, 1, 3], after, 59, false)];
    run.findings[0].holds = Some(false);
    run.findings[0].text = format!(
        "3 of 4 instances took part all along; vm3 lost after second {after}: ssh: connection reset by peer"
    );
    let gone = &mut run.per_instance[2];
    (gone.last_second, gone.lost) = (Some(after - 1), Some("ssh: connection reset by peer".into()));
    gone.series.retain(|second| second.second < after);
    gone.figures.seconds = after as f64;
    if !headline {
        (run.figures, run.percentiles) = (None, Vec::new());
        (run.fairness, run.others_print) = (None, None);
    }
    result
}

fn segment(
    run: &RunAnalysis,
    members: impl IntoIterator<Item = usize>,
    first: i64,
    last: i64,
    headline: bool,
) -> SegmentAnalysis {
    let members: Vec<&InstanceAnalysis> = members.into_iter().map(|n| &run.per_instance[n]).collect();
    let tps = members.iter().map(|own| own.figures.tps).sum::<f64>();
    let seconds = (last - first + 1) as f64;
    SegmentAnalysis {
        hosts: members.iter().map(|own| own.host.clone()).collect(),
        first_second: first,
        last_second: last,
        seconds,
        headline,
        transactions: (tps * seconds) as u64,
        tps,
        latency: members[0].figures.latency,
        errors: 3,
    }
}

/// Instances that slow each other down, the last of them most.
fn fleet(count: u32, seconds: i64) -> RunAnalysis {
    let share = 1.0 / (1.0 + 0.06 * f64::from(count));
    let own = |n: u32| instance(n, if n + 1 == count { share * 0.82 } else { share }, seconds);
    let per_instance: Vec<InstanceAnalysis> = (0..count).map(own).collect();
    let one = run(seconds);
    let mut figures = one.figures.clone().unwrap_or_else(|| unreachable!());
    figures.tps = per_instance.iter().map(|own| own.figures.tps).sum();
    figures.transactions = (figures.tps * seconds as f64) as u64;
    let devices: Vec<_> = per_instance.iter().filter_map(|own| own.figures.device).collect();
    figures.device = sum_of_devices(&devices);
    scale_latency(&mut figures, share);
    let mut run = RunAnalysis {
        instances: count,
        instances_present: count as usize,
        device_name: Some(format!("vdb × {count}")),
        fairness: Some(Fairness { jain_index: 0.9968, min_max_ratio: 0.82, slowest: format!("vm{count}") }),
        others_print: Some(OthersPrint {
            mean_p99_ms: 51.0 / share,
            worst_p99_ms: 62.0 / share,
            worst_host: format!("vm{count}"),
        }),
        observers: vec![observer(seconds)],
        figures: Some(figures),
        per_instance,
        ..one
    };
    run.series.iter_mut().for_each(|point| point.tps *= share * f64::from(count));
    run.segments = vec![segment(&run, 0..count as usize, 0, seconds - 1, true)];
    run.findings.insert(
        0,
        Finding {
            id: "every_instance_present",
            title: "Every instance present",
            holds: Some(true),
            text: format!("all {count} instances took part, each to its end"),
        },
    );
    run
}

fn scale_latency(figures: &mut Figures, share: f64) {
    if let Some(latency) = &mut figures.latency {
        (latency.avg_ms, latency.p95_ms) = (latency.avg_ms / share, latency.p95_ms / share);
        (latency.p99_ms, latency.peak_ms) = (latency.p99_ms / share, latency.peak_ms / share);
    }
}

fn instance(n: u32, share: f64, seconds: i64) -> InstanceAnalysis {
    let one = run(seconds);
    let mut figures = one.figures.unwrap_or_else(|| unreachable!());
    figures.tps *= share * (1.0 + 0.01 * noise(i64::from(n), 9));
    figures.device = Some(rates(share));
    scale_latency(&mut figures, share);
    let second = |point: &crate::analysis::SecondPoint| InstanceSecond {
        second: point.second,
        tps: point.tps * share * (1.0 + 0.15 * noise(point.second, i64::from(n) + 10)),
        p99_ms: point.p99_ms.map(|ms| ms / share * (1.0 + 0.3 * noise(point.second, i64::from(n) + 40))),
    };
    InstanceAnalysis {
        host: format!("vm{}", n + 1),
        device_name: Some("vdb".into()),
        figures,
        stack: StackAnalysis::default(),
        machine: super::machine::machine(),
        last_second: Some(seconds - 1),
        lost: None,
        series: one.series.iter().map(second).collect(),
    }
}

fn observer(seconds: i64) -> ObserverAnalysis {
    let second = |second: i64| {
        let level = 2.0 + 0.2 * noise(second, 77);
        ObserverSecond { second, device: Some(rates(level)), cpu: Some(cpu(0.4)) }
    };
    ObserverAnalysis {
        host: "node1".into(),
        device_name: Some("nvme1n1".into()),
        device: Some(rates(2.0)),
        stack: StackAnalysis::default(),
        cpu: Some(cpu(0.4)),
        series: (-10..seconds).map(second).collect(),
    }
}
