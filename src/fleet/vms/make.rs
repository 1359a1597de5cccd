//! Makes the machines: volumes, seed, domain; then waits for each (`boot`).

use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use super::boot::{self, Booted};
use super::check::Checked;
use super::domain::Domain;
use super::facts::{self, VolumeFacts};
use super::keys::{self, KeyPair, SshTarget};
use super::seed::Seed;
use super::state::{self, Inventory, MachineRecord, Record, StateError, VolumeRecord};
use super::unsure::{SETTLE, Unsure};
use super::virsh::{Virsh, VirshError};
use super::{Request, Stage, VmsError, Watch};

/// Longest wait for a volume with all its space: a pool that must write zeros takes its time.
const ALLOCATION: Duration = Duration::from_secs(6 * 3600);
/// Longest wait for a small volume to be written.
const UPLOAD: Duration = Duration::from_secs(120);
/// Nominal size of the console's log, which grows as it likes.
const CONSOLE_BYTES: u64 = 64 << 10;

/// Positions of a machine's volumes in its record; the spare disk, if any, comes last.
const SYSTEM: usize = 0;
const SEED: usize = 1;
const CONSOLE: usize = 2;
const DATA: usize = 3;
const SPARE: usize = 4;

/// What came of it.
#[derive(Debug)]
pub struct Ready {
    /// ssh's configuration for all machines.
    pub ssh_config: PathBuf,
    /// What the user should know.
    pub warnings: Vec<String>,
}

/// Names of everything that a run will make.
///
/// # Errors
/// Without a source of random numbers.
pub fn inventory(request: &Request<'_>) -> Result<Inventory, VmsError> {
    let path = Path::new("/dev/urandom");
    let mut random = [0_u8; 4];
    File::open(path)
        .and_then(|mut file| file.read_exact(&mut random))
        .map_err(|source| StateError::File { path: path.to_owned(), source })?;
    let tag = format!("{:08x}", u32::from_be_bytes(random));
    let plan = request.libvirt;
    let machines = request.machines().map(|(host, hypervisor)| {
        let domain = format!("{}{host}", state::prefix(&tag));
        let mut parts = vec![
            (&plan.image_pool, "system.qcow2"),
            (&plan.image_pool, "seed.img"),
            (&plan.image_pool, "console.log"),
            (&plan.pool, "data.img"),
        ];
        if plan.spare_disk_bytes > 0 {
            parts.push((&plan.pool, "spare.img"));
        }
        let volume = |(pool, part): (&String, &str)| VolumeRecord {
            pool: pool.clone(),
            name: format!("{domain}-{part}"),
        };
        let volumes = parts.into_iter().map(volume).collect();
        let uri = plan.hypervisors.get(hypervisor).cloned().unwrap_or_default();
        MachineRecord { host: host.to_owned(), uri, domain, volumes }
    });
    let machines = machines.collect();
    Ok(Inventory::new(tag, machines))
}

/// Makes everything that the inventory names.
///
/// # Errors
/// The first machine's reason, or the user's interrupt.
pub fn all(
    request: &Request<'_>,
    checked: &Checked,
    inventory: &Inventory,
    record: &Record,
    unsure: &Unsure,
    watch: &Watch<'_>,
) -> Result<Ready, VmsError> {
    let folder = record.make_keys()?;
    let key = keys::make(&folder, "key", watch.interrupted)?;
    let failed = AtomicBool::new(false);
    let stop = || (watch.interrupted)() || failed.load(Ordering::Relaxed);
    let watch = Watch { interrupted: &stop, progress: watch.progress };
    let results: Vec<Result<Booted, VmsError>> = thread::scope(|scope| {
        let machines = inventory.machines.iter().zip(request.machines());
        let started: Vec<_> = machines
            .map(|(machine, (_, hypervisor))| {
                let tag = &inventory.tag;
                let site = Site { request, checked, hypervisor, machine, tag, folder: &folder, unsure };
                let (key, failed, watch) = (&key, &failed, &watch);
                scope.spawn(move || {
                    let result = site.make(key, watch);
                    failed.fetch_or(result.is_err(), Ordering::Relaxed);
                    result
                })
            })
            .collect();
        started.into_iter().map(|thread| thread.join().unwrap_or(Err(VmsError::Interrupted))).collect()
    });
    gather(&folder, &key, inventory, results)
}

