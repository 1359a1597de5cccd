//! A load thread's connection with its prepared statements.

use mysql::prelude::Queryable as _;
use mysql::{Conn, Params, Statement as Prepared, Value};

use super::recorder::StatementCounts;
use crate::server::access::Access;
use crate::workload::oltp::{OltpReadWrite, Parameters, Statement, StatementKind};
use crate::workload::schema::DATABASE;

/// Statements prepared for each table.
const KINDS: usize = StatementKind::ALL.len();

/// A connection that holds every statement of a workload.
pub struct LoadConnection {
    connection: Conn,
    begin: Prepared,
    commit: Prepared,
    /// Table by table, each in the order of `StatementKind::ALL`.
    statements: Vec<Prepared>,
}

impl LoadConnection {
    /// Connects and prepares.
    ///
    /// # Errors
    /// The client library's, unchanged.
    pub fn open(access: &Access, workload: &OltpReadWrite) -> Result<Self, mysql::Error> {
        let held = usize::try_from(workload.prepared_statements()).unwrap_or(usize::MAX);
        let mut connection = Conn::new(access.options(held))?;
        connection.select_db(DATABASE)?;
        let mut statements = Vec::with_capacity(held);
        for table in 1..=workload.tables {
            for kind in StatementKind::ALL {
                statements.push(connection.prep(kind.sql(table))?);
            }
        }
        let (begin, commit) = (connection.prep("BEGIN")?, connection.prep("COMMIT")?);
        Ok(Self { connection, begin, commit, statements })
    }

    /// Runs one transaction, counting its statements as sysbench does.
    ///
    /// # Errors
    /// The first statement's that failed; the transaction is then neither committed nor rolled back.
    pub fn transaction(
        &mut self,
        statements: &[Statement],
        counts: &mut StatementCounts,
    ) -> Result<(), FailedStatement> {
        self.bare("BEGIN", counts)?;
        for statement in statements {
            self.execute(statement, counts)?;
        }
        self.bare("COMMIT", counts)
    }

    /// Ends what a failed transaction left open.
    ///
    /// # Errors
    /// The client library's, unchanged.
    pub fn roll_back(&mut self) -> Result<(), mysql::Error> {
        self.connection.query_drop("ROLLBACK")
    }

    fn bare(&mut self, text: &'static str, counts: &mut StatementCounts) -> Result<(), FailedStatement> {
        let prepared = if text == "BEGIN" { &self.begin } else { &self.commit };
        self.connection
            .exec_drop(prepared, Params::Empty)
            .map_err(|source| FailedStatement { text: text.to_owned(), source })?;
        counts.other += 1;
        Ok(())
    }

    fn execute(
        &mut self,
        statement: &Statement,
        counts: &mut StatementCounts,
    ) -> Result<(), FailedStatement> {
        let place = (statement.table as usize - 1) * KINDS + statement.kind as usize;
        let failed = |source| FailedStatement { text: statement.kind.sql(statement.table), source };
        self.connection
            .exec_drop(&self.statements[place], placeholders(&statement.parameters))
            .map_err(failed)?;
        match statement.kind.is_write() {
            false => counts.reads += 1,
            true if self.connection.affected_rows() > 0 => counts.writes += 1,
            true => counts.other += 1,
        }
        Ok(())
    }
}

/// A statement that the server refused, or that lost its connection.
pub struct FailedStatement {
    /// Its text.
    pub text: String,
    /// The client library's error.
    pub source: mysql::Error,
}

fn placeholders(parameters: &Parameters) -> Params {
    Params::Positional(match parameters {
        Parameters::Id(id) => vec![Value::UInt(*id)],
        Parameters::Range(from, to) => vec![Value::UInt(*from), Value::UInt(*to)],
        Parameters::Text(c, id) => vec![Value::Bytes(c.to_vec()), Value::UInt(*id)],
        Parameters::Row(id, k, c, pad) => {
            vec![Value::UInt(*id), Value::UInt(*k), Value::Bytes(c.to_vec()), Value::Bytes(pad.to_vec())]
        }
    })
}
