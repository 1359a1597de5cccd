//! What hosts did beside the load, and whether it held the load back.

use super::story::Story;
use super::*;
use crate::protocol::sample::{HostSample, MemorySample, NetworkCounters, StallTotals};

fn told(retell: impl Fn(u64, &mut HostSample) + 'static) -> RunAnalysis {
    let retell = move |_: usize, second: i64, sample: &mut HostSample| {
        retell((second + 1).unsigned_abs(), sample);
    };
    let mixes = vec![vec![(400, 10_000_000)]];
    Story { mixes, retell: Box::new(retell), ..Story::default() }.run()
}

fn memory(sample: &mut HostSample) -> &mut MemorySample {
    sample.memory.as_mut().unwrap()
}

#[test]
fn figures_of_a_host() {
    let run = told(|n, sample| {
        memory(sample).page_cache_bytes = if n == 3 { 9_000_000_000 } else { 1_000 + n };
        memory(sample).swapped_in_pages = 2 * n;
        sample.network = Some(NetworkCounters {
            interface: "lo".into(),
            received_bytes: 1_000 * n,
            received_packets: 10 * n,
            sent_bytes: 2_000 * n,
            sent_packets: 20 * n,
            lost_packets: n,
        });
        sample.pressure.memory = Some(StallTotals { some_us: 250_000 * n, full_us: 125_000 * n });
        sample.frequency_khz = vec![1_000_000, if n == 4 { 500_000 } else { 3_000_000 }];
        sample.cgroup_throttled_us = Some(20_000 * n);
    });
    let machine = &run.per_instance[0].machine;
    let told = machine.memory.unwrap();
    assert_eq!((told.page_cache_first_bytes, told.page_cache_last_bytes), (1_001, 1_007));
    assert_eq!(told.page_cache_highest_bytes, 9_000_000_000);
    assert_eq!((told.available_lowest_bytes, told.swapped_in_pages), (4_000_000_000 - 7, Some(12)));
    let network = machine.network.as_ref().unwrap();
    assert_eq!((network.interface.as_str(), network.received_bytes_per_s), ("lo", 1_000.0));
    assert_eq!((network.sent_packets_per_s, network.lost_packets), (20.0, 6));
    assert_eq!(machine.pressure.memory, Some(StallShares { some: 0.25, full: 0.125 }));
    assert_eq!((machine.pressure.cpu, machine.throttled_share), (None, Some(0.02)));
    assert_eq!(machine.frequency.unwrap().lowest_mhz, 500.0);
    assert_eq!((machine.own_io.len(), machine.own_io[0].read_bytes_per_s), (1, 32_768_000.0));
    assert_eq!((machine.server_cpus.as_deref(), machine.load_cpus.as_deref()), (Some("0-3"), Some("2-3")));
    let point = run.series.iter().find(|point| point.second == 3).unwrap();
    assert_eq!(point.page_cache_bytes, Some(1_005.0));
}

#[test]
fn what_is_not_sampled_is_unknown() {
    let run = told(|_, sample| {
        (sample.memory, sample.frequency_khz, sample.cgroup_throttled_us) = (None, Vec::new(), None);
        sample.io.clear();
    });
    assert_eq!(run.per_instance[0].machine.memory, None);
    for id in ["no_swapping", "page_cache_steady", "not_throttled", "no_other_io"] {
        assert_eq!(finding(&run, id).holds, None, "{id}");
    }
    let backwards = told(|n, sample| memory(sample).swapped_out_pages = 100 - n);
    assert_eq!(finding(&backwards, "no_swapping").holds, None);
}

#[test]
fn each_finding_about_a_host_can_fail() {
    let fails: [(RunAnalysis, &str, &str); 4] = [
        (told(|n, sample| memory(sample).swapped_out_pages = 3 * n), "no_swapping", "18 out (3.00 a second)"),
        (told(|n, sample| sample.cpu.steal = 4 * n), "no_steal", "took 1.96 % of"),
        (
            told(|n, sample| sample.cgroup_throttled_us = Some(20_000 * n)),
            "not_throttled",
            "0.020 processor-seconds in each second",
        ),
        (
            // Of 196.6 MB read, every byte stays in memory.
            told(|n, sample| memory(sample).page_cache_bytes += 32_768_000 * n),
            "page_cache_steady",
            "(+196.6 MB; 67.1 MB are nothing unusual)",
        ),
    ];
    for (run, id, text) in fails {
        let found = finding(&run, id);
        assert_eq!(found.holds, Some(false), "{id}: {}", found.text);
        assert!(found.text.contains(text), "{id}: {}", found.text);
    }
}

#[test]
fn only_busy_processors_are_throttled_by_heat() {
    let hot = |seconds: i64, busy: u64, later_khz: u32| {
        let retell = move |_: usize, second: i64, sample: &mut HostSample| {
            let n = (second + 1).unsigned_abs();
            (sample.cpu.user, sample.cpu.idle) = (busy * n, (200 - busy) * n);
            sample.frequency_khz = vec![if second > seconds / 2 { later_khz } else { 2_400_000 }];
        };
        let mixes = vec![vec![(400, 10_000_000)]];
        let run = Story { seconds, mixes, retell: Box::new(retell), ..Story::default() }.run();
        finding(&run, "not_throttled").clone()
    };
    let found = hot(16, 180, 2_000_000);
    assert_eq!(found.holds, Some(false), "{}", found.text);
    assert!(found.text.contains("2400 MHz in the first quarter and 2000 MHz in the last (-16.7 %)"));
    assert_eq!(hot(16, 180, 2_200_000).holds, Some(true));
    assert_eq!(hot(16, 80, 1_000_000).holds, Some(true), "idle processors may be slow");
    assert_eq!(hot(6, 180, 2_000_000).holds, None, "too short");
}
