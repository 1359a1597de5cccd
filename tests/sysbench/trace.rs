//! Statements without their values, so that two runs can be compared.

use std::collections::{BTreeMap, BTreeSet};

use super::server::Logged;

/// A statement: how it was sent, its text without values, and its values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sent {
    /// Values stand as `#`, the end of a range as its distance from the beginning, digits in strings as 9.
    pub shape: String,
    /// The table's number.
    pub table: u64,
    /// Numbers, in order.
    pub numbers: Vec<i64>,
}

/// What each connection sent for the workload, in order. What a client says when it connects is left out; it may
/// say nothing more between the workload's statements.
pub fn by_connection(log: &[Logged]) -> Vec<Vec<Sent>> {
    let mut connections: BTreeMap<u64, Vec<&Logged>> = BTreeMap::new();
    for logged in log {
        connections.entry(logged.connection).or_default().push(logged);
    }
    // A thread of `bulk_insert` asks where its table ends before it starts.
    let belongs = |logged: &&Logged| {
        logged.text.contains("sbtest") && !logged.text.starts_with("SELECT COALESCE(MAX(id)")
            || ["BEGIN", "COMMIT", "ROLLBACK"].contains(&logged.text.as_str())
    };
    let mut sent = Vec::new();
    for statements in connections.into_values() {
        let Some(first) = statements.iter().position(belongs) else { continue };
        let statements = &statements[first..];
        let strange = statements.iter().find(|logged| !belongs(logged));
        assert!(strange.is_none(), "between the workload's statements: {}", strange.unwrap().text);
        sent.push(statements.iter().map(|logged| read(&logged.command, &logged.text)).collect());
    }
    sent
}

/// Transactions of so many statements each, as people read them: repeats of a statement on one table as one line.
pub fn transactions(connections: &[Vec<Sent>], statements: usize) -> BTreeSet<String> {
    let transactions = connections.iter().flat_map(|sent| {
        assert_eq!(sent.len() % statements, 0, "not a whole number of transactions: {sent:?}");
        sent.chunks(statements)
    });
    transactions.map(told).collect()
}

fn told(transaction: &[Sent]) -> String {
    let mut lines: Vec<(u32, &Sent, bool)> = Vec::new();
    let mut deleted = None;
    for sent in transaction {
        // A row is inserted in the place of the one that was deleted.
        let place = (sent.table, sent.numbers.first());
        let replaces = sent.shape.contains("INSERT") && deleted == Some(place);
        if sent.shape.contains("DELETE") {
            deleted = Some(place);
        }
        match lines.last_mut() {
            Some((times, last, _)) if last.shape == sent.shape && last.table == sent.table => *times += 1,
            _ => lines.push((1, sent, replaces)),
        }
    }
    let line = |(times, sent, replaces): &(u32, &Sent, bool)| {
        format!("{times} x {}{}\n", sent.shape, if *replaces { " -- the row just deleted" } else { "" })
    };
    lines.iter().map(line).collect()
}

/// Reads one statement.
pub fn read(command: &str, text: &str) -> Sent {
    let mut sent = Sent { shape: format!("{command} "), table: 0, numbers: Vec::new() };
    let mut rest = text.trim();
    while let Some(c) = rest.chars().next() {
        let length = match c {
            '\'' => rest[1..].find('\'').map_or(rest.len(), |end| end + 2),
            _ if c.is_whitespace() => rest.find(|c: char| !c.is_whitespace()).unwrap_or(rest.len()),
            _ if c.is_alphabetic() || c == '_' => {
                rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len())
            }
            _ if c.is_ascii_digit() || c == '-' => {
                rest[1..].find(|c: char| !c.is_ascii_digit()).map_or(rest.len(), |end| end + 1)
            }
            _ => c.len_utf8(),
        };
        let (word, after) = rest.split_at(length);
        sent.take(word);
        rest = after;
    }
    // Many rows in one statement: how many.
    let row = "(#,#)";
    if let Some((before, _)) = sent.shape.split_once(&format!("{row},{row}")) {
        sent.shape = format!("{before}{row} x {}", sent.numbers.len() / 2);
    }
    sent
}

impl Sent {
    fn take(&mut self, word: &str) {
        if let Ok(number) = word.parse::<i64>() {
            let from = self.shape.ends_with("BETWEEN # AND ").then(|| self.numbers.last().copied()).flatten();
            self.shape += &match from {
                Some(from) => format!("#+{}", number - from),
                // An id of 0 asks the server for one.
                None if number == 0 && self.shape.ends_with("VALUES (") => "0".to_owned(),
                None => "#".to_owned(),
            };
            self.numbers.push(number);
        } else if let Some(number) = word.strip_prefix("sbtest").and_then(|number| number.parse().ok()) {
            self.table = number;
            self.shape += "sbtestN";
        } else if word.starts_with('\'') {
            self.shape.extend(word.chars().map(|c| if c.is_ascii_digit() { '9' } else { c }));
        } else if word.starts_with(char::is_whitespace) {
            self.shape.push(' ');
        } else {
            self.shape += word;
        }
    }
}

#[test]
fn statements_are_told_apart_by_all_but_their_values() {
    let shape = |text: &str| read("Query", text).shape;
    assert_eq!(
        shape("SELECT c FROM sbtest12\n  WHERE id BETWEEN 7 AND 106"),
        "Query SELECT c FROM sbtestN WHERE id BETWEEN # AND #+99"
    );
    assert_eq!(shape("UPDATE sbtest1 SET k=k+1 WHERE id=5"), "Query UPDATE sbtestN SET k=k+# WHERE id=#");
    assert_eq!(
        shape("INSERT INTO sbtest1 (id, k) VALUES (-3, '12-ab')"),
        "Query INSERT INTO sbtestN (id, k) VALUES (#, '99-ab')"
    );
    assert_eq!(shape("INSERT INTO t VALUES(1,1),(2,2),(3,3)"), "Query INSERT INTO t VALUES(#,#) x 3");
    assert_ne!(shape("SELECT 1 WHERE k IN (1, 2)"), shape("SELECT 1 WHERE k IN (1, 2, 3)"));
}
