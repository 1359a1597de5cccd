//! Results whose numbers no run can have: damaged by hand, or by a clock or a counter gone wrong.

use super::{ResultAnalysis, conclude};
use crate::plan::Plan;
use crate::result::{Entry, line};

/// Each a plan and, below it, the entries of a small journal: of one instance, of two with an observer, of an open
/// loop, of a stack of devices on a host that tells all, and of drives that tell their wear.
const SEEDS: [&str; 5] = [
    include_str!("../../fuzz/seeds/result/whole"),
    include_str!("../../fuzz/seeds/result/fleet"),
    include_str!("../../fuzz/seeds/result/open"),
    include_str!("../../fuzz/seeds/result/stack"),
    include_str!("../../fuzz/seeds/result/wear"),
];
const EXTREMES: [&str; 5] =
    ["9223372036854775807", "-9223372036854775808", "18446744073709551615", "4294967295", "-1"];

/// Analyses a seed with its journal changed; `None` when an entry is none any more.
fn analyzed(folder: &std::path::Path, plan: &Plan, entries: &[String]) -> Option<ResultAnalysis> {
    let parsed: Result<Vec<Entry>, _> = entries.iter().map(|entry| serde_json::from_str(entry)).collect();
    let journal: Vec<u8> = parsed.ok()?.iter().flat_map(|entry| line::encode(entry).unwrap()).collect();
    std::fs::write(folder.join("journal.jsonl"), journal).unwrap();
    conclude(&folder.join("journal.jsonl"), plan.clone(), 0, None).ok()
}

/// Where numbers stand in a text.
fn numbers(text: &str) -> Vec<std::ops::Range<usize>> {
    let mut found: Vec<std::ops::Range<usize>> = Vec::new();
    for (at, _) in text.match_indices(|c: char| c.is_ascii_digit()) {
        match found.last_mut() {
            Some(last) if last.end == at => last.end += 1,
            _ if text[..at].ends_with(':') || text[..at].ends_with('[') => found.push(at..at + 1),
            _ => {}
        }
    }
    found
}

/// Shows every such result to `look`. Each number of a journal becomes one of the extremes, and each becomes the
/// largest count.
pub(crate) fn each_hostile_result(mut look: impl FnMut(&ResultAnalysis)) {
    let folder = tempfile::tempdir().unwrap();
    for seed in SEEDS {
        let (plan, journal) = seed.split_once('\n').unwrap();
        let plan: Plan = serde_json::from_str(plan).unwrap();
        let entries: Vec<String> = journal.lines().map(str::to_owned).collect();
        look(&analyzed(folder.path(), &plan, &entries).unwrap());
        let mut read = 0;
        let mut show = |changed: &[String]| {
            let result = analyzed(folder.path(), &plan, changed);
            read += u32::from(result.is_some());
            result.iter().for_each(&mut look);
        };
        for (n, entry) in entries.iter().enumerate() {
            // Every kind of entry is there several times, and meets another extreme each time.
            for (place, extreme) in numbers(entry).into_iter().zip(EXTREMES.iter().cycle().skip(n)) {
                let mut changed = entries.clone();
                changed[n].replace_range(place, extreme);
                show(&changed);
            }
        }
        for count in [r#""reads":"#, r#""writes":"#, r#""other":"#] {
            let mut changed = entries.clone();
            for entry in &mut changed {
                let Some(at) = entry.find(r#""load_second""#).and_then(|_| entry.find(count)) else {
                    continue;
                };
                let begin = at + count.len();
                let digits = entry[begin..].bytes().take_while(u8::is_ascii_digit).count();
                entry.replace_range(begin..begin + digits, &u64::MAX.to_string());
            }
            show(&changed);
        }
        assert!(read > 100, "only {read} were still journals");
    }
}

#[test]
fn no_number_makes_the_analysis_panic() {
    each_hostile_result(|_| {});
}

#[test]
fn the_seed_of_a_stack_tells_all_that_may_go_wrong() {
    let folder = tempfile::tempdir().unwrap();
    let (plan, journal) = SEEDS[3].split_once('\n').unwrap();
    let entries: Vec<String> = journal.lines().map(str::to_owned).collect();
    let result = analyzed(folder.path(), &serde_json::from_str(plan).unwrap(), &entries).unwrap();
    let (stack, machine) = (&result.runs[0].per_instance[0].stack, &result.runs[0].per_instance[0].machine);
    assert!(stack.layers.len() == 2 && stack.layers[1].vanished && stack.write_multiplication.is_some());
    assert!(machine.network.is_some() && machine.frequency.is_some() && machine.throttled_share.is_some());
    assert_eq!((machine.own_io.len(), machine.limits.as_ref().unwrap().io.len()), (2, 1));
}
