//! Which drive it is, and how it is attached.

use std::fs;
use std::path::Path;

use super::attributes::{Attributes, text_in};
use super::below::is_of_class;
use crate::protocol::facts::{DeviceFacts, PcieLink};

/// Bytes before the serial number in a SCSI disk's page 0x80.
const PAGE_HEADER: usize = 4;

/// Fills in who a disk is. `attributes` are those of the disk's folder.
pub(super) fn identify(disk: &Path, attributes: &mut Attributes, facts: &mut DeviceFacts) {
    let vendor = attributes.text("device/vendor");
    let is_ata = vendor.as_deref() == Some("ATA");
    facts.transport = transport(disk, is_ata);
    // The kernel's library for ATA stands in for a vendor, and virtio has a number.
    facts.vendor = vendor.filter(|vendor| !is_ata && !vendor.starts_with("0x"));
    facts.model = attributes.first_text(&["device/model", "device/name"]);
    facts.firmware = attributes.first_text(&["device/firmware_rev", "device/rev", "device/fwrev"]);
    facts.serial = attributes.first_text(&["device/serial", "serial"]).or_else(|| page_80(attributes));
    facts.wwid = attributes.first_text(&["wwid", "device/wwid"]);
    facts.queue_depth = attributes.number("device/queue_depth").or_else(|| {
        // One less than the commands that a queue holds.
        attributes.number::<u32>("device/sqsize").and_then(|size| size.checked_add(1))
    });
    facts.pcie = nearest(disk, |folder| folder.join("current_link_speed").exists()).and_then(link);
    let node = nearest(disk, |folder| folder.join("numa_node").exists());
    facts.numa_node = node.and_then(|folder| text_in(folder, "numa_node")?.parse().ok());
}

/// A SCSI disk's serial number, as its page 0x80 holds it.
fn page_80(attributes: &mut Attributes) -> Option<String> {
    let page = attributes.bytes("device/vpd_pg80")?;
    let serial = String::from_utf8_lossy(page.get(PAGE_HEADER..)?)
        .trim_matches(|c: char| c.is_whitespace() || c == '\0')
        .to_owned();
    (!serial.is_empty()).then_some(serial)
}

/// How a disk is attached, told by what it hangs from in /sys.
fn transport(disk: &Path, is_ata: bool) -> Option<String> {
    let hangs_from = |class: &str| nearest(disk, |folder| is_of_class(folder, class)).is_some();
    let is_below = |beginning: &str| {
        disk.components()
            .any(|part| part.as_os_str().to_str().is_some_and(|name| name.starts_with(beginning)))
    };
    let name = if let Some(fabric) = nvme_transport(disk) {
        return Some(match fabric.as_str() {
            "pcie" => "nvme".to_owned(),
            other => format!("nvme-{other}"),
        });
    } else if hangs_from("usb") {
        "usb"
    } else if is_ata {
        "sata"
    } else if is_below("end_device-") {
        "sas"
    } else if is_below("rport-") {
        "fc"
    } else if is_below("session") {
        "iscsi"
    } else if hangs_from("virtio") {
        "virtio"
    } else if hangs_from("xen") {
        "xen"
    } else if hangs_from("mmc") {
        "mmc"
    } else if hangs_from("scsi") {
        "scsi"
    } else {
        return None;
    };
    Some(name.to_owned())
}

/// The transport of an NVMe disk's controller; of several, that of the first.
fn nvme_transport(disk: &Path) -> Option<String> {
    let device = fs::canonicalize(disk.join("device")).ok()?;
    let own = text_in(&device, "transport");
    let is_controller = |folder: &Path| is_of_class(folder, "nvme");
    own.filter(|_| is_controller(&device)).or_else(|| {
        let mut controllers: Vec<_> = fs::read_dir(&device)
            .ok()?
            .flatten()
            .map(|entry| entry.path())
            .filter(|p| is_controller(p))
            .collect();
        controllers.sort();
        text_in(controllers.first()?, "transport")
    })
}

/// The PCI Express link of a device; `None` where there is none to speak of.
fn link(folder: &Path) -> Option<PcieLink> {
    let text = |entry: &str| text_in(folder, entry).filter(|text| !text.starts_with("Unknown"));
    let width = |entry: &str| text(entry)?.parse().ok().filter(|width| *width > 0);
    Some(PcieLink {
        speed: text("current_link_speed")?,
        width: width("current_link_width")?,
        max_speed: text("max_link_speed")?,
        max_width: width("max_link_width")?,
    })
}

/// The nearest folder from the disk's upwards for which something holds.
fn nearest(disk: &Path, holds: impl Fn(&Path) -> bool) -> Option<&Path> {
    disk.ancestors().skip(1).take_while(|folder| !folder.ends_with("devices")).find(|folder| holds(folder))
}
