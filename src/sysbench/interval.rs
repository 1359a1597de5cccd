//! Interval lines.

use super::number::{Refusal, amount, count};
use super::{Interval, Percentile};

/// What a text says about an interval.
#[derive(Debug, PartialEq)]
pub enum Told {
    /// All of it.
    Whole(Interval),
    /// It begins an interval line and ends too early.
    CutShort,
    /// An interval of a test without a database.
    NoDatabase,
    /// Something else.
    Nothing,
}

/// No run is longer, seconds.
pub const LAST_SECOND: u64 = 1_000_000_000;

/// A refusal, with the name of the field.
pub type FieldRefusal = (&'static str, Refusal);

/// Longest stamp that is looked for, bytes.
const LONGEST_STAMP: usize = 32;

/// Where the stamp of an interval line ends, and its second, if a text has one: `[ 10s ]`, `[  10s]`.
fn stamp(text: &str) -> Option<(&str, &str)> {
    for (at, _) in text.match_indices('[') {
        let after = &text[at + 1..];
        // A stamp is short, and a line may hold many brackets.
        let Some(length) = after.bytes().take(LONGEST_STAMP).position(|byte| byte == b']') else { continue };
        let (inside, rest) = (&after[..length], after[length + 1..].trim_start());
        if let Some(second) = inside.trim().strip_suffix('s')
            && ["thds:", "threads:"].iter().any(|word| rest.starts_with(word))
        {
            return Some((second.trim(), rest));
        }
    }
    None
}

/// Whether a line begins an interval.
pub fn begins(text: &str) -> bool {
    stamp(text).is_some()
}

/// Reads an interval line, which may have been put together again.
pub fn read(text: &str) -> Result<Told, FieldRefusal> {
    let Some((second, rest)) = stamp(text) else { return Ok(Told::Nothing) };
    if rest.contains("eps:") && !rest.contains("tps:") {
        return Ok(Told::NoDatabase);
    }
    let generation = if rest.starts_with("thds:") { &V1 } else { &V0 };
    if !generation.is_whole(rest) {
        return Ok(Told::CutShort);
    }
    let seconds = amount(second).map_err(|why| ("second", why))?;
    let Some((seconds, "")) = seconds.filter(|(seconds, _)| *seconds <= LAST_SECOND as f64) else {
        let why = "it is a number of seconds since the start, at most 1000000000";
        return Err(("second", (second.to_owned(), why)));
    };
    let named = |name: &'static str, word: &str| rate(rest, word).map_err(|why| (name, why));
    let (Some(threads), Some(tps)) = (threads(rest)?, named("tps", "tps:")?) else {
        return Ok(Told::CutShort);
    };
    let [reads_per_s, writes_per_s, other_per_s] = (generation.statements)(rest)?;
    let percentile = (generation.percentile)(rest)?;
    let named_either = |name: &'static str, words: [&str; 2]| match named(name, words[0])? {
        None => named(name, words[1]),
        some => Ok(some),
    };
    Ok(Told::Whole(Interval {
        second: seconds.round() as u64,
        threads,
        tps,
        qps: named("qps", "qps:")?,
        reads_per_s,
        writes_per_s,
        other_per_s,
        percentile,
        errors_per_s: named_either("errors a second", generation.errors)?,
        reconnects_per_s: named_either("reconnects a second", generation.reconnects)?,
    }))
}

