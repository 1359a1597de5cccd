//! `drivestone clean`

use std::fmt::Write as _;

use super::arguments::Clean;
use super::exit::{self, Failure};
use super::output;
use crate::fleet::vms::VmsError;
use crate::fleet::vms::remove::{Remains, Removal};
use crate::fleet::vms::state::{self, Found, Inventory, MachineRecord, Record};

/// Lists what crashed runs left on hypervisors, and removes it when asked to.
pub fn clean(arguments: &Clean) -> Result<(), Failure> {
    let found = state::default_folder().and_then(|folder| state::find(&folder)).map_err(VmsError::from)?;
    if found.is_empty() {
        return output::print("no virtual machines of any run are left\n");
    }
    let mut failed = false;
    let mut left = false;
    for found in found {
        let outcome = match found {
            Ok(Found::Running(inventory)) => Ok(running(&inventory)),
            Ok(Found::Left(record, inventory)) if arguments.remove => remove(&record, &inventory),
            Ok(Found::Left(_, inventory)) => {
                left = true;
                list(&inventory)
            }
            Err(error) => Err(error.to_string()),
        };
        match outcome {
            Ok(text) => output::print(&text)?,
            Err(text) => {
                failed = true;
                output::error(&text);
            }
        }
    }
    if left {
        output::note("`drivestone clean --remove` removes this");
    }
    // The reasons have been told.
    if failed { Err(Failure::new(exit::PREPARING, "")) } else { Ok(()) }
}

fn running(inventory: &Inventory) -> String {
    let machines = inventory.machines.len();
    format!("run {}: still running, with {machines} machines; left alone\n", inventory.tag)
}

fn remove(record: &Record, inventory: &Inventory) -> Result<String, String> {
    let tag = &inventory.tag;
    let removed = Removal::of(inventory).carry_out().and_then(|()| Ok(record.erase()?));
    removed.map(|()| format!("run {tag}: removed\n")).map_err(|error| {
        let record = record.path().display();
        format!("run {tag}: {error}; what cannot be mended is forgotten by deleting {record}")
    })
}

/// What is there; as an error when a hypervisor could not be asked.
fn list(inventory: &Inventory) -> Result<String, String> {
    let looked = Removal::of(inventory).look();
    let mut text = format!("run {} ended without removing its machines:\n", inventory.tag);
    for (machine, remains) in inventory.machines.iter().zip(&looked) {
        match remains {
            Ok(remains) => text += &describe(machine, remains),
            Err(error) => {
                let _ = writeln!(text, "  {}: not known: {error}", machine.host);
            }
        }
    }
    if looked.iter().all(Result::is_ok) { Ok(text) } else { Err(text.trim_end().to_owned()) }
}

fn describe(machine: &MachineRecord, remains: &Remains) -> String {
    let mut things: Vec<String> = remains.domain.iter().map(|domain| format!("domain {domain}")).collect();
    things.extend(remains.volumes.iter().map(|(pool, volume)| format!("volume {volume} in pool {pool}")));
    let things = if things.is_empty() { "nothing".to_owned() } else { things.join("\n    ") };
    format!("  {} on {}:\n    {things}\n", machine.host, machine.uri)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fleet::vms::state::VolumeRecord;

    #[test]
    fn what_is_left_is_named() {
        let machine = MachineRecord {
            host: "vm1".into(),
            uri: "qemu:///system".into(),
            domain: "drivestone-0123abcd-vm1".into(),
            volumes: vec![VolumeRecord {
                pool: "dut".into(),
                name: "drivestone-0123abcd-vm1-data.img".into(),
            }],
        };
        let remains = Remains {
            domain: Some(machine.domain.clone()),
            volumes: vec![("dut".into(), "drivestone-0123abcd-vm1-data.img".into())],
        };
        insta::assert_snapshot!(describe(&machine, &remains), @r"
          vm1 on qemu:///system:
            domain drivestone-0123abcd-vm1
            volume drivestone-0123abcd-vm1-data.img in pool dut
        ");
        let nothing = Remains { domain: None, volumes: Vec::new() };
        assert!(describe(&machine, &nothing).ends_with("    nothing\n"));
    }
}