fn gather(
    folder: &Path,
    key: &KeyPair,
    inventory: &Inventory,
    results: Vec<Result<Booted, VmsError>>,
) -> Result<Ready, VmsError> {
    let (booted, failures): (Vec<_>, Vec<_>) = results.into_iter().partition(Result::is_ok);
    // One machine's failure ends the others as an interrupt would; the failure is what matters.
    let mut failures: Vec<VmsError> = failures.into_iter().filter_map(Result::err).collect();
    failures.sort_by_key(VmsError::is_interrupt);
    if let Some(failure) = failures.into_iter().next() {
        return Err(if failure.is_interrupt() { VmsError::Interrupted } else { failure });
    }
    let booted: Vec<Booted> = booted.into_iter().flatten().collect();
    let targets: Vec<SshTarget<'_>> = inventory
        .machines
        .iter()
        .zip(&booted)
        .map(|(machine, booted)| SshTarget {
            host: &machine.host,
            address: &booted.address,
            uri: &machine.uri,
            host_key: &booted.host_key,
        })
        .collect();
    let ssh_config = keys::write_config(folder, "config", key, &targets)?;
    Ok(Ready { ssh_config, warnings: booted.into_iter().filter_map(|booted| booted.warning).collect() })
}

/// Where and from what one machine is made.
#[derive(Clone, Copy)]
pub(super) struct Site<'a> {
    pub(super) request: &'a Request<'a>,
    checked: &'a Checked,
    hypervisor: usize,
    pub(super) machine: &'a MachineRecord,
    tag: &'a str,
    pub(super) folder: &'a Path,
    unsure: &'a Unsure,
}

impl<'a> Site<'a> {
    fn make(&self, key: &KeyPair, watch: &Watch<'_>) -> Result<Booted, VmsError> {
        let host = self.machine.host.as_str();
        (watch.progress)(host, &Stage::MakingDisks);
        let host_key = keys::make(self.folder, &format!("{host}.hostkey"), watch.interrupted)?;
        self.make_volumes(key, &host_key, watch)?;
        (watch.progress)(host, &Stage::Starting);
        self.start(watch)?;
        boot::wait(self, key, &host_key, watch)
    }

