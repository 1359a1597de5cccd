//! Waits for a machine that was started: an address, ssh, cloud-init, the dataset's disk in its place.

use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use super::keys::{self, KeyPair, SshTarget};
use super::make::Site;
use super::program::{self, Ended, ProgramError};
use super::seed::DATA_SERIAL;
use super::state::MachineRecord;
use super::{Stage, VmsError, Watch};
use crate::fleet::ssh;

/// Pause between questions.
const PAUSE: Duration = Duration::from_secs(1);
/// Longest wait for ssh to connect and run a short command.
const SHORT: Duration = Duration::from_secs(30);
/// Where libvirt may know an address from, the best first.
const SOURCES: [&str; 3] = ["lease", "agent", "arp"];
/// ssh's exit code for its own failures.
const SSH_FAILED: i32 = 255;
/// cloud-init's exit code when it is done, with complaints that it got over.
const DEGRADED: i32 = 2;

/// A machine that can be used.
#[derive(Debug)]
pub struct Booted {
    /// Its address.
    pub address: String,
    /// Public half of its own key.
    pub host_key: String,
    /// What the user should know.
    pub warning: Option<String>,
}

/// Waits until the machine can be used.
///
/// # Errors
/// With the reason, and the end of the console, when it does not come in time; or the user's interrupt.
pub fn wait(
    site: &Site<'_>,
    key: &KeyPair,
    host_key: &KeyPair,
    watch: &Watch<'_>,
) -> Result<Booted, VmsError> {
    let limit = Duration::from_secs(site.request.libvirt.boot_timeout_s);
    let mut boot = Boot { site, watch, started: Instant::now(), limit, told: None };
    let address = boot.address()?;
    let mut way = Way::to(site, key, host_key);
    way.follow(Some(address))?;
    boot.ssh(&mut way)?;
    let warning = boot.first_boot(&mut way)?;
    boot.data_disk(&way.config)?;
    boot.tell(Stage::Ready);
    Ok(Booted { address: way.address, host_key: host_key.public.clone(), warning })
}

/// How ssh reaches the machine.
struct Way<'a> {
    host: &'a str,
    uri: &'a str,
    folder: &'a Path,
    key: &'a KeyPair,
    host_key: &'a KeyPair,
    address: String,
    config: PathBuf,
}

impl<'a> Way<'a> {
    fn to(site: &'a Site<'_>, key: &'a KeyPair, host_key: &'a KeyPair) -> Self {
        let MachineRecord { host, uri, .. } = site.machine;
        Self { host, uri, folder: site.folder, key, host_key, address: String::new(), config: PathBuf::new() }
    }

    /// Goes by the address that libvirt knows now: a machine may get another while it boots.
    fn follow(&mut self, seen: Option<String>) -> Result<(), VmsError> {
        let Some(address) = seen.filter(|address| *address != self.address) else { return Ok(()) };
        let target =
            SshTarget { host: self.host, address: &address, uri: self.uri, host_key: &self.host_key.public };
        self.config = keys::write_config(self.folder, &format!("{}.config", self.host), self.key, &[target])?;
        self.address = address;
        Ok(())
    }
}

struct Boot<'a> {
    site: &'a Site<'a>,
    watch: &'a Watch<'a>,
    started: Instant,
    limit: Duration,
    told: Option<Stage>,
}

