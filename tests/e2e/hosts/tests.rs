//! The lab itself, without drivestone.

use std::fs;
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use super::Hosts;
use super::folder::{clear_abandoned, loops};
use super::namespaces::{members, run, tool};
use crate::e2e::lab::Lab;
use crate::e2e::mount::may_mount;
use crate::e2e::processes::{self, Process, until};
use crate::e2e::require::{require, scratch};

/// Longest wait for a program at the desk.
const PATIENCE: Duration = Duration::from_secs(30);

/// A program on a host, through ssh as the user's configuration has it.
fn on(hosts: &Hosts, host: &str, program: &[&str]) -> Output {
    hosts.program("ssh", Path::new("/")).arg(host).args(program).output().unwrap()
}

fn says(hosts: &Hosts, host: &str, program: &[&str]) -> String {
    let output = on(hosts, host, program);
    assert!(output.status.success(), "{host}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

/// A client that keeps a program running on a host.
fn sleep_on(hosts: &Hosts, host: &str) -> Child {
    let mut client = hosts.program("ssh", Path::new("/"));
    let client = client.args([host, "sleep", "1000"]).stderr(Stdio::null()).spawn().unwrap();
    assert!(until(PATIENCE, || !sleeps(hosts, host).is_empty()), "{:#?}", hosts.processes(host));
    client
}

/// The programs that do so.
fn sleeps(hosts: &Hosts, host: &str) -> Vec<Process> {
    let mut found = hosts.processes(host);
    found.retain(|process| process.command.starts_with("sleep"));
    found
}

#[test]
fn each_is_a_machine_of_its_own() {
    let Some(hosts) = Hosts::new(3) else { return };
    let mut devices = Vec::new();
    let mark = format!("drivestone-lab-{}", std::process::id());
    let marks = ["/mnt/dut", "/root", "/tmp", "/var/tmp"].map(|place| format!("{place}/{mark}"));
    let touch: Vec<&str> = ["touch"].into_iter().chain(marks.iter().map(String::as_str)).collect();
    for host in hosts.names() {
        assert_eq!(says(&hosts, host, &["cat", "/proc/sys/kernel/hostname"]), host);
        assert_eq!(says(&hosts, host, &["ls", "--ignore=lost+found", "/mnt/dut"]), "", "another's disk");
        says(&hosts, host, &touch);
        let left: Vec<_> = hosts.files_left(host).iter().map(|path| path.display().to_string()).collect();
        assert_eq!(left, marks[1..]);
        assert!(hosts.disk(host).join(&mark).exists());
        devices.push(says(&hosts, host, &["stat", "--format=%d", "/mnt/dut"]));
        assert_eq!(devices.iter().filter(|other| **other == devices[devices.len() - 1]).count(), 1);
        let device = loops(&hosts.image(host));
        let direct = device[0].replace("/dev/", "/sys/block/") + "/loop/dio";
        assert_eq!(fs::read_to_string(direct).unwrap(), "1\n");
        // Nothing is written beside what a host has for itself.
        assert!(!on(&hosts, host, &["touch", "/etc/drivestone-lab"]).status.success());
    }
    let seen: Vec<_> = marks.iter().filter(|path| Path::new(path).exists()).collect();
    assert!(seen.is_empty(), "seen outside: {seen:?}");
}

#[test]
fn a_stranger_and_a_changed_key_are_refused() {
    let Some(hosts) = Hosts::new(1) else { return };
    let known = hosts.home().join(".ssh/known_hosts");
    let right = fs::read_to_string(&known).unwrap();
    fs::write(&known, "").unwrap();
    let output = on(&hosts, "vm1", &["true"]);
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && told.contains("Host key verification failed"), "{told}");
    fs::write(&known, right).unwrap();
    let key = hosts.home().join(".ssh/id_ed25519");
    fs::rename(&key, key.with_extension("aside")).unwrap();
    let output = on(&hosts, "vm1", &["true"]);
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && told.contains("Permission denied (publickey)"), "{told}");
}

#[test]
fn processes_are_counted_and_orphans_do_not_stay() {
    let Some(hosts) = Hosts::new(1) else { return };
    assert!(hosts.processes("vm1").is_empty());
    let mut client = sleep_on(&hosts, "vm1");
    assert_eq!(hosts.clients().len(), 1);
    client.kill().unwrap();
    client.wait().unwrap();
    processes::end(&sleeps(&hosts, "vm1"));
    assert!(until(PATIENCE, || hosts.processes("vm1").is_empty()), "{:#?}", hosts.processes("vm1"));
    assert!(hosts.clients().is_empty());
}

