//! Whole logs: as sysbench left them, cut, changed, and made up.

use std::fs;
use std::path::PathBuf;

use proptest::prelude::*;

use super::*;

fn fixtures() -> Vec<(String, Vec<u8>)> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/sysbench");
    let mut all: Vec<_> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| {
            let path = entry.unwrap().path();
            (path.file_name().unwrap().to_string_lossy().into_owned(), fs::read(&path).unwrap())
        })
        .collect();
    all.sort();
    all
}

fn fixture(name: &str) -> String {
    let found = fixtures().into_iter().find(|(own, _)| own == name);
    let bytes = found.unwrap_or_else(|| panic!("no fixture {name}")).1;
    // One was copied from a page, with its spaces that do not break.
    String::from_utf8(bytes).unwrap().replace('\u{a0}', " ")
}

/// The only run of a log.
fn run(log: &str) -> SysbenchRun {
    let mut log = parse("a.log", log.as_bytes()).unwrap();
    assert_eq!(log.runs.len(), 1);
    log.runs.remove(0)
}

/// What a log is, without the bulk of its intervals.
fn outline(name: &str, bytes: &[u8]) -> String {
    let mut log = match parse(name, bytes) {
        Ok(log) => log,
        Err(error) => return format!("refused: {error}"),
    };
    assert_eq!(log.validate(name), Ok(()), "{name}");
    let stored = serde_json::to_string(&log).unwrap();
    assert_eq!(serde_json::from_str::<SysbenchLog>(&stored).unwrap(), log, "{name}");
    let lines = |run: &SysbenchRun| {
        run.intervals.iter().map(|own| format!("{own:?}").replace(", ", "  ")).collect::<Vec<_>>()
    };
    let intervals: Vec<Vec<String>> = log.runs.iter().map(lines).collect();
    log.runs.iter_mut().for_each(|run| run.intervals.clear());
    let shown = intervals.iter().map(|lines| {
        let (first, last) = (lines.iter().take(6), lines.iter().skip(6.max(lines.len().saturating_sub(1))));
        format!(
            "{} intervals:\n{}",
            lines.len(),
            first.chain(last).map(|l| format!("  {l}\n")).collect::<String>()
        )
    });
    format!("{}\n{}", serde_json::to_string_pretty(&log).unwrap(), shown.collect::<String>())
}

#[test]
fn golden_logs() {
    let intervals = run(&fixture("0.5-intervals.log")).intervals;
    assert_eq!(intervals[0].reads_per_s, Some(11_832.81));
    for (name, bytes) in fixtures() {
        insta::assert_snapshot!(name.trim_end_matches(".log"), outline(&name, &bytes));
    }
}

#[test]
fn a_galera_log_is_whole_though_a_terminal_broke_it_and_its_intervals_end_early() {
    let run = run(&fixture("1.1-galera.log"));
    assert_eq!((run.intervals.len(), run.threads, run.dialect), (58, 64, Dialect::V1_1));
    let broken = &run.intervals[7];
    assert_eq!((broken.second, broken.tps, broken.reconnects_per_s), (24, 592.33, Some(0.0)));
    assert_eq!(run.intervals.last().unwrap().second, 174);
    let summary = run.summary.unwrap();
    assert_eq!((summary.transactions, summary.seconds), (Some(100_000), Some(176.3015)));
    assert_eq!((summary.total, summary.ignored_errors), (Some(2_006_138), Some(341)));
    assert_eq!(summary.percentile, Some(Percentile { rank: 95, ms: 161.51 }));
}

#[test]
fn each_run_of_a_log_is_one_of_the_result() {
    let log = parse("modes.log", fixture("0.4-modes.log").as_bytes()).unwrap();
    let told: Vec<_> = log.runs.iter().map(|run| (run.test.as_deref().unwrap(), run.threads)).collect();
    let expected = [
        ("sysbench04_complex", 1),
        ("sysbench04_complex", 1),
        ("sysbench04_complex", 16),
        ("sysbench04_simple", 16),
    ];
    assert_eq!(told[..4], expected);
    assert_eq!(told[4], ("sysbench04_select", 16));
    let deadlocks = log.runs.iter().map(|run| run.summary.as_ref().unwrap().ignored_errors.unwrap());
    assert_eq!(deadlocks.collect::<Vec<_>>(), [0, 0, 373, 0, 0]);
    assert!(log.runs.iter().all(|run| !run.options.contains_key("mysql-password")));
}

