//! What several instances add to a run: each by itself, how alike they were, and who watched.

use serde::Serialize;

use super::figures::{Figures, LatencySummary};
use super::layers::StackAnalysis;
use super::machine::MachineAnalysis;
use crate::stats::cpu::CpuShares;
use crate::stats::device::DeviceRates;

/// A stretch of the window in which the same instances took part.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SegmentAnalysis {
    /// Hosts of the instances, in the plan's order.
    pub hosts: Vec<String>,
    /// First second, counted from T0.
    pub first_second: i64,
    /// Last second, included.
    pub last_second: i64,
    /// Its length, seconds.
    pub seconds: f64,
    /// The run's headline figures are those of this segment.
    pub headline: bool,
    /// Transactions that completed in it.
    pub transactions: u64,
    /// Transactions a second.
    pub tps: f64,
    /// Latency of these transactions; `None` when there are none.
    pub latency: Option<LatencySummary>,
    /// SQL errors that restarted a transaction.
    pub errors: u64,
}

/// One instance of a run: over the headline segment, or over all that it measured when there is none.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct InstanceAnalysis {
    /// Its host.
    pub host: String,
    /// Name of the device mounted at its data directory.
    pub device_name: Option<String>,
    /// Its figures.
    pub figures: Figures,
    /// That device and those below it.
    pub stack: StackAnalysis,
    /// What its host did meanwhile.
    pub machine: MachineAnalysis,
    /// Last measured second that it reported.
    pub last_second: Option<i64>,
    /// Why it did not take part to the end; `None` when it did.
    pub lost: Option<String>,
    /// What is drawn of each second, warm-up included.
    #[serde(skip)]
    pub series: Vec<InstanceSecond>,
}

/// One second of one instance.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct InstanceSecond {
    /// Second relative to T0.
    pub second: i64,
    /// Transactions a second.
    pub tps: f64,
    /// 99th percentile, ms; `None` when nothing completed.
    pub p99_ms: Option<f64>,
}

/// A host that only sampled.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ObserverAnalysis {
    /// Its name.
    pub host: String,
    /// Name of the device that it watched.
    pub device_name: Option<String>,
    /// Means of the device over the headline segment, or over the whole window when there is none.
    pub device: Option<DeviceRates>,
    /// That device and those below it.
    pub stack: StackAnalysis,
    /// Processor shares over the same interval.
    pub cpu: Option<CpuShares>,
    /// One point a second, on the time axis of the run.
    pub series: Vec<ObserverSecond>,
}

/// One second of an observer. `None`: not sampled.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct ObserverSecond {
    /// Second relative to T0.
    pub second: i64,
    /// Rates of its device.
    pub device: Option<DeviceRates>,
    /// Processor shares.
    pub cpu: Option<CpuShares>,
}

/// How evenly the instances were served, by their TPS.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Fairness {
    /// Jain's index, (Σ x)² / (n Σ x²): 1 when all are equal, 1/n when one gets everything.
    pub jain_index: f64,
    /// TPS of the slowest instance over TPS of the fastest.
    pub min_max_ratio: f64,
    /// Host of the slowest instance.
    pub slowest: String,
}

/// Figures that others print in place of the percentile of all transactions.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct OthersPrint {
    /// Mean of the instances' 99th percentiles, ms.
    pub mean_p99_ms: f64,
    /// The highest of them, ms.
    pub worst_p99_ms: f64,
    /// Host of that instance.
    pub worst_host: String,
}

/// Fairness of instances; `None` for fewer than two, or when none completed anything.
pub fn fairness(instances: &[InstanceAnalysis]) -> Option<Fairness> {
    let rates: Vec<f64> = instances.iter().map(|instance| instance.figures.tps).collect();
    let slowest = instances.iter().min_by(|a, b| a.figures.tps.total_cmp(&b.figures.tps))?;
    let highest = rates.iter().copied().fold(0.0, f64::max);
    if rates.len() < 2 || highest <= 0.0 {
        return None;
    }
    // Scaled first: squares of extreme rates would overflow.
    let scaled = || rates.iter().map(|rate| rate / highest);
    let (sum, squares) = (scaled().sum::<f64>(), scaled().map(|rate| rate * rate).sum::<f64>());
    Some(Fairness {
        jain_index: sum * sum / (rates.len() as f64 * squares),
        min_max_ratio: slowest.figures.tps / highest,
        slowest: slowest.host.clone(),
    })
}

/// What others print; `None` for fewer than two instances, or when one completed nothing.
pub fn others_print(instances: &[InstanceAnalysis]) -> Option<OthersPrint> {
    let p99 = |instance: &InstanceAnalysis| instance.figures.latency.map(|latency| latency.p99_ms);
    let all: Vec<f64> = instances.iter().map(p99).collect::<Option<_>>()?;
    let worst = instances.iter().max_by(|a, b| p99(a).unwrap_or(0.0).total_cmp(&p99(b).unwrap_or(0.0)))?;
    (all.len() > 1).then(|| OthersPrint {
        mean_p99_ms: all.iter().sum::<f64>() / all.len() as f64,
        worst_p99_ms: all.iter().copied().fold(0.0, f64::max),
        worst_host: worst.host.clone(),
    })
}