/// Whether a host answers before the limit.
fn answers(hosts: &Hosts, host: &str, limit: Duration) -> bool {
    let mut ask = hosts.program("ssh", Path::new("/"));
    let mut child = ask.args([host, "true"]).stderr(Stdio::null()).spawn().unwrap();
    until(limit, || child.try_wait().unwrap().is_some());
    let _ = child.kill();
    child.wait().unwrap().success()
}

fn is_there(hosts: &Hosts, host: &str) -> bool {
    answers(hosts, host, PATIENCE)
}

fn is_silent(hosts: &Hosts, host: &str) -> bool {
    !answers(hosts, host, Duration::from_secs(1))
}

#[test]
fn one_is_frozen_cut_off_and_killed_while_the_other_goes_on() {
    let Some(hosts) = Hosts::new(2) else { return };
    let mut client = sleep_on(&hosts, "vm1");
    for (harm, mend) in
        [(Hosts::freeze as fn(&Hosts, &str), Hosts::thaw as fn(&Hosts, &str)), (Hosts::cut, Hosts::restore)]
    {
        harm(&hosts, "vm1");
        assert!(is_silent(&hosts, "vm1") && is_there(&hosts, "vm2"));
        mend(&hosts, "vm1");
        assert!(is_there(&hosts, "vm1"));
    }
    hosts.kill("vm1");
    assert!(hosts.processes("vm1").is_empty());
    assert!(is_silent(&hosts, "vm1") && is_there(&hosts, "vm2"));
    // As after a loss of power, nobody told the client.
    assert!(client.try_wait().unwrap().is_none());
    hosts.kill("vm1");
    client.kill().unwrap();
    client.wait().unwrap();
}

#[test]
fn sixteen_come_and_go_without_a_trace() {
    let begun = Instant::now();
    let Some(hosts) = Hosts::new(16) else { return };
    println!("16 hosts up after {:?}", begun.elapsed());
    assert!(hosts.names().iter().all(|host| is_there(&hosts, host)));
    // Left behind: a host that is frozen, one that is dead, a client, a daemon.
    let mut client = sleep_on(&hosts, "vm1");
    says(&hosts, "vm2", &["setsid", "--fork", "sleep", "1000", "</dev/null", ">/dev/null", "2>&1"]);
    hosts.freeze("vm3");
    hosts.kill("vm4");
    let (folder, images) =
        (hosts.folder.path().to_owned(), hosts.names().into_iter().map(|name| hosts.image(name)));
    let images: Vec<_> = images.collect();
    let spaces: Vec<_> = hosts.hosts.iter().map(|host| host.names.clone()).collect();
    let begun = Instant::now();
    drop(hosts);
    println!("gone after {:?}", begun.elapsed());
    client.wait().unwrap();
    assert!(!folder.exists());
    assert!(spaces.iter().all(|space| members("pid", space).is_empty()));
    let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap();
    let attached = run(&mut Command::new(tool("losetup")));
    for image in images {
        let name = image.to_str().unwrap();
        assert!(!mounts.contains(name) && !attached.contains(name), "{name}:\n{mounts}\n{attached}");
    }
}

#[test]
fn what_a_killed_test_run_left_is_cleared_away() {
    if !may_mount() || require("losetup").is_none() {
        return;
    }
    // Not where other test runs clear away as well.
    let base = scratch();
    let mut gone = Command::new("true").spawn().unwrap();
    gone.wait().unwrap();
    let [left, ours] = [gone.id(), std::process::id()].map(|owner| base.path().join(format!("{owner}-0")));
    let image = left.join("disks/vm1");
    fs::create_dir_all(left.join("disks")).unwrap();
    fs::create_dir(&ours).unwrap();
    fs::File::create(&image).unwrap().set_len(1 << 20).unwrap();
    run(Command::new(tool("losetup")).arg("--find").arg(&image));
    let mut process = Command::new("sleep").arg("1000").current_dir(&left).spawn().unwrap();
    clear_abandoned(base.path());
    assert!(!left.exists() && ours.exists());
    let attached = run(&mut Command::new(tool("losetup")));
    assert!(!attached.contains(left.to_str().unwrap()), "{attached}");
    assert_eq!(process.wait().unwrap().signal(), Some(9));
}

#[test]
fn drivestone_runs_at_the_desk() {
    let Some(hosts) = Hosts::new(2) else { return };
    let lab = Lab::without_server();
    lab.write("hosts.yaml", &hosts.profile());
    assert!(hosts.profile().contains("  hosts: [vm1, vm2]\n"));
    let mut running = hosts.start(&lab, "plan", &["plan", "hardware.yaml", "profile.yaml"]);
    let status = running.wait(PATIENCE);
    assert!(status.success(), "{status}\n{}", running.told());
    assert!(running.printed().contains("tiny"), "{}", running.printed());
}