#[test]
fn a_loggers_stamp_before_each_line_changes_nothing() {
    let log = fixture("1.0-whole.log");
    for stamp in ["Nov 30 10:00:00 host sysbench[71]: ", "2026-11-30T10:00:00.123Z ", "bench-1  | "] {
        let stamped: String = log.lines().map(|line| format!("{stamp}{line}\n")).collect();
        let (plain, stamped) = (run(&log), run(&stamped));
        assert_eq!((stamped.version, stamped.threads), (plain.version, 4), "{stamp}");
        assert_eq!((stamped.intervals, stamped.summary), (plain.intervals, plain.summary), "{stamp}");
    }
}

#[test]
fn a_repeated_line_fills_the_time_that_it_has() {
    let seconds = |log: &str| run(log).intervals.iter().map(|own| own.second).collect::<Vec<_>>();
    let line = |second| {
        format!(
            "[ {second}s ] thds: 2 tps: 1.00 qps: 1.00 (r/w/o: 1.00/0.00/0.00) lat (ms,95%): 1.00 err/s: 0.00 reconn/s: 0.00\n"
        )
    };
    let three_more = "(last message repeated 3 times)\n";
    assert_eq!(seconds(&[&line(10), three_more, &line(50)].concat()), [10, 20, 30, 40, 50]);
    assert_eq!(seconds(&[&line(1), three_more].concat()), [1, 2, 3, 4]);
    // It was the line itself that came again.
    assert_eq!(seconds(&[&line(1), &line(2), three_more, &line(3)].concat()), [1, 2, 3]);
    assert_eq!(seconds(&[line(1), line(1), line(2)].concat()), [1, 2]);
    // Something else was repeated.
    assert_eq!(seconds(&[&line(1), "Time limit exceeded, exiting...\n", three_more].concat()), [1]);
    let error = parse("a.log", [&line(1), "(last message repeated 4000000000 times)"].concat().as_bytes());
    assert!(error.unwrap_err().to_string().starts_with("a.log:2: last message repeated 4000000000"));
}

#[test]
fn few_bytes_do_not_become_many_intervals() {
    let run = "Number of threads: 2\n[ 1s ] thds: 2 tps: 1.00 qps: 1.00 (r/w/o: 1.00/0.00/0.00) \
               lat (ms,95%): 1.00 err/s: 0.00 reconn/s: 0.00\n(last message repeated 6000 times)\n\
               Running the test with following options:\n";
    assert_eq!(parse("a.log", run.as_bytes()).unwrap().runs[0].intervals.len(), 6_001);
    let error = parse("a.log", run.repeat(2).as_bytes()).unwrap_err().to_string();
    let expected =
        "a.log:7: last message repeated 6000 cannot be: at most 10000 lines of a log are repeated ones";
    assert_eq!(error, expected);
}

#[test]
fn logs_have_bounds() {
    let line = |second: u64| format!("[{second}s]thds:1tps:1reconn/s:0.00\n");
    let error = parse("a.log", (1..=100_001).map(line).collect::<String>().as_bytes()).unwrap_err();
    assert!(
        error.to_string().starts_with("a.log:100001: number of interval lines 100001 cannot be"),
        "{error}"
    );
    let runs = format!("Running the test with following options:\n{}", line(1)).repeat(1_001);
    let error = parse("a.log", runs.as_bytes()).unwrap_err();
    assert!(error.to_string().contains("more than 1000 runs"), "{error}");
}

#[test]
fn counts_that_no_sum_holds_are_refused_by_name() {
    let log = fixture("1.0-whole.log");
    let most = format!("{}", u64::MAX);
    let without_total: String = log
        .lines()
        .filter(|line| !line.contains("total: "))
        .map(|line| match line.trim_start().split_once(':') {
            Some((label @ ("read" | "write"), _)) => format!("        {label}:   {most}\n"),
            _ => format!("{line}\n"),
        })
        .collect();
    let error = parse("a.log", without_total.as_bytes()).unwrap_err().to_string();
    assert!(
        error.contains(&format!("read {most} cannot be: a whole number from 0 to 9007199254740992")),
        "{error}"
    );
}

