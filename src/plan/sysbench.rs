//! The sysbench commands that load the same tables and put the same load on one instance, for whoever wants to
//! check. How to reach the server is left to them.

use super::{LoadPlan, Plan, RunPlan};
use crate::protocol::job::{Dataset, IgnoredErrors};
use crate::spec::LOST_CONNECTIONS;
use crate::workload::{KeyDistribution, Repeats, Workload, WorkloadKind};

/// Writes the commands into a plan that is complete otherwise.
pub(super) fn write_commands(plan: &mut Plan) {
    let (dataset, workload) = (&plan.dataset.contents, &plan.workload);
    let threads = plan.runs.iter().map(|run| run.threads).max().unwrap_or(1);
    plan.load.sysbench_prepare = match workload.kind.is_04() {
        true => prepare_04(dataset, workload),
        false => prepare(dataset, workload, plan.dataset.load_threads, threads),
    };
    for run in &mut plan.runs {
        run.sysbench_run = match workload.kind.is_04() {
            true => run_04(workload, run, &plan.load),
            false => run_10(workload, dataset, run, &plan.load),
        };
    }
}

/// A command under construction.
struct Command(String);

impl Command {
    fn new(program: &str) -> Self {
        Self(format!("{program} --db-driver=mysql --mysql-db=sbtest"))
    }

    fn option(mut self, name: &str, value: impl std::fmt::Display) -> Self {
        self.0 += &format!(" --{name}={value}");
        self
    }

    fn option_if(self, given: bool, name: &str, value: impl std::fmt::Display) -> Self {
        if given { self.option(name, value) } else { self }
    }

    fn end(self, command: &str) -> String {
        format!("{} {command}", self.0)
    }
}

fn prepare(dataset: &Dataset, workload: &Workload, load_threads: u32, threads: u32) -> String {
    let command = Command::new(&format!("sysbench {}", workload.kind.name()));
    if workload.kind == WorkloadKind::BulkInsert {
        return command.option("threads", threads).end("prepare");
    }
    let schema = dataset.schema;
    keys(tables(command, workload, dataset.rows), dataset.keys)
        .option_if(!schema.auto_inc, "auto_inc", "off")
        .option_if(schema.secondary, "secondary", "on")
        .option_if(!schema.create_secondary, "create_secondary", "off")
        .option("threads", load_threads.min(dataset.tables))
        .end("prepare")
}

fn tables(command: Command, workload: &Workload, size: u64) -> Command {
    command.option("tables", workload.tables).option("table-size", size)
}

fn run_10(workload: &Workload, dataset: &Dataset, run: &RunPlan, load: &LoadPlan) -> String {
    let LoadPlan { ignored, reconnect, reconnect_every, .. } = load;
    let command = Command::new(&format!("sysbench {}", workload.kind.name()));
    let command = match workload.kind {
        WorkloadKind::BulkInsert => command,
        _ => mix(keys(tables(command, workload, workload.table_size), workload.keys), workload),
    };
    let errors = match ignored {
        IgnoredErrors::All => "all".to_owned(),
        // sysbench reconnects after the lost connections that it is told to ignore.
        IgnoredErrors::Codes(codes) => {
            let lost: &[u16] = if *reconnect { &LOST_CONNECTIONS } else { &[] };
            let codes: Vec<String> = codes.iter().chain(lost).map(u16::to_string).collect();
            if codes.is_empty() { "none".to_owned() } else { codes.join(",") }
        }
    };
    let text_only = !workload.prepared && workload.kind.can_be_prepared();
    let needs_11 = [
        (matches!(workload.keys, KeyDistribution::Zipfian { .. }), "zipfian keys need"),
        (reconnect_every.is_some(), "--reconnect needs"),
    ];
    let command = command
        .option_if(workload.kind.has_transactions() && !workload.transaction, "skip_trx", "on")
        .option_if(!workload.auto_inc, "auto_inc", "off")
        .option_if(dataset.schema.secondary, "secondary", "on")
        .option_if(text_only, "db-ps-mode", "disable")
        .option_if(*ignored != IgnoredErrors::sysbenchs() || *reconnect, "mysql-ignore-errors", errors)
        .option_if(reconnect_every.is_some(), "reconnect", reconnect_every.unwrap_or(0))
        .option("threads", run.threads)
        .option("time", run.duration_s.unwrap_or(0))
        .option_if(run.events.is_some(), "events", run.events.unwrap_or(0))
        .option_if(run.rate_per_s.is_some(), "rate", run.rate_per_s.unwrap_or(0))
        .option("report-interval", run.report_interval_s)
        .option("percentile", 99)
        .end("run");
    let needs_11 = needs_11.into_iter().filter(|(given, _)| *given);
    needs_11.fold(command, |command, (_, what)| format!("{command}  # {what} sysbench 1.1"))
}

