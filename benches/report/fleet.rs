//! A made-up result of several instances: one hour measured on each of them at once.

use std::path::Path;

use drivestone::plan::{InstancePlan, Plan, Reach};
use drivestone::protocol::Event;
use drivestone::protocol::event::LoadEnded;
use drivestone::result::bundle::Bundle;
use drivestone::result::{Ending, HostStart, Record};
use drivestone::stats::latency::LatencyHistogram;
use drivestone::workload::random::WorkloadRng;

use super::hour::{self, MEASURED_S, SECOND_NS, T0_NS, THREADS};

/// Writes the bundle.
pub fn write(folder: &Path, instances: u32) {
    let plan = plan(instances);
    let hosts: Vec<String> = plan.fleet.instances.iter().map(|instance| instance.host.clone()).collect();
    let mut bundle = Bundle::create(folder, &plan).unwrap();
    let mut say = |from: &str, record| bundle.append(from, record).unwrap();
    for (host, first) in hosts.iter().zip((0..).step_by(THREADS as usize)) {
        say(host, Record::Clock { offset_ns: 0, bound_ns: 100_000 });
        say(host, Record::Event(Event::ServerReady(hour::server())));
        let streams = (first..first + u64::from(THREADS)).collect();
        say(host, Record::Event(Event::LoadReady { streams, cpus: "0-15".to_owned() }));
    }
    let end_ns = Some(T0_NS + MEASURED_S * SECOND_NS);
    let start = |host: &String| HostStart { host: host.clone(), begin_ns: T0_NS, t0_ns: T0_NS, end_ns };
    let starts = hosts.iter().map(start).collect();
    say("coordinator", Record::RunStarted { run: 0, instances: starts, observers: Vec::new() });
    let mut rng = WorkloadRng::new(1, 1);
    let mut latency = LatencyHistogram::new();
    for second in 0..=MEASURED_S {
        for host in &hosts {
            say(host, Record::Event(Event::Host(Box::new(hour::host(second, second as u64)))));
            say(host, Record::Event(Event::Server(hour::counters(second, second))));
            if second < MEASURED_S {
                say(host, Record::Event(Event::LoadSecond(hour::load(second, &mut rng, &mut latency))));
            }
        }
    }
    for host in &hosts {
        say(host, Record::Event(Event::LoadEnded(LoadEnded { carried_in_ns: 0, ..hour::ended() })));
    }
    say("coordinator", Record::RunEnded { run: 0, shortfall: None });
    say("coordinator", Record::Closed { ending: Ending::Complete, reason: None });
    bundle.close();
}

fn plan(instances: u32) -> Plan {
    let mut plan = hour::plan();
    let hosts = (1..=instances).map(|n| format!("vm{n}"));
    plan.fleet.instances = hosts.map(|host| InstancePlan { host, reach: Reach::Ssh }).collect();
    (plan.runs[0].instances, plan.runs[0].warmup_s) = (instances, 0);
    plan
}