/// How a generation of sysbench writes what differs between them.
struct Generation {
    last: fn(&str) -> bool,
    statements: fn(&str) -> Result<[Option<f64>; 3], FieldRefusal>,
    percentile: fn(&str) -> Result<Option<Percentile>, FieldRefusal>,
    errors: [&'static str; 2],
    reconnects: [&'static str; 2],
}

impl Generation {
    fn is_whole(&self, rest: &str) -> bool {
        rest.contains("tps:") && (self.last)(rest)
    }
}

const V1: Generation = Generation {
    last: |rest| {
        after(rest, "reconn/s").is_some_and(|value| {
            let value = value.trim_start_matches([':', ' ']);
            value.starts_with("N/A") || has_two_decimals(value)
        })
    },
    statements: |rest| {
        let mut all = [None; 3];
        let Some(mut rest) = after(rest, "(r/w/o:") else { return Ok(all) };
        for (value, name) in all.iter_mut().zip(["reads a second", "writes a second", "other a second"]) {
            let Some((rate, more)) = amount(rest).map_err(|why| (name, why))? else { break };
            *value = Some(rate);
            rest = more.trim_start_matches('/');
        }
        Ok(all)
    },
    percentile: |rest| {
        let Some(rest) = after(rest, "(ms,") else { return Ok(None) };
        let Some((rank, rest)) = count(rest).map_err(|why| ("percentile", why))? else { return Ok(None) };
        let Some(value) = after(rest, "%):") else { return Ok(None) };
        percentile(rank, value)
    },
    errors: ["err/s:", "err/s"],
    reconnects: ["reconn/s:", "reconn/s"],
};

const V0: Generation = Generation {
    last: |rest| match after(rest, "reconnects:") {
        Some(value) => has_two_decimals(value.trim_start()),
        None => rest.trim_end().ends_with("%)") && rest.contains("response time:"),
    },
    statements: |rest| {
        let rate = |name, words: [&str; 2]| match rate(rest, words[0]).map_err(|why| (name, why))? {
            None => self::rate(rest, words[1]).map_err(|why| (name, why)),
            some => Ok(some),
        };
        let reads = rate("reads a second", ["reads:", "reads/s:"])?;
        Ok([reads, rate("writes a second", ["writes:", "writes/s:"])?, None])
    },
    percentile: |rest| {
        let Some(value) = after(rest, "response time:") else { return Ok(None) };
        let Some(rank) = after(value, "(") else { return Ok(None) };
        let Some((rank, _)) = count(rank).map_err(|why| ("percentile", why))? else { return Ok(None) };
        percentile(rank, value)
    },
    errors: ["errors:", "errors/s:"],
    reconnects: ["reconnects:", "reconnects/s:"],
};

/// A percentile with its value. Rank 0 means that there is none.
pub fn percentile(rank: u64, value: &str) -> Result<Option<Percentile>, FieldRefusal> {
    let Some((ms, _)) = amount(value).map_err(|why| ("latency percentile", why))? else { return Ok(None) };
    match u8::try_from(rank) {
        Ok(0) => Ok(None),
        Ok(rank @ 1..=100) => Ok(Some(Percentile { rank, ms })),
        _ => Err(("percentile", (rank.to_string(), "it is 1 to 100"))),
    }
}

fn threads(rest: &str) -> Result<Option<u32>, FieldRefusal> {
    let value = after(rest, "thds:").or_else(|| after(rest, "threads:")).unwrap_or_default();
    let threads = count(value).map_err(|why| ("threads", why))?;
    match threads.map(|(threads, _)| (threads, u32::try_from(threads))) {
        None => Ok(None),
        Some((_, Ok(threads))) => Ok(Some(threads)),
        Some((threads, Err(_))) => Err(("threads", (threads.to_string(), "it is at most 4294967295"))),
    }
}

fn rate(text: &str, word: &str) -> Result<Option<f64>, Refusal> {
    let Some(value) = after(text, word) else { return Ok(None) };
    Ok(amount(value)?.map(|(value, _)| value))
}

/// What follows a word that is not the end of another one: `reads:` is not in `threads:`.
fn after<'a>(text: &'a str, word: &str) -> Option<&'a str> {
    let own = |at: &usize| word.starts_with('(') || !text[..*at].ends_with(|c: char| c.is_ascii_alphabetic());
    text.match_indices(word).map(|(at, _)| at).find(own).map(|at| &text[at + word.len()..])
}

/// sysbench writes two decimals: with fewer, the end of a line was cut off. What is no number is left to
/// be refused.
fn has_two_decimals(value: &str) -> bool {
    match value.find(|c: char| !c.is_ascii_digit() && c != '.' && c != '-') {
        Some(0) => value.starts_with(|c: char| c.is_ascii_alphabetic()),
        end => value[..end.unwrap_or(value.len())]
            .split_once('.')
            .is_some_and(|(_, decimals)| decimals.len() >= 2),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn whole(text: &str) -> Interval {
        match read(text) {
            Ok(Told::Whole(interval)) => interval,
            other => panic!("{text}: {other:?}"),
        }
    }

    #[test]
    fn a_stamp_is_found_behind_many_brackets() {
        let many = "[".repeat(16_000);
        assert!(begins(&format!("{many} [ 10s ] thds: 4 tps: 1.00")));
        assert!(!begins(&format!("{many}s] x")));
    }

    #[test]
    fn every_generation_is_read() {
        let lines = [
            "[ 10s ] thds: 32 tps: 845.20 qps: 16904.01 (r/w/o: 11832.81/3380.80/1690.40) lat (ms,99%): 49.21 err/s: 0.50 reconn/s: 0.10",
            "[ 10s ] thds: 16 tps: 5.00 qps: 100.00 (r/w/o: 70.00/20.00/10.00) lat (ms,95%): 49.21 err/s 0.25 reconn/s: 0.00",
            "[  10s] threads: 16, tps: 845.20, reads: 11832.81, writes: 3380.80, response time: 4.29ms (95%), errors: 0.00, reconnects:  0.00",
            "[   5s] threads: 256, tps: 6760.88, reads/s: 95155.94, writes/s: 0.00 response time: 118.26ms (99%)",
            "[ 1s ] thds: 4 tps: 10.00 qps: 10.00 (r/w/o: 0.00/0.00/0.00) lat (ms,0%): 0.00 err/s 0.00 reconn/s: N/A",
        ];
        insta::assert_debug_snapshot!(lines.map(whole));
    }

    #[test]
    fn a_line_that_ends_early_is_told_apart() {
        let line = "[ 24s ] thds: 64 tps: 592.33 qps: 11827.96 (r/w/o: 8276.97/740.33/2810.66) lat (ms,95%): 179.94 err/s: 0.33 reconn/s: 0.00";
        for end in line.find("thds:").unwrap() + 5..line.len() {
            assert_eq!(read(&line[..end]), Ok(Told::CutShort), "{}", &line[..end]);
        }
        assert_eq!(read("[ 1s ] thds: 1 eps: 300.00 lat (ms,95%): 3.43"), Ok(Told::NoDatabase));
        for other in ["", "[root@host ~]# ls", "[ 10s ] queue length: 4, concurrency: 2", "[", "[s]thds"] {
            assert_eq!(read(other), Ok(Told::Nothing), "{other}");
        }
    }
}
