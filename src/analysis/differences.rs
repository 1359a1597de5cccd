//! What two results' environments differ in: plan, hosts, devices, servers with all their variables.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Serialize;
use serde_json::Value;

use super::gather::{self, Gathered, GatheredHost};
use super::redacted;
use crate::plan::Plan;
use crate::result::ResultError;
use crate::result::bundle::{StoredPlan, read_plan};
use crate::result::redact::Redaction;

/// Two environments beside each other.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct EnvironmentComparison {
    /// The results as they were given.
    pub results: [String; 2],
    /// Facts that at least one of them tells.
    pub compared: usize,
    /// Those that they do not share, in groups, in reading order.
    pub differences: Vec<EnvironmentDifference>,
}

/// One fact that is not the same in both.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct EnvironmentDifference {
    /// What it belongs to, such as `plan`, `host`, `device nvme0n1` or `server variables`; with the number of the
    /// instance where there are several.
    pub group: String,
    /// Its name as the result stores it.
    pub fact: String,
    /// What each result says; `None` where it says nothing.
    pub values: [Option<String>; 2],
}

/// Facts that are another with every start, or belong to the moment and not to the environment.
const PASSING: [&str; 13] = [
    "boot_id",
    "memory_available_bytes",
    "free_bytes",
    "identity",
    "socket_path",
    "dataset",
    "dataset_bytes",
    "state",
    "nearest",
    "pid",
    "initialized",
    "configuration",
    "address",
];
/// The same among the server's variables.
const PASSING_VARIABLES: [&str; 13] = [
    "datadir",
    "general_log_file",
    "hostname",
    "log_error",
    "pid_file",
    "port",
    "server_uid",
    "slow_query_log_file",
    "socket",
    "init_file",
    "tmpdir",
    "innodb_buffer_pool_load_incremental",
    "timestamp",
];
/// Of the plan what another section tells better, what is a choice of this one time, and what is a text made of the
/// rest.
const PASSING_PLAN: [&str; 9] = [
    "format",
    "file",
    "seed",
    "sysbench_prepare",
    "sysbench_run",
    "estimate",
    "overrides",
    "buffer_pool_origin",
    "description",
];

/// Facts of one group, by name.
type Facts = BTreeMap<String, String>;

/// Compares two results, given as their folders or journals; without the names when there is a redaction.
///
/// # Errors
/// When one of them was not measured, or is not a result that this version reads.
pub fn compare_environments(
    results: [&Path; 2],
    redaction: Option<&Redaction>,
) -> Result<EnvironmentComparison, ResultError> {
    let [a, b] = results.map(|result| environment(result, redaction));
    let shown = |path: &Path| {
        let path = path.display().to_string();
        redaction.map_or_else(|| path.clone(), |redaction| redaction.text(&path))
    };
    Ok(compare(results.map(shown), [a?, b?]))
}

fn environment(result: &Path, redaction: Option<&Redaction>) -> Result<Vec<(String, Facts)>, ResultError> {
    let StoredPlan { mut plan, crc32 } = read_plan(result)?;
    if let Some(redaction) = redaction {
        plan = redacted(redaction, &plan, result)?;
    }
    let gathered = gather::gather(result, &plan, crc32, redaction)?;
    Ok(groups(&plan, &gathered))
}

/// Groups in reading order. Hosts go by their place in the plan: their names may be what differs.
fn groups(plan: &Plan, gathered: &Gathered) -> Vec<(String, Facts)> {
    let mut groups = vec![("plan".to_owned(), facts_of(plan, &PASSING_PLAN))];
    let of = |several: bool, what: &str, n: usize| match several {
        true => format!("{what} {}", n + 1),
        false => what.to_owned(),
    };
    let fleet = &plan.fleet;
    for (n, instance) in fleet.instances.iter().enumerate() {
        if let Some(host) = gathered.hosts.get(&instance.host) {
            add_instance(host, &|what| of(fleet.instances.len() > 1, what, n), &mut groups);
        }
    }
    for (n, observer) in fleet.observers.iter().enumerate() {
        let facts = gathered.hosts.get(&observer.host).and_then(|host| host.observer.as_ref());
        if let Some(facts) = facts {
            groups.push((of(fleet.observers.len() > 1, "observer", n), facts_of(facts, &PASSING)));
        }
    }
    groups
}

fn add_instance(host: &GatheredHost, named: &dyn Fn(&str) -> String, groups: &mut Vec<(String, Facts)>) {
    if let Some(facts) = &host.facts {
        let mut own = facts.clone();
        let devices = own.target.mount.as_mut().map(|mount| std::mem::take(&mut mount.devices));
        own.journal_mount = None;
        groups.push((named("host"), facts_of(&own, &PASSING)));
        for device in devices.iter().flatten() {
            groups.push((
                format!("{} {}", named("device"), device.name),
                facts_of(device, &["number", "below"]),
            ));
        }
    }
    if let Some(server) = &host.server {
        let mut own = server.clone();
        let variables = std::mem::take(&mut own.variables);
        groups.push((named("server"), facts_of(&own, &PASSING)));
        groups.push((named("server variables"), facts_of(&variables, &PASSING_VARIABLES)));
    }
}

