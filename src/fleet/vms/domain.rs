//! The domain of one machine, as libvirt's XML.

use std::fmt::Write as _;

use super::facts::VolumeFacts;
use super::seed::DATA_SERIAL;

/// Namespace of the element that carries a run's tag.
pub const NAMESPACE: &str = "urn:drivestone:run";
/// Serial number of the disk that stays empty.
const SPARE_SERIAL: &str = "drivestone-spare";

/// What a machine consists of.
#[derive(Debug)]
pub struct Domain<'a> {
    /// Its name.
    pub name: &'a str,
    /// Mark of the run.
    pub tag: &'a str,
    /// Whether the hypervisor has KVM; else it emulates.
    pub accelerated: bool,
    /// Processors.
    pub vcpus: u32,
    /// Memory, bytes.
    pub memory_bytes: u64,
    /// Name of the network.
    pub network: &'a str,
    /// System disk, qcow2.
    pub system: &'a VolumeFacts,
    /// cloud-init's seed.
    pub seed: &'a VolumeFacts,
    /// What the guest prints on its first serial port goes here.
    pub console: &'a VolumeFacts,
    /// Disk for the dataset, raw.
    pub data: &'a VolumeFacts,
    /// A further disk that stays empty, raw.
    pub spare: Option<&'a VolumeFacts>,
}

impl Domain<'_> {
    /// The whole document.
    #[must_use]
    pub fn xml(&self) -> String {
        let (kind, cpu) =
            if self.accelerated { ("kvm", "\n  <cpu mode='host-passthrough'/>") } else { ("qemu", "") };
        let mut disks = disk("vda", self.system, "type='qcow2'", None, false);
        // Only without the host's page cache does the device under test answer, and not the host's memory. What the
        // guest discards keeps its space.
        let direct = "type='raw' cache='none' io='native' discard='ignore'";
        disks += &disk("vdb", self.data, direct, Some(DATA_SERIAL), false);
        disks += &disk("vdc", self.seed, "type='raw'", None, true);
        if let Some(spare) = self.spare {
            disks += &disk("vdd", spare, direct, Some(SPARE_SERIAL), false);
        }
        format!(
            "<domain type='{kind}'>
  <name>{name}</name>
  <title>drivestone run {tag}</title>
  <description>Made by drivestone for one run, and removed by it. `drivestone clean` lists what a crash left.</description>
  <metadata><run xmlns='{NAMESPACE}' tag='{tag}'/></metadata>
  <memory unit='b'>{memory}</memory>
  <vcpu>{vcpus}</vcpu>
  <os><type arch='x86_64' machine='q35'>hvm</type><boot dev='hd'/></os>
  <features><acpi/><apic/></features>{cpu}
  <clock offset='utc'/>
  <on_reboot>restart</on_reboot>
  <on_crash>destroy</on_crash>
  <devices>
{disks}    <interface type='network'><source network='{network}'/><model type='virtio'/></interface>
    <serial type='file'><source path='{console}'/><target port='0'/></serial>
    <channel type='unix'><target type='virtio' name='org.qemu.guest_agent.0'/></channel>
    <memballoon model='none'/>
    <rng model='virtio'><backend model='random'>/dev/urandom</backend></rng>
  </devices>
</domain>
",
            name = escaped(self.name),
            tag = escaped(self.tag),
            memory = self.memory_bytes,
            vcpus = self.vcpus,
            network = escaped(self.network),
            console = escaped(&self.console.path),
        )
    }
}

fn disk(target: &str, volume: &VolumeFacts, driver: &str, serial: Option<&str>, read_only: bool) -> String {
    let (kind, attribute) = if volume.is_block { ("block", "dev") } else { ("file", "file") };
    let mut text = format!(
        "    <disk type='{kind}' device='disk'><driver name='qemu' {driver}/><source {attribute}='{}'/>\
         <target dev='{target}' bus='virtio'/>",
        escaped(&volume.path)
    );
    if let Some(serial) = serial {
        let _ = write!(text, "<serial>{serial}</serial>");
    }
    if read_only {
        text += "<readonly/>";
    }
    text + "</disk>\n"
}

/// Text as an attribute or element may hold it.
#[must_use]
pub fn escaped(text: &str) -> String {
    text.chars().fold(String::new(), |mut into, character| {
        match character {
            '&' => into += "&amp;",
            '<' => into += "&lt;",
            '>' => into += "&gt;",
            '\'' => into += "&apos;",
            '"' => into += "&quot;",
            other => into.push(other),
        }
        into
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn volume(path: &str, is_block: bool) -> VolumeFacts {
        VolumeFacts { path: path.to_owned(), is_block, format: "raw".to_owned(), capacity_bytes: 1 }
    }

    #[test]
    fn a_domain_reads_as_asked() {
        let file = |name: &str| volume(&format!("/pool/{name}"), false);
        let (system, seed, console) = (file("system.qcow2"), file("seed.img"), file("console.log"));
        let (data, spare) = (volume("/dev/vg/data", true), file("spare.img"));
        let domain = Domain {
            name: "drivestone-0123abcd-vm1",
            tag: "0123abcd",
            accelerated: true,
            vcpus: 4,
            memory_bytes: 8 << 30,
            network: "lab",
            system: &system,
            seed: &seed,
            console: &console,
            data: &data,
            spare: Some(&spare),
        };
        insta::assert_snapshot!(domain.xml());
    }

    proptest! {
        #[test]
        fn any_path_survives_as_it_is(path in "[ -~äß]{1,40}") {
            let text = disk("vdb", &volume(&path, false), "type='raw'", None, false);
            let document = roxmltree::Document::parse(&text).unwrap();
            let source = document.descendants().find(|node| node.has_tag_name("source")).unwrap();
            prop_assert_eq!(source.attribute("file"), Some(path.as_str()));
        }
    }
}
