//! What measuring costs the load host: making up a transaction, filing it, and collecting a second.
//!
//! `cargo bench --bench recording`

#![allow(missing_docs, reason = "criterion's macro writes a function without any")]

use std::hint::black_box;

use criterion::{BatchSize, Criterion, criterion_group, criterion_main};
use drivestone::load::recorder::{Completed, Recorder, Slot, StatementCounts};
use drivestone::protocol::clock::monotonic_ns;
use drivestone::workload::random::{Streams, WorkloadRng};
use drivestone::workload::rows::{c_value, pad_value};
use drivestone::workload::script::Script;
use drivestone::workload::statement::StatementKind;
use drivestone::workload::{KeyDistribution, Workload, WorkloadKind};

const THREADS: usize = 32;
const TRANSACTIONS_A_THREAD: usize = 40;

/// The statements of `oltp_read_write`, as a load thread times them.
fn timed(rng: &mut WorkloadRng) -> Vec<(StatementKind, u64)> {
    let mut script = Script::new(read_write(KeyDistribution::Uniform), 0, 32, Streams::new(1, 1, 0));
    let mut statements = Vec::new();
    script.next_transaction(&mut statements);
    statements.iter().map(|statement| (statement.kind, rng.between(30_000, 3_000_000))).collect()
}

fn read_write(keys: KeyDistribution) -> Workload {
    Workload::new(WorkloadKind::OltpReadWrite, 100, 10_000_000, keys)
}

fn completed(rng: &mut WorkloadRng) -> Completed<'static> {
    let counts = StatementCounts { reads: 14, writes: 4, other: 2 };
    Completed { at_ns: 500_000_000, latency_ns: rng.between(3_000_000, 60_000_000), counts, statements: &[] }
}

/// Filing one transaction, as each load thread does once a transaction.
fn filing(criterion: &mut Criterion) {
    let recorder = Recorder::new(0);
    let mut rng = WorkloadRng::new(1, 1);
    criterion.bench_function("file a transaction", |bencher| {
        bencher.iter(|| recorder.file(black_box(&completed(&mut rng))));
    });
    let statements = timed(&mut rng);
    criterion.bench_function("file a transaction and its 20 statements", |bencher| {
        bencher.iter(|| {
            let completed = Completed { statements: &statements, ..completed(&mut rng) };
            recorder.file(black_box(&completed));
        });
    });
    criterion.bench_function("read the clock", |bencher| bencher.iter(monotonic_ns));
}

/// Collecting 32 recorders and writing their second, as one thread does once a second.
fn collecting(criterion: &mut Criterion) {
    let mut rng = WorkloadRng::new(2, 1);
    let mut filled = || {
        let recorders: Vec<Recorder> = (0..THREADS).map(|_| Recorder::new(0)).collect();
        for recorder in &recorders {
            (0..TRANSACTIONS_A_THREAD).for_each(|_| recorder.file(&completed(&mut rng)));
        }
        recorders
    };
    let mut total = Slot::new(0);
    criterion.bench_function("collect a second of 32 threads", |bencher| {
        bencher.iter_batched_ref(
            &mut filled,
            |recorders| {
                total.reuse(0);
                recorders.iter().for_each(|recorder| recorder.collect(0, &mut total));
            },
            BatchSize::LargeInput,
        );
    });
    criterion.bench_function("serialize a second", |bencher| {
        bencher.iter(|| serde_json::to_vec(&black_box(&total).latency.to_record()));
    });
}

/// Making up statements and rows, as each load thread does once a transaction.
fn generating(criterion: &mut Criterion) {
    let mut rng = WorkloadRng::new(3, 1);
    for keys in [KeyDistribution::Uniform, KeyDistribution::SPECIAL, KeyDistribution::ZIPFIAN] {
        let mut statements = Vec::new();
        criterion.bench_function(&format!("generate a transaction, {} keys", keys.name()), |bencher| {
            let mut script = Script::new(read_write(keys), 0, 32, Streams::new(3, 1, 0));
            bencher.iter(|| script.next_transaction(black_box(&mut statements)));
        });
    }
    criterion.bench_function("text of a row (c and pad)", |bencher| {
        bencher.iter(|| black_box((c_value(&mut rng), pad_value(&mut rng))));
    });
}

criterion_group!(benches, filing, collecting, generating);
criterion_main!(benches);
