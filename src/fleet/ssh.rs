//! Agents on other hosts, through the system's own `ssh`: it knows its user's keys, names and jump hosts.

use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::Command;

/// What holds whatever the user's configuration says. Nobody could answer a question, connections of
/// others are neither used nor left behind, and nothing is forwarded.
const OPTIONS: [&str; 11] = [
    "BatchMode=yes",
    "ConnectTimeout=10",
    "ControlMaster=no",
    "ControlPath=none",
    "RequestTTY=no",
    "RemoteCommand=none",
    "PermitLocalCommand=no",
    "ForwardX11=no",
    "ForwardAgent=no",
    "ClearAllForwardings=yes",
    "LogLevel=ERROR",
];

/// What ssh says, and what its user can do about it.
const HINTS: [(&str, &str); 7] = [
    (
        "REMOTE HOST IDENTIFICATION HAS CHANGED",
        "its key is not the one in known_hosts: find out why before you remove the old one with `ssh-keygen -R`",
    ),
    (
        "Host key verification failed",
        "its key is not known here: run `ssh HOST` once, compare the fingerprint and accept it",
    ),
    (
        "Permission denied (",
        "`ssh HOST true` must work without a question: load the key into ssh-agent, or name it in ~/.ssh/config",
    ),
    (
        "Could not resolve hostname",
        "the name is in no ssh configuration, hosts file or DNS: add `Host HOST` to ~/.ssh/config",
    ),
    (
        "Connection refused",
        "no ssh server answers there: is it running, on the port that ~/.ssh/config names?",
    ),
    ("No route to host", "nothing answers at its address: is the host up, and the address right?"),
    ("timed out", "nothing answers at its address: is the host up, and the address right?"),
];

/// Runs `remote` on a host. `configuration` stands in place of the user's own.
#[must_use]
pub fn command(host: &str, configuration: Option<&Path>, remote: &str) -> Command {
    let mut command = Command::new("ssh");
    if let Some(file) = configuration {
        command.arg("-F").arg(file);
    }
    for option in OPTIONS {
        command.args(["-o", option]);
    }
    // A group of its own: Ctrl-C must not cut the connection before the coordinator has spoken.
    command.args(["-T", "--", host, remote]).process_group(0);
    command
}

/// ssh's own words on one line, with what to do when they are known.
#[must_use]
pub fn explain(host: &str, said: &str) -> String {
    let lines: Vec<&str> = said.lines().filter(|line| is_telling(line)).map(str::trim).collect();
    let told = lines[lines.len().saturating_sub(3)..].join("; ");
    match HINTS.iter().find(|(sign, _)| said.contains(sign)) {
        Some((_, hint)) => format!("{told} ({})", hint.replace("HOST", host)),
        None => told,
    }
}

/// Frames of a warning say nothing. What is indented is a command that some distributions propose: it would
/// remove a key before anybody has found out why it changed.
fn is_telling(line: &str) -> bool {
    line.chars().any(char::is_alphanumeric) && !line.starts_with(char::is_whitespace)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_never_an_option() {
        let command = command("-oProxyCommand=x", None, "true");
        let arguments: Vec<_> = command.get_args().map(|a| a.to_string_lossy().into_owned()).collect();
        let [.., dashes, host, remote] = arguments.as_slice() else { panic!("{arguments:?}") };
        assert_eq!([dashes, host, remote], ["--", "-oProxyCommand=x", "true"]);
        assert!(arguments.iter().any(|a| a == "BatchMode=yes"), "{arguments:?}");
    }

    #[test]
    fn sshs_words_come_with_what_to_do() {
        let said = [
            "ssh: Could not resolve hostname vm9: Name or service not known\r\n",
            "No ED25519 host key is known for 10.0.0.1 and you have requested strict checking.\r\nHost key \
             verification failed.\r\n",
            "@@@@@@@@@@@\n@ WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED! @\n@@@@@@@@@@@\nHost key \
             verification failed.\n",
            "@ WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED! @\r\nOffending ED25519 key in \
             /root/.ssh/known_hosts:3\r\n  remove with:\r\n  ssh-keygen -f \"/root/.ssh/known_hosts\" -R \
             \"vm9\"\r\nHost key for vm9 has changed and you have requested strict checking.\r\nHost key \
             verification failed.\r\n",
            "root@10.0.0.1: Permission denied (publickey).\n",
            "ssh: connect to host 10.0.0.1 port 22: Connection refused\n",
            "ssh: connect to host 10.0.0.1 port 22: Connection timed out\n",
            "sh: 1: sha256sum: not found\n",
        ];
        insta::assert_snapshot!(said.map(|said| explain("vm9", said)).join("\n"));
    }
}
