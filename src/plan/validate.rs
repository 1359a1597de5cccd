//! A plan that comes from a file may have been edited: it must keep within what a profile can say.

mod fleet;

use super::{PLAN_FORMAT, Plan, RampPlan, RunPlan, options};
use crate::spec::{HIGHEST_CPU, Ids, Rate, Rows, Tables, Threads, Times, is_name, is_variable};
use crate::workload::Workload;

/// Durations are at most a year, as in profiles.
const LONGEST_S: u64 = 366 * 86_400;
/// The longest latency that a ramp may ask for, ns: an hour.
const MOST_NS: u64 = 3_600_000_000_000;
/// As in profiles.
const MOST_ROWS_OF_A_STATEMENT: u64 = 1_000_000;
/// Rows that `INTEGER` can number.
const MAX_NARROW: u64 = i32::MAX as u64;

/// What is wrong with a plan, if anything is.
///
/// # Errors
/// The first thing that no profile could have led to, with its field.
pub fn validate(plan: &Plan) -> Result<(), String> {
    let check = |holds: bool, wrong: &str| if holds { Ok(()) } else { Err(wrong.to_owned()) };
    if plan.format != PLAN_FORMAT {
        return Err(format!("plan format {}; this version reads format {PLAN_FORMAT}", plan.format));
    }
    check(is_name(&plan.hardware.name), "hardware.name is not a profile's name")?;
    check(is_name(&plan.profile.name), "profile.name is not a profile's name")?;
    check(plan.hardware.target.starts_with('/'), "hardware.target is not an absolute path")?;
    let (contents, mix) = (&plan.dataset.contents, &plan.workload);
    check(Tables::admits(contents.tables), "dataset.contents.tables is out of range")?;
    check(Rows::admits(contents.rows), "dataset.contents.rows is out of range")?;
    let pages = [4, 8, 16, 32, 64].map(|kib| kib << 10);
    check(pages.contains(&contents.page_bytes), "dataset.contents.page_bytes is no page size")?;
    let page_size = plan.server.options.get("innodb_page_size");
    check(
        page_size.is_some_and(|size| *size == contents.page_bytes.to_string()),
        "server.options.innodb_page_size is not the dataset's",
    )?;
    check(mix.keys == contents.keys, "workload.keys is not the dataset's")?;
    check(mix.keys.is_valid(), "workload.keys has parameters out of range")?;
    check(
        contents.rows.max(mix.table_size) <= MAX_NARROW || contents.schema.wide,
        "dataset.contents.schema.wide is too narrow",
    )?;
    check(Threads::admits(plan.dataset.load_threads), "dataset.load_threads is out of range")?;
    check(mix.tables == contents.tables, "workload.tables is not the dataset's")?;
    validate_workload(mix)?;
    let load_page_size = plan.dataset.load_options.get("innodb_page_size");
    check(
        plan.dataset.load_options.is_empty() || load_page_size == page_size,
        "dataset.load_options.innodb_page_size is not the dataset's",
    )?;
    for (name, value) in plan.server.options.iter().chain(&plan.dataset.load_options) {
        let is_clean = is_variable(name) && !value.chars().any(char::is_control);
        check(is_clean, "server.options or dataset.load_options holds what no profile can set")?;
        let ours = ["innodb_buffer_pool_size", "innodb_page_size", "innodb_log_file_size"];
        let is_ours = ours.contains(&name.as_str());
        check(
            is_ours || options::set_by_drivestone(name, value).is_none(),
            "server.options or dataset.load_options holds what no profile can set",
        )?;
    }
    check(plan.load.reconnect_every != Some(0), "load.reconnect_every is out of range")?;
    check(plan.load.settle.patience_s <= LONGEST_S, "load.settle.patience_s is out of range")?;
    let is_held = |ramp: RampPlan| (1..=MOST_NS).contains(&ramp.p99_ns);
    check(plan.load.ramp.is_none_or(is_held), "load.ramp.p99_ns is out of range")?;
    for cpus in [&plan.server.cpus, &plan.load.cpus] {
        let are_sorted = cpus.is_sorted_by(|a, b| a < b) && cpus.iter().all(|cpu| *cpu <= HIGHEST_CPU);
        check(are_sorted, "server.cpus or load.cpus is no set of processors")?;
    }
    fleet::validate(&plan.fleet)?;
    check(!plan.runs.is_empty(), "runs is empty")?;
    plan.runs.iter().try_for_each(|run| validate_run(run, plan.fleet.instances.len()))
}

