//! The same statements, as often, in the same order, on the same tables.

use std::collections::BTreeSet;

use drivestone::plan::Plan;
use drivestone::workload::WorkloadKind;

use super::server::Server;
use super::sides::{
    Counts, plan, prepare_by_drivestone, prepare_by_sysbench, run_by_drivestone, run_by_sysbench,
};
use super::trace::{Sent, by_connection, transactions};

/// Every workload of sysbench 1.x, and what changes its work. Those with equal tables stand together, and the one
/// that removes rows last.
const CASES: [&str; 25] = [
    "",
    "prepared=false",
    "skip_trx=true",
    "point_selects=3 simple_ranges=2 sum_ranges=0 order_ranges=3 distinct_ranges=2 range_size=7",
    "index_updates=2 non_index_updates=0 delete_inserts=3 range_selects=false",
    "kind=oltp_read_only",
    "kind=oltp_read_only skip_trx=true range_size=1 point_selects=0",
    "kind=oltp_write_only",
    "kind=oltp_write_only prepared=false ignore_errors=all",
    "kind=oltp_point_select",
    "kind=oltp_point_select prepared=false",
    "kind=oltp_update_index",
    "kind=oltp_update_index index_updates=4",
    "kind=oltp_update_non_index non_index_updates=2",
    "kind=oltp_insert",
    "kind=oltp_delete",
    "secondary=true create_secondary=false",
    "auto_inc=false prepared=false",
    "kind=oltp_insert auto_inc=false rows=0 table_size=500",
    "kind=select_random_points tables=1",
    "kind=select_random_points tables=1 threads=2 random_points=3 prepared=false",
    "kind=select_random_ranges tables=1",
    "kind=select_random_ranges tables=1 threads=2 number_of_ranges=2 delta=11",
    "kind=bulk_insert tables=1 rows=0 events=100000",
    "kind=oltp_write_only tables=6 rows=1 table_size=200000",
];

/// What one of the two did.
#[derive(Debug, PartialEq)]
struct Work {
    tables: Vec<String>,
    transactions: BTreeSet<String>,
    statements: usize,
    counts: Counts,
    /// Which tables were touched.
    touched: BTreeSet<u64>,
}

fn tables(server: &mut Server, plan: &Plan) -> Vec<String> {
    let one = |table: u32| {
        let rows: Vec<(String, String)> = server.rows(&format!("SHOW CREATE TABLE sbtest.sbtest{table}"));
        // How far ids were counted: rows loaded in several statements leave gaps.
        let ddl = &rows[0].1;
        match ddl.split_once(" AUTO_INCREMENT=") {
            Some((before, after)) => {
                format!("{before}{}", after.trim_start_matches(|c: char| c.is_ascii_digit()))
            }
            None => ddl.clone(),
        }
    };
    (1..=plan.workload.tables).map(one).collect()
}

fn work(server: &mut Server, plan: &Plan, tables: Vec<String>, counts: Counts) -> Work {
    let connections = by_connection(&server.logged());
    assert!(connections.len() <= plan.runs[0].threads as usize, "{} connections", connections.len());
    let all = || connections.iter().flatten();
    let statements = match plan.workload.kind {
        // Its statements are its buffer's.
        WorkloadKind::BulkInsert => all().count(),
        _ => plan.workload.statement_count() as usize,
    };
    Work {
        tables,
        transactions: transactions(&connections, statements),
        statements: all().count(),
        counts,
        touched: all().map(|sent: &Sent| sent.table).collect(),
    }
}

fn by_sysbench(server: &mut Server, plan: &Plan) -> Work {
    prepare_by_sysbench(server, plan);
    let made = tables(server, plan);
    server.forget();
    let counts = run_by_sysbench(server, plan);
    work(server, plan, made, counts)
}

fn by_drivestone(server: &mut Server, plan: &Plan) -> Work {
    let made = tables(server, plan);
    server.forget();
    let (counts, _) = run_by_drivestone(server, plan);
    work(server, plan, made, counts)
}

fn compare(settings: &str, plan: &Plan, mut theirs: Work, mut ours: Work) {
    assert_eq!(ours.tables, theirs.tables, "tables of {settings:?}");
    assert_eq!(ours.transactions, theirs.transactions, "transactions of {settings:?}");
    match plan.workload.kind {
        // Which ids come twice is chance: those deletes count as other.
        WorkloadKind::OltpDelete => assert_eq!(theirs.counts.total(), ours.counts.total(), "{settings:?}"),
        // sysbench counts what it sends at the end; drivestone's belongs to transactions that are filed.
        WorkloadKind::BulkInsert => assert_eq!(theirs.counts.total(), ours.counts.total() + 1),
        _ => assert_eq!(theirs.counts, ours.counts, "{settings:?}"),
    }
    (theirs.counts, ours.counts) = (Counts::default(), Counts::default());
    // Of drivestone's threads each may have begun one more when the last event was done; it counts as in
    // flight, where sysbench hands out no more than asked for.
    let spare = (plan.runs[0].threads as usize - 1) * plan.workload.statement_count() as usize;
    let expected = theirs.statements..=theirs.statements + spare;
    assert!(expected.contains(&ours.statements), "{settings:?}: {ours:?}, not {expected:?} statements");
    ours.statements = theirs.statements;
    assert_eq!(ours, theirs, "{settings:?}");
    assert_eq!(ours.transactions.len(), 1, "transactions differ in {settings:?}: {ours:?}");
}

#[test]
fn every_workload_sends_what_sysbench_sends() {
    let Some(mut server) = Server::start() else { return };
    let plans: Vec<(&str, Plan)> = CASES.iter().map(|settings| (*settings, plan(settings))).collect();
    // Neighbours with equal tables share drivestone's: it waits until they are written.
    for group in plans.chunk_by(|(_, a), (_, b)| a.dataset.contents == b.dataset.contents) {
        let theirs: Vec<Work> = group.iter().map(|(_, plan)| by_sysbench(&mut server, plan)).collect();
        prepare_by_drivestone(&mut server, &group[0].1);
        for ((settings, plan), theirs) in group.iter().zip(theirs) {
            let ours = by_drivestone(&mut server, plan);
            compare(settings, plan, theirs, ours);
        }
    }
}
