//! What a server's log says about why it stopped.

/// Text in the log, and what it means for the reader. First match wins.
const CAUSES: [(&str, &str); 18] = [
    ("unknown variable", "this server does not know a variable in server.variables; correct or remove it"),
    ("unknown option", "this server does not know an option in server.variables; correct or remove it"),
    ("Error while setting value", "a value in server.variables does not fit its variable"),
    ("option requires an argument", "a variable in server.variables needs a value"),
    (
        "requires innodb_buffer_pool_size >=",
        "the buffer pool is smaller than this server allows; make memory.buffer_pool larger",
    ),
    (
        "Cannot allocate memory for the buffer pool",
        "the buffer pool does not fit the host's memory; make memory.buffer_pool smaller",
    ),
    ("Cannot allocate memory", "the host ran out of memory; make memory.buffer_pool smaller"),
    ("No space left on device", "the device under test is full"),
    ("Disk is full", "the device under test is full"),
    ("Bind on unix socket: Permission denied", "the server's account may not write in the socket's folder"),
    ("Address already in use", "another program uses the server's port"),
    ("Too many open files", "the limit of open files is too low; raise it with ulimit -n"),
    (
        "Permission denied",
        "the server's account may not use the data directory; check owners and modes up to the mount point",
    ),
    ("Unable to lock", "another server uses this data directory"),
    (
        "different data file size",
        "innodb_page_size or a tablespace differs from when the data directory was made",
    ),
    (
        "Upgrade after a crash is not supported",
        "the data directory comes from another server version and was not closed cleanly",
    ),
    ("Database page corruption", "a page of the dataset is damaged; the device may have lost writes"),
    ("corrupt", "the data directory is damaged"),
];

/// What the initialiser says after a failure: a page of advice for a server that somebody runs by hand.
const ADVICE: &str = "Installation of system tables failed!";

/// The likely cause, read from the end of a log.
#[must_use]
pub fn cause(log_tail: &str) -> &'static str {
    CAUSES
        .iter()
        .find(|(text, _)| log_tail.contains(text))
        .map_or("not recognised; the end of the server's log says what it knew", |(_, cause)| *cause)
}

/// The last `lines` lines of a log, at most 8 kB, without the initialiser's advice, which would push out
/// what went wrong.
#[must_use]
pub fn tail(log: &str, lines: usize) -> String {
    const MOST_BYTES: usize = 8192;
    let log = log.split(ADVICE).next().unwrap_or(log);
    let all: Vec<&str> = log.lines().filter(|line| !line.trim().is_empty()).collect();
    let mut kept: Vec<&str> = Vec::new();
    let mut bytes = 0;
    for line in all.iter().rev().take(lines) {
        bytes += line.len() + 1;
        if bytes > MOST_BYTES {
            break;
        }
        kept.push(line);
    }
    kept.reverse();
    kept.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_the_cause() {
        assert!(cause("[ERROR] mariadbd: unknown variable 'innodb_foo=1'").contains("server.variables"));
        assert!(cause("InnoDB: Cannot allocate memory for the buffer pool").contains("memory.buffer_pool"));
        assert!(cause("all quiet").starts_with("not recognised"));
    }

    #[test]
    fn keeps_the_end() {
        let log = (1..=100).map(|n| format!("line {n}\n\n")).collect::<String>();
        assert_eq!(tail(&log, 3), "line 98\nline 99\nline 100");
        assert_eq!(tail(&"x".repeat(10_000), 3), "");
        let advice = "try this and that\n".repeat(30);
        assert_eq!(tail(&format!("[ERROR] Aborting\n{ADVICE}\n{advice}"), 20), "[ERROR] Aborting");
    }
}