/// Everything that is stored but for these names, each fact under its path.
fn facts_of(stored: &impl Serialize, without: &[&str]) -> Facts {
    let mut facts = Facts::new();
    // What was read from JSON can be written as JSON.
    flatten(String::new(), serde_json::to_value(stored).unwrap_or_default(), without, &mut facts);
    facts
}

fn flatten(path: String, value: Value, without: &[&str], facts: &mut Facts) {
    let below = |name: &str| if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") };
    match value {
        Value::Null => {}
        Value::Object(fields) => {
            for (name, value) in fields.into_iter().filter(|(name, _)| !without.contains(&name.as_str())) {
                flatten(below(&name), value, without, facts);
            }
        }
        Value::Array(items) => {
            let several = items.len() > 1;
            for (n, item) in items.into_iter().enumerate() {
                match label_and_text(&item) {
                    Some((label, text)) => drop(facts.insert(format!("{path} ({label})"), text)),
                    None if several => flatten(below(&(n + 1).to_string()), item, without, facts),
                    None => flatten(path.clone(), item, without, facts),
                }
            }
        }
        Value::String(text) => drop(facts.insert(path, text)),
        Value::Number(number) => drop(facts.insert(path, number.to_string())),
        Value::Bool(flag) => drop(facts.insert(path, if flag { "yes" } else { "no" }.to_owned())),
    }
}

/// An item of a list of labels with their texts, as the profiles' owners wrote them.
fn label_and_text(item: &Value) -> Option<(String, String)> {
    match item.as_array()?.as_slice() {
        [Value::String(label), Value::String(text)] => Some((label.clone(), text.clone())),
        _ => None,
    }
}

fn compare(results: [String; 2], [a, b]: [Vec<(String, Facts)>; 2]) -> EnvironmentComparison {
    let mut names: Vec<&String> = a.iter().map(|(name, _)| name).collect();
    names.extend(b.iter().map(|(name, _)| name).filter(|name| !a.iter().any(|(known, _)| known == *name)));
    let nothing = Facts::new();
    let group = |of: &'_ [(String, Facts)], name: &String| of.iter().position(|(known, _)| known == name);
    let mut comparison = EnvironmentComparison { results, compared: 0, differences: Vec::new() };
    for name in names {
        let in_a = group(&a, name).map_or(&nothing, |place| &a[place].1);
        let in_b = group(&b, name).map_or(&nothing, |place| &b[place].1);
        let mut facts: Vec<&String> = in_a.keys().chain(in_b.keys()).collect();
        facts.sort();
        facts.dedup();
        comparison.compared += facts.len();
        let differing = facts.into_iter().filter(|fact| in_a.get(*fact) != in_b.get(*fact));
        comparison.differences.extend(differing.map(|fact| EnvironmentDifference {
            group: name.clone(),
            fact: fact.clone(),
            values: [in_a.get(fact).cloned(), in_b.get(fact).cloned()],
        }));
    }
    comparison
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn facts_have_paths_and_labels() {
        let facts = facts_of(
            &json!({
                "kernel": "Linux 6", "pid": 7, "target": {"path": "/d", "free_bytes": 1},
                "device": [["Model", "X"], ["Size", "1 TB"]], "nodes": ["0-3", "4-7"], "one": [{"n": 1}], "no": null,
                "on": true
            }),
            &PASSING,
        );
        let shown: Vec<String> = facts.iter().map(|(fact, value)| format!("{fact} = {value}")).collect();
        assert_eq!(
            shown,
            [
                "device (Model) = X",
                "device (Size) = 1 TB",
                "kernel = Linux 6",
                "nodes.1 = 0-3",
                "nodes.2 = 4-7",
                "on = yes",
                "one.n = 1",
                "target.path = /d"
            ]
        );
    }

    #[test]
    fn what_one_lacks_and_what_differs_is_told_and_the_rest_counted() {
        let facts = |pairs: &[(&str, &str)]| -> Facts {
            pairs.iter().map(|(fact, value)| ((*fact).to_owned(), (*value).to_owned())).collect()
        };
        let a = vec![("host".to_owned(), facts(&[("kernel", "6.1"), ("cpus", "2")]))];
        let b = vec![
            ("host".to_owned(), facts(&[("kernel", "6.12"), ("cpus", "2")])),
            ("server".to_owned(), facts(&[("version", "10.11")])),
        ];
        let compared = compare(["a".into(), "b".into()], [a, b]);
        assert_eq!(compared.compared, 3);
        let shown: Vec<String> =
            compared.differences.iter().map(|d| format!("{} {} {:?}", d.group, d.fact, d.values)).collect();
        assert_eq!(
            shown,
            [r#"host kernel [Some("6.1"), Some("6.12")]"#, r#"server version [None, Some("10.11")]"#]
        );
    }
}
