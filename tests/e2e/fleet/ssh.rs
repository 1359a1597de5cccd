//! Whatever the user's ssh configuration and the hosts' login shells do.

use std::fs;

use super::Fleet;

/// A user who shares connections and keeps them open.
const SHARED: &str = "
Host *
    ControlMaster auto
    ControlPath ~/.ssh/%h
    ControlPersist 10m
    LogLevel DEBUG
    RequestTTY force
    RemoteCommand sleep 1000
";
/// A shell that greets, on both outputs, even when nobody is there to be greeted.
const GREETING: &str = "\
echo 'Welcome to a host of the lab'
echo 'drivestone-host is not what it seems'
echo '{\"hello\":{\"protocol\":0,\"version\":\"greeting\"}}'
printf 'no end of line' >&2
echo 'warning: you are watched' >&2
";

#[test]
fn masters_and_greetings_do_not_disturb() {
    let Some(fleet) = Fleet::new(2) else { return };
    let config = fleet.hosts.home().join(".ssh/config");
    fs::write(&config, fs::read_to_string(&config).unwrap() + SHARED).unwrap();
    let shell = fleet.hosts.path("vm2", "/root/.bashrc");
    fs::write(&shell, GREETING).unwrap();
    let mut ask = fleet.hosts.program("ssh", &fleet.lab.path(""));
    let ask = ask.args(["-o", "RemoteCommand=none", "-o", "ControlPath=none", "-T", "vm2", "true"]);
    let greeted = String::from_utf8(ask.output().unwrap().stdout).unwrap();
    // The account's shell is this machine's.
    assert!(greeted.contains("Welcome") || !is_bash(), "root's shell does not greet: {greeted:?}");

    let mut running = fleet.start("out", &["duration=1s"]);
    let status = running.wait(super::PATIENCE);
    assert!(status.success(), "{status}\n{}", running.told());
    fs::remove_file(shell).unwrap();
    fleet.nothing_left(&fleet.hosts.names());
    let told = running.told();
    assert!(!told.contains("Welcome") && !told.contains("watched") && !told.contains("unreadable"), "{told}");
    let kept = fs::read_dir(fleet.hosts.home().join(".ssh")).unwrap();
    let mut kept: Vec<_> = kept.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    kept.sort();
    assert_eq!(kept, ["config", "id_ed25519", "id_ed25519.pub", "known_hosts"]);
}

/// Whether root's login shell reads `.bashrc` for a command of ssh.
fn is_bash() -> bool {
    let accounts = fs::read_to_string("/etc/passwd").unwrap();
    accounts.lines().any(|line| line.starts_with("root:") && line.ends_with("/bash"))
}
