//! The reader as a whole: shipped files, messages, overrides, and arbitrary text.

mod fleet;
mod messages;
mod overrides;

use std::path::{Path, PathBuf};

use proptest::prelude::*;

use super::*;
use crate::workload::{KeyDistribution, WorkloadKind};

/// The smallest complete hardware profile.
const HARDWARE: &str =
    "name: lab\ndescription: a lab\ndevice:\n  path: /mnt/dut\nmemory:\n  buffer_pool: 24GiB\n";

/// The smallest complete test profile.
const PROFILE: &str = "\
name: small
description: a test
workload:
  kind: oltp_read_write
  keys: uniform
dataset:
  tables: 2
  rows: 1000
load:
  threads: 4
  warmup: 0s
  duration: 10s
";

fn profile(text: &str, overrides: &[&str]) -> Result<Document<ProfileSpec>, SpecError> {
    let overrides: Vec<String> = overrides.iter().map(|argument| (*argument).to_owned()).collect();
    parse_profile("profiles/x.yaml", text, &overrides)
}

fn shipped(folder: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
    let mut files: Vec<PathBuf> = folder.read_dir().unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files
}

#[test]
fn shipped_hardware_is_read() {
    let files = shipped("hardware");
    assert!(files.len() >= 3);
    for file in files {
        let document = read_hardware(&file).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(Some(document.spec.name.as_str()), file.file_stem().unwrap().to_str());
        if ["dell", "lenovo"].iter().any(|maker| document.spec.name.starts_with(maker)) {
            assert!(!document.spec.device.create);
            assert_eq!(document.spec.device.required_space.unwrap().bytes(), 260_000_000_000);
            assert_eq!(document.spec.memory.buffer_pool.to_string(), "24GiB");
            assert_eq!(document.spec.platform[0].0, "Server");
        }
    }
}

#[test]
fn shipped_profiles_are_read() {
    let mut found = Vec::new();
    for file in shipped("profiles") {
        let spec = read_profile(&file, &[]).unwrap_or_else(|error| panic!("{error}")).spec;
        assert_eq!(Some(spec.name.as_str()), file.file_stem().unwrap().to_str());
        if spec.name.starts_with("storagereview") {
            assert_eq!(spec.load.warmup.seconds(), 7200);
            assert!(!spec.allow_cached);
        }
        let threads: Vec<u32> = spec.load.threads.iter().map(|threads| threads.get()).collect();
        found.push((spec.name, threads, spec.dataset.tables.get(), spec.dataset.rows.get()));
    }
    found.sort();
    let expected: [(&str, &[u32], u32, u64); 16] = [
        ("cdc-insert", &[8, 16, 32, 64, 128, 256, 512], 16, 10_000_000),
        ("cdc-write-only", &[16, 32, 64, 128, 256], 16, 10_000_000),
        ("galera-read-write", &[64], 6, 1),
        ("quick", &[32], 10, 100_000),
        ("rate-ramp", &[64], 10, 1_000_000),
        ("storagereview-oltp", &[32], 100, 10_000_000),
        ("storagereview-oltp-uniform", &[32], 100, 10_000_000),
        ("storagereview-oltp-vms", &[32], 100, 10_000_000),
        ("sysbench04-complex", &[1, 16], 1, 10_000),
        ("sysbench04-delete", &[16], 1, 10_000),
        ("sysbench04-insert", &[1, 16], 1, 10_000),
        ("sysbench04-select", &[1, 16], 1, 10_000),
        ("sysbench04-simple", &[1, 16], 1, 10_000),
        ("sysbench04-update-key", &[1, 16], 1, 10_000),
        ("sysbench04-update-nokey", &[1, 16], 1, 10_000),
        ("thread-sweep", &[1, 2, 4, 8, 16, 32, 64, 128], 10, 1_000_000),
    ];
    let expected =
        expected.map(|(name, threads, tables, rows)| (name.to_owned(), threads.to_vec(), tables, rows));
    assert_eq!(found, expected);
}

#[test]
fn hardware_has_every_field() {
    let text = "\
name: nvme-lab
description: >-
  two lines
  of text
device:
  path: ./data
  create: true
  required_space: 260GB
  facts: { Model: P320h, Interface: PCIe 2.0, NAND: '34' }
platform:
  Server: R730
  CPU: 0x10
memory: { buffer_pool: 15% }
server:
  program: /usr/sbin/mariadbd
  account: mysql
";
    let spec = parse_hardware("hardware/x.yaml", text).unwrap().spec;
    assert_eq!(spec.description, "two lines of text");
    assert!(spec.device.create);
    assert_eq!(spec.device.required_space.map(ByteSize::bytes), Some(260_000_000_000));
    let facts = [("Model", "P320h"), ("Interface", "PCIe 2.0"), ("NAND", "34")];
    assert_eq!(spec.device.facts, facts.map(|(label, text)| (label.to_owned(), text.to_owned())));
    assert_eq!(spec.platform[1], ("CPU".to_owned(), "0x10".to_owned()));
    assert_eq!(spec.memory.buffer_pool, PoolSizeSpec::OfDataset(15.0));
    assert_eq!(spec.server.program.as_deref(), Some("/usr/sbin/mariadbd"));
    assert_eq!(spec.server.account.as_deref(), Some("mysql"));
}

