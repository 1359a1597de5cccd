//! The same statements in the shortest loop on the `mysql` crate, nothing recorded.

use std::path::Path;
use std::sync::Barrier;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use drivestone::workload::Workload;
use drivestone::workload::random::Streams;
use drivestone::workload::rows::Text;
use drivestone::workload::script::Script;
use drivestone::workload::statement::{Parameters, Statement, StatementKind};
use mysql::prelude::Queryable as _;
use mysql::{Conn, Params, Statement as Prepared, Value};

use super::THREADS;
use super::clients::{STARTED, report};
use super::server::access;

/// What one thread does; `seed` tells the clients apart.
pub fn script(workload: Workload, thread: u32, seed: u64) -> Script {
    Script::new(workload, thread, THREADS, Streams::new(seed, u64::from(thread), 0))
}

pub fn run(workload: Workload, socket: &Path, seconds: u64) {
    threads(seconds, |thread| {
        let mut connection = Connection::open(socket, workload);
        let mut script = script(workload, thread, 2);
        let mut statements = Vec::new();
        move || {
            script.next_transaction(&mut statements);
            statements.iter().all(|statement| connection.execute(statement))
        }
    });
}

/// Readies all threads, has each do transactions until the time is over, and reports how many. What
/// `ready` returns does one, and says whether it was committed.
pub fn threads<T: FnMut() -> bool>(seconds: u64, ready: impl Fn(u32) -> T + Sync) {
    let (all_ready, start) = (Barrier::new(THREADS as usize + 1), Barrier::new(THREADS as usize + 1));
    let transactions = AtomicU64::new(0);
    let mut began = Instant::now();
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let (all_ready, start, transactions, ready) = (&all_ready, &start, &transactions, &ready);
            scope.spawn(move || {
                let mut transaction = ready(thread);
                all_ready.wait();
                start.wait();
                let end = Instant::now() + Duration::from_secs(seconds);
                let mut done = 0;
                while Instant::now() < end {
                    done += u64::from(transaction());
                }
                transactions.fetch_add(done, Ordering::Relaxed);
            });
        }
        all_ready.wait();
        println!("{STARTED}");
        std::thread::sleep(Duration::from_millis(100));
        began = Instant::now();
        start.wait();
    });
    report(transactions.into_inner(), began.elapsed().as_secs_f64());
}

struct Connection {
    connection: Conn,
    /// Table by table, each in the order of `StatementKind::ALL`.
    statements: Vec<Option<Prepared>>,
}

impl Connection {
    fn open(socket: &Path, workload: Workload) -> Self {
        let held = usize::try_from(workload.prepared_statements()).unwrap();
        let mut connection = Conn::new(access(socket).options(held)).unwrap();
        connection.select_db("sbtest").unwrap();
        let mut statements = vec![None; workload.tables as usize * StatementKind::ALL.len()];
        for (kind, _) in workload.statements() {
            for table in 1..=workload.tables {
                let prepared = connection.prep(workload.sql(kind, table)).unwrap();
                statements[place(kind, table)] = Some(prepared);
            }
        }
        Self { connection, statements }
    }

    /// False when the server chose this transaction as the victim of a deadlock.
    fn execute(&mut self, statement: &Statement) -> bool {
        let prepared = self.statements[place(statement.kind, statement.table)].as_ref().unwrap();
        match self.connection.exec_drop(prepared, params(&statement.parameters)) {
            Err(mysql::Error::MySqlError(error)) if error.code == 1213 => false,
            done => done.is_ok() || panic!("{done:?}"),
        }
    }
}

fn place(kind: StatementKind, table: u32) -> usize {
    (table as usize - 1) * StatementKind::ALL.len() + kind as usize
}

fn params(parameters: &Parameters) -> Params {
    let text = |text: &Text| Value::Bytes(text.as_bytes().to_vec());
    Params::Positional(match parameters {
        Parameters::Nothing => return Params::Empty,
        Parameters::Id(id) => vec![Value::UInt(*id)],
        Parameters::Range(from, to) => vec![Value::UInt(*from), Value::UInt(*to)],
        Parameters::Content(c, id) => vec![text(c), Value::UInt(*id)],
        Parameters::Row(Some(id), k, c, pad) => vec![Value::Int(*id), Value::UInt(*k), text(c), text(pad)],
        other => panic!("not in these workloads: {other:?}"),
    })
}