/// Options that differ from sysbench's defaults.
fn mix(command: Command, workload: &Workload) -> Command {
    let (r, d) = (workload.repeats, Repeats::DEFAULT);
    let defaults = Workload::new(workload.kind, 1, 1, workload.keys);
    [
        ("point_selects", r.point_selects, d.point_selects),
        ("simple_ranges", r.simple_ranges, d.simple_ranges),
        ("sum_ranges", r.sum_ranges, d.sum_ranges),
        ("order_ranges", r.order_ranges, d.order_ranges),
        ("distinct_ranges", r.distinct_ranges, d.distinct_ranges),
        ("index_updates", r.index_updates, d.index_updates),
        ("non_index_updates", r.non_index_updates, d.non_index_updates),
        ("delete_inserts", r.delete_inserts, d.delete_inserts),
        ("random_points", workload.random_points, defaults.random_points),
        ("number_of_ranges", workload.number_of_ranges, defaults.number_of_ranges),
    ]
    .into_iter()
    .fold(command, |command, (name, value, default)| command.option_if(value != default, name, value))
    .option_if(workload.range_size != defaults.range_size, "range_size", workload.range_size)
    .option_if(workload.delta != defaults.delta, "delta", workload.delta)
}

fn keys(command: Command, keys: KeyDistribution) -> Command {
    parameters(command.option("rand-type", keys.name()), keys)
}

/// Parameters of a distribution that differ from sysbench's defaults.
fn parameters(command: Command, keys: KeyDistribution) -> Command {
    match keys {
        KeyDistribution::Uniform => command,
        KeyDistribution::Special04 { iterations, hot_ids_pct, hot_picks_pct } => command
            .option_if(iterations != 12, "oltp-dist-iter", iterations)
            .option_if(hot_ids_pct != 1, "oltp-dist-pct", hot_ids_pct)
            .option_if(hot_picks_pct != 75, "oltp-dist-res", hot_picks_pct),
        KeyDistribution::Special { iterations, hot_ids_pct, hot_picks_pct } => command
            .option_if(iterations != 12, "rand-spec-iter", iterations)
            .option_if(hot_ids_pct != 1, "rand-spec-pct", hot_ids_pct)
            .option_if(hot_picks_pct != 75, "rand-spec-res", hot_picks_pct),
        KeyDistribution::Gaussian { iterations } => {
            command.option_if(iterations != 12, "rand-spec-iter", iterations)
        }
        KeyDistribution::Pareto { h } => command.option("rand-pareto-h", h),
        KeyDistribution::Zipfian { exponent } => command.option("rand-zipfian-exp", exponent),
    }
}

fn prepare_04(dataset: &Dataset, workload: &Workload) -> String {
    Command::new("sysbench --test=oltp")
        .option("oltp-table-size", dataset.rows)
        .option_if(!workload.auto_inc, "oltp-auto-inc", "off")
        .end("prepare")
}

