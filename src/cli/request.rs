//! From files and arguments to a plan that has been checked against its host.

use std::hash::{BuildHasher as _, Hasher as _};
use std::path::Path;

use super::arguments::Profiles;
use super::exit::{self, Failure};
use super::output;
use crate::fleet::{Fleet, Way};
use crate::plan::preflight::{Preflight, Problem, ProfileKind, preflight_fleet};
use crate::plan::resolve::resolve;
use crate::plan::{Plan, Reach};
use crate::run::{Found, probe};
use crate::spec::{Document, HardwareSpec, ProfileSpec, Source, read_hardware, read_profile};

/// What was asked for, and where it was written.
pub struct Request {
    /// The plan.
    pub plan: Plan,
    /// The two files, unless the plan comes from a result.
    sources: Option<(Source, Source)>,
}

impl Request {
    /// Reads and resolves two profiles.
    pub fn from_profiles(profiles: &Profiles) -> Result<Self, Failure> {
        let hardware: Document<HardwareSpec> = read_hardware(&profiles.hardware)?;
        let profile: Document<ProfileSpec> = read_profile(&profiles.profile, &profiles.overrides)?;
        let working_dir = std::env::current_dir()
            .map_err(|error| Failure::new(exit::USAGE, format!("the working directory: {error}")))?;
        let plan = resolve(&hardware, &profile, &working_dir, fresh_seed())?;
        Ok(Self { plan, sources: Some((hardware.source, profile.source)) })
    }

    /// A plan that was carried out before.
    pub fn from_plan(plan: Plan) -> Self {
        Self { plan, sources: None }
    }

    /// Starts the agents, has them look at their hosts (and at the result's place), and compares.
    pub fn check(&self, result: Option<&Path>) -> Result<Checked, Failure> {
        let mut fleet = Fleet::default();
        super::signals::interrupt(&fleet)?;
        let hosts = &self.plan.fleet;
        let way = |reach: Reach| if reach == Reach::Local { Way::Local } else { Way::Ssh(None) };
        let instances = hosts.instances.iter().map(|i| (i.host.as_str(), way(i.reach)));
        let observers = hosts.observers.iter().map(|o| (o.host.as_str(), Way::Ssh(None)));
        fleet.connect(instances.chain(observers), hosts.keep_binary)?;
        let found = probe(&self.plan, result, &mut fleet)?;
        let preflight = preflight_fleet(&self.plan, &found.instances);
        Ok(Checked { fleet, found, preflight })
    }

    /// Prints warnings, and turns refusals into a failure.
    pub fn judge(&self, preflight: &Preflight) -> Result<(), Failure> {
        for problem in &preflight.warnings {
            output::warning(&self.describe(problem));
        }
        if preflight.refusals.is_empty() {
            return Ok(());
        }
        let messages: Vec<String> = preflight.refusals.iter().map(|p| self.describe(p)).collect();
        Err(Failure::new(exit::REFUSED, messages.join("\nerror: ")))
    }

    /// A problem with the place of its field, if the plan comes from files.
    fn describe(&self, problem: &Problem) -> String {
        let Problem { file, field, text } = problem;
        let Some((hardware, profile)) = &self.sources else {
            let file = match file {
                ProfileKind::Hardware => &self.plan.hardware.file,
                ProfileKind::Test => &self.plan.profile.file,
            };
            return format!("{file}: {field}: {text}");
        };
        let place = match file {
            ProfileKind::Hardware => hardware.place(field),
            ProfileKind::Test => profile.place(field),
        };
        let snippet = place.snippet().map(|snippet| format!("\n{snippet}")).unwrap_or_default();
        format!("{place}: {text}{snippet}")
    }
}

/// A plan's hosts as they were found. The agents are still there.
pub struct Checked {
    /// The agents.
    pub fleet: Fleet,
    /// What they found.
    pub found: Found,
    /// What stands against the plan.
    pub preflight: Preflight,
}

/// A seed that differs from run to run. Below 2⁴⁸: short enough to type, exact in every JSON reader.
fn fresh_seed() -> u64 {
    // The standard library seeds its hash maps from the system's random numbers.
    std::collections::hash_map::RandomState::new().build_hasher().finish() >> 16
}