    /// libvirt on this machine's hypervisor.
    pub(super) fn virsh<'w>(&self, watch: &Watch<'w>) -> Virsh<'w>
    where
        'a: 'w,
    {
        Virsh { uri: &self.machine.uri, interrupted: watch.interrupted }
    }

    /// libvirt for calls that make something: they are short, and one cut short might make it all the same, after
    /// it was looked for in vain.
    fn unhurried(&self) -> Virsh<'a> {
        Virsh { uri: &self.machine.uri, interrupted: &|| false }
    }

    fn volume(&self, which: usize) -> Option<&'a VolumeRecord> {
        self.machine.volumes.get(which)
    }

    fn facts(&self, which: usize, watch: &Watch<'_>) -> Result<Option<VolumeFacts>, VirshError> {
        let virsh = Virsh { uri: &self.machine.uri, interrupted: watch.interrupted };
        self.volume(which).map(|volume| facts::volume(virsh, &volume.pool, &volume.name)).transpose()
    }

    fn make_volumes(&self, key: &KeyPair, host_key: &KeyPair, watch: &Watch<'_>) -> Result<(), VmsError> {
        let plan = self.request.libvirt;
        let image = self.checked.hypervisor(self.hypervisor).map(|hypervisor| &hypervisor.image);
        if let Some(image) = image {
            let backing =
                ["--backing-vol", plan.image_volume.as_str(), "--backing-vol-format", &image.format];
            let size = plan.system_disk_bytes.max(image.capacity_bytes);
            self.create(SYSTEM, size, &[&["--format", "qcow2"], &backing[..]].concat())?;
        }
        let seed = self.seed(key, host_key)?;
        self.create(SEED, seed.len() as u64, &["--format", "raw"])?;
        self.upload(SEED, &seed)?;
        self.create(CONSOLE, CONSOLE_BYTES, &["--format", "raw", "--allocation", "0"])?;
        self.allocate(DATA, plan.data_disk_bytes, watch)?;
        self.allocate(SPARE, plan.spare_disk_bytes, watch)
    }

    fn create(&self, which: usize, bytes: u64, more: &[&str]) -> Result<(), VmsError> {
        let Some(VolumeRecord { pool, name }) = self.volume(which) else { return Ok(()) };
        let size = bytes.to_string();
        let call = ["vol-create-as", pool.as_str(), name.as_str(), size.as_str()];
        let made = self.unhurried().ask(&[&call, more].concat());
        self.unsure.settle(made, || self.volume_shows(which))?;
        Ok(())
    }

    fn volume_shows(&self, which: usize) -> bool {
        self.volume(which).is_some_and(|VolumeRecord { pool, name }| {
            self.unhurried().volumes(pool).is_ok_and(|there| there.contains(name))
        })
    }

    /// A raw volume with all its space: the first write to a block must cost what later ones cost.
    fn allocate(&self, which: usize, bytes: u64, watch: &Watch<'_>) -> Result<(), VmsError> {
        let Some(VolumeRecord { pool, name }) = self.volume(which) else { return Ok(()) };
        let size = bytes.to_string();
        let call = ["vol-create-as", pool, name, &size, "--allocation", &size];
        let kind = facts::pool(self.virsh(watch), pool)?.map(|pool| pool.kind);
        // Volumes of other kinds of pools have no format.
        let is_file = kind.is_some_and(|kind| super::check::FILES.contains(&kind.as_str()));
        let format: &[&str] = if is_file { &["--format", "raw"] } else { &[] };
        // An interrupt waits until the volume shows, so that it is known what there is to remove.
        let heard = OnceLock::new();
        let interrupted = || {
            (watch.interrupted)()
                && (heard.get_or_init(Instant::now).elapsed() > SETTLE || self.volume_shows(which))
        };
        let virsh = Virsh { uri: &self.machine.uri, interrupted: &interrupted };
        let made = virsh.ask_within(&[&call, format].concat(), ALLOCATION);
        self.unsure.settle(made, || self.volume_shows(which))?;
        Ok(())
    }

    fn seed(&self, key: &KeyPair, host_key: &KeyPair) -> Result<Vec<u8>, VmsError> {
        let seed = Seed {
            host: &self.machine.host,
            instance: &self.machine.domain,
            authorized_key: &key.public,
            host_key: (&host_key.private, &host_key.public),
            filesystem: &self.request.libvirt.filesystem,
            target: self.request.target,
            packages: &self.request.libvirt.packages,
        };
        seed.image().map_err(|source| VmsError::Seed { host: self.machine.host.clone(), source })
    }

    /// By way of a private file, which holds the machine's own key.
    fn upload(&self, which: usize, bytes: &[u8]) -> Result<(), VmsError> {
        let Some(VolumeRecord { pool, name }) = self.volume(which) else { return Ok(()) };
        let path = self.folder.join(name);
        fs::write(&path, bytes).map_err(|error| refuse_file(&path, &error))?;
        let file = path.to_string_lossy();
        self.unhurried().ask_within(&["vol-upload", "--pool", pool, name, &file], UPLOAD)?;
        fs::remove_file(&path).map_err(|error| refuse_file(&path, &error))
    }

    fn start(&self, watch: &Watch<'_>) -> Result<(), VmsError> {
        let plan = self.request.libvirt;
        let fact = |which| self.facts(which, watch);
        let (Some(system), Some(seed), Some(console), Some(data)) =
            (fact(SYSTEM)?, fact(SEED)?, fact(CONSOLE)?, fact(DATA)?)
        else {
            return Ok(());
        };
        let spare = fact(SPARE)?;
        let domain = Domain {
            name: &self.machine.domain,
            tag: self.tag,
            accelerated: self.checked.hypervisor(self.hypervisor).is_some_and(|host| host.accelerated),
            vcpus: plan.vcpus,
            memory_bytes: plan.memory_bytes,
            network: &plan.network,
            system: &system,
            seed: &seed,
            console: &console,
            data: &data,
            spare: spare.as_ref(),
        };
        let path = self.folder.join(format!("{}.xml", self.machine.host));
        fs::write(&path, domain.xml()).map_err(|error| refuse_file(&path, &error))?;
        if (watch.interrupted)() {
            return Err(VmsError::Interrupted);
        }
        let name = &self.machine.domain;
        let is_listed = |more: &[&str]| {
            let list = self.unhurried().ask(&[&["list", "--name"], more].concat());
            list.is_ok_and(|names| names.lines().any(|line| line.trim() == name))
        };
        let defined = self.unhurried().ask(&["define", &path.to_string_lossy()]);
        self.unsure.settle(defined, || is_listed(&["--all"]))?;
        let started = self.unhurried().ask(&["start", name]);
        self.unsure.settle(started, || is_listed(&[]))?;
        Ok(())
    }

    /// Last lines of the machine's console, if it can be had.
    pub(super) fn console(&self) -> String {
        const LINES: usize = 12;
        let Some(VolumeRecord { pool, name }) = self.volume(CONSOLE) else { return String::new() };
        let path = self.folder.join(name);
        let file = path.to_string_lossy();
        // The pool's list has the size that the volume had when it was made.
        let _ = self.unhurried().ask(&["pool-refresh", pool]);
        if self.unhurried().ask(&["vol-download", "--pool", pool, name, &file]).is_err() {
            return String::new();
        }
        let bytes = fs::read(&path).unwrap_or_default();
        boot::last_lines(&String::from_utf8_lossy(&bytes), LINES)
    }
}

