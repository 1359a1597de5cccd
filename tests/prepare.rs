//! `.ci/prepare` on machines made of stub programs: what it finds missing, and what it would do.

#![allow(clippy::unwrap_used, reason = "clippy's exception for tests does not reach their helper functions")]

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use tempfile::TempDir;

const SERVER: [&str; 3] = ["mariadbd", "mariadb-install-db", "my_print_defaults"];
const TEST_PROGRAMS: [&str; 16] = [
    "chromium",
    "mkfs.ext4",
    "losetup",
    "mount",
    "setpriv",
    "unshare",
    "nsenter",
    "ip",
    "ssh",
    "ssh-keygen",
    "sshd",
    "pgrep",
    "sysbench",
    "mkfs.xfs",
    "mkfs.btrfs",
    "iostat",
];
const LINKER: &str = "echo /usr/lib/libc.a";

/// A machine that has only what a test puts on it.
struct Machine {
    folder: TempDir,
}

impl Machine {
    /// A working Rust, a linker and root; neither apt-get nor a server.
    fn new() -> Self {
        let machine = Self { folder: tempfile::tempdir().unwrap() };
        fs::create_dir(machine.bin()).unwrap();
        fs::create_dir_all(machine.folder.path().join("usr/sbin")).unwrap();
        for tool in ["sed", "sort", "env", "tee", "chmod", "rm"] {
            symlink(real(tool), machine.bin().join(tool)).unwrap();
        }
        machine.stub("cargo", "");
        machine.rust("rustc 1.95.0 (f2d3ce0bd 2026-03-21)");
        machine.stub("cc", LINKER);
        machine.stub("id", "echo 0");
        machine
    }

    fn bin(&self) -> PathBuf {
        self.folder.path().join("bin")
    }

    fn log(&self) -> PathBuf {
        self.folder.path().join("log")
    }

    /// Puts a program on the PATH; `body` is shell.
    fn stub(&self, name: &str, body: &str) {
        executable(&self.bin().join(name), body);
    }

    fn remove(&self, name: &str) {
        fs::remove_file(self.bin().join(name)).unwrap();
    }

    fn rust(&self, version: &str) {
        self.stub("rustc", &format!("echo '{version}'"));
    }

    fn server(&self) {
        SERVER.iter().for_each(|program| self.stub(program, ""));
    }

    /// apt that knows `packages`, and whose install makes `programs` appear.
    fn apt(&self, packages: &[&str], programs: &[&str]) {
        let listed = packages.iter().map(|name| format!("{name} - about it\n")).collect::<String>();
        // The arguments are `search --names-only PATTERN`.
        let known = self.folder.path().join("packages");
        fs::write(&known, listed).unwrap();
        let search = format!("exec {} -E \"${{3%'$'}} - \" {}", real("grep").display(), known.display());
        self.stub("apt-cache", &search);
        let log = format!("echo \"apt-get $*\" >>{}\n[ $1 = install ] || exit 0\n", self.log().display());
        let (copy, bin) = (real("cp"), self.bin());
        let copies =
            programs.iter().map(|name| format!("{0} {1}/id {1}/{name}\n", copy.display(), bin.display()));
        self.stub("apt-get", &(log + &copies.collect::<String>()));
    }

    /// Asked by Debian's packages whether they may start a service.
    fn policy(&self) -> PathBuf {
        self.folder.path().join("usr/sbin/policy-rc.d")
    }

    /// Everything but the named programs, and an apt that brings them.
    fn without(&self, missing: &[&str], packages: &[&str]) {
        self.server();
        let there = TEST_PROGRAMS.iter().filter(|program| !missing.contains(program));
        there.for_each(|program| self.stub(program, ""));
        self.apt(packages, missing);
    }

    fn prepare(&self, arguments: &[&str]) -> Output {
        Command::new("/bin/sh")
            .arg(concat!(env!("CARGO_MANIFEST_DIR"), "/.ci/prepare"))
            .args(arguments)
            .env_clear()
            .env("PATH", self.bin())
            .env("DRIVESTONE_PREPARE_ROOT", self.folder.path())
            .output()
            .unwrap()
    }

