//! A load thread's connection with its prepared statements.

use mysql::prelude::Queryable as _;
use mysql::{Conn, Params, Statement as Prepared, Value};

use crate::server::access::Access;
use crate::workload::Workload;
use crate::workload::schema::DATABASE;
use crate::workload::statement::{Parameters, Statement, StatementClass, StatementKind};

/// Kinds of statements, for places in tables.
const KINDS: usize = StatementKind::ALL.len();

/// A connection that can execute every statement of a workload.
pub struct LoadConnection {
    connection: Conn,
    workload: Workload,
    /// Table by table, each in the order of `StatementKind::ALL`; `None` where the workload has no such statement.
    statements: Vec<Option<Held>>,
    /// A statement with its values, when it is sent as text.
    text: String,
}

enum Held {
    Prepared(Prepared),
    Text(String),
}

impl LoadConnection {
    /// Connects and prepares.
    ///
    /// # Errors
    /// The client library's, unchanged.
    pub fn open(access: &Access, workload: &Workload) -> Result<Self, mysql::Error> {
        let held = usize::try_from(workload.prepared_statements()).unwrap_or(usize::MAX);
        let mut connection = Conn::new(access.options(held))?;
        connection.select_db(DATABASE)?;
        let mut statements: Vec<Option<Held>> = Vec::new();
        statements.resize_with(workload.tables as usize * KINDS, || None);
        for (kind, _) in workload.statements() {
            let tables = if kind.class() == StatementClass::Other { 1 } else { workload.tables };
            for table in 1..=tables {
                let sql = workload.sql(kind, table);
                statements[place(kind, table)] = Some(match workload.prepared {
                    true => Held::Prepared(connection.prep(sql)?),
                    false => Held::Text(sql),
                });
            }
        }
        Ok(Self { connection, workload: *workload, statements, text: String::new() })
    }

    /// Executes one statement and reads its result to the end. Returns the rows that it changed.
    ///
    /// # Errors
    /// The client library's, unchanged.
    pub fn execute(&mut self, statement: &Statement) -> Result<u64, mysql::Error> {
        match &self.statements[place(statement.kind, statement.table)] {
            Some(Held::Prepared(prepared)) => {
                self.connection.exec_drop(prepared, placeholders(&statement.parameters))?;
            }
            Some(Held::Text(sql)) => {
                self.workload.write_text(statement, sql, &mut self.text);
                self.connection.query_drop(&self.text)?;
            }
            // Scripts draw only statements that their workload has, as a test shows.
            None => {}
        }
        Ok(self.connection.affected_rows())
    }

    /// Ends what a failed transaction left open.
    ///
    /// # Errors
    /// The client library's, unchanged.
    pub fn roll_back(&mut self) -> Result<(), mysql::Error> {
        self.connection.query_drop("ROLLBACK")
    }

    /// The largest id in a table, 0 if it is empty.
    ///
    /// # Errors
    /// The client library's, unchanged.
    pub fn largest_id(&mut self, table: &str) -> Result<u64, mysql::Error> {
        let id = self.connection.query_first(format!("SELECT COALESCE(MAX(id), 0) FROM {table}"))?;
        Ok(id.unwrap_or(0))
    }
}

fn place(kind: StatementKind, table: u32) -> usize {
    (table as usize - 1) * KINDS + kind as usize
}

fn placeholders(parameters: &Parameters) -> Params {
    Params::Positional(match parameters {
        Parameters::Nothing | Parameters::Numbers(..) => return Params::Empty,
        Parameters::Id(id) => vec![Value::UInt(*id)],
        Parameters::Range(from, to) => vec![Value::UInt(*from), Value::UInt(*to)],
        Parameters::Content(c, id) => vec![Value::Bytes(c.as_bytes().to_vec()), Value::UInt(*id)],
        Parameters::Row(id, k, c, pad) => vec![
            id.map_or(Value::NULL, Value::Int),
            Value::UInt(*k),
            Value::Bytes(c.as_bytes().to_vec()),
            Value::Bytes(pad.as_bytes().to_vec()),
        ],
        Parameters::Values(values) => values.iter().map(|value| Value::UInt(*value)).collect(),
    })
}
