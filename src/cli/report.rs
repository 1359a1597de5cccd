//! `drivestone report`

use std::path::Path;

use super::arguments::{Format, Report};
use super::exit::{self, Failure};
use super::output;
use crate::analysis::{ResultAnalysis, analyze};
use crate::report;

/// Reports results.
pub fn report(arguments: &Report) -> Result<(), Failure> {
    let results =
        arguments.results.iter().map(|path| Ok(analyze(path)?)).collect::<Result<Vec<_>, Failure>>()?;
    let format = match arguments.format {
        Format::Table => report::Format::Table,
        Format::Html => report::Format::Html,
        Format::Json => report::Format::Json,
    };
    match &arguments.out {
        None => output::print(&report::render(format, &results)?),
        Some(path) => write(path, format, &results),
    }
}

/// Writes one report into a file, whole or not at all.
pub fn write(path: &Path, format: report::Format, results: &[ResultAnalysis]) -> Result<(), Failure> {
    use std::io::Write as _;
    let text = report::render(format, results)?;
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let write = || -> std::io::Result<()> {
        if !std::fs::metadata(folder)?.is_dir() {
            return Err(std::io::ErrorKind::NotADirectory.into());
        }
        // Its error would name the temporary file, which nobody has heard of.
        let mut file = tempfile::Builder::new()
            .permissions(readable())
            .tempfile_in(folder)
            .map_err(|error| std::io::Error::from(error.kind()))?;
        file.write_all(text.as_bytes())?;
        file.as_file().sync_all()?;
        file.persist(path).map_err(|error| error.error)?;
        std::fs::File::open(folder)?.sync_all()
    };
    write().map_err(|error| Failure::new(exit::USAGE, format!("{}: {error}", path.display())))
}

/// Reports are for sharing; temporary files are private by default.
fn readable() -> std::fs::Permissions {
    use std::os::unix::fs::PermissionsExt as _;
    std::fs::Permissions::from_mode(0o644)
}
