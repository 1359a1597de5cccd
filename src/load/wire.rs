//! Statements straight over a connection's socket.
//!
//! The client library makes the connection and prepares the statements; executing them through it would
//! describe, copy and decode every row that nobody looks at. Here a request is written into one buffer and
//! sent with one call, and of an answer only the lengths of its packets are read, to find its end. Between
//! answers the connection is as the library left it, so both can use it in turn.
//!
//! Format: <https://mariadb.com/kb/en/clientserver-protocol/>. Only answers of single statements that read
//! no local file are understood, and rows below 16 MiB: what the workloads have.

use std::io;
use std::ops::Range;
use std::os::fd::{AsRawFd, RawFd};

use mysql::{DriverError, Error, MySqlError};
use nix::errno::Errno;
use nix::sys::socket::{MsgFlags, recv, send};

/// Holds the answer to a range of 100 rows, so that one call receives it.
const BUFFER_BYTES: usize = 16 << 10;
/// Length and sequence number before each packet.
const HEADER_BYTES: usize = 4;
/// Where a request to execute says which values are NULL.
const NULLS: usize = HEADER_BYTES + 10;
/// Bytes of a packet that are looked at: those of the longest error message, and more than any figure.
const LOOKED_AT: usize = 1024;

const COM_QUERY: u8 = 0x03;
const COM_STMT_EXECUTE: u8 = 0x17;
/// First bytes of packets.
const OK: u8 = 0x00;
const ERR: u8 = 0xff;
const EOF: u8 = 0xfe;
/// An EOF packet is shorter than this; a row that begins with the same byte is not.
const EOF_BYTES: usize = 9;

/// Types of values, as sysbench has them.
const LONGLONG: [u8; 2] = [0x08, 0x00];
const STRING: [u8; 2] = [0xfe, 0x00];

/// One request at a time and the answer to it.
#[derive(Debug)]
pub struct Wire {
    request: Vec<u8>,
    /// Values that belong into the request, and those that are in it.
    placeholders: usize,
    placed: usize,
    /// Whether the request tells their types.
    typed: bool,
    received: Box<[u8]>,
    /// What is received and not yet read: `received[at..filled]`.
    at: usize,
    filled: usize,
    /// Bytes of the packet at hand, from `at` on.
    left: usize,
}

impl Default for Wire {
    fn default() -> Self {
        Self {
            request: Vec::new(),
            placeholders: 0,
            placed: 0,
            typed: false,
            received: vec![0; BUFFER_BYTES].into_boxed_slice(),
            at: 0,
            filled: 0,
            left: 0,
        }
    }
}

impl Wire {
    /// Begins a request to execute the statement that was prepared under `id`. Its values follow, one for
    /// each placeholder. Their types are told the first time; the server remembers them.
    pub fn execute(&mut self, id: u32, placeholders: u16, first: bool) {
        (self.placeholders, self.placed) = (usize::from(placeholders), 0);
        self.typed = first;
        self.request.clear();
        self.request.extend([0, 0, 0, 0, COM_STMT_EXECUTE]);
        self.request.extend(id.to_le_bytes());
        // No cursor, executed once.
        self.request.extend([0, 1, 0, 0, 0]);
        if placeholders > 0 {
            let types = self.types();
            self.request.resize(types + if first { 2 * self.placeholders } else { 0 }, 0);
            self.request[types - 1] = u8::from(first);
        }
    }

    /// Where the types of the values begin: after a bit for each that says whether it is NULL, and one byte.
    fn types(&self) -> usize {
        NULLS + self.placeholders.div_ceil(8) + 1
    }

    /// The next value: a whole number.
    pub fn integer(&mut self, value: i64) {
        self.declare(LONGLONG);
        self.request.extend(value.to_le_bytes());
    }

    /// The next value: a text of up to 64 KiB.
    pub fn text(&mut self, value: &[u8]) {
        self.declare(STRING);
        match u8::try_from(value.len()) {
            Ok(length @ 0..=250) => self.request.push(length),
            _ => self.request.extend([0xfc, value.len() as u8, (value.len() >> 8) as u8]),
        }
        self.request.extend(value);
    }

    /// The next value: NULL in the place of a whole number.
    pub fn null(&mut self) {
        if let Some(byte) = self.request.get_mut(NULLS + self.placed / 8) {
            *byte |= 1 << (self.placed % 8);
        }
        self.declare(LONGLONG);
    }

    fn declare(&mut self, of: [u8; 2]) {
        let at = self.types() + 2 * self.placed;
        // One too many is refused before anything is sent.
        if let Some(place) = self.request.get_mut(at..at + 2).filter(|_| self.typed) {
            place.copy_from_slice(&of);
        }
        self.placed += 1;
    }

    /// Begins and ends a request to execute a text.
    pub fn query(&mut self, text: &str) {
        self.request.clear();
        (self.placeholders, self.placed) = (0, 0);
        self.request.extend([0, 0, 0, 0, COM_QUERY]);
        self.request.extend(text.as_bytes());
    }

