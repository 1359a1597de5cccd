//! The command line of a run, where it stands in a log.

use std::collections::BTreeMap;

/// What a command line says of the work.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Command {
    /// Name of the test or its script.
    pub test: Option<String>,
    /// Options without what concerns the connection.
    pub options: BTreeMap<String, String>,
}

/// What a line tells.
#[derive(Debug, PartialEq, Eq)]
pub enum Typed {
    /// `sysbench … run`
    Run(Command),
    /// Another command of sysbench's, such as `prepare`.
    Other,
}

/// The command in a line, if there is one; a shell's prompt may stand before it.
pub fn typed(line: &str) -> Option<Typed> {
    let mut words = line.split_whitespace();
    words.find(|word| word.rsplit('/').next() == Some("sysbench"))?;
    let words: Vec<&str> = words.take_while(|word| !word.starts_with(['|', '>', ';', '&'])).collect();
    let is_command = |word: &&str| ["run", "prepare", "prewarm", "cleanup", "help", "version"].contains(word);
    let last = words.iter().copied().rfind(is_command)?;
    if last != "run" {
        return Some(Typed::Other);
    }
    let mut command = Command::default();
    for word in words {
        // Editors turn hyphens into dashes.
        let bare = word.trim_start_matches(['-', '–', '—', '−']);
        match (bare.len() < word.len(), bare.split_once('=')) {
            (true, Some(("test", test))) => command.test = Some(script_name(test)),
            (true, Some((name, value))) if !concerns_connection(name) => {
                command.options.insert(name.to_owned(), value.trim_matches(['"', '\'']).to_owned());
            }
            (true, None) => drop(command.options.insert(bare.to_owned(), "on".to_owned())),
            (false, None) if !is_command(&word) => _ = command.test.get_or_insert_with(|| script_name(word)),
            _ => {}
        }
    }
    Some(Typed::Run(command))
}

fn script_name(path: &str) -> String {
    let name = path.rsplit('/').next().unwrap_or(path);
    name.strip_suffix(".lua").unwrap_or(name).to_owned()
}

fn concerns_connection(name: &str) -> bool {
    let of_a_driver = ["mysql-", "pgsql-"].iter().any(|driver| name.starts_with(driver));
    (of_a_driver && name != "mysql-ignore-errors") || name == "db-driver" || name.contains("password")
}

/// The bytes of a log with every password of a command line blanked; `None` when there is none.
#[must_use]
pub fn without_passwords(log: &[u8]) -> Option<Vec<u8>> {
    const OPTION: &[u8] = b"password=";
    let mut out = Vec::with_capacity(log.len());
    let (mut rest, mut found) = (log, false);
    while let Some(at) = rest.windows(OPTION.len()).position(|window| window.eq_ignore_ascii_case(OPTION)) {
        let (before, value) = rest.split_at(at + OPTION.len());
        let quote = value.first().copied().filter(|byte| [b'"', b'\''].contains(byte));
        let ends = |byte: &u8| match quote {
            Some(quote) => [quote, b'\n'].contains(byte),
            None => byte.is_ascii_whitespace(),
        };
        let begin = usize::from(quote.is_some());
        let end = value[begin..].iter().position(ends).map_or(value.len(), |end| begin + end);
        out.extend_from_slice(before);
        out.extend_from_slice(&value[..begin]);
        if end > begin {
            out.extend_from_slice(b"***");
            found = true;
        }
        rest = &value[end..];
    }
    out.extend_from_slice(rest);
    found.then_some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(line: &str) -> (Option<String>, Vec<(String, String)>) {
        match typed(line) {
            Some(Typed::Run(command)) => (command.test, command.options.into_iter().collect()),
            other => panic!("{line}: {other:?}"),
        }
    }

    #[test]
    fn scripts_and_options_are_found_and_connections_are_not_kept() {
        let (test, options) =
            run("root@host ~]# /usr/bin/sysbench --mysql-host=10.0.0.1 --mysql-password=secret \
             /usr/share/sysbench/oltp_read_write.lua –-tables=6 --threads=64 --auto_inc run | tee out.log");
        assert_eq!(test.as_deref(), Some("oltp_read_write"));
        let pairs = [("auto_inc", "on"), ("tables", "6"), ("threads", "64")];
        assert_eq!(options, pairs.map(|(name, value)| (name.to_owned(), value.to_owned())));
        let (test, options) = run("sysbench --test=oltp --oltp-test-mode=simple run");
        assert_eq!((test.as_deref(), options.len()), (Some("oltp"), 1));
    }

    #[test]
    fn other_lines_are_no_runs() {
        assert_eq!(typed("sysbench oltp_insert --tables=6 prepare"), Some(Typed::Other));
        assert_eq!(typed("sysbench 1.0.20 (using bundled LuaJIT 2.1.0-beta2)"), None);
        assert_eq!(typed("let us run it"), None);
    }

    #[test]
    fn passwords_are_blanked() {
        let blank = |log: &str| without_passwords(log.as_bytes()).map(|log| String::from_utf8(log).unwrap());
        assert_eq!(
            blank("a --mysql-password=x1 run\n--pgsql-password='a b' c").as_deref(),
            Some("a --mysql-password=*** run\n--pgsql-password='***' c")
        );
        assert_eq!(blank("--mysql-password=end").as_deref(), Some("--mysql-password=***"));
        assert_eq!(blank("password= \n tps: 3"), None);
    }
}
