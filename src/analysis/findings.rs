//! Findings: each compares two independent sources, and each can fail.

mod bottleneck;
mod counts;
mod durability;
mod memory;

use super::gather::{Gathered, GatheredRun};
use super::window::Ends;
use super::{Finding, RunAnalysis};
use crate::plan::Plan;
use crate::protocol::sample::{HostSample, ServerSample};

/// What findings draw on.
pub struct Evidence<'a> {
    /// Raw material of the run.
    pub run: &'a GatheredRun,
    /// The result around it.
    pub gathered: &'a Gathered,
    /// What was planned.
    pub plan: &'a Plan,
    /// Figures of the run.
    pub analysis: &'a RunAnalysis,
    /// Kernel samples at the ends of the measured interval.
    pub host: Option<&'a Ends<'a, HostSample>>,
    /// Server samples at the ends.
    pub server: Option<&'a Ends<'a, ServerSample>>,
}

impl Evidence<'_> {
    /// How much a server counter grew in the interval.
    fn growth(&self, counter: &str) -> Option<f64> {
        self.server.and_then(|ends| ends.growth(counter))
    }

    /// A server variable as it was read back.
    fn variable(&self, name: &str) -> Option<&str> {
        self.gathered.server.as_ref()?.variables.get(name).map(String::as_str)
    }
}

/// Every finding, in the order in which a reader doubts.
pub fn all(evidence: &Evidence) -> Vec<Finding> {
    vec![
        memory::working_set_exceeds_pool(evidence),
        memory::page_cache_bypassed(evidence),
        bottleneck::device_bound(evidence),
        durability::durable_commits(evidence),
        counts::commits_match(evidence),
        counts::closed_loop(evidence),
        counts::few_errors(evidence),
        counts::in_flight_at_end(evidence),
        durability::journal_off_device(evidence),
    ]
}

/// A finding that cannot be decided, and why.
fn unknown(id: &'static str, title: &'static str, why: &str) -> Finding {
    Finding { id, title, holds: None, text: why.to_owned() }
}