fn validate_workload(workload: &Workload) -> Result<(), String> {
    let check = |holds: bool, wrong: &str| if holds { Ok(()) } else { Err(format!("workload.{wrong}")) };
    check(Ids::admits(workload.table_size), "table_size is out of range")?;
    check((1..=MOST_ROWS_OF_A_STATEMENT).contains(&workload.range_size), "range_size is out of range")?;
    check(workload.delta <= MOST_ROWS_OF_A_STATEMENT, "delta is out of range")?;
    let lists = [workload.random_points, workload.number_of_ranges];
    check(
        lists.iter().all(|n| (1..=10_000).contains(n)),
        "random_points or number_of_ranges is out of range",
    )?;
    let r = workload.repeats;
    let times = [
        r.point_selects,
        r.simple_ranges,
        r.sum_ranges,
        r.order_ranges,
        r.distinct_ranges,
        r.index_updates,
        r.non_index_updates,
        r.delete_inserts,
    ];
    check(times.into_iter().all(Times::admits), "repeats is out of range")?;
    check(!workload.transaction || workload.kind.has_transactions(), "transaction is not for this kind")?;
    check(!workload.prepared || workload.kind.can_be_prepared(), "prepared is not for this kind")?;
    check(!workload.kind.has_one_table() || workload.tables == 1, "tables is too many for this kind")
}

fn validate_run(run: &RunPlan, hosts: usize) -> Result<(), String> {
    let check = |holds: bool, wrong: &str| if holds { Ok(()) } else { Err(format!("runs: {wrong}")) };
    check(Threads::admits(run.threads), "threads is out of range")?;
    check(run.rate_per_s.is_none_or(Rate::admits), "rate_per_s is out of range")?;
    check((1..=hosts).contains(&(run.instances as usize)), "instances is out of range")?;
    check(run.warmup_s <= LONGEST_S, "warmup_s is out of range")?;
    check(run.duration_s.is_none_or(|s| (1..=LONGEST_S).contains(&s)), "duration_s is out of range")?;
    check(run.events != Some(0), "events is 0")?;
    check(run.duration_s.is_some() || run.events.is_some(), "neither duration_s nor events is given")?;
    check((1..=LONGEST_S).contains(&run.report_interval_s), "report_interval_s is out of range")
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::plan::resolve::resolve;
    use crate::spec::{parse_hardware, parse_profile};

    fn plan() -> Plan {
        let hardware = include_str!("../../hardware/this-machine.yaml");
        let profile = include_str!("../../profiles/quick.yaml");
        let hardware = parse_hardware("h.yaml", hardware).unwrap();
        resolve(&hardware, &parse_profile("p.yaml", profile, &[]).unwrap(), Path::new("/lab"), 1).unwrap()
    }

    #[test]
    fn what_profiles_make_is_valid() {
        assert_eq!(validate(&plan()), Ok(()));
        let mut dotted = plan();
        dotted.server.options.insert("keycache1.key_buffer_size".into(), "16M".into());
        assert_eq!(validate(&dotted), Ok(()));
    }

    #[test]
    fn what_was_edited_is_not() {
        type Edit = fn(&mut Plan);
        let edits: [(&str, Edit); 11] = [
            ("plan format 99", |p| p.format = 99),
            ("hardware.name", |p| p.hardware.name = "../../x".into()),
            ("profile.name", |p| p.profile.name = String::new()),
            ("tables", |p| p.dataset.contents.tables = 0),
            ("table_size", |p| p.workload.table_size = 0),
            ("server.options", |p| drop(p.server.options.insert("a".into(), "1\n!include /x".into()))),
            ("server.options", |p| drop(p.server.options.insert("datadir".into(), "/x".into()))),
            ("runs is empty", |p| p.runs.clear()),
            ("threads", |p| p.runs[0].threads = 0),
            ("duration_s", |p| p.runs[0].duration_s = Some(u64::MAX)),
            ("warmup_s", |p| p.runs[0].warmup_s = 1 << 63),
        ];
        for (told, edit) in edits {
            let mut edited = plan();
            edit(&mut edited);
            let wrong = validate(&edited).unwrap_err();
            assert!(wrong.contains(told), "{told}: {wrong}");
        }
    }
}
