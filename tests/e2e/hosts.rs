//! Light hosts: machines to reach through ssh, for tests of fleets. Each has its own address, disk, sshd,
//! host name, processes and temporary files; kernel, clock, memory and programs are this machine's.
//!
//! Nothing of them is seen outside: networks and mounts exist in namespaces of the lab alone, so that
//! several labs can stand beside each other, and go with the processes in them. Those are killed when the
//! thread that made the lab ends, even if the test is killed.

mod desk;
mod folder;
mod host;
mod namespaces;
mod tests;

use std::path::{Path, PathBuf};
use std::process::Command;

use super::binary::DRIVESTONE;
use super::lab::Lab;
use super::mount::may_mount;
use super::processes::Process;
use super::require::require;
use super::running::Running;
use desk::Desk;
use folder::Folder;
use host::{DUT, Host, Site};

/// What the lab is made with.
const PROGRAMS: [&str; 13] = [
    "ip",
    "losetup",
    "mount",
    "mkfs.ext4",
    "unshare",
    "nsenter",
    "setpriv",
    "sshd",
    "ssh",
    "ssh-keygen",
    "env",
    "cat",
    "tee",
];

/// Hosts `vm1`, `vm2`, … and the place from which they are reached. All of it goes when dropped.
pub struct Hosts {
    hosts: Vec<Host>,
    desk: Desk,
    folder: Folder,
}

impl Hosts {
    /// Up to 200 hosts, each answering ssh, or None after saying that the test is skipped.
    pub fn new(count: u8) -> Option<Self> {
        Self::with_clocks(count, |_| 0)
    }

    /// The same; the monotonic clock of the host of that number is so many seconds ahead of this machine's.
    pub fn with_clocks(count: u8, ahead_s: impl Fn(u8) -> u32) -> Option<Self> {
        assert!((1..=200).contains(&count));
        if !may_mount() || PROGRAMS.iter().any(|program| require(program).is_none()) {
            return None;
        }
        let folder = Folder::new();
        let desk = Desk::new(folder.path());
        let sites: Vec<Site> = (1..=count).map(|number| Site::new(&folder, number)).collect();
        std::thread::scope(|scope| {
            for site in &sites {
                scope.spawn(|| site.build(&desk));
            }
        });
        let known: Vec<_> = sites.iter().map(|site| (site.name(), site.address(), site.key())).collect();
        desk.introduce(&known);
        let hosts = sites.into_iter().zip(1..).map(|(site, number)| site.boot(ahead_s(number))).collect();
        Some(Self { hosts, desk, folder })
    }

    /// Names by which ssh knows them.
    pub fn names(&self) -> Vec<&str> {
        self.hosts.iter().map(Host::name).collect()
    }

    /// A hardware profile with all of them.
    pub fn profile(&self) -> String {
        format!(
            "\
name: lab
description: Light hosts
device:
  path: {DUT}
memory:
  buffer_pool: 6MiB
instances:
  hosts: [{}]
",
            self.names().join(", ")
        )
    }

    /// A program at the desk, with `folder` as its working directory.
    pub fn program(&self, program: &str, folder: &Path) -> Command {
        self.desk.command(&namespaces::tool(program), folder)
    }

    /// `drivestone ARGUMENTS…` at the desk, with a lab as its working directory.
    pub fn command(&self, lab: &Lab, arguments: &[&str]) -> Command {
        let mut command = self.desk.command(Path::new(DRIVESTONE), &lab.path(""));
        command.args(arguments);
        command
    }

    /// Starts it; its output goes to files of the lab that are named after `out`.
    pub fn start(&self, lab: &Lab, out: &str, arguments: &[&str]) -> Running {
        lab.start_command(out, self.command(lab, arguments))
    }

    /// Home of whoever runs drivestone at the desk, with `.ssh/config`, `.ssh/known_hosts` and the key.
    pub fn home(&self) -> &Path {
        self.desk.home()
    }

    /// Processes at the desk: drivestone and its ssh clients.
    pub fn clients(&self) -> Vec<Process> {
        self.desk.processes()
    }

    /// A host's processes, without the sshd that waits for connections.
    pub fn processes(&self, host: &str) -> Vec<Process> {
        self.host(host).processes()
    }

    /// A program on a host, started from here: no connection has a part in it.
    pub fn inside(&self, host: &str, program: &str) -> Command {
        self.host(host).command(program)
    }

    /// Where this machine sees a path of a host that is up.
    pub fn path(&self, host: &str, path: &str) -> PathBuf {
        self.host(host).path(path)
    }

    /// Stops every process of a host. Its kernel still answers. A connection that is just being
    /// opened may not survive it.
    pub fn freeze(&self, host: &str) {
        self.host(host).freeze();
    }

    pub fn thaw(&self, host: &str) {
        self.host(host).thaw();
    }

    /// Ends a host as a loss of power does: nobody hears of it.
    pub fn kill(&self, host: &str) {
        self.cut(host);
        self.host(host).kill();
    }

    /// Pulls a host's network cable.
    pub fn cut(&self, host: &str) {
        self.desk.plug(host, false);
    }

    /// Plugs it in again.
    pub fn restore(&self, host: &str) {
        self.desk.plug(host, true);
    }

    /// Files and folders that a host has now and had not when it came up, its disk's aside.
    pub fn files_left(&self, host: &str) -> Vec<PathBuf> {
        self.host(host).files_left()
    }

    /// The disk of a host that is up, as seen from here.
    pub fn disk(&self, host: &str) -> PathBuf {
        self.host(host).path(DUT)
    }

    /// The file that a host's disk is made of.
    pub fn image(&self, host: &str) -> PathBuf {
        self.folder.image(host)
    }

    fn host(&self, name: &str) -> &Host {
        let found = self.hosts.iter().find(|host| host.name() == name);
        found.unwrap_or_else(|| panic!("{name} is none of {:?}", self.names()))
    }
}

impl Drop for Hosts {
    fn drop(&mut self) {
        // All at once; each is waited for afterwards.
        self.hosts.iter().for_each(Host::end);
    }
}
