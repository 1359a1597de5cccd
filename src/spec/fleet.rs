//! Instances on other hosts, machines that libvirt makes, and observers.

use std::str::FromStr;

use serde::{Deserialize, Deserializer};

use super::count::Count;
use super::duration::DurationSpec;
use super::error::SpecError;
use super::hardware::HardwareSpec;
use super::list::{deserialize_list, placed, refuse_repeated};
use super::names::{HostName, HypervisorUri, LibvirtName, PackageName, ssh_host};
use super::size::ByteSize;
use super::source::Source;
use super::text::{ValueError, deserialize_text, quoted};

/// Most instances, and most observers.
pub const MOST_HOSTS: usize = 64;
/// Most machines of a hypervisor.
pub const MOST_MACHINES_EACH: usize = 4;
/// Machines that libvirt makes.
pub type Machines = Count<u32, 1, { MOST_HOSTS as u64 }, 16>;
/// Virtual processors of a machine.
pub type Vcpus = Count<u32, 1, 512, 16>;
/// No server boots in less, bytes.
pub const LEAST_MEMORY_BYTES: u64 = 256 << 20;

/// Where the instances live: exactly one of `hosts` and `libvirt` is given.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct InstancesSpec {
    /// Hosts that are there, by ssh's name of them.
    #[serde(default, deserialize_with = "hosts")]
    pub hosts: Option<Vec<HostName>>,
    /// Machines that are made for the run.
    #[serde(default)]
    pub libvirt: Option<LibvirtSpec>,
    /// What becomes of instances that a run does not need.
    #[serde(default)]
    pub idle: IdleSpec,
    /// Run on instances that differ in processors, memory, device or server version.
    #[serde(default)]
    pub allow_unequal: bool,
    /// Leave the program on the hosts.
    #[serde(default)]
    pub keep_binary: bool,
}

/// What becomes of instances that a run does not need.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum IdleSpec {
    /// Their servers stay up.
    #[default]
    Leave,
    /// Their servers are stopped.
    Stop,
}

/// Machines that are made for the run.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LibvirtSpec {
    /// Connection URIs; machines go round them in turn.
    #[serde(deserialize_with = "hypervisors")]
    pub hypervisors: Vec<HypervisorUri>,
    /// How many machines.
    pub machines: Machines,
    /// The base image.
    pub image: ImageSpec,
    /// The storage pool that is the device under test.
    pub pool: LibvirtName,
    /// Name of the network.
    pub network: LibvirtName,
    /// Processors of each machine.
    pub vcpus: Vcpus,
    /// Memory of each machine.
    pub memory: ByteSize,
    /// Its disks.
    pub disks: DisksSpec,
    /// Filesystem made on the data disk.
    #[serde(default)]
    pub filesystem: FilesystemSpec,
    /// Packages to install at the first boot.
    #[serde(default, deserialize_with = "packages")]
    pub packages: Vec<PackageName>,
    /// Longest wait for a machine's ssh, above zero.
    #[serde(default = "default_boot_timeout")]
    pub boot_timeout: DurationSpec,
}

/// The base image.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ImageSpec {
    /// Storage pool that holds it.
    pub pool: LibvirtName,
    /// Its volume.
    pub volume: LibvirtName,
}

/// Disks of a machine.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DisksSpec {
    /// System disk; the image's own size if not given.
    #[serde(default)]
    pub system: Option<ByteSize>,
    /// A further disk on the pool, which stays empty.
    #[serde(default)]
    pub spare: Option<ByteSize>,
    /// The disk that the dataset lies on.
    pub data: ByteSize,
}

/// Filesystem of the data disk.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FilesystemSpec {
    /// ext4.
    #[default]
    Ext4,
    /// XFS.
    Xfs,
}

impl FilesystemSpec {
    /// Every choice.
    pub const ALL: [Self; 2] = [Self::Ext4, Self::Xfs];