#[test]
fn a_log_without_threads_takes_them_from_where_they_show() {
    let whole = fixture("0.4-modes.log").replace(" --num-threads=16", "");
    let log = parse("a.log", whole.replace("Number of threads: 16\n", "").as_bytes()).unwrap();
    assert_eq!(log.runs.iter().map(|run| run.threads).collect::<Vec<_>>(), [1, 1, 16, 16, 16]);
    let nothing = whole.replace("Number of threads", "N").replace("events (avg/stddev)", "e");
    let error = parse("a.log", nothing.as_bytes()).unwrap_err().to_string();
    assert!(error.contains("nothing in it says how many threads ran"), "{error}");
}

/// A figure of a log, what it is changed to, and why that cannot be is told.
const IMPOSSIBLE: [(&str, &str, &str); 27] = [
    ("1.0-whole.log", "Number of threads: 4", "Number of threads: 0"),
    ("1.0-whole.log", "Number of threads: 4", "Number of threads: -4"),
    ("1.0-whole.log", "Number of threads: 4", "Number of threads: 4294967296"),
    ("1.0-whole.log", "[ 2s ] thds: 4", "[ 2s ] thds: 5"),
    ("1.0-whole.log", "[ 3s ] thds: 4 tps: ", "[ 3s ] thds: 4 tps: -"),
    ("1.0-whole.log", "[ 3s ] thds: 4 tps: ", "[ 3s ] thds: 4 tps: nan "),
    ("1.0-whole.log", "[ 3s ] thds: 4 tps: ", "[ 3s ] thds: 4 tps: inf "),
    ("1.0-whole.log", "[ 3s ] thds: 4 tps: ", "[ 3s ] thds: 4 tps: 1e300 "),
    ("1.0-whole.log", "[ 3s ]", "[ 1s ]"),
    ("1.0-whole.log", "[ 3s ]", "[ -3s ]"),
    ("1.0-whole.log", "[ 5s ]", "[ 50s ]"),
    ("1.0-whole.log", "(r/w/o: ", "(r/w/o: 1"),
    ("1.0-whole.log", "lat (ms,99%): ", "lat (ms,101%): "),
    ("1.0-whole.log", "lat (ms,99%): ", "lat (ms,95%): "),
    ("1.0-whole.log", "99th percentile:", "101th percentile:"),
    ("1.0-whole.log", "read:                            7", "read:                            8"),
    ("1.0-whole.log", "total number of events:              5", "total number of events:              8"),
    (
        "1.0-whole.log",
        "    total time:                          5",
        "    total time:                          7",
    ),
    ("1.1-galera.log", "eps):                      567", "eps):                      867"),
    ("1.1-galera.log", "2006138 (11379", "2006139 (11379"),
    (
        "1.1-galera.log",
        "min:                                    4.44",
        "min:                                  444.44",
    ),
    (
        "1.1-galera.log",
        "avg:                                  112.80",
        "avg:                                  812.80",
    ),
    (
        "1.1-galera.log",
        "max:                                  818.96",
        "max:                                   18.96",
    ),
    (
        "1.1-galera.log",
        "95th percentile:                      161.51",
        "95th percentile:                      861.51",
    ),
    ("1.1-galera.log", "100000 (567.21", "18446744073709551616 (567.21"),
    ("1.1-galera.log", "1404774", "1404774.5"),
    ("0.5-intervals.log", "requests:                 456494", "requests:                 456495"),
];

#[test]
fn what_cannot_be_is_refused_by_name() {
    let refusals = IMPOSSIBLE.map(|(name, is, becomes)| {
        let log = fixture(name);
        assert!(log.contains(is), "{name} lacks {is}");
        match parse(name, log.replacen(is, becomes, 1).as_bytes()) {
            Err(error) => error.to_string(),
            Ok(_) => panic!("{name} with {becomes} was taken"),
        }
    });
    insta::assert_snapshot!(refusals.join("\n"));
}

#[test]
fn a_percentile_may_lie_above_the_maximum_by_its_bucket() {
    let log = fixture("1.1-galera.log");
    let above =
        log.replace("percentile:                      161.51", "percentile:                      827.00");
    assert_eq!(run(&above).summary.unwrap().percentile.unwrap().ms, 827.0);
}

