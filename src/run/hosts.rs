//! The hosts of a run: who takes part, and what they hold.

use crate::plan::{FleetPlan, Plan};

/// One host while the plan is carried out.
#[derive(Debug)]
pub(super) struct Host {
    pub name: String,
    pub role: Role,
    /// Why it does not take part any more.
    pub lost: Option<String>,
    pub server_is_up: bool,
    /// Runs that have changed its dataset so far.
    pub runs_before: u32,
    /// End of the log of its server, if that failed.
    pub log_tail: Option<String>,
}

/// What a host is there for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    /// It has a server and its load; its number keeps its random streams apart from the others'.
    Instance(u32),
    /// It samples.
    Observer,
}

impl Host {
    fn new(name: &str, role: Role) -> Self {
        Self { name: name.to_owned(), role, lost: None, server_is_up: false, runs_before: 0, log_tail: None }
    }

    pub fn is_instance(&self) -> bool {
        matches!(self.role, Role::Instance(_))
    }

    pub fn takes_part(&self) -> bool {
        self.lost.is_none()
    }
}

/// Every host of a plan: its instances in order, then its observers.
pub(super) fn of(plan: &FleetPlan) -> Vec<Host> {
    let instances = plan.instances.iter().zip(0..).map(|(i, n)| Host::new(&i.host, Role::Instance(n)));
    let observers = plan.observers.iter().map(|observer| Host::new(&observer.host, Role::Observer));
    instances.chain(observers).collect()
}

/// A failure with its host's name, where there is more than one.
pub(super) fn labelled(plan: &Plan, host: &str, reason: &str) -> String {
    let alone = plan.fleet.instances.len() == 1 && plan.fleet.observers.is_empty();
    if alone { reason.to_owned() } else { format!("{host}: {reason}") }
}
