//! Findings: each compares two independent sources, and each can fail.

mod bottleneck;
mod combine;
mod counts;
mod durability;
mod fleet;
mod health;
mod host;
mod hypervisor;
mod memory;
mod other_io;
mod rate;

use super::figures::{Figures, Unfinished};
use super::gather::{Gathered, GatheredHost};
use super::gather_run::{GatheredInstance, GatheredRun};
use super::layers::StackAnalysis;
use super::machine::MachineAnalysis;
use super::samples::{HostMoment, ServerMoment};
use super::window::Ends;
use super::{Finding, RunAnalysis};
use crate::plan::Plan;
use crate::workload::WorkloadKind;
use combine::{Checked, combined};

/// What findings about one instance draw on.
pub struct Evidence<'a> {
    /// The run that it was part of.
    pub run: &'a GatheredRun,
    /// Raw material of the instance.
    pub instance: &'a GatheredInstance,
    /// What its host said outside runs.
    pub known: Option<&'a GatheredHost>,
    /// What was planned.
    pub plan: &'a Plan,
    /// Figures of the instance.
    pub figures: &'a Figures,
    /// Its device and those below.
    pub stack: &'a StackAnalysis,
    /// What its host did.
    pub machine: &'a MachineAnalysis,
    /// Kernel samples at the ends of the interval.
    pub host: Option<&'a Ends<'a, HostMoment>>,
    /// Server samples at the ends.
    pub server: Option<&'a Ends<'a, ServerMoment>>,
}

/// Transactions that span the ends of the interval, of all instances.
pub struct InFlight {
    /// What had not completed at the end.
    pub unfinished: Vec<Unfinished>,
    /// What those in flight at T0 had taken by then, ns, summed.
    pub carried_in_ns: f64,
}

impl Evidence<'_> {
    /// How much a server counter grew in the interval.
    fn growth(&self, counter: &str) -> Option<f64> {
        self.server.and_then(|ends| ends.growth(counter))
    }

    /// A server variable as it was read back.
    fn variable(&self, name: &str) -> Option<&str> {
        self.known?.server.as_ref()?.variables.get(name).map(String::as_str)
    }

    /// Commits of the interval that changed a row, at least: each must be made durable. Outside transactions each
    /// statement commits by itself. `None` when nobody counted which statements found a row.
    fn changing_commits(&self) -> Option<f64> {
        let workload = &self.plan.workload;
        let writes = match workload.kind {
            WorkloadKind::Delete04 => self.rows_deleted()?,
            _ => self.figures.writes,
        };
        Some(if workload.transaction { self.figures.transactions.min(writes) } else { writes } as f64)
    }

    /// Rows deleted in the interval, at least, by a load that does nothing but delete. sysbench 0.4 counts a
    /// delete that finds no row like any other; the rows are known of the whole load, so that every statement
    /// outside the interval may have found one.
    fn rows_deleted(&self) -> Option<u64> {
        let ended = self.instance.ended.as_ref()?;
        let deleted = u64::try_from(ended.rows_added.checked_neg()?).ok()?;
        let outside = ended.counted.ours.saturating_sub(self.figures.writes);
        deleted.checked_sub(outside).filter(|at_least| *at_least > 0)
    }

    /// Whether samples tell that the server was started anew between the first and the last.
    fn was_restarted(&self) -> bool {
        self.server.is_some_and(|ends| ends.first.restarts != ends.last.restarts)
    }

    /// Why a counter's growth is not known.
    fn not_sampled(&self, otherwise: &'static str) -> &'static str {
        if self.was_restarted() {
            "the server was started anew in the interval, and its counters with it"
        } else {
            otherwise
        }
    }

    /// Load threads of the instance.
    fn threads(&self) -> u32 {
        self.run.plan.threads
    }
}

/// Every finding, in the order in which a reader doubts.
pub fn all(
    evidence: &[Evidence],
    run: &GatheredRun,
    gathered: &Gathered,
    analysis: &RunAnalysis,
    in_flight: Option<&InFlight>,
) -> Vec<Finding> {
    let each = |check: fn(&Evidence) -> Checked| combined(evidence, check);
    let mut findings = Vec::new();
    if run.is_fleet() {
        findings.push(fleet::every_instance_present(run, gathered, analysis));
        findings.push(fleet::common_window(run));
    }
    findings.extend(each(memory::working_set_exceeds_pool));
    findings.extend(each(memory::page_cache_bypassed));
    findings.extend(each(memory::page_cache_steady));
    findings.extend(each(other_io::no_other_io));
    if !run.observers.is_empty() {
        findings.push(hypervisor::guest_vs_hypervisor(analysis));
    }
    findings.extend(each(bottleneck::device_bound));
    findings.extend(each(host::no_swapping));
    findings.extend(each(host::no_steal));
    findings.extend(each(host::not_throttled));
    findings.extend(each(durability::durable_commits));
    findings.extend(each(counts::commits_match));
    findings.push(match &analysis.load.open_loop {
        Some(open_loop) => rate::rate_held(analysis, open_loop),
        None => counts::closed_loop(analysis, in_flight),
    });
    if run.is_fleet() {
        findings.push(fleet::seeds_distinct(run));
    }
    findings.extend(each(counts::few_errors));
    findings.push(counts::in_flight_at_end(analysis, in_flight));
    findings.extend(durability::journal_off_device(evidence));
    findings.extend(health::drives_healthy(analysis));
    findings
}

/// A finding that cannot be decided, and why.
fn unknown(id: &'static str, title: &'static str, why: impl Into<String>) -> Finding {
    Finding { id, title, holds: None, text: why.into() }
}

/// Rounded to one decimal, so that nothing reads as minus nothing.
fn tenths(value: f64) -> f64 {
    (value * 10.0).round() / 10.0 + 0.0
}
