//! Virtual machines that are made for a run and removed with it, through libvirt's `virsh`.
//!
//! What a run will make is written down before it is made (`state`), every name carries the run's tag, and nothing
//! without that tag is ever removed.

mod boot;
pub mod check;
mod domain;
mod facts;
mod keys;
mod make;
mod program;
pub mod remove;
mod seed;
pub mod state;
mod unsure;
mod uri;
mod virsh;

use std::fmt;
use std::path::{Path, PathBuf};

use crate::plan::{InstancePlan, LibvirtPlan, Reach};
use check::Checked;
use remove::Removal;
use state::{Inventory, Record, StateError};
use unsure::{SETTLE, Unsure};
pub use virsh::VirshError;

/// Why there are no machines, or still some.
#[derive(Debug, thiserror::Error)]
pub enum VmsError {
    /// A hypervisor did not do as it was asked.
    #[error(transparent)]
    Virsh(#[from] VirshError),
    /// The record of what is made.
    #[error(transparent)]
    State(#[from] StateError),
    /// The plan does not fit the hypervisors; one line a reason.
    #[error("{}", .0.join("\n"))]
    Refused(Vec<String>),
    /// Keys, or the files that ssh reads.
    #[error("{}: {reason}", path.display())]
    Keys {
        /// Which file.
        path: PathBuf,
        /// Why.
        reason: String,
    },
    /// The seed for a machine's first boot.
    #[error("{host}: the seed for its first boot could not be made: {source}")]
    Seed {
        /// Which machine.
        host: String,
        /// Why.
        source: std::io::Error,
    },
    /// A machine was started and did not become usable.
    #[error("{host} on {uri}: {reason}{}", console_text(console))]
    NotReady {
        /// Which machine.
        host: String,
        /// Its hypervisor.
        uri: String,
        /// What was waited for, for how long, and what came instead.
        reason: String,
        /// Last lines on its console.
        console: String,
    },
    /// The user wants to stop.
    #[error("interrupted")]
    Interrupted,
    /// Something that a run made is still there, or may yet come; one line a reason.
    #[error("{}\n`drivestone clean --remove` removes what is left, once that is mended", .0.join("\n"))]
    Left(Vec<String>),
    /// Making failed, and removing what was made failed as well.
    #[error("{failure}\n{left}")]
    FailedAndLeft {
        /// Why making failed.
        failure: Box<VmsError>,
        /// What is left.
        left: Box<VmsError>,
    },
}

impl VmsError {
    /// Whether this is the user's interrupt and nothing else.
    #[must_use]
    pub fn is_interrupt(&self) -> bool {
        match self {
            Self::Interrupted => true,
            Self::Virsh(error) => error.is_interrupt(),
            _ => false,
        }
    }
}

fn console_text(console: &str) -> String {
    if console.is_empty() { String::new() } else { format!("\nend of its console:\n{console}") }
}

/// Which machines a plan asks for.
#[derive(Debug, Clone, Copy)]
pub struct Request<'a> {
    /// How to make them.
    pub libvirt: &'a LibvirtPlan,
    /// The plan's instances; those that are made for the run count.
    pub instances: &'a [InstancePlan],
    /// Directory at which the disk for the dataset is mounted.
    pub target: &'a str,
}

impl<'a> Request<'a> {
    /// Names of the machines and numbers of their hypervisors, in order.
    fn machines(&self) -> impl Iterator<Item = (&'a str, usize)> {
        self.instances.iter().filter_map(|instance| match instance.reach {
            Reach::Libvirt { hypervisor } => Some((instance.host.as_str(), hypervisor)),
            Reach::Local | Reach::Ssh => None,
        })
    }
}

/// How the making is watched.
#[derive(Clone, Copy)]
pub struct Watch<'a> {
    /// Asked all the time; once it says yes, everything made so far is removed.
    pub interrupted: &'a (dyn Fn() -> bool + Sync),
    /// Told the name of a machine and how far it is, from several threads.
    pub progress: &'a (dyn Fn(&str, &Stage) + Sync),
}

/// How far a machine is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Stage {
    /// Its volumes are made; the disk for the dataset gets all its space.
    MakingDisks,
    /// It is defined and started.
    Starting,
    /// It boots, and has no address yet.
    WaitingForAddress,
    /// It has an address; ssh's last words.
    WaitingForSsh(String),
    /// ssh answers; cloud-init is not done yet.
    FirstBoot,
    /// It can be used.
    Ready,
}

