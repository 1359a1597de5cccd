//! `drivestone plan`

mod hosts;

use std::collections::BTreeMap;

use serde::Serialize;

use super::arguments::Profiles;
use super::exit::{self, Failure};
use super::output;
use super::request::Request;
use crate::plan::load_options::WORTH_BYTES;
use crate::plan::{Plan, Reach, RunPlan};
use crate::protocol::facts::{DatasetState, HostFacts, ServerFacts};
use crate::protocol::job::Transport;
use crate::report::visible::visible;
use crate::spec::ByteSize;
use crate::workload::statement::{StatementClass, StatementKind};

/// Instances' hosts by name, with what was found on them; none of machines that are still to be made.
type Hosts = [(String, HostFacts)];

/// The JSON form.
#[derive(Serialize)]
struct PlanDocument<'a> {
    plan: &'a Plan,
    /// By host.
    facts: BTreeMap<&'a str, &'a HostFacts>,
    refusals: Vec<&'a str>,
    warnings: Vec<&'a str>,
}

/// Prints what would be done.
pub fn plan(profiles: &Profiles, json: bool) -> Result<(), Failure> {
    let request = Request::from_profiles(profiles)?;
    let checked = request.look()?;
    checked.fleet.quit();
    let (plan, facts) = (&request.plan, &checked.found.instances);
    if json {
        let document = PlanDocument {
            plan,
            facts: facts.iter().map(|(host, facts)| (host.as_str(), facts)).collect(),
            refusals: checked.preflight.refusals.iter().map(|p| p.text.as_str()).collect(),
            warnings: checked.preflight.warnings.iter().map(|p| p.text.as_str()).collect(),
        };
        let text =
            serde_json::to_string_pretty(&document).map_err(|error| Failure::new(exit::USAGE, error))?;
        output::print(&format!("{text}\n"))?;
    } else {
        output::print(&visible(&describe(plan, facts)))?;
    }
    request.judge(&checked.preflight)
}

/// The plan for people, one topic a paragraph.
fn describe(plan: &Plan, facts: &Hosts) -> String {
    let mut text =
        format!("{} on {}\n{}\n\n", plan.profile.name, plan.hardware.name, plan.profile.description);
    for (topic, lines) in [
        ("Hosts", hosts::hosts(plan)),
        ("Dataset", dataset(plan)),
        ("Buffer pool", pool(plan)),
        ("Load", load(plan)),
        ("Expected", expected(plan)),
        ("Space", space(plan, facts)),
        ("Duration", duration(plan, facts)),
        ("Creates", creates(plan, facts)),
        ("Server", server(plan, facts)),
        ("As sysbench", as_sysbench(plan)),
    ] {
        for (n, line) in lines.iter().enumerate() {
            text += &format!("{:<12} {line}\n", if n == 0 { topic } else { "" });
        }
    }
    text
}

fn dataset(plan: &Plan) -> Vec<String> {
    let (contents, e) = (&plan.dataset.contents, &plan.estimate);
    let worth = size(WORTH_BYTES);
    if contents.rows == 0 {
        let tables = grouped(contents.tables.into());
        return vec![format!(
            "{}{tables} empty tables: {}",
            each(plan, "on each host: "),
            size(e.dataset_bytes)
        )];
    }
    vec![
        format!(
            "{}{} tables × {} rows = {} rows × {:.0} B ≈ {}",
            each(plan, "on each host: "),
            contents.tables,
            grouped(contents.rows),
            grouped(e.rows),
            e.bytes_per_row,
            size(e.dataset_bytes)
        ),
        format!(
            "{} leaf pages of primary keys + {} of index k, {} each",
            grouped(e.clustered_pages),
            grouped(e.index_pages),
            size(contents.page_bytes.into())
        ),
        match plan.dataset.load_options.is_empty() {
            true => format!(
                "loaded by the server that measures (load_settings: measured, the default below {worth})"
            ),
            false => format!(
                "loaded without doublewrite by a server that is then stopped cleanly and started anew \
                 (load_settings: fast, the default from {worth} on)"
            ),
        },
    ]
}

fn pool(plan: &Plan) -> Vec<String> {
    let (bytes, e) = (plan.server.buffer_pool_bytes, &plan.estimate);
    vec![format!(
        "{}{} ({}) = {} pages; the dataset is {:.1} × the pool",
        each(plan, "on each host: "),
        size(bytes),
        plan.server.buffer_pool_origin,
        grouped(e.pool_pages),
        e.dataset_bytes as f64 / bytes as f64
    )]
}

