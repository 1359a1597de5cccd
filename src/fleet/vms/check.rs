//! Whether the hypervisors have what a plan names, before anything is made.

use std::collections::BTreeMap;
use std::thread;

use super::facts::{self, HostFacts, PoolFacts, VolumeFacts};
use super::virsh::{Virsh, VirshError};
use super::{Request, VmsError};
use crate::plan::LibvirtPlan;
use crate::spec::ByteSize;

/// Kinds of pools whose volumes are files: qcow2 disks and the console's log need one.
pub(super) const FILES: [&str; 3] = ["dir", "fs", "netfs"];
/// Kinds of pools in which volumes of any name and size can be made.
const VOLUMES: [&str; 5] = ["dir", "fs", "netfs", "logical", "zfs"];
/// Formats that a base image can have.
const IMAGES: [&str; 2] = ["qcow2", "raw"];

/// Hypervisors that have what the plan names.
#[derive(Debug)]
pub struct Checked {
    hypervisors: BTreeMap<usize, Hypervisor>,
    warnings: Vec<String>,
}

/// What making machines must know about a hypervisor.
#[derive(Debug)]
pub(super) struct Hypervisor {
    pub(super) accelerated: bool,
    pub(super) image: VolumeFacts,
}

impl Checked {
    /// What its user should know before the machines are made, one line each.
    #[must_use]
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    pub(super) fn hypervisor(&self, number: usize) -> Option<&Hypervisor> {
        self.hypervisors.get(&number)
    }
}

/// Asks every hypervisor that is to have machines. Makes nothing; the list of images is read anew.
///
/// # Errors
/// Everything that stands against the plan; or that there is no virsh; or the user's interrupt.
pub fn check(request: &Request<'_>, interrupted: &(dyn Fn() -> bool + Sync)) -> Result<Checked, VmsError> {
    let mut machines: BTreeMap<usize, u64> = BTreeMap::new();
    for (_, hypervisor) in request.machines() {
        *machines.entry(hypervisor).or_default() += 1;
    }
    let looked: Vec<_> = thread::scope(|scope| {
        let started: Vec<_> = machines
            .iter()
            .map(|(&number, &count)| {
                scope.spawn(move || {
                    let uri = request.libvirt.hypervisors.get(number).map_or("", String::as_str);
                    (number, Look::at(Virsh { uri, interrupted }, request.libvirt, count))
                })
            })
            .collect();
        started.into_iter().filter_map(|thread| thread.join().ok()).collect()
    });
    let mut checked = Checked { hypervisors: BTreeMap::new(), warnings: Vec::new() };
    let mut refusals = Vec::new();
    let mut shares = Vec::new();
    for (number, look) in looked {
        let look = look?;
        shares.extend(look.share);
        refusals.extend(look.refusals);
        checked.warnings.extend(look.warnings);
        if let Some(hypervisor) = look.hypervisor {
            checked.hypervisors.insert(number, hypervisor);
        }
    }
    refusals.extend(judge_shared(&request.libvirt.pool, &shares));
    if refusals.is_empty() { Ok(checked) } else { Err(VmsError::Refused(refusals)) }
}

/// What one hypervisor's machines take of storage that others may use at the same time.
struct Share {
    uri: String,
    source: String,
    available_bytes: u64,
    machines: u64,
    each_bytes: u64,
}

/// Whether storage with enough space for each hypervisor alone has it for all that use it.
fn judge_shared(pool: &str, shares: &[Share]) -> Vec<String> {
    let mut by_source: BTreeMap<&str, Vec<&Share>> = BTreeMap::new();
    for share in shares {
        by_source.entry(&share.source).or_default().push(share);
    }
    let refusal = |(source, shares): (&str, Vec<&Share>)| {
        let available = shares.iter().map(|share| share.available_bytes).min()?;
        let each = shares.iter().map(|share| share.each_bytes).max()?;
        let machines: u64 = shares.iter().map(|share| share.machines).sum();
        let needed = machines.saturating_mul(each);
        let uris: Vec<&str> = shares.iter().map(|share| share.uri.as_str()).collect();
        (needed > available).then(|| {
            let little = too_little(pool, available, machines, each);
            format!("{}: {little} (it is {source} for all of them)", uris.join(", "))
        })
    };
    by_source.into_iter().filter(|(_, shares)| shares.len() > 1).filter_map(refusal).collect()
}

