//! From files and arguments to a plan that has been checked against its host.

use std::hash::{BuildHasher as _, Hasher as _};
use std::path::Path;

use super::arguments::Profiles;
use super::exit::{self, Failure};
use super::machines;
use super::output;
use crate::fleet::vms::Machines;
use crate::fleet::{Afterwards, Fleet, Way};
use crate::plan::preflight::{Preflight, Problem, ProfileKind, preflight_fleet};
use crate::plan::resolve::resolve;
use crate::plan::{InstancePlan, ObserverPlan, Plan, Reach};
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

    /// Reaches the hosts, has them look around, and compares. Machines that are to be made for the run are
    /// not there yet: then the hypervisors are asked instead.
    pub fn look(&self) -> Result<Checked, Failure> {
        let mut fleet = listening()?;
        let hosts = match machines::check(&self.plan, &fleet.interrupter())? {
            None => self.instances(),
            Some(_) => &[],
        };
        let found = self.reach(&mut fleet, hosts, self.observers(), None, None)?;
        Ok(self.compare(fleet, None, found))
    }

    /// The same before a run whose result will lie at `result`. Machines for the run are made, once
    /// nothing is known to stand against it.
    pub fn muster(&self, result: &Path) -> Result<Checked, Failure> {
        let mut fleet = listening()?;
        let interrupter = fleet.interrupter();
        let Some(wanted) = machines::check(&self.plan, &interrupter)? else {
            let found = self.reach(&mut fleet, self.instances(), self.observers(), None, Some(result))?;
            return Ok(self.compare(fleet, None, found));
        };
        self.refuse(&preflight_fleet(&self.plan, &[]))?;
        let mut found = self.reach(&mut fleet, &[], self.observers(), None, Some(result))?;
        let machines = wanted.make(&interrupter)?;
        let configuration = Some(machines.ssh_config());
        match self.reach(&mut fleet, self.instances(), &[], configuration, Some(result)) {
            Ok(made) => found.instances = made.instances,
            Err(failure) => {
                drop(fleet);
                if let Err(left) = machines::remove(machines) {
                    output::error(&left.message);
                }
                return Err(failure);
            }
        }
        Ok(self.compare(fleet, Some(machines), found))
    }

    fn instances(&self) -> &[InstancePlan] {
        &self.plan.fleet.instances
    }

    fn observers(&self) -> &[ObserverPlan] {
        &self.plan.fleet.observers
    }

    /// Agents on these hosts, and what they find there. Without a result to come, nothing stays. `made` is
    /// the ssh configuration for machines that were made for the run.
    fn reach(
        &self,
        fleet: &mut Fleet,
        instances: &[InstancePlan],
        observers: &[ObserverPlan],
        made: Option<&Path>,
        result: Option<&Path>,
    ) -> Result<Found, Failure> {
        let way = |reach: Reach| match reach {
            Reach::Local => Way::Local,
            Reach::Ssh => Way::Ssh(None),
            Reach::Libvirt { .. } => Way::Ssh(made),
        };
        let watching = observers.iter().map(|o| (o.host.as_str(), Way::Ssh(None)));
        let hosts = instances.iter().map(|i| (i.host.as_str(), way(i.reach))).chain(watching);
        let afterwards = match (result, self.plan.fleet.keep_binary) {
            (None, _) => Afterwards::AsFound,
            (Some(_), true) => Afterwards::Keep,
            (Some(_), false) => Afterwards::Remove,
        };
        fleet.connect(hosts, afterwards)?;
        Ok(probe(&self.plan, instances, observers, result, fleet)?)
    }

    fn compare(&self, fleet: Fleet, machines: Option<Machines>, found: Found) -> Checked {
        let preflight = preflight_fleet(&self.plan, &found.instances);
        Checked { fleet, machines, found, preflight }
    }

    /// Prints warnings, and turns refusals into a failure.
    pub fn judge(&self, preflight: &Preflight) -> Result<(), Failure> {
        for problem in &preflight.warnings {
            output::warning(&self.describe(problem));
        }
        self.refuse(preflight)
    }

    /// Turns refusals into a failure.
    fn refuse(&self, preflight: &Preflight) -> Result<(), Failure> {
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

/// An empty fleet that signals interrupt.
fn listening() -> Result<Fleet, Failure> {
    let fleet = Fleet::default();
    super::signals::interrupt(&fleet)?;
    Ok(fleet)
}

/// A plan's hosts as they were found. The agents are still there.
pub struct Checked {
    /// The agents.
    pub fleet: Fleet,
    /// The machines that were made for the run, if it has any. They go when the agents have.
    pub machines: Option<Machines>,
    /// What the agents found.
    pub found: Found,
    /// What stands against the plan.
    pub preflight: Preflight,
}

/// A seed that differs from run to run. Below 2⁴⁸: short enough to type, exact in every JSON reader.
fn fresh_seed() -> u64 {
    // The standard library seeds its hash maps from the system's random numbers.
    std::collections::hash_map::RandomState::new().build_hasher().finish() >> 16
}
