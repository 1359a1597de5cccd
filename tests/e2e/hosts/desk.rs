//! The place from which the hosts are reached: a network of its own with the bridge, and a home with an
//! ssh configuration for whoever runs drivestone.

use std::fmt::Write as _;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::namespaces::{Holder, members, namespace, run, tool};
use crate::e2e::processes::{self, Process};

/// Addresses of a lab: 10.78.0.1 is the desk. Each lab has its own network, so that all have the same.
pub const NETWORK: &str = "10.78.0";

pub struct Desk {
    holder: Holder,
    home: PathBuf,
}

impl Desk {
    /// Makes network, bridge, home and key in the lab's folder.
    pub fn new(folder: &Path) -> Self {
        let home = folder.join("home");
        let ssh = home.join(".ssh");
        fs::create_dir_all(&ssh).unwrap();
        [&home, &ssh].iter().for_each(|folder| fs::set_permissions(folder, private()).unwrap());
        make_key(&ssh.join("id_ed25519"), "desk");
        let holder = Holder::new(&["mount", "net"]);
        holder.ip(&format!(
            "link set lo up\nlink add br0 type bridge\naddress add {NETWORK}.1/24 dev br0\nlink set br0 up\n"
        ));
        // ssh takes the home of the account, whatever HOME says.
        let passwd = folder.join("passwd");
        fs::write(&passwd, with_home(&fs::read_to_string("/etc/passwd").unwrap(), &home)).unwrap();
        holder.mount(&["--bind"], &passwd, "/etc/passwd");
        Self { holder, home }
    }

    /// Connects a host's network, whose interface becomes `eth0`.
    pub fn connect(&self, host: &str, network: &Holder) {
        self.holder.ip(&format!(
            "link add {host} type veth peer name eth0 netns {}\nlink set {host} master br0 up\n",
            network.pid()
        ));
    }

    /// Plugs a host in or out.
    pub fn plug(&self, host: &str, plugged: bool) {
        let state = if plugged { "up" } else { "down" };
        self.holder.ip(&format!("link set {host} {state}\n"));
    }

    /// Gives the hosts their names and notes their keys, as (name, address, public key).
    pub fn introduce(&self, hosts: &[(&str, String, String)]) {
        let (mut config, mut known) = (String::new(), String::new());
        for (name, address, key) in hosts {
            writeln!(config, "Host {name}\n    HostName {address}\n    User root").unwrap();
            let (kind, rest) = key.split_once(' ').unwrap();
            writeln!(known, "{address} {kind} {}", rest.split(' ').next().unwrap()).unwrap();
        }
        for (file, text) in [("config", config), ("known_hosts", known)] {
            let path = self.ssh().join(file);
            fs::write(&path, text).unwrap();
            fs::set_permissions(&path, Permissions::from_mode(0o600)).unwrap();
        }
    }

    /// The home; nothing else of the account's files is seen here.
    pub fn home(&self) -> &Path {
        &self.home
    }

    pub fn ssh(&self) -> PathBuf {
        self.home.join(".ssh")
    }

    /// A program here, in a working directory.
    pub fn command(&self, program: &Path, folder: &Path) -> Command {
        let mut command = self.holder.command(&tool("env"));
        command.arg("--chdir").arg(folder).arg(program).stdin(Stdio::null()).env("HOME", &self.home);
        for foreign in ["SSH_AUTH_SOCK", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME"] {
            command.env_remove(foreign);
        }
        command
    }

    /// The processes here.
    pub fn processes(&self) -> Vec<Process> {
        let Some(network) = namespace(self.holder.pid(), "net") else { return Vec::new() };
        let mut here = members("net", &network);
        here.retain(|process| process.pid != self.holder.pid());
        here
    }
}

impl Drop for Desk {
    fn drop(&mut self) {
        processes::end(&self.processes());
    }
}

/// Makes a key pair without a passphrase.
pub fn make_key(path: &Path, owner: &str) {
    run(Command::new(tool("ssh-keygen"))
        .args(["-q", "-t", "ed25519", "-N", "", "-C", owner, "-f"])
        .arg(path)
        .stdin(Stdio::null()));
}

fn private() -> Permissions {
    Permissions::from_mode(0o700)
}

/// The table of accounts with another home for root.
fn with_home(passwd: &str, home: &Path) -> String {
    let mut table = String::new();
    for line in passwd.lines() {
        let mut fields: Vec<&str> = line.split(':').collect();
        if fields.len() == 7 && fields[2] == "0" {
            fields[5] = home.to_str().unwrap();
        }
        writeln!(table, "{}", fields.join(":")).unwrap();
    }
    table
}

#[test]
fn only_root_moves() {
    let table = "root:x:0:0:root:/root:/bin/bash\ndaemon:x:1:1::/usr/sbin:/bin/false\n+\n";
    let moved = "root:x:0:0:root:/lab/home:/bin/bash\ndaemon:x:1:1::/usr/sbin:/bin/false\n+\n";
    assert_eq!(with_home(table, Path::new("/lab/home")), moved);
}