    /// What it said when it had to refuse.
    fn refusal(&self, arguments: &[&str]) -> String {
        let output = self.prepare(arguments);
        assert_eq!(output.status.code(), Some(1), "{}", said(&output));
        said(&output)
    }

    /// The commands that changed the machine.
    fn commands(&self) -> String {
        fs::read_to_string(self.log()).unwrap_or_default()
    }
}

fn executable(path: &Path, body: &str) {
    fs::write(path, format!("#!/bin/sh\n{body}\n")).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

fn real(tool: &str) -> PathBuf {
    let found =
        ["/usr/bin", "/bin"].iter().map(|folder| Path::new(folder).join(tool)).find(|path| path.exists());
    found.unwrap_or_else(|| panic!("these tests need {tool}"))
}

fn said(output: &Output) -> String {
    assert!(output.stdout.is_empty(), "messages belong on stderr");
    String::from_utf8(output.stderr.clone()).unwrap()
}

fn assert_says(text: &str, parts: &[&str]) {
    parts.iter().for_each(|part| assert!(text.contains(part), "{part:?} is missing in:\n{text}"));
}

#[test]
fn a_complete_machine_is_left_alone_without_a_word() {
    let machine = Machine::new();
    machine.apt(&["gcc"], &[]);
    machine.server();
    TEST_PROGRAMS.iter().for_each(|program| machine.stub(program, ""));
    for arguments in [&[] as &[&str], &["build"], &["tests"]] {
        let output = machine.prepare(arguments);
        assert!(output.status.success());
        assert_eq!(said(&output), "");
    }
    assert_eq!(machine.commands(), "");
}

#[test]
fn a_server_outside_the_path_counts() {
    let machine = Machine::new();
    for (folder, programs) in [("usr/sbin", &SERVER[..1]), ("usr/libexec", &SERVER[1..])] {
        let folder = machine.folder.path().join(folder);
        fs::create_dir_all(&folder).unwrap();
        programs.iter().for_each(|program| executable(&folder.join(program), ""));
    }
    let output = machine.prepare(&[]);
    assert!(output.status.success(), "{}", said(&output));
}

#[test]
fn debian_12_gets_the_server_without_its_service() {
    let machine = Machine::new();
    machine.apt(&["mariadb-server", "mariadb-server-core", "mariadb-client-core", "gcc", "gcc-12"], &SERVER);
    let output = machine.prepare(&[]);
    assert!(output.status.success(), "{}", said(&output));
    assert_says(&said(&output), &["missing: a MariaDB server; installing with apt-get.\n"]);
    assert_eq!(
        machine.commands(),
        "apt-get update -qq\n\
         apt-get install -y -q --no-remove --no-install-recommends mariadb-server-core mariadb-client-core\n"
    );
    assert_eq!(said(&machine.prepare(&[])), "", "the second time there is nothing to do");
}

#[test]
fn ubuntu_22_04_has_the_version_in_the_names() {
    let machine = Machine::new();
    machine.apt(&["mariadb-server-core-10.6", "mariadb-client-core-10.6"], &SERVER);
    assert!(machine.prepare(&[]).status.success());
    assert_says(&machine.commands(), &[" mariadb-server-core-10.6 mariadb-client-core-10.6\n"]);
}

#[test]
fn of_two_versions_the_newer_is_taken() {
    let machine = Machine::new();
    machine.apt(&["mariadb-server-core-10.11", "mariadb-server-core-10.6", "mariadb-client-core"], &SERVER);
    assert!(machine.prepare(&[]).status.success());
    assert_says(&machine.commands(), &[" mariadb-server-core-10.11 mariadb-client-core\n"]);
}

#[test]
fn sudo_is_used_when_not_root() {
    let machine = Machine::new();
    machine.stub("id", "echo 1000");
    machine.stub("sudo", &format!("echo sudo >>{}; exec \"$@\"", machine.log().display()));
    machine.apt(&["mariadb-server-core", "mariadb-client-core"], &SERVER);
    let output = machine.prepare(&[]);
    assert!(output.status.success(), "{}", said(&output));
    assert_says(&said(&output), &["installing with apt-get and sudo."]);
    assert_says(&machine.commands(), &["sudo\napt-get update -qq\nsudo\napt-get install "]);
}

#[test]
fn without_root_and_sudo_the_command_is_named() {
    let machine = Machine::new();
    machine.stub("id", "echo 1000");
    machine.apt(&["mariadb-server-core", "mariadb-client-core"], &SERVER);
    let command =
        "apt-get update && apt-get install --no-install-recommends mariadb-server-core mariadb-client-core\n";
    assert_says(&machine.refusal(&[]), &["there is no sudo; run as root:", command]);
    assert_eq!(machine.commands(), "");
}

#[test]
fn an_unknown_platform_gets_the_names_of_the_packages() {
    let machine = Machine::new();
    let text = machine.refusal(&[]);
    assert_says(
        &text,
        &["missing: a MariaDB server.", "Fedora, RHEL: mariadb-server\n", "Alpine: mariadb mariadb-client\n"],
    );
    assert!(!text.contains("gcc"), "the linker is there:\n{text}");
    machine.remove("cc");
    assert_says(
        &machine.refusal(&[]),
        &["Fedora, RHEL: gcc glibc-static mariadb-server\n", "Arch: gcc mariadb\n"],
    );
}

#[test]
fn a_compiler_without_static_libc_is_no_linker() {
    let machine = Machine::new();
    machine.stub("cc", "echo libc.a");
    assert_says(&machine.refusal(&["build"]), &["missing: a C linker with static libc."]);
}

#[test]
fn only_the_tests_need_a_browser_and_do_without_where_apt_has_none() {
    let machine = Machine::new();
    machine.server();
    TEST_PROGRAMS[1..].iter().for_each(|program| machine.stub(program, ""));
    assert_eq!(said(&machine.prepare(&[])), "");
    machine.apt(&["gcc"], &[]);
    let output = machine.prepare(&["tests"]);
    assert!(output.status.success());
    assert_says(&said(&output), &["the test that needs a browser will be skipped."]);
    assert_eq!(machine.commands(), "");
    machine.apt(&["gcc", "chromium"], &["chromium"]);
    assert!(machine.prepare(&["tests"]).status.success());
    assert_says(&machine.commands(), &["--no-install-recommends chromium\n"]);
}

#[test]
fn the_tests_get_what_light_hosts_are_made_of() {
    let machine = Machine::new();
    let missing = ["losetup", "unshare", "ip", "ssh-keygen", "sshd"];
    machine.without(&missing, &["mount", "util-linux", "iproute2", "openssh-client", "openssh-server"]);
    machine.remove("apt-get");
    assert_says(
        &machine.refusal(&["tests"]),
        &[
            "missing: losetup, setpriv, unshare and nsenter, ip, ssh, sshd.",
            "Fedora, RHEL: util-linux util-linux iproute openssh-clients openssh-server\n",
            "openSUSE: util-linux util-linux iproute2 openssh-clients openssh-server\n",
            "Arch: util-linux util-linux iproute2 openssh openssh\n",
        ],
    );
    machine.apt(&["mount", "util-linux", "iproute2", "openssh-client", "openssh-server"], &missing);
    assert!(machine.prepare(&["tests"]).status.success());
    assert_says(&machine.commands(), &[" mount util-linux iproute2 openssh-client openssh-server\n"]);
}

#[test]
fn the_tests_get_the_sysbench_that_drivestone_is_compared_with() {
    let machine = Machine::new();
    machine.without(&["sysbench"], &["sysbench"]);
    assert_eq!(said(&machine.prepare(&[])), "", "running drivestone needs none");
    assert!(machine.prepare(&["tests"]).status.success());
    assert_says(&machine.commands(), &["--no-install-recommends sysbench\n"]);
}

#[test]
fn no_service_is_started_while_packages_are_installed() {
    let machine = Machine::new();
    machine.without(&["sshd"], &["openssh-server"]);
    let (policy, seen) = (machine.policy(), machine.folder.path().join("seen"));
    let apt = fs::read_to_string(machine.bin().join("apt-get")).unwrap();
    let asks = format!("{apt}\n{} || echo $? >{}\n", policy.display(), seen.display());
    fs::write(machine.bin().join("apt-get"), asks).unwrap();
    let output = machine.prepare(&["tests"]);
    assert!(output.status.success(), "{}", said(&output));
    assert_eq!(fs::read_to_string(&seen).unwrap(), "101\n");
    assert!(!policy.exists(), "it would deny every later service");

    machine.remove("sshd");
    executable(&policy, "exit 104");
    assert!(machine.prepare(&["tests"]).status.success());
    assert_eq!(fs::read_to_string(&seen).unwrap(), "104\n", "the administrator's own policy stays");
    assert!(policy.exists());

    fs::remove_file(&policy).unwrap();
    machine.remove("sshd");
    machine.stub("apt-get", "exit 100");
    machine.refusal(&["tests"]);
    assert!(!policy.exists(), "a failed installation leaves no policy either");
}

#[test]
fn an_sshd_that_was_installed_here_does_not_start_at_the_next_boot() {
    for (switch, off) in
        [("systemctl", "disable --now ssh.service ssh.socket\n"), ("update-rc.d", "ssh disable\n")]
    {
        let machine = Machine::new();
        machine.without(&["sshd", "ip"], &["openssh-server", "iproute2"]);
        machine.stub(switch, &format!("echo \"{switch} $*\" >>{}", machine.log().display()));
        let output = machine.prepare(&["tests"]);
        assert!(output.status.success(), "{}", said(&output));
        assert_says(&said(&output), &["its service is switched off."]);
        assert!(machine.commands().ends_with(&format!("\n{switch} {off}")), "{}", machine.commands());

        // One that was there before is somebody's.
        machine.remove("ip");
        assert!(machine.prepare(&["tests"]).status.success());
        assert_eq!(machine.commands().matches(switch).count(), 1, "{}", machine.commands());
    }
}

#[test]
fn a_failed_installation_is_not_taken_for_a_server() {
    let machine = Machine::new();
    machine.apt(&["mariadb-server-core", "mariadb-client-core"], &[]);
    assert_says(&machine.refusal(&[]), &["still missing after the installation: a MariaDB server."]);
    machine.stub("apt-get", "exit 100");
    let text = machine.refusal(&[]);
    assert_says(
        &text,
        &["apt-get update failed", "apt-get could not install: mariadb-server-core mariadb-client-core"],
    );
}

#[test]
fn an_old_rust_is_named_with_the_way_to_a_newer_one() {
    let machine = Machine::new();
    let needed = env!("CARGO_PKG_RUST_VERSION");
    for old in ["1.63.0", "1.85.1", "0.99.0", "1.9.0"] {
        machine.rust(&format!("rustc {old} (90b35a623 2022-08-08)"));
        let text = machine.refusal(&[]);
        assert_says(
            &text,
            &[&format!("Rust {old} is too old"), &format!("needs Rust {needed} or newer"), "rustup"],
        );
    }
    machine.server();
    for new in [needed, "1.100.0-nightly", "2.0.0"] {
        machine.rust(&format!("rustc {new}"));
        assert!(machine.prepare(&[]).status.success(), "{new}");
    }
}

#[test]
fn a_missing_or_broken_rust_is_named_too() {
    let machine = Machine::new();
    machine.stub("rustc", "echo 'error: no default toolchain' >&2; exit 1");
    assert_says(&machine.refusal(&[]), &["no working Rust toolchain", "rustup installs it"]);
    machine.remove("rustc");
    assert_says(&machine.refusal(&["build"]), &["no working Rust toolchain"]);
}

#[test]
fn an_unknown_argument_is_refused() {
    assert_says(&Machine::new().refusal(&["test"]), &["unknown argument 'test': build, run or tests."]);
}