    /// Sends the request and reads its answer to the end. Returns the rows that it changed.
    ///
    /// # Errors
    /// The server's, after which the connection can be used on; or the system's, after which it cannot.
    pub fn exchange(&mut self, connection: &impl AsRawFd) -> Result<u64, Error> {
        if self.placed != self.placeholders {
            let placeholders = u16::try_from(self.placeholders).unwrap_or(u16::MAX);
            return Err(DriverError::MismatchedStmtParams(placeholders, self.placed).into());
        }
        let socket = connection.as_raw_fd();
        self.send(socket)?;
        let first = self.next_packet(socket)?;
        let described = match self.received[first] {
            [OK, ref rest @ ..] => return Ok(length_encoded(rest)),
            // MariaDB says whether it describes the columns: once is enough for it.
            [_, described, ..] => described != 0,
            _ => true,
        };
        if described {
            self.skip_to_eof(socket)?;
        } else {
            self.next_packet(socket)?;
        }
        self.skip_to_eof(socket)?;
        Ok(0)
    }

    fn send(&mut self, socket: RawFd) -> Result<(), Error> {
        let length = self.request.len() - HEADER_BYTES;
        self.request[..3].copy_from_slice(&(length as u32).to_le_bytes()[..3]);
        let mut sent = 0;
        while sent < self.request.len() {
            sent += uninterrupted(|| send(socket, &self.request[sent..], MsgFlags::MSG_NOSIGNAL))?;
        }
        Ok(())
    }

    fn skip_to_eof(&mut self, socket: RawFd) -> Result<(), Error> {
        loop {
            let packet = self.next_packet(socket)?;
            if packet.len() < EOF_BYTES && self.received[packet].first() == Some(&EOF) {
                return Ok(());
            }
        }
    }

    /// Where the beginning of the next packet's body lies in `received`: as much of it as is looked at.
    fn next_packet(&mut self, socket: RawFd) -> Result<Range<usize>, Error> {
        self.skip(socket)?;
        self.have(HEADER_BYTES, socket)?;
        let header = &self.received[self.at..self.at + HEADER_BYTES];
        let length = u32::from_le_bytes([header[0], header[1], header[2], 0]) as usize;
        self.at += HEADER_BYTES;
        let looked_at = length.min(LOOKED_AT);
        self.have(looked_at, socket)?;
        let packet = self.at..self.at + looked_at;
        self.left = length;
        match &self.received[packet.clone()] {
            [ERR, rest @ ..] => Err(refusal(rest)),
            _ => Ok(packet),
        }
    }

    /// Skips what is left of a packet.
    fn skip(&mut self, socket: RawFd) -> Result<(), Error> {
        while self.left > self.filled - self.at {
            self.left -= self.filled - self.at;
            self.at = self.filled;
            self.have(1, socket)?;
        }
        self.at += self.left;
        self.left = 0;
        Ok(())
    }

    /// Receives until there are so many bytes that have not been read; no more than the buffer holds.
    fn have(&mut self, bytes: usize, socket: RawFd) -> Result<(), Error> {
        while self.filled - self.at < bytes {
            if self.at == self.filled || self.at + bytes > self.received.len() {
                self.received.copy_within(self.at..self.filled, 0);
                (self.at, self.filled) = (0, self.filled - self.at);
            }
            let room = &mut self.received[self.filled..];
            match uninterrupted(|| recv(socket, room, MsgFlags::empty()))? {
                0 => return Err(Error::IoError(io::ErrorKind::UnexpectedEof.into())),
                more => self.filled += more,
            }
        }
        Ok(())
    }
}

fn uninterrupted(mut call: impl FnMut() -> nix::Result<usize>) -> Result<usize, Error> {
    loop {
        match call() {
            Err(Errno::EINTR) => {}
            done => return done.map_err(|errno| Error::IoError(errno.into())),
        }
    }
}

/// The server's error: code, `#` and five characters of SQLSTATE, message.
fn refusal(body: &[u8]) -> Error {
    let (code, rest) = body.split_at_checked(2).unwrap_or((&[0, 0], &[]));
    let (state, message) = match rest {
        [b'#', rest @ ..] => rest.split_at_checked(5).unwrap_or((rest, &[])),
        _ => (&b"HY000"[..], rest),
    };
    let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
    let code = u16::from_le_bytes([code[0], code[1]]);
    Error::MySqlError(MySqlError { state: text(state), message: text(message), code })
}

