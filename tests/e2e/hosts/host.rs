//! One light host.

use std::collections::BTreeSet;
use std::fs::{self, File, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use nix::sys::signal::Signal;

use super::desk::{Desk, NETWORK, make_key};
use super::folder::Folder;
use super::namespaces::{Holder, feed, members, mortal, namespace, run, tool};
use crate::e2e::processes::{self, Process, until};

/// Where each host's disk is mounted.
pub const DUT: &str = "/mnt/dut";
/// Size of the disk. Its image takes the space that is written.
const DISK_BYTES: u64 = 1 << 30;
/// Longest wait for a host to come up or to go.
const PATIENCE: Duration = Duration::from_secs(20);

/// In the host the lab's folder for it is `/run`. Nothing but the key opens the door, and sshd
/// answers as many at once as ask.
const SSHD_CONFIG: &str = "\
Port 22
ListenAddress 0.0.0.0
HostKey /run/host_key
AuthorizedKeysFile /run/authorized_keys
AuthenticationMethods publickey
PermitRootLogin prohibit-password
StrictModes no
UsePAM no
PidFile none
MaxStartups 200
MaxSessions 200
UseDNS no
Subsystem sftp internal-sftp
";

/// A host's site: its files, disk, network and mounts, all made before it boots.
pub struct Site {
    number: u8,
    name: String,
    folder: PathBuf,
    image: PathBuf,
    holder: Holder,
}

impl Site {
    /// Sites are numbered from 1.
    pub fn new(lab: &Folder, number: u8) -> Self {
        let name = format!("vm{number}");
        let folder = lab.path().join(&name);
        let holder = Holder::new(&["mount", "net", "uts", "ipc"]);
        Self { number, image: lab.image(&name), name, folder, holder }
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    pub fn address(&self) -> String {
        format!("{NETWORK}.{}", 10 + u16::from(self.number))
    }

    /// The public key by which the host is known.
    pub fn key(&self) -> String {
        fs::read_to_string(self.folder.join("host_key.pub")).unwrap()
    }

    /// Makes all that the host needs.
    pub fn build(&self, desk: &Desk) {
        self.furnish(desk);
        self.mount();
        feed(self.holder.command(&tool("tee")).arg("/proc/sys/kernel/hostname"), self.name());
        desk.connect(&self.name, &self.holder);
        self.holder
            .ip(&format!("address add {}/24 dev eth0\nlink set lo up\nlink set eth0 up\n", self.address()));
    }

    fn furnish(&self, desk: &Desk) {
        for (place, mode) in
            [("sshd", 0o755), ("root", 0o700), ("tmp", 0o1777), ("var-tmp", 0o1777), ("mnt/dut", 0o755)]
        {
            let place = self.folder.join(place);
            fs::create_dir_all(&place).unwrap();
            fs::set_permissions(&place, Permissions::from_mode(mode)).unwrap();
        }
        make_key(&self.folder.join("host_key"), &self.name);
        fs::copy(desk.ssh().join("id_ed25519.pub"), self.folder.join("authorized_keys")).unwrap();
        fs::write(self.folder.join("sshd_config"), SSHD_CONFIG).unwrap();
        // sshd refuses an account that is locked, as root's is on some distributions.
        let shadow = self.folder.join("shadow");
        fs::write(&shadow, "root:*:20000:0:99999:7:::\n").unwrap();
        fs::set_permissions(&shadow, Permissions::from_mode(0o600)).unwrap();
    }

    /// What the host has for itself: its disk, and whatever programs write to. The rest of the filesystem
    /// is the machine's, read-only.
    fn mount(&self) {
        let device = attach_disk(&self.image);
        // First of all, because the other places may cover the lab's folder.
        self.holder.mount(&["--bind"], &self.folder, "/run");
        for (from, place) in [
            ("/run/root", "/root"),
            ("/run/tmp", "/tmp"),
            ("/run/var-tmp", "/var/tmp"),
            ("/run/mnt", "/mnt"),
            ("/run/shadow", "/etc/shadow"),
        ] {
            self.holder.mount(&["--bind"], Path::new(from), place);
        }
        self.holder.mount(&["-t", "ext4", "-o", "noatime"], &device, DUT);
        // While it is mounted this only arranges that it goes with its last mount.
        run(Command::new(tool("losetup")).arg("--detach").arg(&device));
        run(self.holder.command(&tool("mount")).args(["-o", "remount,bind,ro", "/"]));
    }

    /// Starts it: sshd is its first process. Its monotonic clock is so many seconds ahead of this machine's.
    pub fn boot(self, ahead_s: u32) -> Host {
        let log = self.folder.with_extension("log");
        let mut start = mortal("nsenter");
        self.holder.enter(&mut start);
        start.arg(tool("unshare"));
        if ahead_s > 0 {
            start.args(["--time", &format!("--monotonic={ahead_s}")]);
        }
        let init = start
            .args(["--pid", "--fork", "--kill-child", "--mount-proc"])
            .arg(tool("sshd"))
            .args(["-D", "-e", "-f", "/run/sshd_config"])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(File::create(&log).unwrap())
            .spawn()
            .unwrap();
        let parent = i32::try_from(init.id()).unwrap();
        let first = || processes::children(parent).first().map(|process| process.pid);
        let up = until(PATIENCE, || first().is_some_and(listens));
        let told = || fs::read_to_string(&log).unwrap();
        assert!(up, "{} does not come up: {}", self.name, told());
        let pid = first().unwrap();
        let names = namespace(pid, "pid").unwrap();
        let found = files(&self.folder);
        Host { name: self.name, folder: self.folder, init, pid, names, found }
    }
}

/// Makes a filesystem in a sparse image and returns the loop device on it. The table of inodes is written
/// now, because the kernel would otherwise write it while somebody measures.
fn attach_disk(image: &Path) -> PathBuf {
    File::create(image).unwrap().set_len(DISK_BYTES).unwrap();
    let mut make = Command::new(tool("mkfs.ext4"));
    make.args(["-q", "-F", "-m", "0", "-J", "size=8", "-i", "65536", "-E", "lazy_itable_init=0"]);
    run(make.arg(image));
    let mut attach = Command::new(tool("losetup"));
    let device = run(attach.args(["--find", "--show", "--direct-io=on"]).arg(image));
    PathBuf::from(device.trim())
}

/// Whether somebody listens on port 22 in this process's network: local address and state are the second
/// and the fourth field of a line, in hexadecimal.
fn listens(pid: i32) -> bool {
    let table = fs::read_to_string(format!("/proc/{pid}/net/tcp")).unwrap_or_default();
    table.lines().any(|line| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        fields.len() > 3 && fields[1].ends_with(":0016") && fields[3] == "0A"
    })
}

/// A host that is up, until it is dropped.
pub struct Host {
    name: String,
    folder: PathBuf,
    /// Parent of the host's first process, which goes with it.
    init: Child,
    pid: i32,
    /// Its namespace of process numbers.
    pub names: PathBuf,
    found: BTreeSet<PathBuf>,
}

impl Host {
    pub fn name(&self) -> &str {
        &self.name
    }

    /// All its processes, with numbers as this machine counts them.
    fn members(&self) -> Vec<Process> {
        members("pid", &self.names)
    }

    /// All but the sshd that waits for connections.
    pub fn processes(&self) -> Vec<Process> {
        self.members().into_iter().filter(|process| process.pid != self.pid).collect()
    }

    /// Stops every process where it is. Whoever was being started meanwhile is found by the next round.
    pub fn freeze(&self) {
        let mut stopped = BTreeSet::new();
        loop {
            let fresh: Vec<i32> =
                self.members().iter().map(|process| process.pid).filter(|pid| stopped.insert(*pid)).collect();
            if fresh.is_empty() {
                return;
            }
            fresh.iter().for_each(|pid| processes::signal(*pid, Signal::SIGSTOP));
        }
    }

    pub fn thaw(&self) {
        self.members().iter().for_each(|process| processes::signal(process.pid, Signal::SIGCONT));
    }

    /// A program among its processes, in its filesystem.
    pub fn command(&self, program: &str) -> Command {
        let mut command = Command::new(tool("nsenter"));
        command.arg(format!("--target={}", self.pid)).args(["--mount", "--pid"]).arg(tool(program));
        command
    }

    /// Ends it as a loss of power does.
    pub fn kill(&self) {
        self.end();
        let gone = until(PATIENCE, || self.members().is_empty());
        assert!(gone, "{} stays: {:#?}", self.name, self.members());
    }

    /// Kills its first process, and with it all others.
    pub fn end(&self) {
        if namespace(self.pid, "pid").as_ref() == Some(&self.names) {
            processes::signal(self.pid, Signal::SIGKILL);
        }
    }

    /// Files and folders that were not there when it came up, as the host names them, its disk's aside.
    pub fn files_left(&self) -> Vec<PathBuf> {
        let inside = |path: &PathBuf| {
            let path = path.strip_prefix(&self.folder).unwrap();
            let places = [("root", "/root"), ("tmp", "/tmp"), ("var-tmp", "/var/tmp"), ("mnt", "/mnt")];
            let place =
                places.iter().find_map(|(from, to)| Some(Path::new(to).join(path.strip_prefix(from).ok()?)));
            place.unwrap_or_else(|| Path::new("/run").join(path))
        };
        files(&self.folder).difference(&self.found).map(inside).collect()
    }

    /// Where this machine sees a path of the host, while it is up.
    pub fn path(&self, path: &str) -> PathBuf {
        PathBuf::from(format!("/proc/{}/root{path}", self.pid))
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        self.end();
        let _ = self.init.wait();
        until(PATIENCE, || self.members().is_empty());
    }
}

/// Every file and folder below one.
fn files(folder: &Path) -> BTreeSet<PathBuf> {
    let mut found = BTreeSet::new();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            found.extend(files(&entry.path()));
        }
        found.insert(entry.path());
    }
    found
}