    /// Its name, as `mount` has it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Ext4 => "ext4",
            Self::Xfs => "xfs",
        }
    }
}

/// A host that only samples.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ObserverSpec {
    /// Its name, as the user's ssh configuration knows it.
    pub host: HostName,
    /// A directory on the device to watch, or the device itself.
    #[serde(deserialize_with = "absolute_path")]
    pub device: String,
}

/// What the journal calls the `n`th machine that is made, counted from 0.
#[must_use]
pub fn machine_name(n: usize) -> String {
    format!("vm{}", n + 1)
}

/// Whether one of so many machines is called so.
#[must_use]
pub fn is_machine_name(name: &str, machines: usize) -> bool {
    (0..machines).any(|n| machine_name(n) == name)
}

/// Whether a text is a path that means the same in every working directory.
#[must_use]
pub fn is_absolute_path(text: &str) -> bool {
    text.starts_with('/') && !text.chars().any(char::is_control)
}

/// Checks what no single field can.
pub(super) fn check(spec: &HardwareSpec, source: &Source) -> Result<(), SpecError> {
    if let Some(instances) = &spec.instances {
        check_instances(instances, source)?;
        check_paths(spec, source)?;
    }
    check_observers(spec, source)
}

fn refuse(source: &Source, field: &str, message: String) -> Result<(), SpecError> {
    Err(SpecError::Refused { place: Box::new(source.place(field)), message })
}

fn check_instances(instances: &InstancesSpec, source: &Source) -> Result<(), SpecError> {
    match (&instances.hosts, &instances.libvirt) {
        (Some(hosts), None) if hosts.len() > MOST_HOSTS => refuse(
            source,
            "instances.hosts",
            format!("{} hosts are listed; write at most {MOST_HOSTS}", hosts.len()),
        ),
        (Some(_), None) => Ok(()),
        (None, Some(libvirt)) => check_libvirt(libvirt, source),
        (Some(_), Some(_)) => refuse(
            source,
            "instances.libvirt",
            "instances.hosts is given as well; keep `hosts` for machines that are there, or `libvirt` for \
             machines made for the run"
                .to_owned(),
        ),
        (None, None) => refuse(
            source,
            "instances",
            "has neither `hosts` nor `libvirt`; write `hosts: [vm1, vm2]` for machines that are there, a \
             section `libvirt:` for machines made for the run, or no `instances` for this machine"
                .to_owned(),
        ),
    }
}

fn check_hypervisors(libvirt: &LibvirtSpec, source: &Source) -> Result<(), SpecError> {
    let field = "instances.libvirt.hypervisors";
    if libvirt.hypervisors.len() > MOST_HOSTS {
        let message =
            format!("{} hypervisors are listed; write at most {MOST_HOSTS}", libvirt.hypervisors.len());
        return refuse(source, field, message);
    }
    let hypervisors = || placed(source, field, &libvirt.hypervisors);
    refuse_repeated(hypervisors().map(|(place, uri)| (place, uri.as_str())))?;
    let machines = libvirt.machines.get() as usize;
    for (place, uri) in hypervisors() {
        // ssh would go to the machine of that name by way of itself.
        if let Some(host) = ssh_host(uri.as_str()).filter(|host| is_machine_name(host, machines)) {
            let message = format!(
                "{} is what a machine made for the run is called; give the hypervisor another alias in your ssh \
                 configuration",
                quoted(host)
            );
            return Err(SpecError::Refused { place: Box::new(place), message });
        }
    }
    Ok(())
}