fn too_little(pool: &str, available: u64, machines: u64, each: u64) -> String {
    format!(
        "pool {pool} has {} free; {machines} machines with {} each need {}",
        ByteSize::of_bytes(available),
        ByteSize::of_bytes(each),
        ByteSize::of_bytes(machines.saturating_mul(each))
    )
}

/// One hypervisor, compared with the plan.
struct Look<'a> {
    virsh: Virsh<'a>,
    plan: &'a LibvirtPlan,
    machines: u64,
    refusals: Vec<String>,
    warnings: Vec<String>,
    hypervisor: Option<Hypervisor>,
    share: Option<Share>,
}

impl<'a> Look<'a> {
    /// Errors are those that end the whole check: no virsh, or an interrupt.
    fn at(virsh: Virsh<'a>, plan: &'a LibvirtPlan, machines: u64) -> Result<Self, VirshError> {
        let mut look = Self {
            virsh,
            plan,
            machines,
            refusals: Vec::new(),
            warnings: Vec::new(),
            hypervisor: None,
            share: None,
        };
        let host = match facts::host(virsh) {
            Ok(host) => host,
            Err(error) => {
                // Without the hypervisor every further question would be refused with the same words.
                look.note(error, "check with the same URI and `virsh` whether it can be reached from here")?;
                return Ok(look);
            }
        };
        look.judge_host(&host);
        let image = look.judge_image_pool()?;
        look.judge_data_pool()?;
        look.judge_network()?;
        look.hypervisor = image.map(|image| Hypervisor { accelerated: host.accelerated, image });
        Ok(look)
    }

    fn refuse(&mut self, text: String) {
        self.refusals.push(format!("{}: {text}", self.virsh.uri));
    }

    fn warn(&mut self, text: String) {
        self.warnings.push(format!("{}: {text}", self.virsh.uri));
    }

    /// Makes virsh's refusal one of ours, with advice.
    fn note(&mut self, error: VirshError, advice: &str) -> Result<(), VirshError> {
        if matches!(error, VirshError::Missing) || error.is_interrupt() {
            return Err(error);
        }
        self.refusals.push(format!("{error}; {advice}"));
        Ok(())
    }

    fn judge_host(&mut self, host: &HostFacts) {
        if host.architecture != "x86_64" {
            self.refuse(format!("makes {} machines; drivestone makes x86_64 only", host.architecture));
        }
        if !host.accelerated {
            self.warn(
                "has no KVM, so the machines are EMULATED: every figure will be about the emulator and none about \
                 storage; good for trying drivestone out, and for nothing else"
                    .to_owned(),
            );
        }
        let (vcpus, memory) = (u64::from(self.plan.vcpus), self.plan.memory_bytes);
        let asked = self.machines.saturating_mul(vcpus);
        if asked > host.cpus {
            self.warn(format!(
                "{} machines with {vcpus} vCPUs each are more than its {} processors: they will wait for each other",
                self.machines, host.cpus
            ));
        }
        if self.machines.saturating_mul(memory) > host.memory_bytes {
            self.warn(format!(
                "{} machines with {} each are more than its memory of {}: it will swap, or refuse to start them",
                self.machines,
                ByteSize::of_bytes(memory),
                ByteSize::of_bytes(host.memory_bytes)
            ));
        }
    }