/// A number of one, two, three or eight bytes.
fn length_encoded(bytes: &[u8]) -> u64 {
    let number = |from: &[u8]| from.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte));
    match bytes {
        [small @ 0..=0xfa, ..] => u64::from(*small),
        [0xfc, rest @ ..] => number(&rest[..rest.len().min(2)]),
        [0xfd, rest @ ..] => number(&rest[..rest.len().min(3)]),
        [_, rest @ ..] => number(&rest[..rest.len().min(8)]),
        [] => 0,
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read as _, Write as _};
    use std::os::unix::net::UnixStream;

    use proptest::prelude::*;

    use super::*;

    fn packet(body: &[u8]) -> Vec<u8> {
        [&(body.len() as u32).to_le_bytes()[..3], &[7], body].concat()
    }

    const EOF_PACKET: [u8; 5] = [EOF, 0, 0, 2, 0];

    /// Answers one request with `pieces`, each sent on its own, and gives what `wire` makes of it.
    fn answered(wire: &mut Wire, pieces: &[&[u8]]) -> Result<u64, String> {
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        std::thread::scope(|scope| {
            scope.spawn(move || {
                let _ = theirs.read(&mut [0; 4096]).unwrap();
                pieces.iter().for_each(|piece| theirs.write_all(piece).unwrap());
            });
            wire.query("SELECT 1");
            wire.exchange(&ours).map_err(|error| error.to_string())
        })
    }

    /// Columns described or not, rows of given lengths.
    fn result(described: Option<bool>, rows: &[usize]) -> Vec<u8> {
        let count = described.map_or(vec![1], |described| vec![1, u8::from(described)]);
        let mut answer = packet(&count);
        if described != Some(false) {
            answer.extend(packet(b"\x03def and so on"));
        }
        answer.extend(packet(&EOF_PACKET));
        rows.iter().for_each(|&length| answer.extend(packet(&vec![0; length])));
        answer.extend(packet(&EOF_PACKET));
        answer
    }

    /// What is sent for a statement of three values.
    fn sent(first: bool) -> Vec<u8> {
        let mut wire = Wire::default();
        wire.execute(0x0102_0304, 3, first);
        wire.null();
        wire.integer(-1);
        wire.text(b"abc");
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        theirs.write_all(&packet(&[OK, 1, 0, 2, 0, 0, 0])).unwrap();
        assert_eq!(wire.exchange(&ours).unwrap(), 1);
        drop(ours);
        let mut sent = Vec::new();
        theirs.read_to_end(&mut sent).unwrap();
        sent
    }

    #[test]
    fn requests_are_the_protocols() {
        let head = [0, 0, 0, 0x17, 4, 3, 2, 1, 0, 1, 0, 0, 0, 0b001];
        let values = [255, 255, 255, 255, 255, 255, 255, 255, 3, b'a', b'b', b'c'];
        assert_eq!(sent(true), [&[30][..], &head, &[1, 8, 0, 8, 0, 0xfe, 0], &values].concat());
        assert_eq!(sent(false), [&[24][..], &head, &[0], &values].concat());
    }

    #[test]
    fn values_are_counted() {
        let mut wire = Wire::default();
        let (ours, _theirs) = UnixStream::pair().unwrap();
        for values in [1, 3] {
            wire.execute(1, 2, true);
            (0..values).for_each(|_| wire.null());
            assert!(wire.exchange(&ours).unwrap_err().to_string().contains("parameters"));
        }
    }

    #[test]
    fn an_error_is_the_servers_and_the_next_answer_is_read() {
        let mut wire = Wire::default();
        let deadlock = packet(b"\xff\xbd\x04#40001Deadlock found");
        assert_eq!(
            answered(&mut wire, &[&deadlock]).unwrap_err(),
            "MySqlError { ERROR 1213 (40001): Deadlock found }"
        );
        let within = [&packet(&[1, 0])[..], &packet(&EOF_PACKET), &packet(&[0; 9]), &deadlock].concat();
        assert!(answered(&mut wire, &[&within]).unwrap_err().contains("1213"));
        assert_eq!(answered(&mut wire, &[&packet(&[OK, 0xfc, 0x10, 0x27, 0, 2, 0, 0, 0])]).unwrap(), 10_000);
    }

    #[test]
    fn an_answer_that_ends_early_is_a_lost_connection() {
        let whole = result(Some(false), &[100, 20_000]);
        for cut in [0, 3, 5, 40, whole.len() - 1] {
            let error = answered(&mut Wire::default(), &[&whole[..cut]]).unwrap_err();
            assert!(error.contains("end of file") || error.contains("IoError"), "{error}");
        }
    }

    proptest! {
        /// Answers are read to their end and no further, however they arrive.
        #[test]
        fn pieces_do_not_matter(
            answers in prop::collection::vec(
                (prop::option::of(any::<bool>()), prop::collection::vec(1_usize..40_000, 0..5)), 1..4),
            cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..6)) {
            let mut wire = Wire::default();
            for (described, rows) in answers {
                let answer = result(described, &rows);
                let mut places: Vec<usize> = cuts.iter().map(|cut| cut.index(answer.len())).collect();
                places.extend([0, answer.len()]);
                places.sort_unstable();
                let pieces: Vec<&[u8]> = places.windows(2).map(|cut| &answer[cut[0]..cut[1]]).collect();
                prop_assert_eq!(answered(&mut wire, &pieces), Ok(0));
                prop_assert_eq!((wire.filled - wire.at, wire.left), (5, 5));
            }
        }

        #[test]
        fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            let _ = answered(&mut Wire::default(), &[&bytes]);
        }
    }
}