fn refuse_file(path: &Path, error: &io::Error) -> VmsError {
    VmsError::Keys { path: path.to_owned(), reason: error.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{InstancePlan, LibvirtPlan, Reach};

    #[test]
    fn every_name_carries_the_tag() {
        let libvirt = LibvirtPlan {
            hypervisors: vec!["qemu:///system".into(), "qemu+ssh://b/system".into()],
            image_pool: "images".into(),
            image_volume: "base.qcow2".into(),
            pool: "dut".into(),
            network: "lab".into(),
            vcpus: 1,
            memory_bytes: 1 << 30,
            system_disk_bytes: 0,
            spare_disk_bytes: 1,
            data_disk_bytes: 1,
            filesystem: "ext4".into(),
            packages: Vec::new(),
            boot_timeout_s: 60,
        };
        let instances = [0, 1].map(|hypervisor| InstancePlan {
            host: format!("vm{}", hypervisor + 1),
            reach: Reach::Libvirt { hypervisor },
        });
        let request = Request { libvirt: &libvirt, instances: &instances, target: "/srv" };
        let made = inventory(&request).unwrap();
        assert_ne!(made.tag, inventory(&request).unwrap().tag);
        let second = &made.machines[1];
        assert_eq!((second.uri.as_str(), second.host.as_str()), ("qemu+ssh://b/system", "vm2"));
        assert_eq!(second.domain, format!("drivestone-{}-vm2", made.tag));
        let names: Vec<String> = second.volumes.iter().map(|v| format!("{}/{}", v.pool, v.name)).collect();
        let expected = [
            "images/-system.qcow2",
            "images/-seed.img",
            "images/-console.log",
            "dut/-data.img",
            "dut/-spare.img",
        ];
        assert_eq!(names, expected.map(|part| part.replace('/', &format!("/{}", second.domain))));
    }

    #[test]
    fn a_failure_matters_more_than_the_interrupts_that_it_causes() {
        let folder = tempfile::tempdir().unwrap();
        let key = KeyPair { path: "k".into(), private: String::new(), public: String::new() };
        let inventory = Inventory::new("0123abcd".into(), Vec::new());
        let failure = || VmsError::Refused(vec!["no".into()]);
        let results = vec![Err(VmsError::Interrupted), Err(failure()), Err(VmsError::Interrupted)];
        let gathered = gather(folder.path(), &key, &inventory, results).unwrap_err();
        assert!(matches!(gathered, VmsError::Refused(_)));
    }
}