fn load(plan: &Plan) -> Vec<String> {
    let workload = &plan.workload;
    let mut lines = vec![
        format!(
            "{}, {} keys over ids 1–{}",
            workload.kind.name(),
            workload.keys.name(),
            grouped(workload.table_size)
        ),
        transaction(plan),
    ];
    lines.extend(plan.runs.iter().map(|run| {
        let instances = each(plan, &format!("{} × ", hosts::instances(run.instances)));
        let rate = run.rate_per_s.map_or_else(String::new, |rate| {
            format!(
                ", {} transactions a second{} as they arrive",
                grouped(rate.into()),
                each(plan, " at each")
            )
        });
        format!("{instances}{} threads{rate}, seed {}", run.threads, run.seed)
    }));
    if let Some(ramp) = plan.load.ramp {
        let ms = ramp.p99_ns / 1_000_000;
        lines.push(format!("until two rates in a row are not kept within {ms} ms (99th percentile)"));
    }
    lines
}

/// What one transaction is made of.
fn transaction(plan: &Plan) -> String {
    let workload = &plan.workload;
    let times = |(kind, times): &(StatementKind, u32)| match times {
        1 => kind.name().to_owned(),
        n => format!("{n} × {}", kind.name()),
    };
    let statements = workload.statements();
    let inner = statements.iter().filter(|(kind, _)| kind.class() != StatementClass::Other);
    let inner: Vec<String> = inner.map(times).collect();
    let around = if workload.transaction { " between BEGIN and COMMIT" } else { "" };
    let form = if workload.prepared { "prepared" } else { "sent as text" };
    format!("{}{around}, {form}", inner.join(", "))
}

fn expected(plan: &Plan) -> Vec<String> {
    let e = &plan.estimate;
    if e.visits_per_transaction == 0.0 {
        return vec!["no page is looked up: rows are added at the end of each table".to_owned()];
    }
    vec![
        format!(
            "{}hit ratio {:.1} % of visits to leaf pages",
            each(plan, "of each instance: "),
            e.hit_ratio * 100.0
        ),
        format!(
            "{:.1} leaf visits a transaction × (1 − {:.3}) = {:.2} pages read from the device by each",
            e.visits_per_transaction, e.hit_ratio, e.misses_per_transaction
        ),
    ]
}

/// A remark that a plan for this machine alone does without.
fn each(plan: &Plan, remark: &str) -> String {
    if hosts::is_fleet(&plan.fleet) { remark.to_owned() } else { String::new() }
}

fn space(plan: &Plan, facts: &Hosts) -> Vec<String> {
    let e = &plan.estimate;
    let Some((host, tightest)) = hosts::tightest(facts) else { return Vec::new() };
    let target = &tightest.target;
    let place = target.mount.as_ref().map_or_else(String::new, |mount| {
        let device = mount.device().map_or("no block device", |device| device.name.as_str());
        format!(" ({} on {device})", mount.filesystem)
    });
    let least = if facts.len() > 1 { format!("{host} has the least: ") } else { String::new() };
    let mut lines = vec![format!(
        "{}{} with redo log and the server's own files; {least}{} has {} free of {}{place}",
        each(plan, "on each host: "),
        size(e.space_bytes),
        target.path,
        size(target.free_bytes),
        size(target.total_bytes)
    )];
    if hosts::ready(facts) < facts.len() {
        lines.push(format!(
            "up to {} will be written while loading{}: each page {}, each row in the redo log",
            size(e.load_write_bytes),
            each(plan, " on each"),
            if plan.dataset.load_options.is_empty() { "at most twice (doublewrite)" } else { "once" }
        ));
    }
    lines
}

fn duration(plan: &Plan, facts: &Hosts) -> Vec<String> {
    let (ready, all) = (hosts::ready(facts), facts.len());
    let load = match ready {
        0 => "the load (its time left is shown)".to_owned(),
        _ if ready == all => "no load (the dataset is there)".to_owned(),
        _ => format!("the load (its time left is shown; {ready} of {all} hosts have the dataset)"),
    };
    let bound = |run: &RunPlan| match (run.duration_s, run.events) {
        (Some(s), Some(events)) => format!("{s} s or {} transactions", grouped(events)),
        (Some(s), None) => format!("{s} s"),
        (None, events) => format!("{} transactions", grouped(events.unwrap_or(0))),
    };
    let measured = |run: &RunPlan| format!("{} s warm-up + {} measured", run.warmup_s, bound(run));
    // The instances are prepared once, for all the runs; the runs differ in what the load says of them.
    match plan.runs.as_slice() {
        [run] => vec![format!("{load} + {}", measured(run))],
        [first, ..] => vec![format!("{load} + {} runs, each {}", plan.runs.len(), measured(first))],
        [] => vec![load],
    }
}

