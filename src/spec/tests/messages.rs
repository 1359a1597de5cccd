//! What people read when a file is wrong: one snapshot a family.

use super::*;

/// Messages for a profile with `from` replaced by `to`.
fn refusals(cases: &[(&str, &str)]) -> String {
    let message = |(from, to): &(&str, &str)| {
        assert!(PROFILE.contains(from), "{from}");
        profile(&PROFILE.replacen(from, to, 1), &[]).unwrap_err().to_string()
    };
    cases.iter().map(message).collect::<Vec<_>>().join("\n\n")
}

fn hardware_refusals(cases: &[(&str, &str)]) -> String {
    let message = |(from, to): &(&str, &str)| {
        assert!(HARDWARE.contains(from), "{from}");
        parse_hardware("hardware/x.yaml", &HARDWARE.replacen(from, to, 1)).unwrap_err().to_string()
    };
    cases.iter().map(message).collect::<Vec<_>>().join("\n\n")
}

#[test]
fn wrong_values() {
    insta::assert_snapshot!(refusals(&[
        ("threads: 4", "threads: many"),
        ("threads: 4", "threads: 4097"),
        ("threads: 4", "threads: -4"),
        ("threads: 4", "threads: 4.5"),
        ("threads: 4", "threads: true"),
        ("threads: 4", "threads:"),
        ("threads: 4", "threads: [4, 8, 4]"),
        ("threads: 4", "threads: [4, x]"),
        ("threads: 4", "threads: { a: 1 }"),
        ("rows: 1000", "rows: 1000000000001"),
        ("rows: 1000", "rows: 10,000"),
        ("warmup: 0s", "warmup: 90"),
        ("warmup: 0s", "warmup: 1.5h"),
        ("duration: 10s", "duration: 0s"),
        ("duration: 10s", "duration: 10s\n  report_interval: 500ms"),
        ("keys: uniform", "keys: zipf"),
        ("keys: uniform", "keys: [uniform]"),
        ("keys: uniform", "keys:"),
        ("kind: oltp_read_write", "kind: oltp_mixed"),
        ("name: small", "name: My Profile"),
        ("\nload:\n", "\nallow_cached: yes\nload:\n"),
        ("\nload:\n", "\nserver: { buffer_pool: 24G }\nload:\n"),
        ("\nload:\n", "\nserver: { log_file_size: 1gb }\nload:\n"),
        ("\nload:\n", "\nserver: { page_size: 5KiB }\nload:\n"),
        ("\nload:\n", "\nserver: { variables: { sql_mode: } }\nload:\n"),
        ("\nload:\n", "\nserver: { variables: { sql_mode: [A] } }\nload:\n"),
        ("\nload:\n", "\nserver: { variables: { innodb-io: 5 } }\nload:\n"),
        ("\nload:\n", "\nserver: { variables: [innodb_x] }\nload:\n"),
        ("\nload:\n", "\nserver: 5\nload:\n"),
        ("  tables: 2\n  rows: 1000\n", "  - 1\n"),
    ]));
}

#[test]
fn what_does_not_go_together() {
    insta::assert_snapshot!(refusals(&[
        ("kind: oltp_read_write", "kind: oltp_point_select\n  range_size: 10"),
        ("kind: oltp_read_write", "kind: oltp_insert\n  prepared: true"),
        ("kind: oltp_read_write", "kind: oltp_update_index\n  index_updates: 0"),
        ("kind: oltp_read_write", "kind: select_random_points"),
        ("kind: oltp_read_write", "kind: sysbench04_simple"),
        ("kind: oltp_read_write", "kind: bulk_insert"),
        ("keys: uniform", "keys: uniform\n  zipfian_exp: 1"),
        ("keys: uniform", "keys: pareto\n  pareto_h: 1.0"),
        ("keys: uniform", "keys: zipfian\n  zipfian_exp: many"),
        ("rows: 1000", "rows: 0"),
        ("rows: 1000", "rows: 1000\n  auto_inc: 1"),
        ("warmup: 0s", "warmup: 0s\n  ignore_errors: some"),
        ("warmup: 0s", "warmup: 0s\n  ignore_errors: [1213, 0]"),
        ("warmup: 0s", "warmup: 0s\n  ignore_errors: [1213, 2013]"),
        ("warmup: 0s", "warmup: 0s\n  rate: 0"),
        ("warmup: 0s", "warmup: 0s\n  rate: 5\n  ramp: { from: 1, to: 2, steps: 2, p99_ms: 5 }"),
        ("warmup: 0s", "warmup: 0s\n  ramp: { from: 10, to: 2, steps: 2, p99_ms: 5 }"),
        ("warmup: 0s", "warmup: 0s\n  ramp: { from: 1, to: 2, steps: 2 }"),
        ("threads: 4", "threads: [1, 2]\n  ramp: { from: 1, to: 2, steps: 2, p99_ms: 5 }"),
        ("duration: 10s", "events: 5\n  ramp: { from: 1, to: 2, steps: 2, p99_ms: 5 }"),
    ]));
}

