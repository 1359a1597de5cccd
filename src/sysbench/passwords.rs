//! Passwords that command lines and SQL statements leave in a log.

use std::ops::Range;

/// Stands in place of a password.
pub const BLANK: &str = "***";
/// What a password is given to, in an option, a variable of the environment, or SQL.
const NAMES: [&[u8]; 3] = [b"password", b"passwd", b"mysql_pwd"];
/// Beginnings of commands that take `-pPASSWORD`.
const COMMANDS: [&[u8]; 4] = [b"mysql", b"mariadb", b"sysbench", b"mydumper"];

/// The bytes of a log with the passwords blanked that its command lines and SQL statements name; `None` when
/// there is none.
#[must_use]
pub fn without_passwords(log: &[u8]) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(log.len());
    let (mut found, mut in_command) = (false, false);
    for line in log.split_inclusive(|byte| *byte == b'\n') {
        let mut kept = 0;
        for secret in secrets(line, &mut in_command) {
            // One word may be found in two ways.
            if secret.start >= kept && !secret.is_empty() {
                out.extend_from_slice(&line[kept..secret.start]);
                out.extend_from_slice(BLANK.as_bytes());
                (kept, found) = (secret.end, true);
            }
        }
        out.extend_from_slice(&line[kept..]);
    }
    found.then_some(out)
}

/// Where passwords stand in a line, in their order. `in_command`: a command goes on in it, after a backslash.
fn secrets(line: &[u8], in_command: &mut bool) -> Vec<Range<usize>> {
    let lower = line.to_ascii_lowercase();
    let named = NAMES.iter().flat_map(|name| {
        positions(&lower, name).filter_map(|at| Some(value(line, named_at(line, at, at + name.len())?)))
    });
    let identified = positions(&lower, b"identified ").filter_map(|at| {
        let by =
            [&b" by "[..], b" as "].iter().filter_map(|word| positions(&lower[at..], word).next()).min()?;
        let quote = line[at + by..].iter().position(is_quote)?;
        Some(value(line, at + by + quote))
    });
    let mut all: Vec<_> = named.chain(identified).collect();
    for word in words(line) {
        let text = &lower[word.clone()];
        if *in_command && text.len() > 2 && line[word.clone()].starts_with(b"-p") {
            all.push(value(line, word.start + 2));
        }
        let name = text.rsplit(|byte| b"/$`(".contains(byte)).next().unwrap_or_default();
        *in_command |= COMMANDS.iter().any(|command| name.starts_with(command));
    }
    *in_command &= line.trim_ascii_end().ends_with(b"\\");
    all.sort_by_key(|secret| secret.start);
    all
}

/// Where the value begins that is given to the name from `at` to `end`.
fn named_at(line: &[u8], at: usize, end: usize) -> Option<usize> {
    let first = |from: usize, skipped: &[u8]| {
        let ahead = line[from..].iter().position(|byte| !skipped.contains(byte))?;
        Some(from + ahead)
    };
    // A quote right behind it ends the name.
    let quoted = first(end, b" =(:").filter(|place| *place > end && is_quote(&line[*place]));
    let given = (line.get(end) == Some(&b'=')).then_some(end + 1);
    let given = given.filter(|place| line.get(*place).is_some_and(|byte| !byte.is_ascii_whitespace()));
    let begin = line[..at].iter().rposition(u8::is_ascii_whitespace).map_or(0, |space| space + 1);
    // Editors turn hyphens into dashes, which begin with this byte.
    let is_option = [b'-', 0xe2].contains(&line[begin]) && line.get(end) == Some(&b' ');
    let next = || first(end, b" ").filter(|place| !b"-\\\r\n".contains(&line[*place]));
    quoted.or(given).or_else(|| is_option.then(next).flatten())
}

/// The value that begins at a place: what a quote holds, or a word.
fn value(line: &[u8], at: usize) -> Range<usize> {
    let quote = line.get(at).copied().filter(is_quote);
    let begin = at + usize::from(quote.is_some());
    let mut end = begin;
    while let Some(byte) = line.get(end) {
        match (byte, quote) {
            (b'\n' | b'\r', _) => break,
            (byte, Some(quote)) if *byte == quote => break,
            (byte, None) if byte.is_ascii_whitespace() => break,
            (b'\\', _) if line.get(end + 1).is_some_and(|next| !b"\r\n".contains(next)) => end += 2,
            _ => end += 1,
        }
    }
    begin..end
}

fn is_quote(byte: &u8) -> bool {
    [b'"', b'\''].contains(byte)
}

fn positions(text: &[u8], word: &[u8]) -> impl Iterator<Item = usize> {
    text.windows(word.len()).enumerate().filter(move |(_, window)| *window == word).map(|(at, _)| at)
}

fn words(line: &[u8]) -> impl Iterator<Item = Range<usize>> {
    let mut at = 0;
    line.split(u8::is_ascii_whitespace).filter_map(move |word| {
        let begin = at;
        at += word.len() + 1;
        (!word.is_empty()).then_some(begin..begin + word.len())
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn blank(log: &str) -> Option<String> {
        without_passwords(log.as_bytes()).map(|log| String::from_utf8(log).unwrap())
    }

    #[test]
    fn passwords_are_blanked() {
        for (log, expected) in [
            (
                "a --mysql-password=x1 run\n--pgsql-password='a b' c",
                "a --mysql-password=*** run\n--pgsql-password='***' c",
            ),
            ("--mysql-password=end", "--mysql-password=***"),
            ("MYSQL_PWD=x sysbench", "MYSQL_PWD=*** sysbench"),
            ("$ mysql -uroot -psecret1 sbtest", "$ mysql -uroot -p*** sbtest"),
            ("/usr/bin/mysqladmin -p'a b' ping", "/usr/bin/mysqladmin -p'***' ping"),
            ("mysql -u root \\\n  -psecret db\n-plain", "mysql -u root \\\n  -p*** db\n-plain"),
            ("sysbench --mysql_password secret2 run", "sysbench --mysql_password *** run"),
            ("sysbench –-mysql-password=s3 run", "sysbench –-mysql-password=*** run"),
            (
                "GRANT ALL ON *.* TO 'a'@'%' Identified By 'x\\'y';",
                "GRANT ALL ON *.* TO 'a'@'%' Identified By '***';",
            ),
            (
                "CREATE USER a IDENTIFIED WITH 'caching_sha2_password' BY \"x\"",
                "CREATE USER a IDENTIFIED WITH 'caching_sha2_password' BY \"***\"",
            ),
            ("SET PASSWORD FOR a = PASSWORD('x');", "SET PASSWORD FOR a = PASSWORD('***');"),
            ("SET PASSWORD = 'x'", "SET PASSWORD = '***'"),
        ] {
            assert_eq!(blank(log).as_deref(), Some(expected), "{log}");
        }
    }

    #[test]
    fn what_is_no_password_stays() {
        for log in [
            "password= \n tps: 3",
            "Access denied for user 'root'@'localhost' (using password: YES)",
            "mysql -u root -p --port=3306",
            "mkdir -p /tmp/x",
            "sysbench --mysql-password --threads=4 run",
            "it was identified by the log",
        ] {
            assert_eq!(blank(log), None);
        }
    }

    proptest! {
        #[test]
        fn lines_stay_lines(log in "([-a-z =\"'\\\\\n\r–]|password|mysql |IDENTIFIED BY |-p){0,60}") {
            if let Some(blanked) = blank(&log) {
                prop_assert_eq!(blanked.matches('\n').count(), log.matches('\n').count());
                prop_assert!(blanked.contains(BLANK));
            }
        }
    }
}
