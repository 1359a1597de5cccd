//! Counts of every workload, sysbench 0.4's modes among them: as published, as the server counts, and as the rows
//! that are there afterwards.

use drivestone::plan::Plan;
use drivestone::workload::WorkloadKind as W;
use drivestone::workload::schema::table_name;

use super::server::Server;
use super::sides::{Counts, plan, prepare_by_drivestone, run_by_drivestone};

const EVENTS: u64 = 20;

/// Reads, writes and other of one transaction: those of 1.x from its own report, of 0.4's complex mode from a
/// published one (127792, 45640 and 18256 in 9128 transactions).
fn published(kind: W) -> [u64; 3] {
    match kind {
        W::OltpReadWrite => [14, 4, 2],
        W::OltpReadOnly => [14, 0, 2],
        W::OltpWriteOnly => [0, 4, 2],
        W::Complex04 => [14, 5, 2],
        W::OltpPointSelect | W::SelectRandomPoints | W::SelectRandomRanges | W::Simple04 | W::Select04 => {
            [1, 0, 0]
        }
        W::OltpUpdateIndex | W::OltpUpdateNonIndex | W::UpdateKey04 | W::UpdateNokey04 => [0, 1, 0],
        W::OltpInsert | W::OltpDelete | W::BulkInsert | W::Insert04 | W::Delete04 => [0, 1, 0],
    }
}

fn settings(kind: W) -> String {
    let tables = if kind.has_one_table() { 1 } else { 3 };
    let rows = if kind == W::BulkInsert { 0 } else { 500 };
    format!("kind={} tables={tables} rows={rows} events={EVENTS}", kind.name())
}

fn rows(server: &mut Server, kind: W, tables: u32) -> i64 {
    let names = (1..=tables).map(|table| table_name(kind.is_04(), table));
    let count = |name| server.rows::<i64>(&format!("SELECT COUNT(*) FROM sbtest.{name}"))[0];
    names.map(count).sum()
}

fn check(server: &mut Server, kind: W, plan: &Plan) {
    let before = rows(server, kind, plan.workload.tables);
    server.forget();
    let (counts, ended) = run_by_drivestone(server, plan);
    let [reads, writes, other] = published(kind).map(|count| count * EVENTS);
    match kind {
        // An id that comes a second time has no row any more.
        W::OltpDelete => {
            assert_eq!(counts.total(), EVENTS, "{kind:?}");
            assert_eq!(-ended.rows_added, i64::try_from(counts.writes).unwrap(), "{kind:?}");
        }
        // Its rows wait for a statement that is large enough; what is left is sent at the end.
        W::BulkInsert => assert_eq!((counts, ended.rows_added), (Counts::default(), 20)),
        _ => assert_eq!(counts, Counts { reads, writes, other }, "{kind:?}"),
    }
    let server_counted = ended.counted.server.map(|(first, last)| last - first);
    assert_eq!(
        Some(i64::try_from(ended.counted.ours).unwrap()),
        server_counted,
        "{kind:?}: {:?}",
        ended.counted
    );
    assert!(ended.counted.ours > 0, "{kind:?}: nothing was compared");
    let left = rows(server, kind, plan.workload.tables);
    assert_eq!(left, before + ended.rows_added, "{kind:?}: rows");
    if !kind.adds_or_removes_rows() {
        assert_eq!(ended.rows_added, 0, "{kind:?}");
    }
    let logged = server.logged();
    let removal = logged.iter().find(|logged| {
        ["TRUNCATE", "DROP", "CREATE"].iter().any(|verb| logged.text.to_uppercase().starts_with(verb))
    });
    assert!(removal.is_none(), "{kind:?} sent {}", removal.unwrap().text);
}

#[test]
fn counts_are_the_published_ones_the_servers_and_the_rows() {
    let Some(mut server) = Server::start() else { return };
    let plans = W::ALL.map(|kind| (kind, plan(&settings(kind))));
    // Neighbours with equal tables share them; those that remove rows are the last of theirs.
    for group in plans.chunk_by(|(_, a), (_, b)| a.dataset.contents == b.dataset.contents) {
        let (first, plan) = &group[0];
        prepare_by_drivestone(&mut server, plan);
        let loaded = i64::from(plan.workload.tables) * i64::try_from(plan.dataset.contents.rows).unwrap();
        assert_eq!(rows(&mut server, *first, plan.workload.tables), loaded);
        for (kind, plan) in group {
            check(&mut server, *kind, plan);
        }
    }
}
