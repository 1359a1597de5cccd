//! What a report of a one-hour result costs: wall time, processor time and peak memory of
//! `drivestone report`, for each format. The aim is 2 s and 200 MB.
//!
//! `cargo bench --bench report [-- FORMAT…]`

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a benchmark prints, and stops where it cannot go on"
)]

#[path = "report/hour.rs"]
mod hour;

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use nix::sys::resource::{UsageWho, getrusage};

/// Reports of each format; the median is shown.
const REPEATS: usize = 9;
const FORMATS: [&str; 3] = ["table", "json", "html"];

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [flag, format, bundle] = arguments.as_slice()
        && flag == "--measure-once"
    {
        return measure(format, Path::new(bundle));
    }
    let chosen = |format: &&str| {
        let named: Vec<_> = arguments.iter().filter(|a| !a.starts_with("--")).collect();
        named.is_empty() || named.iter().any(|a| a == format)
    };
    let folder = tempfile::tempdir().unwrap();
    let bundle = folder.path().join("hour");
    hour::write(&bundle);
    let journal = std::fs::metadata(bundle.join("journal.jsonl")).unwrap().len();
    println!("journal of 600 + 3600 s: {:.1} MB", journal as f64 / 1e6);
    println!("{:<7} {:>10} {:>10} {:>12}   median of {REPEATS}", "format", "wall s", "CPU s", "peak RSS MB");
    let mut samples = FORMATS.map(|_| Vec::new());
    for _ in 0..REPEATS {
        for (format, samples) in FORMATS.iter().zip(&mut samples).filter(|(format, _)| chosen(format)) {
            samples.push(measured_apart(format, &bundle));
        }
    }
    for (format, samples) in FORMATS.iter().zip(&samples).filter(|(_, samples)| !samples.is_empty()) {
        let [wall, cpu, rss] = [0, 1, 2].map(|figure| median(samples.iter().map(|s| s[figure]).collect()));
        println!("{format:<7} {wall:>10.3} {cpu:>10.3} {rss:>12.1}");
    }
}

/// Runs one report and prints its wall time, processor time and peak memory.
fn measure(format: &str, bundle: &Path) {
    let begin = Instant::now();
    let status = Command::new(env!("CARGO_BIN_EXE_drivestone"))
        .args(["report", "--format", format])
        .arg(bundle)
        .stdout(Stdio::null())
        .status()
        .unwrap();
    assert!(status.success(), "{status}");
    let wall = begin.elapsed().as_secs_f64();
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN).unwrap();
    let seconds = |time: nix::sys::time::TimeVal| time.tv_sec() as f64 + time.tv_usec() as f64 / 1e6;
    let cpu = seconds(usage.user_time()) + seconds(usage.system_time());
    println!("{wall} {cpu} {}", usage.max_rss() as f64 * 1024.0 / 1e6);
}

/// `[wall s, CPU s, peak RSS MB]` of one report, from a process of its own: the kernel counts the
/// memory of whoever starts a program as that program's, and this process is large by now.
fn measured_apart(format: &str, bundle: &Path) -> [f64; 3] {
    let own = std::env::current_exe().unwrap();
    let output = Command::new(own).args(["--measure-once", format]).arg(bundle).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    let figures: Vec<f64> = text.split_whitespace().map(|figure| figure.parse().unwrap()).collect();
    figures.try_into().unwrap()
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