impl Boot<'_> {
    fn tell(&mut self, stage: Stage) {
        if self.told.as_ref() != Some(&stage) {
            (self.watch.progress)(&self.site.machine.host, &stage);
            self.told = Some(stage);
        }
    }

    fn not_ready(&self, reason: String) -> VmsError {
        VmsError::NotReady {
            host: self.site.machine.host.clone(),
            uri: self.site.machine.uri.clone(),
            reason,
            console: self.site.console(),
        }
    }

    /// Pauses; then it is the user's interrupt, the machine's end or the end of the time that counts.
    fn pause(&self, waited_for: &dyn Fn() -> String) -> Result<(), VmsError> {
        thread::sleep(PAUSE);
        if (self.watch.interrupted)() {
            return Err(VmsError::Interrupted);
        }
        let mut unasked = String::new();
        match self.site.virsh(self.watch).ask(&["domstate", &self.site.machine.domain]) {
            Ok(state) if matches!(state.trim(), "running" | "idle") => {}
            Ok(state) => {
                return Err(self.not_ready(format!("the machine is `{}` while it should boot", state.trim())));
            }
            Err(error) if error.is_interrupt() => return Err(error.into()),
            // A hypervisor that is slow to answer once does not end the run.
            Err(error) => unasked = format!("; {error}"),
        }
        if self.started.elapsed() < self.limit {
            return Ok(());
        }
        Err(self.not_ready(format!("{} after {} s{unasked}", waited_for(), self.limit.as_secs())))
    }

    fn address(&mut self) -> Result<String, VmsError> {
        self.tell(Stage::WaitingForAddress);
        let network = &self.site.request.libvirt.network;
        loop {
            if let Some(address) = self.look_up() {
                return Ok(address);
            }
            self.pause(&|| {
                format!(
                    "no address (libvirt has no lease for it on network {network}, no guest agent answers, and the \
                     hypervisor has not heard from it)"
                )
            })?;
        }
    }

    /// The machine's address, as far as libvirt knows. Sources that are not there are no errors.
    fn look_up(&self) -> Option<String> {
        let virsh = self.site.virsh(self.watch);
        SOURCES.into_iter().find_map(|source| {
            let table = virsh.ask(&["domifaddr", &self.site.machine.domain, "--source", source]).ok()?;
            address_in(&table)
        })
    }

    fn ssh(&mut self, way: &mut Way<'_>) -> Result<(), VmsError> {
        self.tell(Stage::WaitingForSsh(String::new()));
        loop {
            let words = match self.run(&way.config, "true", SHORT) {
                Ok(ended) if ended.status.success() => return Ok(()),
                Ok(ended) => ssh_words(&ended.stderr),
                Err(ProgramError::Interrupted) => return Err(VmsError::Interrupted),
                Err(error) => format!("ssh {error}"),
            };
            self.tell(Stage::WaitingForSsh(words.clone()));
            let address = &way.address;
            self.pause(&|| format!("ssh to root at {address} does not answer ({words}{})", advice(&words)))?;
            way.follow(self.look_up())?;
        }
    }

    /// Packages may be installed now, so the clock begins anew.
    fn first_boot(&mut self, way: &mut Way<'_>) -> Result<Option<String>, VmsError> {
        self.tell(Stage::FirstBoot);
        self.started = Instant::now();
        loop {
            let left = self.limit.saturating_sub(self.started.elapsed()).max(PAUSE);
            let words = match self.run(&way.config, "cloud-init status --wait --long", left) {
                Ok(ended) if ended.status.success() => return Ok(None),
                Ok(ended) if ended.status.code() == Some(DEGRADED) => {
                    let host = &self.site.machine.host;
                    return Ok(Some(format!("{host}: cloud-init complains: {}", report(&ended))));
                }
                Ok(ended) if ended.status.code() == Some(SSH_FAILED) => ssh_words(&ended.stderr),
                Ok(ended) => {
                    return Err(self.not_ready(format!("cloud-init failed: {}", report(&ended))));
                }
                Err(ProgramError::Interrupted) => return Err(VmsError::Interrupted),
                Err(error) => error.to_string(),
            };
            self.pause(&|| format!("cloud-init is not done ({words})"))?;
            way.follow(self.look_up())?;
        }
    }

    /// A disk that is not mounted would let the system disk be measured.
    fn data_disk(&self, config: &Path) -> Result<(), VmsError> {
        let device = format!("/dev/disk/by-id/virtio-{DATA_SERIAL}");
        let remote = format!("readlink -f {device} && cat /proc/self/mounts");
        let ended = match self.run(config, &remote, SHORT) {
            Ok(ended) => ended,
            Err(ProgramError::Interrupted) => return Err(VmsError::Interrupted),
            Err(error) => return Err(self.not_ready(format!("ssh {error}"))),
        };
        let target = self.site.request.target;
        let text = String::from_utf8_lossy(&ended.stdout);
        if ended.status.success() && is_mounted(&text, target) {
            return Ok(());
        }
        Err(self.not_ready(format!(
            "the disk for the dataset is not mounted at {target} (mount points: {}){}{}",
            text.lines().filter(|line| line.starts_with("/dev/")).collect::<Vec<_>>().join("; "),
            if ended.stderr.is_empty() { "" } else { "; ssh: " },
            ended.stderr
        )))
    }

    fn run(&self, config: &Path, remote: &str, limit: Duration) -> Result<Ended, ProgramError> {
        let mut command = ssh::command(&self.site.machine.host, Some(config), remote);
        program::run(&mut command, limit, &|| (self.watch.interrupted)())
    }
}

/// ssh's last words with a reason in them: through a jump host some without one follow.
fn ssh_words(stderr: &str) -> String {
    let empty = [
        "stdio forwarding failed",
        "kex_exchange_identification: Connection closed by remote host",
        "Connection closed by UNKNOWN",
    ];
    let said = |line: &&str| !line.is_empty() && !empty.iter().any(|words| line.starts_with(words));
    let plain = plain(stderr);
    let last = plain.lines().map(str::trim).rfind(said);
    last.map_or_else(|| last_lines(stderr, 1), str::to_owned)
}

/// What ssh's words mean for a machine that was given its keys.
fn advice(words: &str) -> &'static str {
    if words.contains("Host key verification failed") || words.contains("Permission denied") {
        "; it has not taken the keys that cloud-init was to give it: has the image cloud-init, and is NoCloud among \
         its datasources?"
    } else {
        ""
    }
}

/// First usable address of a table whose last column is `address/prefix`, IPv4 before IPv6.
fn address_in(table: &str) -> Option<String> {
    let words = table.lines().filter_map(|line| line.split_whitespace().last());
    let addresses = words.filter_map(|word| word.split('/').next()?.parse::<IpAddr>().ok());
    let usable = addresses.filter(|address| match address {
        IpAddr::V4(address) => !address.is_loopback() && !address.is_link_local(),
        IpAddr::V6(address) => !address.is_loopback() && !address.is_unicast_link_local(),
    });
    usable.min_by_key(IpAddr::is_ipv6).map(|address| address.to_string())
}

