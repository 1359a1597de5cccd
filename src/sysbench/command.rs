//! The command line of a run, where it stands in a log.

use std::collections::BTreeMap;

use super::passwords::BLANK;

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
    let command = words.iter().copied().rfind(is_command)?;
    // Prose speaks of sysbench too: a command line has options, or a test before a command that ends it.
    let has_options = words.iter().any(|word| bare(word).is_some_and(|option| option.contains('=')));
    let names_a_test = |word: &&str| {
        ["oltp", "select_", "bulk_"].iter().any(|t| word.starts_with(t)) || word.contains(".lua")
    };
    let ends_with_it = words.last() == Some(&command) && words.iter().any(names_a_test);
    if !has_options && !ends_with_it {
        return None;
    }
    if command != "run" {
        return Some(Typed::Other);
    }
    let mut command = Command::default();
    for word in words {
        match bare(word).map(|option| option.split_once('=').unwrap_or((option, "on"))) {
            Some(("test", test)) => command.test = Some(script_name(test)),
            Some((name, _)) if concerns_connection(name) => {}
            Some((name, value)) => {
                command.options.insert(name.to_owned(), value.trim_matches(['"', '\'']).to_owned());
            }
            None if is_command(&word) || word == BLANK => {}
            None => _ = command.test.get_or_insert_with(|| script_name(word)),
        }
    }
    Some(Typed::Run(command))
}

/// An option without its hyphens, which editors turn into dashes; `None` for another word.
fn bare(word: &str) -> Option<&str> {
    let bare = word.trim_start_matches(['-', '–', '—', '−']);
    (bare.len() < word.len()).then_some(bare)
}

fn script_name(path: &str) -> String {
    let name = path.rsplit('/').next().unwrap_or(path);
    name.strip_suffix(".lua").unwrap_or(name).to_owned()
}

fn concerns_connection(name: &str) -> bool {
    let of_a_driver = ["mysql-", "pgsql-"].iter().any(|driver| name.starts_with(driver));
    (of_a_driver && name != "mysql-ignore-errors") || name == "db-driver" || name.contains("password")
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
        for prose in
            ["let us run it", "then sysbench was run", "we use sysbench to run - and to prepare - tests"]
        {
            assert_eq!(typed(prose), None, "{prose}");
        }
        assert_eq!(run("sysbench oltp_read_only run").0.as_deref(), Some("oltp_read_only"));
    }
}
