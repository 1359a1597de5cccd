//! What people write: hardware profiles and test profiles, with the place of each mistake.
//!
//! A file becomes a tree whose nodes know where they were written; `--set key=value` replaces nodes
//! of that tree, and the tree is then read into the specs. So a value from the command line passes
//! the same checks as one from the file, and every message can name file, line and field.

mod count;
mod cpus;
mod duration;
mod error;
mod errors;
mod field;
mod fleet;
mod fraction;
mod hardware;
mod list;
mod load;
mod names;
mod overrides;
mod profile;
mod size;
mod source;
mod text;
mod tree;
mod tree_reader;
mod workload;
mod yaml;

use std::path::Path;

pub use count::Count;
pub use cpus::{CpuSetSpec, CpusSpec, HIGHEST_CPU};
pub use duration::DurationSpec;
pub use error::SpecError;
pub use errors::IgnoreErrorsSpec;
pub use fleet::{
    FilesystemSpec, IdleSpec, InstancesSpec, LEAST_MEMORY_BYTES, LibvirtSpec, MOST_HOSTS, MOST_MACHINES_EACH,
    ObserverSpec, Vcpus, is_absolute_path, is_machine_name, machine_name,
};
pub use hardware::{DeviceSpec, HardwareServerSpec, HardwareSpec, MemorySpec, is_name};
pub use load::{LOST_CONNECTIONS, LoadSpec, LossSpec, RampSpec, Rate, Threads};
pub use names::{HostName, is_host, is_hypervisor, is_object, ssh_host};
pub use profile::{ProfileSpec, ServerSpec, TransportSpec, is_variable};
pub use size::{ByteSize, PageSize, PoolSizeSpec};
pub use source::{Place, Source};
pub use text::ValueError;
pub use workload::{DatasetSpec, Ids, KeyName, LoadSettingsSpec, Rows, Tables, Times, WorkloadSpec};

use overrides::Override;
use tree::Node;
use tree_reader::Refusal;

/// A spec and the text that it was read from.
#[derive(Debug, Clone)]
pub struct Document<T> {
    /// What was read.
    pub spec: T,
    /// Where it was written, for messages of later stages.
    pub source: Source,
}

/// Reads a hardware profile from a file.
///
/// # Errors
/// The first mistake found, with its place.
pub fn read_hardware(path: &Path) -> Result<Document<HardwareSpec>, SpecError> {
    parse_hardware(&path.display().to_string(), &source::read_text(path)?)
}

/// Reads a test profile from a file and applies `key=value` overrides in order.
///
/// # Errors
/// The first mistake found, with its place.
pub fn read_profile(path: &Path, overrides: &[String]) -> Result<Document<ProfileSpec>, SpecError> {
    parse_profile(&path.display().to_string(), &source::read_text(path)?, overrides)
}

/// Reads a hardware profile from its text; `file` is the name that messages show.
///
/// # Errors
/// The first mistake found, with its place.
pub fn parse_hardware(file: &str, text: &str) -> Result<Document<HardwareSpec>, SpecError> {
    let source = Source::new(file, text);
    let tree = yaml::parse(&source)?;
    let spec = read_tree(&tree, &source)?;
    let source = source.with_fields(&tree);
    fleet::check(&spec, &source)?;
    Ok(Document { spec, source })
}

/// Reads a test profile from its text and applies `key=value` overrides in order.
///
/// # Errors
/// The first mistake found, with its place.
pub fn parse_profile(
    file: &str,
    text: &str,
    overrides: &[String],
) -> Result<Document<ProfileSpec>, SpecError> {
    let source = Source::new(file, text);
    let mut tree = yaml::parse(&source)?;
    let overrides =
        overrides.iter().map(|argument| Override::parse(argument)).collect::<Result<Vec<_>, _>>()?;
    for change in &overrides {
        change.apply(&mut tree);
        // A later override may hide this one, but it is recorded and must make sense.
        if let Err(refusal) = read::<ProfileSpec>(&tree)
            && refusal.is_about_an_override()
        {
            return Err(refusal.into_error(&source));
        }
    }
    let mut spec: ProfileSpec = read_tree(&tree, &source)?;
    spec.overrides = overrides.into_iter().map(|change| (change.key, change.value)).collect();
    let source = source.with_fields(&tree);
    profile::check(&spec, &source)?;
    Ok(Document { spec, source })
}

fn read<'tree, T: serde::Deserialize<'tree>>(tree: &'tree Node) -> Result<T, Refusal> {
    T::deserialize(tree).map_err(|refusal| refusal.at(&tree.origin))
}

fn read_tree<'tree, T: serde::Deserialize<'tree>>(
    tree: &'tree Node,
    source: &Source,
) -> Result<T, SpecError> {
    read(tree).map_err(|refusal| refusal.into_error(source))
}

#[cfg(test)]
mod tests;