/// Whether the device on the first line is mounted at a directory, as the lines below, `/proc/mounts`, say.
fn is_mounted(text: &str, target: &str) -> bool {
    let Some((device, mounts)) = text.split_once('\n') else { return false };
    let target = target.trim_end_matches('/');
    mounts.lines().any(|line| {
        let mut fields = line.split(' ');
        fields.next() == Some(device) && fields.next() == Some(target)
    })
}

fn report(ended: &Ended) -> String {
    let text = String::from_utf8_lossy(&ended.stdout);
    let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    format!("{} {}", lines.join(", "), ended.stderr).trim().to_owned()
}

/// The last lines that say something, without a terminal's control sequences.
#[must_use]
pub fn last_lines(text: &str, count: usize) -> String {
    let plain = plain(text);
    let lines: Vec<&str> = plain.lines().map(str::trim_end).filter(|line| !line.is_empty()).collect();
    lines.get(lines.len().saturating_sub(count)..).unwrap_or_default().join("\n")
}

/// Without `ESC [ … letter`, other escapes of one character, and control characters but line ends.
fn plain(text: &str) -> String {
    let mut into = String::new();
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        match character {
            '\u{1b}' if characters.next_if_eq(&'[').is_some() => {
                while characters.next().is_some_and(|part| !('@'..='~').contains(&part)) {}
            }
            '\u{1b}' => {
                characters.next();
            }
            '\n' => into.push('\n'),
            other if other.is_control() => {}
            other => into.push(other),
        }
    }
    into
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn finds_the_usable_address() {
        let table = " lo       00:00:00:00:00:00    ipv4         127.0.0.1/8\n \
                     enp1s0   52:54:00:00:00:01    ipv6         fd00::7/64\n \
                     -        -                    ipv4         192.168.122.7/24\n";
        assert_eq!(address_in(table).as_deref(), Some("192.168.122.7"));
        assert_eq!(address_in(" enp1s0 52:54:00:00:00:01 ipv6 fe80::1/64\n"), None);
        assert_eq!(address_in(" Name MAC address Protocol Address\n----\n"), None);
    }

    #[test]
    fn ssh_follows_a_machine_to_another_address() {
        let folder = tempfile::tempdir().unwrap();
        let pair = |public: &str| KeyPair { path: "k".into(), private: String::new(), public: public.into() };
        let (key, host_key) = (pair("user"), pair("host"));
        let mut way = Way {
            host: "vm1",
            uri: "qemu:///system",
            folder: folder.path(),
            key: &key,
            host_key: &host_key,
            address: String::new(),
            config: PathBuf::new(),
        };
        for (seen, expected) in
            [(Some("10.0.0.1"), "10.0.0.1"), (None, "10.0.0.1"), (Some("10.0.0.2"), "10.0.0.2")]
        {
            way.follow(seen.map(str::to_owned)).unwrap();
            assert_eq!(way.address, expected);
            let config = std::fs::read_to_string(&way.config).unwrap();
            assert!(config.contains(&format!("Host vm1\n  HostName {expected}\n")), "{config}");
        }
    }

    #[test]
    fn a_mount_of_another_device_does_not_count() {
        let text = "/dev/vdb\n/dev/vda / ext4 rw 0 0\n/dev/vdb /srv/drivestone ext4 rw,noatime 0 0\n";
        assert!(is_mounted(text, "/srv/drivestone"));
        assert!(is_mounted(text, "/srv/drivestone/"));
        assert!(!is_mounted(text, "/srv"));
        assert!(!is_mounted(&text.replacen("/dev/vdb", "/dev/vdc", 1), "/srv/drivestone"));
        assert!(!is_mounted("", "/srv"));
    }

    #[test]
    fn a_console_reads_as_text() {
        let console = "[    1.0] one\r\n\u{1b}[0;32m  OK  \u{1b}[0m] two\r\n\r\n\u{1b}cthree\u{7}";
        assert_eq!(last_lines(console, 2), "  OK  ] two\nthree");
        assert_eq!(last_lines("", 3), "");
    }

    #[test]
    fn a_jump_host_does_not_hide_the_reason() {
        let stderr = "channel 0: open failed: connect failed: Connection refused\r\nstdio forwarding failed\r\n\
                      kex_exchange_identification: Connection closed by remote host\r\n\
                      Connection closed by UNKNOWN port 65535";
        assert_eq!(ssh_words(stderr), "channel 0: open failed: connect failed: Connection refused");
        assert_eq!(
            ssh_words("Connection closed by UNKNOWN port 65535"),
            "Connection closed by UNKNOWN port 65535"
        );
    }

    proptest! {
        #[test]
        fn nothing_that_controls_a_terminal_is_left(text in any::<String>()) {
            prop_assert!(plain(&text).chars().all(|c| c == '\n' || !c.is_control()));
        }
    }
}
