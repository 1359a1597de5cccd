//! The floor: requests that were made up beforehand go out as they are, and of an answer only the lengths
//! of its packets are read, to find its end. One send and one receive a statement, nothing else.

use std::collections::BTreeMap;
use std::io::{Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::path::Path;

use drivestone::server::access::USER;
use drivestone::workload::Workload;
use drivestone::workload::statement::{Parameters, Statement};

use super::bare::{script, threads};

/// Transactions made up for each thread; then they come again.
const MADE_UP: usize = 2000;
/// As the `mysql` crate says it: protocol 4.1, transactions, plugin authentication, a database, several
/// results. Without CLIENT_MYSQL, so that MariaDB reads its own capabilities below.
const CAPABILITIES: u32 = 0x200 | 0x2000 | 0x8000 | 0x8_0000 | 0x8 | 0x2_0000 | 0x4_0000;
/// Columns are described once, not with every answer.
const CACHE_METADATA: u32 = 0x10;
/// The collation that sysbench and the `mysql` crate ask for.
const UTF8MB4: u8 = 45;
const PREPARE: u8 = 0x16;
const EXECUTE: u8 = 0x17;
/// Types of parameters: an unsigned 64-bit number and a string.
const NUMBER: [u8; 2] = [0x08, 0x80];
const STRING: [u8; 2] = [0xfd, 0x00];

pub fn run(workload: Workload, socket: &Path, seconds: u64) {
    threads(seconds, |thread| {
        let mut wire = Wire::open(socket);
        let requests = made_up(workload, thread, &mut wire);
        let mut next = (0..requests.len()).cycle();
        move || next.next().is_some_and(|at| requests[at].iter().all(|request| wire.exchange(request)))
    });
}

/// Transactions as lists of requests.
fn made_up(workload: Workload, thread: u32, wire: &mut Wire) -> Vec<Vec<Vec<u8>>> {
    let mut ids = BTreeMap::new();
    for (kind, _) in workload.statements() {
        for table in 1..=workload.tables {
            ids.insert((kind, table), wire.prepare(&workload.sql(kind, table)));
        }
    }
    let mut script = script(workload, thread, 3);
    let mut statements = Vec::new();
    let mut transaction = || {
        script.next_transaction(&mut statements);
        let request = |s: &Statement| execute(ids[&(s.kind, s.table)], &values(&s.parameters));
        statements.iter().map(request).collect()
    };
    (0..MADE_UP).map(|_| transaction()).collect()
}

enum Placed<'a> {
    Number(u64),
    Text(&'a [u8]),
}

fn values(parameters: &Parameters) -> Vec<Placed<'_>> {
    use Placed::{Number, Text};
    match parameters {
        Parameters::Nothing => vec![],
        Parameters::Id(id) => vec![Number(*id)],
        Parameters::Range(from, to) => vec![Number(*from), Number(*to)],
        Parameters::Content(c, id) => vec![Text(c.as_bytes()), Number(*id)],
        Parameters::Row(Some(id), k, c, pad) => {
            vec![Number(id.unsigned_abs()), Number(*k), Text(c.as_bytes()), Text(pad.as_bytes())]
        }
        other => panic!("not in these workloads: {other:?}"),
    }
}

/// A request to execute a prepared statement.
fn execute(id: u32, values: &[Placed]) -> Vec<u8> {
    let mut body = vec![EXECUTE];
    body.extend(id.to_le_bytes());
    body.extend([0, 1, 0, 0, 0]);
    if !values.is_empty() {
        body.extend([0, 1]);
        values.iter().for_each(|v| body.extend(if matches!(v, Placed::Number(_)) { NUMBER } else { STRING }));
    }
    for value in values {
        match value {
            Placed::Number(number) => body.extend(number.to_le_bytes()),
            Placed::Text(text) => {
                body.push(u8::try_from(text.len()).unwrap());
                body.extend(*text);
            }
        }
    }
    packet(0, &body)
}

fn packet(sequence: u8, body: &[u8]) -> Vec<u8> {
    let length = u32::try_from(body.len()).unwrap().to_le_bytes();
    [&length[..3], &[sequence], body].concat()
}

/// A connection of which only the framing is understood.
struct Wire {
    stream: UnixStream,
    received: Vec<u8>,
    /// What of `received` is filled, and where the next packet begins.
    filled: usize,
    at: usize,
}

impl Wire {
    /// Logs in without a password.
    fn open(socket: &Path) -> Self {
        let stream = UnixStream::connect(socket).unwrap();
        let mut wire = Self { stream, received: vec![0; 64 << 10], filled: 0, at: 0 };
        wire.next_packet();
        let mut body = CAPABILITIES.to_le_bytes().to_vec();
        body.extend((16_u32 << 20).to_le_bytes());
        body.push(UTF8MB4);
        body.extend([0; 19]);
        body.extend(CACHE_METADATA.to_le_bytes());
        body.extend(format!("{USER}\0\0sbtest\0mysql_native_password\0").bytes());
        wire.stream.write_all(&packet(1, &body)).unwrap();
        assert_eq!(wire.next_packet(), 0, "the server did not let us in");
        wire
    }

    fn prepare(&mut self, sql: &str) -> u32 {
        self.send(&packet(0, &[&[PREPARE], sql.as_bytes()].concat()));
        assert_eq!(self.next_packet(), 0, "the server did not prepare {sql}");
        let body = &self.received[self.at - 12..self.at];
        let number = |at: usize| u16::from_le_bytes([body[at], body[at + 1]]);
        let id = u32::from_le_bytes(body[1..5].try_into().unwrap());
        for described in [number(7), number(5)].into_iter().filter(|&n| n > 0) {
            (0..=described).for_each(|_| _ = self.next_packet());
        }
        id
    }

    /// Sends a request and reads the answer; false when the server chose this transaction as the victim
    /// of a deadlock.
    fn exchange(&mut self, request: &[u8]) -> bool {
        self.send(request);
        let first = self.next_packet();
        if first == 0xff {
            let code = u16::from_le_bytes([self.received[5], self.received[6]]);
            assert_eq!(code, 1213, "{}", String::from_utf8_lossy(&self.received[..self.at]));
            return false;
        }
        if first != 0 {
            assert_eq!(self.received[5], 0, "columns were described again");
            self.next_packet();
            while self.next_packet() != 0xfe {}
        }
        true
    }

    /// Sends a request; the answer to the last one has been read.
    fn send(&mut self, request: &[u8]) {
        (self.at, self.filled) = (0, 0);
        self.stream.write_all(request).unwrap();
    }

    /// Steps over one packet and returns the first byte of its body.
    fn next_packet(&mut self) -> u8 {
        while self.filled < self.at + 5 {
            self.receive();
        }
        let header = &self.received[self.at..self.at + 5];
        let (length, first) = (u32::from_le_bytes([header[0], header[1], header[2], 0]) as usize, header[4]);
        self.at += 4 + length;
        while self.filled < self.at {
            self.receive();
        }
        first
    }

    fn receive(&mut self) {
        let more = self.stream.read(&mut self.received[self.filled..]).unwrap();
        assert!(more > 0, "the server closed the connection or an answer was too long");
        self.filled += more;
    }
}
