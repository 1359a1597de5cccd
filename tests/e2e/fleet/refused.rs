//! What stands against a run on several hosts is told at once, and nothing is created on any of them.

use std::fmt::Write as _;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;

use super::{Fleet, PATIENCE};
use crate::e2e::lab::code;
use crate::e2e::require::require;

/// The dataset's folder, named after its contents.
const DATASET: &str = "sbtest-1x5000-1d7f6873";

/// An ssh configuration for hosts that are not as they should be: nobody listens at the desk.
const STRANGERS: &str = "
Host twin
    HostName 10.78.0.11
    User root
Host closed
    HostName 10.78.0.1
Host stranger
    HostName 10.78.0.12
    User root
    HostKeyAlias stranger
Host impostor
    HostName 10.78.0.12
    User root
    HostKeyAlias impostor
";

/// Runs; returns what it says, without what differs from machine to machine.
fn refusal(fleet: &Fleet, expected: i32, overrides: &[&str]) -> String {
    let known = fleet.hosts.home().join(".ssh/known_hosts");
    let before = fs::read(&known).unwrap();
    let mut running = fleet.start("out", overrides);
    let status = running.wait(PATIENCE);
    let told = running.told();
    assert_eq!(code(status), expected, "{told}");
    assert_eq!(running.printed(), "", "{told}");
    assert!(!fleet.lab.path("out").exists(), "a result was begun: {told}");
    assert_eq!(fs::read(&known).unwrap(), before, "{told}");
    let hosts = fleet.hosts.names();
    fleet.nothing_left(&hosts);
    let lab = fleet.lab.path("");
    let told = told.replace(lab.to_str().unwrap().trim_end_matches('/'), "LAB");
    told.replace(fleet.hosts.home().to_str().unwrap(), "HOME")
}

/// Nothing on any disk either.
fn assert_untouched(fleet: &Fleet) {
    for host in fleet.hosts.names() {
        assert!(fleet.on_disk(host).is_empty(), "{host}: {:?}", fleet.on_disk(host));
    }
}

fn with_filters(check: impl FnOnce()) {
    let mut settings = insta::Settings::clone_current();
    settings.add_filter(r"(Could not resolve hostname \S+: )[A-Z][^(\n]*[a-z] \(", "${1}REASON (");
    settings.add_filter(r"drivestone-[0-9.]+-[0-9a-f]{12}\.vm[0-9]\.[0-9]+", "drivestone-VERSION.PID");
    settings.add_filter(r"store [0-9]+ bytes", "store SIZE bytes");
    // In the words of the host's own programs.
    settings.add_filter(r"drivestone: (line )?1: ", "drivestone: 1: ");
    settings.add_filter(r"head: .*: No space left", "head: WRITING: No space left");
    settings.add_filter(r"(not )?rotating on", "ROTATING on");
    settings.add_filter(std::env::consts::ARCH, "ARCH");
    settings.bind(check);
}

#[test]
fn hosts_that_cannot_be_used() {
    let Some(fleet) = Fleet::new(2) else { return };
    introduce_strangers(&fleet);
    let mut said = String::new();
    let mut note = |what: &str, told: String| write!(said, "----- {what}\n{told}").unwrap();
    note("more instances than hosts", refusal(&fleet, 3, &["counts=[2, 4]"]));
    note("a host twice", with_hosts(&fleet, "[vm1, vm2, vm1]", 3));
    note("names, keys, doors and machines", unreachable(&fleet));
    note("no space, and no programs in the home", with_bad_homes(&fleet));
    note("an observer without the device", without_observed(&fleet));
    assert_untouched(&fleet);
    note("one machine twice, unlike disks, foreign files", with_bad_disks(&fleet));
    note("unlike disks, allowed", allowed(&fleet));
    with_filters(|| insta::assert_snapshot!(said));
}

/// Hosts that ssh does not reach, by their names in its configuration.
fn introduce_strangers(fleet: &Fleet) {
    let ssh = fleet.hosts.home().join(".ssh");
    let append = |file: &str, text: &str| {
        let whole = fs::read_to_string(ssh.join(file)).unwrap() + text;
        fs::write(ssh.join(file), whole).unwrap();
    };
    append("config", STRANGERS);
    // The impostor's key is known, and is another's: the desk's own.
    let key = fs::read_to_string(ssh.join("id_ed25519.pub")).unwrap();
    append("known_hosts", &format!("impostor {}\n", key.rsplit_once(' ').unwrap().0));
}

