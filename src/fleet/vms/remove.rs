//! Removes what a run made: the domains and volumes of its record, and nothing that does not carry its tag.

use std::collections::BTreeSet;
use std::thread;
use std::time::{Duration, Instant};

use super::VmsError;
use super::facts;
use super::state::{Inventory, MachineRecord};
use super::virsh::{Virsh, VirshError};

/// Longest wait for a volume that is still being allocated, after whoever asked for it was interrupted.
const RELEASE: Duration = Duration::from_secs(60);
/// Pause between attempts.
const PAUSE: Duration = Duration::from_millis(500);

/// What a run made, to be looked for and removed.
#[derive(Debug, Clone, Copy)]
pub struct Removal<'a> {
    inventory: &'a Inventory,
}

/// What is still there of one machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Remains {
    /// Name of its domain, if it exists.
    pub domain: Option<String>,
    /// Its volumes that exist, as pool and name.
    pub volumes: Vec<(String, String)>,
}

impl<'a> Removal<'a> {
    /// Of everything that a record names.
    #[must_use]
    pub fn of(inventory: &'a Inventory) -> Self {
        Self { inventory }
    }

    /// What exists, for each machine in order, or why that is not known.
    #[must_use]
    pub fn look(&self) -> Vec<Result<Remains, VirshError>> {
        self.each(|virsh, machine, _| look(virsh, machine))
    }

    /// Removes it.
    ///
    /// # Errors
    /// One line for each thing that could not be removed, or hypervisor that did not answer.
    pub fn carry_out(&self) -> Result<(), VmsError> {
        let reasons: BTreeSet<String> = self.each(remove).into_iter().flatten().collect();
        if reasons.is_empty() { Ok(()) } else { Err(VmsError::Left(reasons.into_iter().collect())) }
    }

    fn each<T: Send>(&self, work: impl Fn(Virsh<'_>, &MachineRecord, &str) -> T + Sync) -> Vec<T> {
        let work = &work;
        thread::scope(|scope| {
            let started: Vec<_> = self
                .inventory
                .machines
                .iter()
                .map(|machine| {
                    scope.spawn(move || {
                        let virsh = Virsh { uri: &machine.uri, interrupted: &|| false };
                        work(virsh, machine, &self.inventory.tag)
                    })
                })
                .collect();
            started.into_iter().filter_map(|thread| thread.join().ok()).collect()
        })
    }
}

fn look(virsh: Virsh<'_>, machine: &MachineRecord) -> Result<Remains, VirshError> {
    let domain = virsh.domains()?.contains(&machine.domain).then(|| machine.domain.clone());
    let mut pools: Vec<&str> = machine.volumes.iter().map(|volume| volume.pool.as_str()).collect();
    pools.dedup();
    let mut volumes = Vec::new();
    for pool in pools {
        let there = virsh.volumes(pool)?;
        let ours =
            machine.volumes.iter().filter(|volume| volume.pool == pool && there.contains(&volume.name));
        volumes.extend(ours.map(|volume| (pool.to_owned(), volume.name.clone())));
    }
    Ok(Remains { domain, volumes })
}

/// Reasons why something is still there; none when nothing is.
fn remove(virsh: Virsh<'_>, machine: &MachineRecord, tag: &str) -> Vec<String> {
    let remains = match look(virsh, machine) {
        Ok(remains) => remains,
        Err(error) => return vec![error.to_string()],
    };
    if let Some(domain) = &remains.domain
        && let Err(reason) = remove_domain(virsh, domain, tag)
    {
        // Its volumes are in use.
        return vec![reason];
    }
    let removed = remains.volumes.iter().map(|(pool, volume)| remove_volume(virsh, pool, volume));
    removed.filter_map(Result::err).map(|error| error.to_string()).collect()
}

fn remove_domain(virsh: Virsh<'_>, domain: &str, tag: &str) -> Result<(), String> {
    let text = virsh.ask(&["dumpxml", domain]).map_err(|error| error.to_string())?;
    if facts::domain_tag(&text).as_deref() != Some(tag) {
        return Err(format!(
            "{}: domain {domain} does not carry the tag {tag}, so it is left alone",
            virsh.uri
        ));
    }
    // It may not be running; whether it could be stopped shows below.
    let stopped = virsh.ask(&["destroy", domain]);
    match virsh.ask(&["undefine", domain, "--managed-save", "--snapshots-metadata"]) {
        Ok(_) if virsh.domains().is_ok_and(|domains| !domains.contains(domain)) => Ok(()),
        Ok(_) => Err(stopped.map_or_else(
            |error| error.to_string(),
            |_| format!("{}: domain {domain} is still there after it was undefined", virsh.uri),
        )),
        Err(error) => Err(error.to_string()),
    }
}

fn remove_volume(virsh: Virsh<'_>, pool: &str, volume: &str) -> Result<(), VirshError> {
    let started = Instant::now();
    loop {
        let Err(error) = virsh.ask(&["vol-delete", "--pool", pool, volume]) else { return Ok(()) };
        // It may have gone meanwhile: a pool's list can be older than the pool.
        if virsh.volumes(pool).is_ok_and(|there| !there.contains(volume)) {
            return Ok(());
        }
        if started.elapsed() > RELEASE {
            return Err(error);
        }
        thread::sleep(PAUSE);
    }
}
