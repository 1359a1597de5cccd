//! `drivestone import`

use std::io::Read as _;
use std::path::{Path, PathBuf};

use super::arguments::Import as Arguments;
use super::exit::{self, Failure};
use super::output;
use super::run::{RESULTS, make_results_folder, refuse_missing_parent};
use crate::analysis::analyze;
use crate::report;
use crate::result::ResultError;
use crate::result::import::{IMPORT_FORMAT, Import};
use crate::sysbench;

/// More is no log that a person would report.
const LARGEST: u64 = 32 << 20;
/// Nor are so many lines, of which some may be parts that a terminal broke.
const MOST_LINES: usize = 1_000_000;

/// Reads a log of sysbench's into a result.
pub fn import(arguments: &Arguments) -> Result<(), Failure> {
    let file = arguments.log.display().to_string();
    let name = match &arguments.name {
        Some(name) => accepted(name)?,
        None => name_of(&arguments.log),
    };
    let folder = arguments.out.clone().unwrap_or_else(|| default_folder(&name));
    if folder.exists() {
        return Err(ResultError::Exists(folder).into());
    }
    if arguments.out.is_some() {
        refuse_missing_parent(&folder)?;
    }
    let bytes =
        read(&arguments.log).map_err(|error| Failure::new(exit::USAGE, format!("{file}: {error}")))?;
    // Nothing of a password may reach what is read from the log either.
    let blanked = sysbench::without_passwords(&bytes);
    let kept = blanked.as_deref().unwrap_or(&bytes);
    let mut log = sysbench::parse(&file, kept).map_err(|error| Failure::new(exit::USAGE, error))?;
    for run in &mut log.runs {
        run.test = run.test.take().or_else(|| arguments.workload.clone());
    }
    let import = Import {
        format: IMPORT_FORMAT,
        drivestone: env!("CARGO_PKG_VERSION").to_owned(),
        name,
        device: arguments.device.clone(),
        file,
        imported: jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
        log,
    };
    if arguments.out.is_none() {
        make_results_folder()?;
    }
    import.create(&folder, kept)?;
    if blanked.is_some() {
        output::note(
            "passwords on command lines and in SQL of the log were blanked in the copy that the result keeps",
        );
    }
    output::print(&report::render(report::Format::Table, &[analyze(&folder)?])?)?;
    output::print(&format!("\nResult: {}\n", folder.display()))
}

fn read(path: &Path) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    match path.to_str() {
        Some("-") => std::io::stdin().lock().take(LARGEST + 1).read_to_end(&mut bytes)?,
        // The system's own words end in a number that says nothing to a reader.
        _ if path.is_dir() => return Err(std::io::Error::other("is a folder; give the file of a log")),
        _ => std::fs::File::open(path)?.take(LARGEST + 1).read_to_end(&mut bytes)?,
    };
    within_bounds(&bytes)?;
    Ok(bytes)
}

/// Refuses what would take long to read and is no log of one benchmark.
fn within_bounds(log: &[u8]) -> std::io::Result<()> {
    let refuse = |what| Err(std::io::Error::other(format!("{what}; give the output of one benchmark")));
    let ends = || log.iter().filter(|byte| [b'\n', b'\r'].contains(byte));
    match () {
        () if log.len() as u64 > LARGEST => refuse("is larger than 32 MiB"),
        () if ends().nth(MOST_LINES).is_some() => refuse("has more than 1,000,000 lines"),
        () => Ok(()),
    }
}

/// The file's name without its ending.
fn name_of(log: &Path) -> String {
    match log.to_str() {
        Some("-") => "stdin".to_owned(),
        _ => match log.file_stem() {
            Some(stem) => stem.to_string_lossy().chars().take(50).collect(),
            None => "log".to_owned(),
        },
    }
}

/// The name becomes part of a folder's name.
fn accepted(name: &str) -> Result<String, Failure> {
    match name.is_empty() || name.contains(['/', '\0']) || name.len() > 100 {
        true => Err(Failure::new(
            exit::USAGE,
            format!("--name \"{name}\": a name of 1 to 100 bytes without slash was expected"),
        )),
        false => Ok(name.to_owned()),
    }
}

fn default_folder(name: &str) -> PathBuf {
    let utc = jiff::Timestamp::now().strftime("%Y%m%dT%H%M%SZ");
    Path::new(RESULTS).join(format!("{utc}-imported-{name}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_log_of_one_benchmark_is_refused() {
        let refused = |log: &[u8]| within_bounds(log).unwrap_err().to_string();
        assert!(refused(&vec![b'x'; (32 << 20) + 1]).starts_with("is larger than 32 MiB"));
        assert!(refused(&b"\n".repeat(1_000_001)).starts_with("has more than 1,000,000 lines"));
        assert!(within_bounds(&b"\n".repeat(1_000_000)).is_ok());
    }
}
