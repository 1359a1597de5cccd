//! Wear and health of the drives below a directory, as `smartctl` and `nvme` tell them.
//!
//! They are tools of the system's and need root. What they do not tell stays unknown; a drive that tells nothing
//! is no failure, but it has a reason.

mod drives;
mod number;
pub mod nvme;
pub mod smartctl;
mod thermal;
mod tool;

use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use drives::Drive;
use nix::unistd::geteuid;

use super::devices::BlockDevices;
use crate::protocol::clock::monotonic_ns;
use crate::protocol::sample::{DriveHealth, HealthSample, SilentDrive};

/// Longest wait for one answer of one drive.
const ANSWER_LIMIT: Duration = Duration::from_secs(5);

/// Asks every drive at the bottom of what `target` is or is on, all at once, and waits no longer than `limit`.
#[must_use]
pub fn read(target: &Path, limit: Duration) -> HealthSample {
    let deadline = Instant::now() + limit;
    let sysfs = Path::new("/sys");
    let devices = BlockDevices::of_this_host();
    let headline = devices.mounts().device_of(target);
    let drives = headline.map(|number| drives::below(&devices, &number, sysfs)).unwrap_or_default();
    let tools = Tools::find(&drives);
    let answers: Vec<_> = thread::scope(|scope| {
        let asking: Vec<_> = drives.iter().map(|drive| scope.spawn(|| tools.ask(drive, deadline))).collect();
        asking.into_iter().map(thread::ScopedJoinHandle::join).collect()
    });
    let mut sample = HealthSample { at_ns: monotonic_ns(), ..HealthSample::default() };
    for (drive, answer) in drives.iter().zip(answers) {
        match answer.unwrap_or_else(|_| Err("asking it failed".to_owned())) {
            Ok(health) => sample.drives.push(DriveHealth { device: drive.name.clone(), ..health }),
            Err(reason) => sample.silent.push(SilentDrive { device: drive.name.clone(), reason }),
        }
    }
    sample.thermal_throttles = thermal::throttles(sysfs);
    sample
}

/// The tools that are there.
#[derive(Debug, Default)]
struct Tools {
    smartctl: Option<PathBuf>,
    nvme: Option<PathBuf>,
}

impl Tools {
    /// Looked for only if there is something to ask.
    fn find(drives: &[Drive]) -> Self {
        match drives.iter().all(|drive| drive.unasked.is_some()) {
            true => Self::default(),
            false => Self { smartctl: tool::find("smartctl"), nvme: tool::find("nvme") },
        }
    }

    /// What a drive tells.
    ///
    /// # Errors
    /// With the reason, when it tells nothing.
    fn ask(&self, drive: &Drive, deadline: Instant) -> Result<DriveHealth, String> {
        if let Some(reason) = &drive.unasked {
            return Err(reason.clone());
        }
        let file = drive.special_file()?;
        self.ask_by(drive, &file.to_string_lossy(), deadline)
    }

    fn ask_by(&self, drive: &Drive, file: &str, deadline: Instant) -> Result<DriveHealth, String> {
        let (mut health, mut refusals) = (DriveHealth::default(), Vec::new());
        let mut take = |answer: Result<DriveHealth, String>| match answer {
            Ok(told) => add(&mut health, told),
            Err(reason) => refusals.push(reason),
        };
        // The drive's own log comes first: it tells more of heat than smartctl passes on.
        if let Some(nvme) = self.nvme.as_deref().filter(|_| drive.is_nvme) {
            take(ask_nvme(nvme, drive, file, deadline));
        }
        if let Some(smartctl) = &self.smartctl {
            // A disk that sleeps is left alone; what a drive does not have of this is left out.
            let arguments = ["--json", "-n", "standby", "-a", "-l", "devstat", "-l", "ssd", file];
            let printed = tool::run(smartctl, &arguments, limited(deadline));
            // Its exit status tells of the drive's state; that it told nothing is seen in what it printed.
            take(printed.and_then(|printed| smartctl::parse(&printed.output)));
        }
        if !health.source.is_empty() {
            return Ok(health);
        }
        if refusals.is_empty() {
            let more = if drive.is_nvme { " or nvme-cli" } else { "" };
            return Err(format!("smartctl was not found there: install smartmontools{more}"));
        }
        let as_root = if geteuid().is_root() { "" } else { "; drives tell it to root alone" };
        Err(refusals.join("; ") + as_root)
    }
}

/// What nvme-cli reads of a drive: the log of every NVMe drive, and bytes written to NAND where it knows how.
fn ask_nvme(nvme: &Path, drive: &Drive, file: &str, deadline: Instant) -> Result<DriveHealth, String> {
    let printed = tool::run(nvme, &["smart-log", file, "-o", "json"], limited(deadline))?;
    let mut health = nvme::smart_log(&printed.output).ok_or_else(|| {
        printed.complaint.map_or_else(|| "nvme printed no log".to_owned(), |line| format!("nvme: {line}"))
    })?;
    "nvme smart-log".clone_into(&mut health.source);
    let ocp = tool::run(nvme, &["ocp", "smart-add-log", file, "-o", "json"], limited(deadline));
    let ocp = ocp.ok().and_then(|printed| nvme::ocp_log(&printed.output));
    let intels = || {
        let arguments = ["intel", "smart-log-add", file, "--json"];
        let printed = tool::run(nvme, &arguments, limited(deadline)).ok()?;
        Some(DriveHealth { source: "nvme intel".to_owned(), ..nvme::intel_log(&printed.output)? })
    };
    let of_nand = match ocp {
        Some(told) => Some(DriveHealth { source: "nvme ocp".to_owned(), ..told }),
        None => drive.is_intels.then(intels).flatten(),
    };
    of_nand.into_iter().for_each(|told| add(&mut health, told));
    Ok(health)
}

fn limited(deadline: Instant) -> Instant {
    deadline.min(Instant::now() + ANSWER_LIMIT)
}

/// Adds what another source tells of the same drive. What was told before stands.
fn add(health: &mut DriveHealth, told: DriveHealth) {
    let DriveHealth { source, host_unit_bytes, nand_unit_bytes, .. } = told;
    health.source = [std::mem::take(&mut health.source), source]
        .into_iter()
        .filter(|name| !name.is_empty())
        .collect::<Vec<_>>()
        .join(", ");
    // Counters go with the unit that they were told in.
    if health.host_written_bytes.or(health.host_read_bytes).is_none() {
        (health.host_written_bytes, health.host_read_bytes) = (told.host_written_bytes, told.host_read_bytes);
        health.host_unit_bytes = host_unit_bytes;
    }
    if health.nand_written_bytes.is_none() {
        (health.nand_written_bytes, health.nand_unit_bytes) = (told.nand_written_bytes, nand_unit_bytes);
    }
    health.used_pct = health.used_pct.or(told.used_pct);
    health.spare_pct = health.spare_pct.or(told.spare_pct);
    health.temperature_c = health.temperature_c.or(told.temperature_c);
    health.media_errors = health.media_errors.or(told.media_errors);
    health.throttled_s = health.throttled_s.or(told.throttled_s);
    health.power_on_hours = health.power_on_hours.or(told.power_on_hours);
    health.failing = health.failing.or(told.failing);
}

#[cfg(test)]
mod tests;
