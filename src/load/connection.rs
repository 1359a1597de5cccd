//! A load thread's connection with its prepared statements.

use mysql::prelude::Queryable as _;
use mysql::{Conn, OptsBuilder};

use super::wire::Wire;
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
    wire: Wire,
}

/// What is kept of a statement. The library's own describes every column, for every table of every thread.
enum Held {
    Prepared {
        id: u32,
        placeholders: u16,
        /// It has not been executed yet.
        first: bool,
    },
    Text(String),
}

impl LoadConnection {
    /// Connects and prepares.
    ///
    /// # Errors
    /// The client library's, unchanged.
    pub fn open(access: &Access, workload: &Workload) -> Result<Self, mysql::Error> {
        // Without a cache the library forgets what it has prepared; the server does not.
        let options = OptsBuilder::from_opts(access.options(0)).stmt_cache_size(0);
        let mut connection = Conn::new(options)?;
        connection.select_db(DATABASE)?;
        let mut statements: Vec<Option<Held>> = Vec::new();
        statements.resize_with(workload.tables as usize * KINDS, || None);
        for (kind, _) in workload.statements() {
            let tables = if kind.class() == StatementClass::Other { 1 } else { workload.tables };
            for table in 1..=tables {
                let sql = workload.sql(kind, table);
                statements[place(kind, table)] = Some(match workload.prepared {
                    true => {
                        let prepared = connection.prep(sql)?;
                        Held::Prepared { id: prepared.id(), placeholders: prepared.num_params(), first: true }
                    }
                    false => Held::Text(sql),
                });
            }
        }
        Ok(Self { connection, workload: *workload, statements, text: String::new(), wire: Wire::default() })
    }

    /// Executes one statement and reads its result to the end. Returns the rows that it changed.
    ///
    /// # Errors
    /// The client library's, unchanged.
    pub fn execute(&mut self, statement: &Statement) -> Result<u64, mysql::Error> {
        match &mut self.statements[place(statement.kind, statement.table)] {
            Some(Held::Prepared { id, placeholders, first }) => {
                self.wire.execute(*id, *placeholders, *first);
                *first = false;
                place_values(&statement.parameters, &mut self.wire);
            }
            Some(Held::Text(sql)) => {
                self.workload.write_text(statement, sql, &mut self.text);
                self.wire.query(&self.text);
            }
            // Scripts draw only statements that their workload has, as a test shows.
            None => return Ok(0),
        }
        self.wire.exchange(&self.connection)
    }

    /// Its number at the server.
    #[must_use]
    pub fn id(&self) -> u32 {
        self.connection.connection_id()
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

fn place_values(parameters: &Parameters, wire: &mut Wire) {
    // Ids and values of `k` are far below the highest number with a sign.
    let integer = |value: u64| i64::try_from(value).unwrap_or(i64::MAX);
    match parameters {
        Parameters::Nothing | Parameters::Numbers(..) => {}
        Parameters::Id(id) => wire.integer(integer(*id)),
        Parameters::Range(from, to) => {
            wire.integer(integer(*from));
            wire.integer(integer(*to));
        }
        Parameters::Content(c, id) => {
            wire.text(c.as_bytes());
            wire.integer(integer(*id));
        }
        Parameters::Row(id, k, c, pad) => {
            match id {
                Some(id) => wire.integer(*id),
                None => wire.null(),
            }
            wire.integer(integer(*k));
            wire.text(c.as_bytes());
            wire.text(pad.as_bytes());
        }
        Parameters::Values(values) => values.iter().for_each(|value| wire.integer(integer(*value))),
    }
}