fn creates(plan: &Plan, facts: &Hosts) -> Vec<String> {
    let target = facts.first().map_or(&plan.hardware.target, |(_, facts)| &facts.target.path);
    let folder = format!("{target}/drivestone/{}/", plan.dataset.contents.folder());
    let mut lines = match facts {
        [(_, facts)] => vec![dataset_folder(&folder, facts)],
        [] => vec![format!("{folder} in each machine (the dataset; it goes with the machine)")],
        several => folders(&folder, several),
    };
    if plan.fleet.instances.iter().any(|instance| instance.reach == Reach::Ssh) {
        lines.push(match plan.fleet.keep_binary {
            true => "a copy of drivestone on each host, which stays (keep_binary)".to_owned(),
            false => "a copy of drivestone on each host, removed at the end".to_owned(),
        });
    }
    lines.push("a result folder below reports/runs/, or where --out says".to_owned());
    lines
}

fn dataset_folder(folder: &str, facts: &HostFacts) -> String {
    match &facts.dataset {
        DatasetState::Ready(manifest) => {
            format!("nothing new: reuses {folder} (runs since its load: {})", manifest.runs_since)
        }
        DatasetState::HalfLoaded => format!("{folder} anew, in place of a load that never finished"),
        _ => format!("{folder} (the dataset; it stays for later runs)"),
    }
}

/// The dataset's folder on several hosts, in the states in which it was found there.
fn folders(folder: &str, facts: &Hosts) -> Vec<String> {
    let on = |is: fn(&DatasetState) -> bool| -> Vec<&str> {
        facts.iter().filter(|(_, facts)| is(&facts.dataset)).map(|(host, _)| host.as_str()).collect()
    };
    let ready = on(|state| matches!(state, DatasetState::Ready(_)));
    let half = on(|state| matches!(state, DatasetState::HalfLoaded));
    let new = on(|state| !matches!(state, DatasetState::Ready(_) | DatasetState::HalfLoaded));
    [
        (new, "(the dataset; it stays for later runs)"),
        (half, "anew, in place of a load that never finished"),
        (ready, "is reused"),
    ]
    .into_iter()
    .filter(|(hosts, _)| !hosts.is_empty())
    .map(|(hosts, what)| format!("on {}: {folder} {what}", hosts.join(", ")))
    .collect()
}

fn server(plan: &Plan, facts: &Hosts) -> Vec<String> {
    let transport = match plan.server.transport {
        Transport::Socket => "Unix socket",
        Transport::Tcp => "TCP on 127.0.0.1",
    };
    let program = |facts: &HostFacts| match &facts.server {
        ServerFacts::Found { program, version, account, .. } => {
            let account = account.as_ref().map_or_else(String::new, |name| format!(", as {name}"));
            format!("{program} {version}{account}, {transport}")
        }
        ServerFacts::Missing { reason } => reason.clone(),
    };
    let mut programs: Vec<(String, Vec<&str>)> = Vec::new();
    for (host, facts) in facts {
        let program = program(facts);
        match programs.iter_mut().find(|(other, _)| *other == program) {
            Some((_, on)) => on.push(host),
            None => programs.push((program, vec![host])),
        }
    }
    let mut lines: Vec<String> = match &programs[..] {
        [] => vec![format!("the one found in each machine, {transport}")],
        [(program, _)] => vec![program.clone()],
        several => several.iter().map(|(program, on)| format!("on {}: {program}", on.join(", "))).collect(),
    };
    for (what, cpus) in [("server", &plan.server.cpus), ("load", &plan.load.cpus)] {
        if !cpus.is_empty() {
            let list: Vec<String> = cpus.iter().map(u32::to_string).collect();
            lines.push(format!("{what} on processors {}", list.join(",")));
        }
    }
    let options: Vec<String> = plan.server.options.iter().map(|(name, value)| option(name, value)).collect();
    lines.extend(options.chunks(3).map(|chunk| chunk.join("  ")));
    lines
}

/// The commands with which sysbench would do the same, on one instance.
fn as_sysbench(plan: &Plan) -> Vec<String> {
    let runs = plan.runs.iter().map(|run| &run.sysbench_run);
    let mut lines: Vec<String> = std::iter::once(&plan.load.sysbench_prepare).chain(runs).cloned().collect();
    // Runs may differ in their number of instances only.
    lines.dedup();
    lines.push("(how to reach the server is left out; sysbench 1.0 knows no warm-up)".to_owned());
    lines
}

/// As in a configuration file: an option without a value stands alone.
fn option(name: &str, value: &str) -> String {
    if value.is_empty() { name.to_owned() } else { format!("{name}={value}") }
}

fn size(bytes: u64) -> String {
    ByteSize::of_bytes(bytes).to_string()
}

/// `1,234,567`
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (n, digit) in digits.chars().enumerate() {
        if n > 0 && (digits.len() - n).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests;
