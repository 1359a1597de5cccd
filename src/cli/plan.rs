//! `drivestone plan`

use serde::Serialize;

use super::arguments::Profiles;
use super::exit::{self, Failure};
use super::output;
use super::request::Request;
use crate::plan::Plan;
use crate::protocol::facts::{DatasetState, HostFacts, ServerFacts};
use crate::protocol::job::Transport;
use crate::spec::ByteSize;

/// The JSON form.
#[derive(Serialize)]
struct PlanDocument<'a> {
    plan: &'a Plan,
    facts: &'a HostFacts,
    refusals: Vec<&'a str>,
    warnings: Vec<&'a str>,
}

/// Prints what would be done.
pub fn plan(profiles: &Profiles, json: bool) -> Result<(), Failure> {
    let request = Request::from_profiles(profiles)?;
    let checked = request.check(None)?;
    checked.fleet.quit();
    let (plan, facts) = (&request.plan, &checked.found.instances[0].1);
    if json {
        let document = PlanDocument {
            plan,
            facts,
            refusals: checked.preflight.refusals.iter().map(|p| p.text.as_str()).collect(),
            warnings: checked.preflight.warnings.iter().map(|p| p.text.as_str()).collect(),
        };
        let text =
            serde_json::to_string_pretty(&document).map_err(|error| Failure::new(exit::USAGE, error))?;
        output::print(&format!("{text}\n"))?;
    } else {
        output::print(&describe(plan, facts))?;
    }
    request.judge(&checked.preflight)
}

/// The plan for people, one topic a paragraph.
fn describe(plan: &Plan, facts: &HostFacts) -> String {
    let mut text =
        format!("{} on {}\n{}\n\n", plan.profile.name, plan.hardware.name, plan.profile.description);
    for (topic, lines) in [
        ("Dataset", dataset(plan)),
        ("Buffer pool", pool(plan)),
        ("Load", load(plan)),
        ("Expected", expected(plan)),
        ("Space", space(plan, facts)),
        ("Duration", duration(plan, facts)),
        ("Creates", creates(plan, facts)),
        ("Server", server(plan, facts)),
    ] {
        for (n, line) in lines.iter().enumerate() {
            text += &format!("{:<12} {line}\n", if n == 0 { topic } else { "" });
        }
    }
    text
}

fn dataset(plan: &Plan) -> Vec<String> {
    let (contents, e) = (&plan.dataset.contents, &plan.estimate);
    vec![
        format!(
            "{} tables × {} rows = {} rows × {:.0} B ≈ {}",
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
    ]
}

fn pool(plan: &Plan) -> Vec<String> {
    let (bytes, e) = (plan.server.buffer_pool_bytes, &plan.estimate);
    vec![format!(
        "{} ({}) = {} pages; the dataset is {:.1} × the pool",
        size(bytes),
        plan.server.buffer_pool_origin,
        grouped(e.pool_pages),
        e.dataset_bytes as f64 / bytes as f64
    )]
}

fn load(plan: &Plan) -> Vec<String> {
    let mix = &plan.workload.mix;
    plan.runs
        .iter()
        .map(|run| {
            format!(
                "{}, {} threads, {} keys over ids 1–{}, seed {}",
                plan.workload.kind.name(),
                run.threads,
                mix.keys.name(),
                grouped(mix.table_size),
                run.seed
            )
        })
        .collect()
}

fn expected(plan: &Plan) -> Vec<String> {
    let e = &plan.estimate;
    vec![
        format!("hit ratio {:.1} % of visits to leaf pages", e.hit_ratio * 100.0),
        format!(
            "{:.1} leaf visits a transaction × (1 − {:.3}) = {:.2} pages read from the device by each",
            e.visits_per_transaction, e.hit_ratio, e.misses_per_transaction
        ),
    ]
}

fn space(plan: &Plan, facts: &HostFacts) -> Vec<String> {
    let e = &plan.estimate;
    let target = &facts.target;
    let place = target.mount.as_ref().map_or_else(String::new, |mount| {
        let device = mount.device.as_ref().map_or("no block device", |device| device.name.as_str());
        format!(" ({} on {device})", mount.filesystem)
    });
    let mut lines = vec![format!(
        "{} with redo log and the server's own files; {} has {} free of {}{place}",
        size(e.space_bytes),
        target.path,
        size(target.free_bytes),
        size(target.total_bytes)
    )];
    if !matches!(facts.dataset, DatasetState::Ready(_)) {
        lines.push(format!(
            "up to {} will be written while loading: each page at most twice (doublewrite), each row in the redo log",
            size(e.load_write_bytes)
        ));
    }
    lines
}

fn duration(plan: &Plan, facts: &HostFacts) -> Vec<String> {
    let load = match facts.dataset {
        DatasetState::Ready(_) => "no load (the dataset is there)",
        _ => "the load (its time left is shown)",
    };
    plan.runs
        .iter()
        .map(|run| {
            let bound = match (run.duration_s, run.events) {
                (Some(s), Some(events)) => format!("{s} s or {} transactions", grouped(events)),
                (Some(s), None) => format!("{s} s"),
                (None, events) => format!("{} transactions", grouped(events.unwrap_or(0))),
            };
            format!("{load} + {} s warm-up + {bound} measured", run.warmup_s)
        })
        .collect()
}

fn creates(plan: &Plan, facts: &HostFacts) -> Vec<String> {
    let folder = format!("{}/drivestone/{}/", facts.target.path, plan.dataset.contents.folder());
    let dataset = match &facts.dataset {
        DatasetState::Ready(manifest) => {
            format!("nothing new: reuses {folder} (runs since its load: {})", manifest.runs_since)
        }
        DatasetState::HalfLoaded => format!("{folder} anew, in place of a load that never finished"),
        _ => format!("{folder} (the dataset; it stays for later runs)"),
    };
    vec![dataset, "a result folder below reports/runs/, or where --out says".to_owned()]
}

fn server(plan: &Plan, facts: &HostFacts) -> Vec<String> {
    let transport = match plan.server.transport {
        Transport::Socket => "Unix socket",
        Transport::Tcp => "TCP on 127.0.0.1",
    };
    let program = match &facts.server {
        ServerFacts::Found { program, version, account, .. } => {
            let account = account.as_ref().map_or_else(String::new, |name| format!(", as {name}"));
            format!("{program} {version}{account}, {transport}")
        }
        ServerFacts::Missing { reason } => reason.clone(),
    };
    let mut lines = vec![program];
    let options: Vec<String> = plan.server.options.iter().map(|(name, value)| option(name, value)).collect();
    lines.extend(options.chunks(3).map(|chunk| chunk.join("  ")));
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
mod tests {
    use super::*;

    #[test]
    fn groups_of_three() {
        assert_eq!([1, 999, 1000, 1_234_567].map(grouped), ["1", "999", "1,000", "1,234,567"]);
    }
}