/// Reasons in the order of their hosts' names: they come as they are found.
fn sorted(told: &str) -> String {
    let mut lines: Vec<&str> = told.lines().collect();
    lines.sort_unstable();
    lines.join("\n") + "\n"
}

/// The first host is as it should be, and the second says that it is another kind of machine.
fn unreachable(fleet: &Fleet) -> String {
    let place = fleet.hosts.path("vm2", "/run/uname");
    fs::write(&place, "#!/bin/sh\ncase $1 in -m) echo sparc64;; *) echo Linux;; esac\n").unwrap();
    fs::set_permissions(&place, Permissions::from_mode(0o755)).unwrap();
    let uname = require("uname").unwrap().canonicalize().unwrap();
    let uname = uname.to_str().unwrap();
    mount(fleet, "vm2", &["--bind", "/run/uname", uname]);
    fs::remove_file(place).unwrap();
    let told = with_hosts(fleet, "[vm1, vm2, nowhere.invalid, stranger, impostor, closed]", 4);
    unmount(fleet, "vm2", uname);
    sorted(&told)
}

fn with_hosts(fleet: &Fleet, hosts: &str, expected: i32) -> String {
    fleet.lab.edit("hardware.yaml", "[vm1, vm2]", hosts);
    let told = refusal(fleet, expected, &[]);
    fleet.lab.edit("hardware.yaml", hosts, "[vm1, vm2]");
    told
}

fn without_observed(fleet: &Fleet) -> String {
    let profile = fs::read_to_string(fleet.lab.path("hardware.yaml")).unwrap();
    let observed = profile.replace("[vm1, vm2]", "[vm1]");
    fleet.lab.write(
        "hardware.yaml",
        &format!("{observed}observers:\n  - {{host: vm2, device: /dev/drivestone-none}}\n"),
    );
    let told = refusal(fleet, 4, &[]);
    fleet.lab.write("hardware.yaml", &profile);
    told
}

fn mount(fleet: &Fleet, host: &str, arguments: &[&str]) {
    assert!(fleet.hosts.inside(host, "mount").args(arguments).status().unwrap().success());
}

fn unmount(fleet: &Fleet, host: &str, place: &str) {
    let status = fleet.hosts.inside(host, "umount").args(["--lazy", place]).status().unwrap();
    assert!(status.success());
}

/// Homes are other filesystems.
fn with_bad_homes(fleet: &Fleet) -> String {
    for (host, options) in [("vm1", "size=1m"), ("vm2", "noexec")] {
        mount(fleet, host, &["-t", "tmpfs", "-o", options, "tmpfs", "/root"]);
    }
    let told = refusal(fleet, 4, &[]);
    for host in ["vm1", "vm2"] {
        let left = fs::read_dir(fleet.hosts.path(host, "/root/.cache")).into_iter().flatten();
        assert_eq!(left.count(), 0, "{host}: {told}");
        unmount(fleet, host, "/root");
    }
    sorted(&told)
}

/// The first host has files where its dataset would be, and a second name. The second one's disk is none.
fn with_bad_disks(fleet: &Fleet) -> String {
    let folder = fleet.hosts.disk("vm1").join("drivestone").join(DATASET);
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("precious"), "text").unwrap();
    mount(fleet, "vm2", &["-t", "tmpfs", "-o", "size=512m,mode=755", "tmpfs", "/mnt/dut"]);
    let told = with_hosts(fleet, "[vm1, vm2, twin]", 3);
    assert_eq!(fs::read_to_string(folder.join("precious")).unwrap(), "text");
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 1);
    assert!(fleet.on_disk("vm2").is_empty());
    fs::remove_dir_all(fleet.hosts.disk("vm1").join("drivestone")).unwrap();
    told
}

fn allowed(fleet: &Fleet) -> String {
    fleet.lab.edit("hardware.yaml", "instances:\n", "instances:\n  allow_unequal: true\n");
    let check = ["check", "hardware.yaml", "profile.yaml"];
    let output = fleet.hosts.command(&fleet.lab, &check).output().unwrap();
    let told = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{told}");
    fleet.nothing_left(&fleet.hosts.names());
    assert_untouched(fleet);
    told
}