#[test]
fn a_profile_has_defaults() {
    let spec = profile(PROFILE, &[]).unwrap().spec;
    assert_eq!(spec.workload.kind, WorkloadKind::OltpReadWrite);
    assert_eq!(spec.workload.distribution(), KeyDistribution::Uniform);
    assert_eq!(spec.workload.table_size, None);
    assert_eq!(spec.workload.range_size, None);
    assert_eq!(spec.dataset.seed.get(), 1);
    assert_eq!(spec.dataset.load_threads, None);
    assert_eq!(spec.load.report_interval.seconds(), 1);
    assert_eq!((spec.load.events, spec.load.seed), (None, None));
    assert_eq!(spec.server, ServerSpec::default());
    assert_eq!(spec.server.transport, TransportSpec::Socket);
    assert_eq!(spec.server.log_file_size.bytes(), 1 << 30);
    assert_eq!(spec.server.page_size.bytes(), 16384);
    assert!(!spec.allow_cached);
    assert_eq!(profile(&format!("{PROFILE}server:\n"), &[]).unwrap().spec.server, ServerSpec::default());
}

#[test]
fn variables_keep_their_spelling() {
    let text = format!(
        "{PROFILE}server:\n  transport: tcp\n  variables:\n    innodb_io_capacity: 2000\n    a: 0x10\n    b: 1.50\n    \
         c: ON\n    d: ''\n    e: 1_000\n    keycache1.key_buffer_size: 010\n    f: true\n"
    );
    let server = profile(&text, &[]).unwrap().spec.server;
    assert_eq!(server.transport, TransportSpec::Tcp);
    let values: Vec<(&str, &str)> = server.variables.iter().map(|(k, v)| (k.as_str(), v.as_str())).collect();
    let expected = [
        ("a", "0x10"),
        ("b", "1.50"),
        ("c", "ON"),
        ("d", ""),
        ("e", "1_000"),
        ("f", "true"),
        ("innodb_io_capacity", "2000"),
        ("keycache1.key_buffer_size", "010"),
    ];
    assert_eq!(values, expected);
}

#[test]
fn places_are_the_innermost_that_is_written() {
    let text = format!("# comment\n{PROFILE}server: {{ transport: socket,\n  page_size: 16KiB }}\n");
    let source = profile(&text, &["threads=8"]).unwrap().source;
    let place = |field: &str| source.place(field).to_string();
    assert_eq!(place("workload.keys"), "profiles/x.yaml:6: workload.keys");
    assert_eq!(place("workload.table_size"), "profiles/x.yaml:4: workload.table_size");
    assert_eq!(place("server.page_size"), "profiles/x.yaml:15: server.page_size");
    assert_eq!(place("server.variables.innodb_x"), "profiles/x.yaml:14: server.variables.innodb_x");
    assert_eq!(place("load.threads"), "--set threads=8: load.threads");
    assert_eq!(place("allow_cached"), "profiles/x.yaml:2: allow_cached");
    assert_eq!(
        source.place("workload.keys").snippet().unwrap(),
        "  |\n6 |   keys: uniform\n  |         ^^^^^^^"
    );
    // Windows line ends, and a byte-order mark before the first key.
    let windows = format!("\u{feff}{}", PROFILE.replace('\n', "\r\n"));
    let source = profile(&windows, &[]).unwrap().source;
    assert_eq!(source.place("load.threads").snippet().unwrap(), "   |\n10 |   threads: 4\n   |            ^");
}

#[test]
fn deep_nesting_is_refused() {
    for text in ["[".repeat(100_000), "a: {".repeat(100_000), "- ".repeat(100_000)] {
        let message = profile(&text, &[]).unwrap_err().to_string();
        assert!(message.starts_with("profiles/x.yaml:1: not valid YAML"), "{message}");
    }
}

#[test]
fn many_keys_are_read_in_linear_time() {
    let facts: String = (0..60_000).map(|i| format!("k{i}: v, ")).collect();
    let text = HARDWARE.replace("  path: /mnt/dut\n", &format!("  path: /mnt/dut\n  facts: {{ {facts} }}\n"));
    let started = std::time::Instant::now();
    assert_eq!(parse_hardware("x.yaml", &text).unwrap().spec.device.facts.len(), 60_000);
    assert!(started.elapsed().as_secs() < 20, "{:?}", started.elapsed());
}

/// YAML-like text: indicators and words of the format in any order.
fn yaml_like() -> impl Strategy<Value = String> {
    let words = [
        "name: ",
        "load:",
        "threads: ",
        "\n",
        "\n  ",
        "\n- ",
        "{",
        "}",
        "[",
        "]",
        ", ",
        ": ",
        "? ",
        "- ",
        "&a ",
        "*a",
        "!t ",
        "|\n",
        ">\n",
        "'",
        "\"",
        "#",
        "---\n",
        "...\n",
        "%YAML 1.2\n",
        "\t",
        "<<: ",
        "24GiB",
        "15%",
        "1h30min",
        "ü",
        "\u{feff}",
        "\r",
        "\0",
        "\u{85}",
        "null",
        "~",
    ];
    proptest::collection::vec(proptest::sample::select(words.to_vec()), 0..40)
        .prop_map(|parts| parts.concat())
}

proptest! {
    #[test]
    fn arbitrary_text_never_panics(text in ".*", change in ".*") {
        let _ = parse_hardware("x", &text).map_err(|error| error.to_string());
        let _ = parse_profile("x", &text, &[change]).map_err(|error| error.to_string());
    }

    #[test]
    fn yaml_like_text_never_panics(text in yaml_like()) {
        let _ = parse_hardware("x", &text).map_err(|error| error.to_string());
        let _ = parse_profile("x", &text, &["threads=8".to_owned(), "server.variables.a.b=c".to_owned()])
            .map_err(|error| error.to_string());
    }

    #[test]
    fn damaged_profiles_never_panic(start in 0..PROFILE.len(), length in 0..40_usize, inserted in yaml_like()) {
        let mut text = PROFILE.to_owned();
        text.replace_range(start..(start + length).min(PROFILE.len()), &inserted);
        let _ = parse_profile("x", &text, &[]).map_err(|error| error.to_string());
    }
}