#[test]
fn wrong_hardware() {
    insta::assert_snapshot!(hardware_refusals(&[
        ("path: /mnt/dut", "path: ~/data"),
        ("path: /mnt/dut", "path: ''"),
        ("path: /mnt/dut", "path: ~"),
        ("path: /mnt/dut", "path: /mnt/dut\n  required_space: 260"),
        ("path: /mnt/dut", "path: /mnt/dut\n  facts: fast"),
        ("path: /mnt/dut", "path: /mnt/dut\n  facts: { Model: }"),
        ("path: /mnt/dut", "path: /mnt/dut\n  mount: true"),
        ("  buffer_pool: 24GiB", "  buffer_pool: 0%"),
        ("  buffer_pool: 24GiB", "  pool: 24GiB"),
        ("  buffer_pool: 24GiB\n", ""),
        ("memory:", "server: { account: my sql }\nmemory:"),
        ("memory:", "workload: { kind: x }\nmemory:"),
    ]));
}

#[test]
fn unknown_keys() {
    insta::assert_snapshot!(refusals(&[
        ("threads: 4", "thread: 4"),
        ("\nload:", "\nloda:"),
        ("duration: 10s", "runtime: 10s"),
        ("duration: 10s", "duration: 10s\n  <<: { a: 1 }"),
        ("duration: 10s", "duration: 10s\n  \"a\\nb\": 1"),
    ]));
}

#[test]
fn duplicate_keys() {
    insta::assert_snapshot!(refusals(&[
        ("duration: 10s", "duration: 10s\n  threads: 8"),
        ("name: small", "name: small\nname: other"),
        ("\nload:", "\nserver: { variables: { a: 1, a: 2 } }\nload:"),
    ]));
}

#[test]
fn missing_keys() {
    insta::assert_snapshot!(refusals(&[
        ("  threads: 4\n", ""),
        ("  duration: 10s\n", ""),
        ("name: small\n", ""),
        ("dataset:\n  tables: 2\n  rows: 1000\n", ""),
        ("  tables: 2\n  rows: 1000\n", ""),
        ("  kind: oltp_read_write\n  keys: uniform\n", ""),
    ]));
}

#[test]
fn documents_that_are_no_profile() {
    let texts = [
        "",
        "# only a comment\n",
        "---\n",
        "~",
        "just text",
        "- a\n- b\n",
        "name: a\n---\nname: b\n",
        "load:\n\tthreads: 4\n",
        "load: { threads: 4\n",
        "name: 'open\n",
        "name: a: b\n",
        "load:\n   threads: 4\n  warmup: 1s\n",
        "? [a]\n: b\n",
        "name: !!str a\n",
        "name: &a x\ndescription: *a\n",
        "description: *a\n",
        "name: a\u{0}b\n",
    ];
    let messages: Vec<String> =
        texts.iter().map(|text| profile(text, &[]).unwrap_err().to_string()).collect();
    insta::assert_snapshot!(messages.join("\n\n"));
}

#[test]
fn long_lines_are_shown_in_part() {
    let text = PROFILE
        .replace("\nload:", &format!("\nserver: {{ variables: {{ a: {}, B: 1 }} }}\nload:", "x".repeat(500)));
    insta::assert_snapshot!(profile(&text, &[]).unwrap_err());
}

#[test]
fn files_that_cannot_be_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    std::fs::create_dir(path("folder.yaml")).unwrap();
    std::fs::write(path("latin1.yaml"), b"name: a\ndescription: caf\xe9\n").unwrap();
    std::fs::write(path("large.yaml"), vec![b'#'; (1 << 20) + 1]).unwrap();
    std::fs::write(path("file"), "").unwrap();
    let names = ["absent.yaml", "folder.yaml", "latin1.yaml", "large.yaml", "file/x.yaml", "file"];
    let messages: Vec<String> = names
        .iter()
        .map(|name| read_profile(&path(name), &[]).unwrap_err().to_string())
        .map(|message| message.replace(folder.path().to_str().unwrap(), "DIR"))
        .collect();
    insta::assert_snapshot!(messages.join("\n"));
    // The largest file that is read.
    std::fs::write(path("full.yaml"), format!("{PROFILE}{}", "#".repeat((1 << 20) - PROFILE.len()))).unwrap();
    assert!(read_profile(&path("full.yaml"), &[]).is_ok());
}
