//! Keys for one run, and the ssh configuration that uses them.
//!
//! The machines' own keys are made here and given to them, so that ssh knows what to expect: host keys are checked
//! as strictly as anywhere else.

use std::fmt::Write as _;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use super::VmsError;
use super::program::{self, ProgramError};
use super::uri;

/// Longest wait for a key pair.
const KEY: Duration = Duration::from_secs(60);

/// A key pair, as OpenSSH writes it.
#[derive(Debug)]
pub struct KeyPair {
    /// File with the private half.
    pub path: PathBuf,
    /// Text of the private half.
    pub private: String,
    /// Text of the public half, one line.
    pub public: String,
}

/// Makes an ed25519 key pair without a passphrase.
///
/// # Errors
/// When there is no ssh-keygen or it fails.
pub fn make(folder: &Path, name: &str, interrupted: &dyn Fn() -> bool) -> Result<KeyPair, VmsError> {
    let path = folder.join(name);
    let mut command = Command::new("ssh-keygen");
    command.args(["-q", "-t", "ed25519", "-N", "", "-C", "drivestone", "-f"]).arg(&path);
    let failed = |reason: String| VmsError::Keys { path: path.clone(), reason };
    let ended = program::run(&mut command, KEY, interrupted).map_err(|error| match error {
        ProgramError::Interrupted => VmsError::Interrupted,
        error => failed(format!("ssh-keygen {error}")),
    })?;
    if !ended.status.success() {
        return Err(failed(format!("ssh-keygen: {}", ended.stderr)));
    }
    let read = |path: &Path| fs::read_to_string(path).map_err(|error| failed(error.to_string()));
    let private = read(&path)?;
    let public = read(&folder.join(format!("{name}.pub")))?.trim().to_owned();
    Ok(KeyPair { path, private, public })
}

/// A machine as ssh reaches it.
#[derive(Debug)]
pub struct SshTarget<'a> {
    /// The machine's name.
    pub host: &'a str,
    /// Its address.
    pub address: &'a str,
    /// Connection URI of its hypervisor.
    pub uri: &'a str,
    /// Public half of its own key.
    pub host_key: &'a str,
}

/// Writes an ssh configuration, and beside it the host keys that it goes by; returns its path.
///
/// # Errors
/// The system's.
pub fn write_config(
    folder: &Path,
    name: &str,
    key: &KeyPair,
    targets: &[SshTarget<'_>],
) -> Result<PathBuf, VmsError> {
    let path = folder.join(name);
    let known_hosts = folder.join(format!("{name}.known_hosts"));
    let write = || -> io::Result<()> {
        fs::write(&known_hosts, known_hosts_text(targets))?;
        fs::write(&path, config_text(&key.path, &known_hosts, targets))
    };
    write().map_err(|error| VmsError::Keys { path: path.clone(), reason: error.to_string() })?;
    Ok(path)
}

fn known_hosts_text(targets: &[SshTarget<'_>]) -> String {
    targets.iter().fold(String::new(), |mut text, target| {
        let _ = writeln!(text, "{} {}", target.host, target.host_key);
        text
    })
}

fn config_text(key: &Path, known_hosts: &Path, targets: &[SshTarget<'_>]) -> String {
    // ssh goes by the first value that it finds, and reads this file for the jump hosts too: no connection of the
    // user's is used, and none outlives the run.
    let mut text = "ControlMaster no\nControlPath none\n".to_owned();
    for target in targets {
        let _ = write!(
            text,
            "Host {host}\n  HostName {address}\n  HostKeyAlias {host}\n  User root\n  IdentityFile \"{key}\"\n  \
             IdentitiesOnly yes\n  IdentityAgent none\n  UserKnownHostsFile \"{known_hosts}\"\n  \
             GlobalKnownHostsFile none\n  StrictHostKeyChecking yes\n  ServerAliveInterval 10\n",
            host = target.host,
            address = target.address,
            key = literal(key),
            known_hosts = literal(known_hosts),
        );
        match uri::ssh_host(target.uri) {
            Some(hypervisor) => {
                let _ = writeln!(text, "  ProxyJump {}", hypervisor.jump);
            }
            None => text += "  ProxyJump none\n",
        }
    }
    // The way to the hypervisors, and every other host, is as the user has it.
    let others = targets.iter().fold("Host *".to_owned(), |line, target| line + " !" + target.host);
    text + &others + "\n  Include ~/.ssh/config\n  Include /etc/ssh/ssh_config\n"
}

/// A path in which ssh sees no tokens.
fn literal(path: &Path) -> String {
    path.display().to_string().replace('%', "%%")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_configuration_is_strict_and_leaves_other_hosts_to_the_user() {
        let target =
            |host, uri| SshTarget { host, address: "192.168.122.7", uri, host_key: "ssh-ed25519 AAAA" };
        let targets = [target("vm1", "qemu:///system"), target("vm2", "qemu+ssh://root@node2:2222/system")];
        insta::assert_snapshot!(config_text(Path::new("/s/key"), Path::new("/s/known_hosts"), &targets));
        assert_eq!(known_hosts_text(&targets[..1]), "vm1 ssh-ed25519 AAAA\n");
    }
}
