//! `drivestone run`

use std::path::{Path, PathBuf};

use super::arguments::{Profiles, Run};
use super::exit::{self, Failure};
use super::machines;
use super::output;
use super::report::write;
use super::request::{Checked, Request};
use super::terminal::Terminal;
use crate::analysis::analyze;
use crate::durable;
use crate::plan::{Plan, Reach};
use crate::report;
use crate::result::ResultError;
use crate::result::bundle::read_plan;
use crate::run::{Found, execute};

/// Where results go unless told otherwise.
pub const RESULTS: &str = "reports/runs";
/// Name of the page that a run leaves in its bundle.
const PAGE: &str = "report.html";

/// Carries a plan out, then reports it.
pub fn run(arguments: &Run) -> Result<(), Failure> {
    let request = match (&arguments.from, &arguments.hardware, &arguments.profile) {
        (Some(result), ..) => Request::from_plan(read_plan(result)?.plan),
        (None, Some(hardware), Some(profile)) => Request::from_profiles(&Profiles {
            hardware: hardware.clone(),
            profile: profile.clone(),
            overrides: arguments.overrides.clone(),
        })?,
        _ => return Err(Failure::new(exit::USAGE, "name a hardware profile and a test profile, or --from")),
    };
    let folder = arguments.out.clone().unwrap_or_else(|| default_folder(&request.plan));
    if folder.exists() {
        return Err(ResultError::Exists(folder).into());
    }
    if arguments.out.is_some() {
        refuse_missing_parent(&folder)?;
    }
    let Checked { fleet, machines, found, preflight } = request.muster(&folder)?;
    let accepted = request
        .judge(&preflight)
        .and_then(|()| refuse_inside_dataset(&folder, &request.plan, &found))
        .and_then(|()| if arguments.out.is_none() { make_results_folder() } else { Ok(()) });
    let finish = match accepted {
        Ok(()) => {
            let mut terminal = Terminal::new(&request.plan);
            let finish = execute(&request.plan, &found, fleet, &folder, &mut terminal);
            terminal.finish();
            finish.map_err(Failure::from)
        }
        Err(failure) => {
            fleet.quit();
            Err(failure)
        }
    };
    // Whatever has happened, what was made for the run goes.
    let removed = machines.map_or(Ok(()), machines::remove);
    let ended = finish.map(|finish| (show(&folder), exit::after(&finish)));
    match ended {
        Err(failure) => first(Err(failure), removed),
        // How the run ended says more than that it could not be shown.
        Ok((shown, ended)) => first(ended.map_or(Ok(()), Err), first(shown, removed)),
    }
}

/// The first failure is the outcome; a second one is told.
fn first(outcome: Result<(), Failure>, other: Result<(), Failure>) -> Result<(), Failure> {
    match (outcome, other) {
        (Err(failure), Err(other)) => {
            output::error(&other.message);
            Err(failure)
        }
        (outcome, other) => outcome.and(other),
    }
}

/// Makes the folder above results that nobody gave a place.
pub fn make_results_folder() -> Result<(), Failure> {
    std::fs::create_dir_all(RESULTS).map_err(|error| Failure::new(exit::USAGE, format!("{RESULTS}: {error}")))
}

/// Leaves the page in the bundle and prints the table, whichever of the two may fail.
fn show(folder: &Path) -> Result<(), Failure> {
    let results = [analyze(folder)?];
    let page = folder.join(PAGE);
    let written = write(&page, report::Format::Html, &results);
    output::print(&report::render(report::Format::Table, &results)?)?;
    written?;
    output::print(&format!("\nReport: {}\n", page.display()))
}

/// A folder above that is missing may be a mount that is missing.
pub fn refuse_missing_parent(folder: &Path) -> Result<(), Failure> {
    let parent = durable::folder_of(folder);
    if parent.is_dir() {
        return Ok(());
    }
    Err(Failure::new(
        exit::USAGE,
        format!("--out {}: there is no folder {}; make it first", folder.display(), parent.display()),
    ))
}

/// drivestone may remove what is in its own folder on the device.
fn refuse_inside_dataset(folder: &Path, plan: &Plan, found: &Found) -> Result<(), Failure> {
    let here = plan.fleet.instances.iter().position(|instance| instance.reach == Reach::Local);
    let Some((_, facts)) = here.and_then(|place| found.instances.get(place)) else { return Ok(()) };
    let own = Path::new(&facts.target.path).join("drivestone");
    let parent = durable::folder_of(folder);
    match parent.canonicalize() {
        Ok(parent) if parent.starts_with(&own) => Err(Failure::new(
            exit::USAGE,
            format!(
                "--out {}: lies among the datasets in {}; choose another",
                folder.display(),
                own.display()
            ),
        )),
        _ => Ok(()),
    }
}

fn default_folder(plan: &Plan) -> PathBuf {
    let utc = jiff::Timestamp::now().strftime("%Y%m%dT%H%M%SZ");
    Path::new(RESULTS).join(format!("{utc}-{}-{}", plan.hardware.name, plan.profile.name))
}
