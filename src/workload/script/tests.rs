use std::collections::BTreeMap;

use super::*;
use crate::workload::KeyDistribution;
use crate::workload::statement::StatementClass;

fn workload(kind: WorkloadKind) -> Workload {
    let tables = if kind.has_one_table() { 1 } else { 10 };
    Workload {
        number_of_ranges: 3,
        random_points: 4,
        ..Workload::new(kind, tables, 1000, KeyDistribution::Uniform)
    }
}

fn script(workload: Workload, thread: u32) -> Script {
    Script::new(workload, thread, 4, Streams::new(42, u64::from(thread) + 1, 0))
}

fn transactions(workload: Workload, thread: u32, n: usize) -> Vec<Vec<Statement>> {
    let mut script = script(workload, thread);
    let mut statements = Vec::new();
    let transaction = |_| {
        script.next_transaction(&mut statements);
        statements.clone()
    };
    (0..n).map(transaction).collect()
}

fn text(workload: &Workload, statement: &Statement) -> String {
    let mut text = String::new();
    workload.write_text(statement, &workload.sql(statement.kind, statement.table), &mut text);
    text
}

/// One snapshot for each workload: what a seed sends must never change unnoticed.
#[test]
fn the_stream_of_a_seed_is_fixed() {
    for kind in WorkloadKind::ALL.into_iter().filter(|kind| *kind != WorkloadKind::BulkInsert) {
        let workload = workload(kind);
        let statements = transactions(workload, 1, 2).concat();
        let lines: Vec<String> = statements.iter().map(|statement| text(&workload, statement)).collect();
        insta::assert_snapshot!(kind.name(), lines.join("\n"));
    }
}

#[test]
fn other_options_change_the_stream() {
    let base = workload(WorkloadKind::OltpReadWrite);
    let repeats =
        crate::workload::Repeats { point_selects: 1, sum_ranges: 0, delete_inserts: 2, ..base.repeats };
    let workload = Workload { repeats, range_size: 7, transaction: false, ..base };
    let lines: Vec<String> = transactions(workload, 0, 1)[0].iter().map(|s| text(&workload, s)).collect();
    insta::assert_snapshot!(lines.join("\n"));
}

#[test]
fn what_is_drawn_is_what_is_stated() {
    for kind in WorkloadKind::ALL.into_iter().filter(|kind| *kind != WorkloadKind::BulkInsert) {
        let workload = workload(kind);
        let mut drawn: BTreeMap<StatementKind, u32> = BTreeMap::new();
        for statement in &transactions(workload, 0, 1)[0] {
            *drawn.entry(statement.kind).or_default() += 1;
        }
        assert_eq!(drawn, workload.statements().into_iter().collect(), "{kind:?}");
    }
}

#[test]
fn reads_writes_and_others_are_sysbenchs() {
    let counts = |kind| {
        let mut counts = [0, 0, 0];
        for (kind, times) in workload(kind).statements() {
            counts[match kind.class() {
                StatementClass::Read => 0,
                StatementClass::Write => 1,
                StatementClass::Other => 2,
            }] += times;
        }
        counts
    };
    assert_eq!(counts(WorkloadKind::OltpReadWrite), [14, 4, 2]);
    assert_eq!(counts(WorkloadKind::OltpReadOnly), [14, 0, 2]);
    assert_eq!(counts(WorkloadKind::OltpWriteOnly), [0, 4, 2]);
    assert_eq!(counts(WorkloadKind::Complex04), [14, 5, 2]);
    assert_eq!(workload(WorkloadKind::OltpReadWrite).prepared_statements(), 92);
    assert_eq!(workload(WorkloadKind::OltpInsert).prepared_statements(), 0);
}

#[test]
fn delete_and_insert_name_the_same_row() {
    for transaction in transactions(workload(WorkloadKind::OltpReadWrite), 0, 100) {
        let [.., delete, insert, _commit] = transaction.as_slice() else { panic!("too short") };
        let (Parameters::Id(deleted), Parameters::Row(Some(inserted), ..)) =
            (&delete.parameters, &insert.parameters)
        else {
            panic!("{transaction:?}")
        };
        assert_eq!((delete.table, i64::try_from(*deleted).unwrap()), (insert.table, *inserted));
    }
}

#[test]
fn ranges_of_04_stay_inside_the_table() {
    let workload = workload(WorkloadKind::Complex04);
    for statement in transactions(workload, 0, 300).concat() {
        if let Parameters::Range(from, to) = statement.parameters {
            let rows = to - from + 1;
            let distinct = statement.kind == StatementKind::DistinctRange;
            assert_eq!(rows, if distinct { 101 } else { 100 });
            assert!(from >= 1 && to <= 1000, "{statement:?}");
        }
    }
}

#[test]
fn threads_keep_to_their_part_of_the_values() {
    let workload = workload(WorkloadKind::SelectRandomPoints);
    for thread in 0..4 {
        let (low, high) = (u64::from(thread) * 250, u64::from(thread + 1) * 250);
        for statement in transactions(workload, thread, 100).concat() {
            let Parameters::Values(values) = statement.parameters else { panic!("{statement:?}") };
            assert!(values.iter().all(|value| (low..=high).contains(value)), "{values:?}");
        }
    }
}

#[test]
fn ids_that_scripts_choose_never_repeat() {
    let base = workload(WorkloadKind::OltpInsert);
    let workload = Workload { auto_inc: false, ..base };
    let mut seen = std::collections::BTreeSet::new();
    for thread in 0..4 {
        for statement in transactions(workload, thread, 500).concat() {
            let Parameters::Row(Some(id), ..) = statement.parameters else { panic!("{statement:?}") };
            assert!(i32::try_from(id).is_ok() && seen.insert(id), "{id}");
        }
    }
}

#[test]
fn bulk_inserts_collect_half_a_megabyte() {
    let workload = workload(WorkloadKind::BulkInsert);
    let mut script = script(workload, 2).after(10, 0);
    let mut statements = Vec::new();
    let mut rows = 0_u64;
    while statements.is_empty() {
        script.next_transaction(&mut statements);
        rows += 1;
    }
    let sent = text(&workload, &statements[0]);
    assert!(sent.starts_with("INSERT INTO sbtest3 VALUES(11,11),(12,12),"), "{}", &sent[..60]);
    assert!((BULK_BYTES - 64..=BULK_BYTES + 32).contains(&sent.len()), "{}", sent.len());
    script.rest(&mut statements);
    assert_eq!(statements[0].parameters, Parameters::Numbers(10 + rows, 10 + rows));
    script.rest(&mut statements);
    assert_eq!(statements, []);
}
