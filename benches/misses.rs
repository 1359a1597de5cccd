//! Predicted against measured buffer-pool misses: read-only transactions, the pool full.
//!
//! `cargo bench --bench misses [DIR]`: about nine minutes, 2 GB below DIR (a temporary folder if none is named).

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a bench prints its figures")]

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

const TABLES: u32 = 8;
const ROWS: u32 = 300_000;
/// Dataset over pool.
const RATIOS: [u64; 3] = [3, 10, 30];

fn main() {
    let named = std::env::args().skip(1).find(|argument| !argument.starts_with('-'));
    let temporary = tempfile::tempdir().unwrap();
    let folder = named.map_or_else(|| temporary.path().to_path_buf(), Into::into);
    println!(
        "| keys | dataset : pool | predicted | measured | difference | TPS |\n|---|---|---|---|---|---|"
    );
    for keys in ["uniform", "special", "zipfian"] {
        for ratio in RATIOS {
            println!("| {keys} | {ratio} {}", row(&folder, keys, ratio));
        }
    }
}

fn row(folder: &Path, keys: &str, ratio: u64) -> String {
    let hardware = folder.join("hardware.yaml");
    let device = folder.join("data");
    let text = format!(
        "name: misses\ndescription: d\ndevice:\n  path: {}\n  create: true\nmemory:\n  buffer_pool: 100MiB\n",
        device.display()
    );
    fs::create_dir_all(folder).unwrap();
    fs::write(&hardware, text).unwrap();
    let pool_mib = (dataset_bytes(&hardware, folder, keys) / ratio) >> 20;
    let profile = profile(folder, keys, pool_mib);
    let result = folder.join(format!("{keys}-{ratio}"));
    let [hardware, profile, result] = [&hardware, &profile, &result].map(|path| path.to_str().unwrap());
    drivestone(&["run", hardware, profile, "--out", result]);
    let report: Value = serde_json::from_str(&drivestone(&["report", result, "--format", "json"])).unwrap();
    let of = |pointer: &str| report.pointer(pointer).and_then(Value::as_f64).unwrap();
    let predicted = of("/results/0/plan/estimate/misses_per_transaction");
    let measured = of("/results/0/runs/0/anatomy/misses_per_transaction");
    let tps = of("/results/0/runs/0/tps");
    let percent = (measured / predicted - 1.0) * 100.0;
    format!("| {predicted:.2} | {measured:.2} | {percent:+.1} % | {tps:.0} |")
}

fn dataset_bytes(hardware: &Path, folder: &Path, keys: &str) -> u64 {
    let profile = profile(folder, keys, 100);
    let plan = drivestone(&["plan", hardware.to_str().unwrap(), profile.to_str().unwrap(), "--json"]);
    let plan: Value = serde_json::from_str(&plan).unwrap();
    plan.pointer("/plan/estimate/dataset_bytes").and_then(Value::as_u64).unwrap()
}

fn profile(folder: &Path, keys: &str, pool_mib: u64) -> std::path::PathBuf {
    let path = folder.join("profile.yaml");
    let text = format!(
        "name: misses\ndescription: d\nworkload:\n  kind: oltp_read_only\n  keys: {keys}\n\
         dataset:\n  tables: {TABLES}\n  rows: {ROWS}\nload:\n  threads: 8\n  warmup: 30s\n  duration: 20s\n  \
         seed: 1\nserver:\n  buffer_pool: {pool_mib}MiB\n  log_file_size: 256MiB\nallow_cached: true\n"
    );
    fs::write(&path, text).unwrap();
    path
}

fn drivestone(arguments: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_drivestone")).args(arguments).output().unwrap();
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}
