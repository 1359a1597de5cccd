//! Processor shares from two raw samples of a host.

use serde::Serialize;

use crate::protocol::sample::CpuCounters;

/// Shares of all processors' time, 0–1.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct CpuShares {
    /// User.
    pub user: f64,
    /// Kernel and hard interrupts.
    pub system: f64,
    /// Soft interrupts.
    pub softirq: f64,
    /// Idle with I/O in flight.
    pub iowait: f64,
    /// Idle.
    pub idle: f64,
    /// Taken by the hypervisor.
    pub steal: f64,
}

/// Shares between two samples of one host; they add up to 1.
///
/// Linux lets idle, iowait and steal run backwards a little: that counts as none. `None` when busy
/// time runs backwards, which means another boot, or when no tick passed. Guest time is already in
/// user time.
#[must_use]
pub fn cpu_shares(first: &CpuCounters, second: &CpuCounters) -> Option<CpuShares> {
    let user = second.user.checked_sub(first.user)? as f64;
    let kernel = second.system.checked_sub(first.system)? as f64;
    let interrupts = second.interrupts.checked_sub(first.interrupts)? as f64;
    let iowait = second.iowait.saturating_sub(first.iowait) as f64;
    let idle = second.idle.saturating_sub(first.idle) as f64;
    let steal = second.steal.saturating_sub(first.steal) as f64;
    let softirq = second.softirq.checked_sub(first.softirq)? as f64;
    let system = kernel + interrupts;
    let total = user + system + softirq + iowait + idle + steal;
    (total > 0.0).then(|| CpuShares {
        user: user / total,
        system: system / total,
        softirq: softirq / total,
        iowait: iowait / total,
        idle: idle / total,
        steal: steal / total,
    })
}

/// The mean over hosts, each of which counts the same; `None` without any.
#[must_use]
pub fn mean_of_hosts(hosts: &[CpuShares]) -> Option<CpuShares> {
    let mean = |share: fn(&CpuShares) -> f64| hosts.iter().map(share).sum::<f64>() / hosts.len() as f64;
    (!hosts.is_empty()).then(|| CpuShares {
        user: mean(|c| c.user),
        system: mean(|c| c.system),
        softirq: mean(|c| c.softirq),
        iowait: mean(|c| c.iowait),
        idle: mean(|c| c.idle),
        steal: mean(|c| c.steal),
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn counters(values: [u64; 7]) -> CpuCounters {
        let [user, system, idle, iowait, interrupts, softirq, steal] = values;
        CpuCounters { user, system, idle, iowait, interrupts, softirq, steal }
    }

    #[test]
    fn shares_of_an_interval() {
        let shares = cpu_shares(
            &counters([1_000, 100, 5_000, 50, 10, 7, 1]),
            &counters([1_030, 109, 5_040, 60, 14, 9, 6]),
        );
        assert_eq!(
            shares,
            Some(CpuShares { user: 0.3, system: 0.13, softirq: 0.02, iowait: 0.1, idle: 0.4, steal: 0.05 })
        );
    }

    #[test]
    fn iowait_that_runs_backwards_is_none() {
        let shares =
            cpu_shares(&counters([0, 0, 0, 70, 0, 0, 0]), &counters([25, 25, 50, 60, 0, 0, 0])).unwrap();
        assert_eq!(
            shares,
            CpuShares { user: 0.25, system: 0.25, softirq: 0.0, iowait: 0.0, idle: 0.5, steal: 0.0 }
        );
    }

    #[test]
    fn another_boot_or_no_time_is_unknown() {
        let first = counters([100, 10, 500, 5, 1, 0, 0]);
        assert_eq!(cpu_shares(&first, &counters([99, 10, 600, 5, 1, 0, 0])), None);
        assert_eq!(cpu_shares(&first, &first), None);
    }

    proptest! {
        #[test]
        fn shares_add_up_to_one(first in any::<[u64; 7]>(), second in any::<[u64; 7]>()) {
            if let Some(s) = cpu_shares(&counters(first), &counters(second)) {
                let parts = [s.user, s.system, s.softirq, s.iowait, s.idle, s.steal];
                prop_assert!(parts.iter().all(|p| (0.0..=1.0).contains(p)), "{:?}", s);
                prop_assert!((parts.iter().sum::<f64>() - 1.0).abs() < 1e-9, "{:?}", s);
            }
        }
    }
}