impl fmt::Display for Stage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::MakingDisks => f.write_str("making disks"),
            Self::Starting => f.write_str("starting"),
            Self::WaitingForAddress => f.write_str("booting, no address yet"),
            Self::WaitingForSsh(words) if words.is_empty() => f.write_str("booting, waiting for ssh"),
            Self::WaitingForSsh(words) => write!(f, "booting, waiting for ssh ({words})"),
            Self::FirstBoot => f.write_str("cloud-init is at work"),
            Self::Ready => f.write_str("ready"),
        }
    }
}

/// The machines of a run. They live no longer than this value.
#[derive(Debug)]
pub struct Machines {
    inventory: Inventory,
    record: Record,
    /// Whether there may be something to remove.
    made: bool,
    unsure: Unsure,
    ssh_config: PathBuf,
    warnings: Vec<String>,
}

impl Machines {
    /// Makes and boots all machines of a plan, in parallel, and waits until each can be used. If one cannot, all are
    /// removed again.
    ///
    /// # Errors
    /// The first machine's reason, or the user's interrupt; with it what could not be removed.
    pub fn make(
        request: &Request<'_>,
        checked: &Checked,
        state: &Path,
        watch: &Watch<'_>,
    ) -> Result<Self, VmsError> {
        let inventory = make::inventory(request)?;
        let record = Record::create(state, &inventory)?;
        let mut machines = Self {
            inventory,
            record,
            made: true,
            unsure: Unsure::within(SETTLE),
            ssh_config: PathBuf::new(),
            warnings: Vec::new(),
        };
        let Self { inventory, record, unsure, .. } = &machines;
        match make::all(request, checked, inventory, record, unsure, watch) {
            Ok(ready) => {
                machines.ssh_config = ready.ssh_config;
                machines.warnings = ready.warnings;
                Ok(machines)
            }
            Err(failure) => match machines.remove() {
                Ok(()) => Err(failure),
                Err(left) => {
                    Err(VmsError::FailedAndLeft { failure: Box::new(failure), left: Box::new(left) })
                }
            },
        }
    }

    /// The configuration with which `ssh -F` reaches the machines by their names.
    #[must_use]
    pub fn ssh_config(&self) -> &Path {
        &self.ssh_config
    }

    /// What the user should know although the machines can be used.
    #[must_use]
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// Mark of the run: every name of a domain or volume begins with `drivestone-<tag>-`.
    #[must_use]
    pub fn tag(&self) -> &str {
        &self.inventory.tag
    }

    /// Removes the machines, their volumes and keys, and last the record.
    ///
    /// # Errors
    /// What could not be removed; the record then stays for `drivestone clean`.
    pub fn remove(mut self) -> Result<(), VmsError> {
        self.take_away()
    }

    fn take_away(&mut self) -> Result<(), VmsError> {
        self.made = false;
        let mut left = self.unsure.calls();
        match Removal::of(&self.inventory).carry_out() {
            Err(VmsError::Left(reasons)) => left.extend(reasons),
            removed => removed?,
        }
        if left.is_empty() { Ok(self.record.erase()?) } else { Err(VmsError::Left(left)) }
    }
}

impl Drop for Machines {
    fn drop(&mut self) {
        if self.made {
            // On the way out of an error there is nobody to tell; the record stays if anything does.
            let _ = self.take_away();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use program::ProgramError;

    #[test]
    fn the_record_stays_for_what_may_yet_come() {
        let folder = tempfile::tempdir().unwrap();
        let inventory = Inventory::new("0123abcd".into(), Vec::new());
        let record = Record::create(folder.path(), &inventory).unwrap();
        let path = record.path().to_owned();
        let unsure = Unsure::within(Duration::ZERO);
        let (uri, call) = ("qemu:///system".into(), "start x".into());
        let cut = Err(VirshError::Program { uri, call, source: ProgramError::Slow(60) });
        unsure.settle::<()>(cut, || false).unwrap_err();
        let (ssh_config, warnings) = (PathBuf::new(), Vec::new());
        let machines = Machines { inventory, record, made: true, unsure, ssh_config, warnings };
        let left = machines.remove().unwrap_err().to_string();
        assert!(left.contains("virsh start x: did not end within 60 s; nothing of it has shown"), "{left}");
        assert!(left.ends_with("once that is mended") && path.exists(), "{left}");
    }
}
