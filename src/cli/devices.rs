//! `drivestone devices`

mod argument;
mod columns;
mod stack;
mod tree;

use super::arguments::Devices;
use super::exit::Failure;
use super::output;
use crate::report::visible::visible;
use crate::telemetry::devices::BlockDevices;

pub use argument::{Found, find};

/// Shows all block devices, or what a path stands on.
pub fn devices(arguments: &Devices) -> Result<(), Failure> {
    let block_devices = BlockDevices::of_this_host();
    let text = match &arguments.what {
        None => {
            let mut tree = tree::Tree::of(&block_devices);
            if arguments.redact {
                tree.redact()?;
            }
            if arguments.json { json(&tree)? } else { tree.text() }
        }
        Some(what) => {
            let mut stack = stack::Stack::of(find(what, &block_devices)?);
            if arguments.redact {
                stack.redact()?;
            }
            if arguments.json { json(&stack)? } else { stack.text() }
        }
    };
    output::print(&visible(&text))
}

fn json(value: &impl serde::Serialize) -> Result<String, Failure> {
    let text = serde_json::to_string_pretty(value);
    text.map(|text| text + "\n").map_err(|error| Failure::new(super::exit::USAGE, error))
}