    fn judge_image_pool(&mut self) -> Result<Option<VolumeFacts>, VirshError> {
        let (pool, image) = (&self.plan.image_pool, &self.plan.image_volume);
        if self.judge_pool(pool, &FILES, "the system disks are files on the base image")?.is_none() {
            return Ok(None);
        }
        // A file copied into the pool's directory is not seen before this. A pool that is at work refuses.
        let _ = self.virsh.ask(&["pool-refresh", pool]);
        let facts = match facts::volume(self.virsh, pool, image) {
            Ok(facts) => facts,
            Err(error) => {
                let there = self.virsh.volumes(pool).unwrap_or_default();
                let there: Vec<&str> = there.iter().map(String::as_str).collect();
                let advice = format!("pool {pool} has: {}", listed(&there));
                self.note(error, &advice)?;
                return Ok(None);
            }
        };
        if !IMAGES.contains(&facts.format.as_str()) {
            self.refuse(format!("image {image} has format {}; a base image is qcow2 or raw", facts.format));
        }
        let system = self.plan.system_disk_bytes;
        if system > 0 && system < facts.capacity_bytes {
            self.refuse(format!(
                "a system disk of {} is smaller than the image {image} with its {}",
                ByteSize::of_bytes(system),
                ByteSize::of_bytes(facts.capacity_bytes)
            ));
        }
        Ok(Some(facts))
    }

    fn judge_data_pool(&mut self) -> Result<(), VirshError> {
        let plan = self.plan;
        let why = "the disk for the dataset is a volume made in it";
        let Some(pool) = self.judge_pool(&plan.pool, &VOLUMES, why)? else { return Ok(()) };
        let each_bytes = plan.data_disk_bytes.saturating_add(plan.spare_disk_bytes);
        let available_bytes = pool.available_bytes;
        if self.machines.saturating_mul(each_bytes) > available_bytes {
            self.refuse(too_little(&plan.pool, available_bytes, self.machines, each_bytes));
            return Ok(());
        }
        let (uri, machines) = (self.virsh.uri.to_owned(), self.machines);
        self.share = pool.source.map(|source| Share { uri, source, available_bytes, machines, each_bytes });
        Ok(())
    }

    /// An active pool of one of the kinds.
    fn judge_pool(&mut self, name: &str, kinds: &[&str], why: &str) -> Result<Option<PoolFacts>, VirshError> {
        match facts::pool(self.virsh, name) {
            Ok(Some(facts)) if kinds.contains(&facts.kind.as_str()) => return Ok(Some(facts)),
            Ok(Some(facts)) => self.refuse(format!(
                "pool {name} is of kind {}; {why}, which takes a pool of kind {}",
                facts.kind,
                listed(kinds)
            )),
            Ok(None) => {
                self.refuse(format!("pool {name} is not active; start it with `virsh pool-start {name}`"))
            }
            Err(error) => {
                self.note(error, "`virsh pool-list --all` lists the pools there are")?;
            }
        }
        Ok(None)
    }

    fn judge_network(&mut self) -> Result<(), VirshError> {
        let name = &self.plan.network;
        match facts::network_is_active(self.virsh, name) {
            Ok(true) => {}
            Ok(false) => {
                self.refuse(format!("network {name} is not active; start it with `virsh net-start {name}`"));
            }
            Err(error) => self.note(error, "`virsh net-list --all` lists the networks there are")?,
        }
        Ok(())
    }
}

fn listed(names: &[&str]) -> String {
    if names.is_empty() { "nothing".to_owned() } else { names.join(", ") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pool_of_all_hypervisors_must_have_space_for_all_machines() {
        let share = |node: u32, source: &str, machines| Share {
            uri: format!("qemu+ssh://node{node}/system"),
            source: source.into(),
            available_bytes: 1000 << 30,
            machines,
            each_bytes: 300 << 30,
        };
        let shares = [share(1, "nfs1:/dut", 2), share(2, "nfs2:/dut", 3), share(3, "nfs1:/dut", 2)];
        assert_eq!(
            judge_shared("dut", &shares),
            [
                "qemu+ssh://node1/system, qemu+ssh://node3/system: pool dut has 1000GiB free; 4 machines with 300GiB \
              each need 1200GiB (it is nfs1:/dut for all of them)"
            ]
        );
        assert!(judge_shared("dut", &shares[..2]).is_empty());
        let fits = [share(1, "nfs1:/dut", 2), share(2, "nfs1:/dut", 1)];
        assert!(judge_shared("dut", &fits).is_empty());
    }
}
