//! What a path stands on, from the device mounted there down to the disks.

use std::path::Path;

use serde::Serialize;

use super::argument::Found;
use super::columns::{align, what};
use crate::cli::exit::{self, Failure};
use crate::protocol::facts::{DeviceFacts, MountFacts};
use crate::protocol::sample::DiskCounters;
use crate::report::number;
use crate::result::redact::Redaction;
use crate::telemetry::diskstats::DiskReader;

/// A device of the stack, with what it has moved since boot.
#[derive(Debug, Serialize)]
struct Layer {
    #[serde(flatten)]
    device: DeviceFacts,
    /// It is the headline device, or another layer, or a leaf.
    role: Role,
    /// Bytes read since boot; `None` where the kernel does not count them.
    read_bytes: Option<u64>,
    /// Bytes written since boot.
    written_bytes: Option<u64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum Role {
    Headline,
    Layer,
    Leaf,
}

/// The stack below a path.
#[derive(Debug, Serialize)]
pub struct Stack {
    path: String,
    mount: Option<MountFacts>,
    devices: Vec<Layer>,
    /// Bytes that all leaves together have read for each byte of the headline since boot; `None` when that read
    /// nothing, or is a leaf itself.
    read_multiplication: Option<f64>,
    /// The same of bytes written.
    write_multiplication: Option<f64>,
}

impl Stack {
    /// Of what was found, with the counters as they are now.
    pub fn of(found: Found) -> Self {
        let numbers: Vec<String> = found.devices.iter().map(|device| device.number.clone()).collect();
        let mut reader = DiskReader::new(Path::new("/proc"), numbers);
        // Without the file nothing is known of any device, which is what the empty reading says.
        let _ = reader.take();
        let counters = reader.reading().disks;
        let layers = found.devices.into_iter().enumerate().map(|(place, device)| {
            let own = counters.iter().find(|disk| disk.number == device.number);
            let bytes = |sectors: fn(&DiskCounters) -> u64| own.map(|disk| sectors(disk).saturating_mul(512));
            Layer {
                role: match place {
                    0 => Role::Headline,
                    _ if device.below.is_empty() => Role::Leaf,
                    _ => Role::Layer,
                },
                read_bytes: bytes(|disk| disk.reads.sectors_512),
                written_bytes: bytes(|disk| disk.writes.sectors_512),
                device,
            }
        });
        let devices: Vec<Layer> = layers.collect();
        Self {
            path: found.path.display().to_string(),
            read_multiplication: multiplication(&devices, |layer| layer.read_bytes),
            write_multiplication: multiplication(&devices, |layer| layer.written_bytes),
            mount: found.mount,
            devices,
        }
    }

    /// Takes serial numbers and world-wide names out.
    pub fn redact(&mut self) -> Result<(), Failure> {
        let redaction = Redaction::of_devices(self.devices.iter().map(|layer| &layer.device));
        let failed = |error| Failure::new(exit::USAGE, error);
        for layer in &mut self.devices {
            layer.device = redaction.apply(&layer.device).map_err(failed)?;
        }
        self.mount = redaction.apply(&self.mount).map_err(failed)?;
        Ok(())
    }

    /// For a terminal.
    pub fn text(&self) -> String {
        let mut text = match &self.mount {
            Some(mount) => format!(
                "{} is on {}, mounted at {} from {} ({})\n",
                self.path, mount.filesystem, mount.mount_point, mount.source, mount.options
            ),
            None => format!("{} is not mounted\n", self.path),
        };
        if let Some(mount) = self.mount.as_ref().filter(|mount| !mount.spread_over.is_empty()) {
            text += &format!("The filesystem spreads over {} as well.\n", mount.spread_over.join(", "));
        }
        text += "\n";
        let header = ["NAME", "ROLE", "KIND", "SIZE", "READ", "WRITTEN", "WHAT"].map(str::to_owned).to_vec();
        let rows = self.devices.iter().map(row);
        text += &align(&std::iter::once(header).chain(rows).collect::<Vec<_>>(), &[3, 4, 5]);
        if self.devices.len() > 1 {
            let times = |factor: Option<f64>| factor.map_or_else(|| "-".to_owned(), |f| format!("{f:.2}"));
            text += &format!(
                "\nSince boot the leaves read {} and wrote {} times the bytes of {}; what others did on them is in it.\n",
                times(self.read_multiplication),
                times(self.write_multiplication),
                self.devices[0].device.name
            );
        }
        for layer in &self.devices {
            for field in &layer.device.unreadable {
                text += &format!("{}: {} cannot be read: {}\n", layer.device.name, field.field, field.reason);
            }
        }
        text
    }
}

fn row(layer: &Layer) -> Vec<String> {
    let bytes =
        |bytes: Option<u64>| bytes.map_or_else(|| "-".to_owned(), |bytes| number::bytes(bytes as f64));
    let below = match layer.role {
        Role::Headline => "headline",
        Role::Layer => "layer",
        Role::Leaf => "leaf",
    };
    vec![
        layer.device.name.clone(),
        below.to_owned(),
        layer.device.kind.name().to_owned(),
        bytes(layer.device.size_bytes),
        bytes(layer.read_bytes),
        bytes(layer.written_bytes),
        what(&layer.device),
    ]
}

fn multiplication(layers: &[Layer], bytes: fn(&Layer) -> Option<u64>) -> Option<f64> {
    let (headline, below) = layers.split_first()?;
    let leaves: Vec<&Layer> = below.iter().filter(|layer| layer.role == Role::Leaf).collect();
    let sum: u64 = leaves.iter().map(|layer| bytes(layer)).sum::<Option<u64>>()?;
    let own = bytes(headline).filter(|bytes| *bytes > 0 && !leaves.is_empty())?;
    Some(sum as f64 / own as f64)
}