#[test]
fn a_log_that_ends_early_tells_what_it_has() {
    for (name, bytes) in fixtures() {
        let Ok(whole) = parse(&name, &bytes) else { continue };
        let ends = bytes.iter().enumerate().filter(|(_, byte)| **byte == b'\n').map(|(at, _)| at);
        for end in ends {
            let Ok(log) = parse(&name, &bytes[..end]) else { continue };
            for (cut, run) in log.runs.iter().zip(&whole.runs) {
                let known = cut.intervals.len().min(run.intervals.len());
                assert_eq!(cut.intervals[..known], run.intervals[..known], "{name} cut at {end}");
                let reads = cut.summary.as_ref().and_then(|summary| summary.reads);
                if !name.contains("checkpoints") && reads.is_some() {
                    assert_eq!(reads, run.summary.as_ref().and_then(|summary| summary.reads), "{name}");
                }
            }
        }
    }
}

prop_compose! {
    fn interval()(
        threads in 1..=64_u32,
        cents in prop::array::uniform4(0..100_000_000_u32),
        rates in prop::array::uniform2(0..100_000_u32),
    ) -> Interval {
        let [reads, writes, other, ms] = cents.map(|cents| f64::from(cents) / 100.0);
        let [errors, reconnects] = rates.map(|cents| f64::from(cents) / 100.0);
        Interval {
            second: 0,
            threads,
            tps: other,
            qps: Some(((reads + writes + other) * 100.0).round() / 100.0),
            reads_per_s: Some(reads),
            writes_per_s: Some(writes),
            other_per_s: Some(other),
            percentile: Some(Percentile { rank: 95, ms }),
            errors_per_s: Some(errors),
            reconnects_per_s: Some(reconnects),
        }
    }
}

/// The line that 1.x prints of an interval.
fn printed(own: &Interval) -> String {
    format!(
        "[ {}s ] thds: {} tps: {:.2} qps: {:.2} (r/w/o: {:.2}/{:.2}/{:.2}) lat (ms,95%): {:.2} err/s: {:.2} reconn/s: {:.2}",
        own.second,
        own.threads,
        own.tps,
        own.qps.unwrap(),
        own.reads_per_s.unwrap(),
        own.writes_per_s.unwrap(),
        own.other_per_s.unwrap(),
        own.percentile.unwrap().ms,
        own.errors_per_s.unwrap(),
        own.reconnects_per_s.unwrap()
    )
}

proptest! {
    #[test]
    fn what_sysbench_prints_is_read_back(mut intervals in prop::collection::vec(interval(), 1..30), width in 60..200_usize) {
        let mut log = "Number of threads: 64\n".to_owned();
        for (own, n) in intervals.iter_mut().zip(1..) {
            own.second = 5 * n;
            // A terminal of this width breaks lines; not within the stamp.
            let line = printed(own);
            let parts = line.as_bytes().chunks(width).map(|part| std::str::from_utf8(part).unwrap());
            log += &parts.collect::<Vec<_>>().join("\n");
            log.push('\n');
        }
        prop_assert_eq!(run(&log).intervals, intervals);
    }

    #[test]
    fn no_bytes_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        let _ = parse("a.log", &bytes);
    }

    /// Bytes of a log replaced, removed or doubled: it is read or refused, and what is read can be stored.
    #[test]
    fn changed_logs_are_read_or_refused(
        which in 0..100_usize,
        changes in prop::collection::vec((any::<prop::sample::Index>(), 0..30_usize, "[-0-9.:s%\n\r \\[\\]a-z]{0,6}"), 1..6),
    ) {
        let all = fixtures();
        let (name, mut bytes) = all[which % all.len()].clone();
        for (at, removed, text) in changes {
            let at = at.index(bytes.len());
            let end = (at + removed).min(bytes.len());
            bytes.splice(at..end, text.into_bytes());
        }
        if let Ok(log) = parse(&name, &bytes) {
            prop_assert_eq!(log.validate(&name), Ok(()));
            let stored = serde_json::to_string(&log).unwrap();
            prop_assert_eq!(serde_json::from_str::<SysbenchLog>(&stored).unwrap(), log);
        }
    }
}