fn check_libvirt(libvirt: &LibvirtSpec, source: &Source) -> Result<(), SpecError> {
    check_hypervisors(libvirt, source)?;
    let (machines, hosts) = (libvirt.machines.get() as usize, libvirt.hypervisors.len());
    if machines > MOST_MACHINES_EACH * hosts {
        let each = machines.div_ceil(hosts);
        return refuse(
            source,
            "instances.libvirt.machines",
            format!(
                "`{machines}` machines over {hosts} hypervisors are {each} on one, where the published method runs \
                 at most {MOST_MACHINES_EACH}: with more they wait for the hypervisor's processors, not for storage; \
                 write at most {}, or add hypervisors",
                MOST_MACHINES_EACH * hosts
            ),
        );
    }
    if libvirt.memory.bytes() < LEAST_MEMORY_BYTES {
        return refuse(
            source,
            "instances.libvirt.memory",
            format!("`{}` is too little to boot; write at least 256MiB", libvirt.memory),
        );
    }
    if libvirt.boot_timeout.seconds() == 0 {
        return refuse(
            source,
            "instances.libvirt.boot_timeout",
            "`0s` is too short; write for example 5min".to_owned(),
        );
    }
    Ok(())
}

/// A relative path counts from this machine's working directory, which other hosts do not have.
fn check_paths(spec: &HardwareSpec, source: &Source) -> Result<(), SpecError> {
    let paths = [("device.path", Some(&spec.device.path)), ("server.program", spec.server.program.as_ref())];
    for (field, path) in paths {
        if let Some(path) = path.filter(|path| !path.starts_with('/')) {
            let message = format!(
                "{} counts from the working directory, which the hosts of `instances` do not have; write a path \
                 that begins with /",
                quoted(path)
            );
            return refuse(source, field, message);
        }
    }
    Ok(())
}

/// A host appears once: its name is what its events are filed under.
fn check_observers(spec: &HardwareSpec, source: &Source) -> Result<(), SpecError> {
    if spec.observers.len() > MOST_HOSTS {
        let message = format!("{} observers are listed; write at most {MOST_HOSTS}", spec.observers.len());
        return refuse(source, "observers", message);
    }
    let hosts = spec.instances.as_ref().and_then(|instances| instances.hosts.as_deref()).unwrap_or_default();
    let instances = placed(source, "instances.hosts", hosts);
    let observers = spec.observers.iter().enumerate();
    let observers =
        observers.map(|(n, observer)| (source.item_place("observers", n, "host"), &observer.host));
    refuse_repeated(instances.chain(observers).map(|(place, host)| (place, host.as_str())))?;
    let libvirt = spec.instances.as_ref().and_then(|instances| instances.libvirt.as_ref());
    let made = libvirt.map_or(0, |libvirt| libvirt.machines.get() as usize);
    for (n, observer) in spec.observers.iter().enumerate() {
        if is_machine_name(observer.host.as_str(), made) {
            return Err(SpecError::Refused {
                place: Box::new(source.item_place("observers", n, "host")),
                message: format!(
                    "{} is what a machine made for the run is called; give the observer another alias in your ssh \
                     configuration",
                    quoted(observer.host.as_str())
                ),
            });
        }
    }
    Ok(())
}

fn default_boot_timeout() -> DurationSpec {
    DurationSpec::of_seconds(300)
}

fn hosts<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Vec<HostName>>, D::Error> {
    deserialize_list(deserializer, "a list of hosts as ssh knows them, for example [vm1, vm2]").map(Some)
}

fn hypervisors<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<HypervisorUri>, D::Error> {
    deserialize_list(deserializer, "a list of connection URIs, for example [qemu+ssh://root@node1/system]")
}

fn packages<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<PackageName>, D::Error> {
    deserialize_list(deserializer, "a list of packages, for example [mariadb-server-core]")
}

struct AbsolutePath(String);

impl FromStr for AbsolutePath {
    type Err = ValueError;

    fn from_str(text: &str) -> Result<Self, ValueError> {
        match is_absolute_path(text) {
            true => Ok(Self(text.to_owned())),
            false => Err(ValueError(format!(
                "{} is not a path on the observer; write a device or a directory on it, for example /dev/sdb",
                quoted(text)
            ))),
        }
    }
}

fn absolute_path<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    deserialize_text::<AbsolutePath, D>(deserializer, "a device or a directory on it, for example /dev/sdb")
        .map(|path| path.0)
}
