//! What a report of a one-hour result costs: wall time, processor time and peak memory of
//! `drivestone report`, for each format; of one instance, where the aim is 2 s and 200 MB, and of
//! sixteen, where it is 4 s and 300 MB.
//!
//! `cargo bench --bench report [-- FORMAT…]`

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a benchmark prints, and stops where it cannot go on"
)]

#[path = "report/fleet.rs"]
mod fleet;
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
    let chosen = |format: &&&str| {
        let named: Vec<_> = arguments.iter().filter(|a| !a.starts_with("--")).collect();
        named.is_empty() || named.iter().any(|a| a.as_str() == **format)
    };
    let folder = tempfile::tempdir().unwrap();
    let one = folder.path().join("one");
    hour::write(&one);
    let one = compare("1 instance, 600 + 3600 s", &one, &chosen);
    let sixteen = folder.path().join("sixteen");
    fleet::write(&sixteen, 16);
    let sixteen = compare("16 instances, 3600 s", &sixteen, &chosen);
    for (format, (one, sixteen)) in FORMATS.iter().filter(chosen).zip(one.iter().zip(&sixteen)) {
        let [wall, cpu, rss] = [0, 1, 2].map(|figure| sixteen[figure] / one[figure]);
        println!(
            "{format}: 16 instances take {wall:.1} × the time, {cpu:.1} × the CPU, {rss:.1} × the memory of 1"
        );
    }
}

/// Reports a bundle in each chosen format, in turn, and prints the medians, which it returns.
fn compare(title: &str, bundle: &Path, chosen: &dyn Fn(&&&str) -> bool) -> Vec<[f64; 3]> {
    let journal = std::fs::metadata(bundle.join("journal.jsonl")).unwrap().len();
    println!("{title}: journal of {:.1} MB", journal as f64 / 1e6);
    println!("{:<7} {:>10} {:>10} {:>12}   median of {REPEATS}", "format", "wall s", "CPU s", "peak RSS MB");
    let formats: Vec<&&str> = FORMATS.iter().filter(|format| chosen(format)).collect();
    let mut samples = vec![Vec::new(); formats.len()];
    for _ in 0..REPEATS {
        for (format, samples) in formats.iter().zip(&mut samples) {
            samples.push(measured_apart(format, bundle));
        }
    }
    let medians = samples.iter().map(|samples| {
        [0, 1, 2].map(|figure| median(samples.iter().map(|sample: &[f64; 3]| sample[figure]).collect()))
    });
    let medians: Vec<[f64; 3]> = medians.collect();
    for (format, [wall, cpu, rss]) in formats.iter().zip(&medians) {
        println!("{format:<7} {wall:>10.3} {cpu:>10.3} {rss:>12.1}");
    }
    medians
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