fn run_04(workload: &Workload, run: &RunPlan, load: &LoadPlan) -> String {
    let (mode, nontrx) = match workload.kind {
        WorkloadKind::Simple04 => ("simple", None),
        WorkloadKind::Select04 => ("nontrx", Some("select")),
        WorkloadKind::UpdateKey04 => ("nontrx", Some("update_key")),
        WorkloadKind::UpdateNokey04 => ("nontrx", Some("update_nokey")),
        WorkloadKind::Insert04 => ("nontrx", Some("insert")),
        WorkloadKind::Delete04 => ("nontrx", Some("delete")),
        _ => ("complex", None),
    };
    let (r, d) = (workload.repeats, Repeats::DEFAULT);
    let counts = [
        ("oltp-point-selects", r.point_selects, d.point_selects),
        ("oltp-simple-ranges", r.simple_ranges, d.simple_ranges),
        ("oltp-sum-ranges", r.sum_ranges, d.sum_ranges),
        ("oltp-order-ranges", r.order_ranges, d.order_ranges),
        ("oltp-distinct-ranges", r.distinct_ranges, d.distinct_ranges),
        ("oltp-index-updates", r.index_updates, d.index_updates),
        ("oltp-non-index-updates", r.non_index_updates, d.non_index_updates),
    ];
    let command = Command::new("sysbench --test=oltp").option("oltp-test-mode", mode);
    let command = command.option_if(nontrx.is_some(), "oltp-nontrx-mode", nontrx.unwrap_or_default());
    let command = counts
        .into_iter()
        .fold(command, |command, (name, value, default)| command.option_if(value != default, name, value))
        .option("oltp-table-size", workload.table_size)
        .option_if(workload.range_size != 100, "oltp-range-size", workload.range_size)
        .option("oltp-dist-type", workload.keys.name());
    let command = parameters(command, workload.keys)
        .option_if(workload.kind.has_transactions() && !workload.transaction, "oltp-skip-trx", "on")
        .option_if(!workload.auto_inc, "oltp-auto-inc", "off")
        .option_if(!workload.prepared, "db-ps-mode", "disable")
        .option("num-threads", run.threads)
        .option("max-time", run.duration_s.unwrap_or(0))
        .option("max-requests", run.events.unwrap_or(0))
        .end("run");
    let unknown = [
        (run.rate_per_s.is_some(), "rate"),
        (load.ignored != IgnoredErrors::sysbenchs(), "ignored errors"),
        (load.reconnect || load.reconnect_every.is_some(), "reconnecting"),
    ];
    let unknown: Vec<&str> = unknown.into_iter().filter(|(given, _)| *given).map(|(_, what)| what).collect();
    if unknown.is_empty() {
        command
    } else {
        format!("{command}  # sysbench 0.4 has no {}", unknown.join(", no "))
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use crate::plan::resolve::resolve;
    use crate::spec::{parse_hardware, parse_profile};

    #[test]
    fn every_workload_has_its_commands() {
        let hardware = parse_hardware("h.yaml", include_str!("../../hardware/this-machine.yaml")).unwrap();
        let quick = include_str!("../../profiles/quick.yaml");
        let mut text = String::new();
        for settings in [
            "",
            "kind=oltp_insert auto_inc=false rows=0 table_size=1000 rate=500 ignore_errors=all",
            "kind=oltp_read_only keys=zipfian skip_trx=true prepared=false point_selects=1 range_selects=false",
            "kind=select_random_ranges tables=1 keys=pareto delta=9 secondary=true",
            "kind=bulk_insert rows=0 tables=32 events=100000",
            "kind=oltp_write_only keys=special spec_res=90 reconnect=true reconnect_every=10",
            "kind=sysbench04_complex tables=1 keys=special index_updates=2",
            "kind=sysbench04_delete tables=1 keys=special events=10000",
            "kind=sysbench04_simple tables=1 keys=special rate=500 prepared=false reconnect=true",
        ] {
            let overrides: Vec<String> = settings.split_whitespace().map(str::to_owned).collect();
            let profile = parse_profile("p.yaml", quick, &overrides).unwrap();
            let plan = resolve(&hardware, &profile, Path::new("/lab"), 1).unwrap();
            text += &format!("{settings}\n{}\n{}\n\n", plan.load.sysbench_prepare, plan.runs[0].sysbench_run);
        }
        insta::assert_snapshot!(text);
    }
}
