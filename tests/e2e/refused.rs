//! Bad input: what is said, the exit code, and that nothing is created or changed.

use std::fs;

use super::lab::{Lab, code};
use super::mount::{Mount, may_mount};

/// Runs `drivestone run` with the lab's profiles, and returns its message. Nothing may be created.
fn refusal(lab: &Lab, expected: i32, overrides: &[&str]) -> String {
    let mut arguments = vec!["run", "hardware.yaml", "profile.yaml", "--out", "out"];
    arguments.extend(overrides.iter().flat_map(|change| ["--set", change]));
    refusal_of(lab, expected, &arguments)
}

fn refusal_of(lab: &Lab, expected: i32, arguments: &[&str]) -> String {
    let before = lab.listing();
    let output = lab.output(arguments);
    let message = String::from_utf8(output.stderr).unwrap();
    assert_eq!(code(output.status), expected, "{message}");
    assert_eq!(String::from_utf8(output.stdout).unwrap(), "");
    assert_eq!(lab.listing(), before, "something was created or changed");
    lab.nothing_left();
    anonymous(lab, &message)
}

/// Without what differs from machine to machine: the lab's path.
fn anonymous(lab: &Lab, message: &str) -> String {
    message.replace(lab.path("").to_str().unwrap().trim_end_matches('/'), "LAB")
}

/// Sizes of this machine's memory and disks.
fn with_sizes_filtered(check: impl FnOnce()) {
    let mut settings = insta::Settings::clone_current();
    settings.add_filter(r"(\b(?:memory of|has|need) )[0-9.]+[KMGT]?i?B", "${1}SIZE");
    settings.add_filter(r"( free of )[0-9.]+[KMGT]?i?B", "${1}SIZE");
    settings.bind(check);
}

#[test]
fn profiles() {
    let mut said = String::new();
    for (file, line, with) in [
        ("profile.yaml", "  threads: 8\n", "  threads: 8\n  treads: 9\n"),
        ("profile.yaml", "  threads: 8\n", "  threads: 8\n  threads: 9\n"),
        ("profile.yaml", "  threads: 8\n", "  threads: many\n"),
        ("hardware.yaml", "  buffer_pool: 6MiB\n", "  buffer_pool: 6 apples\n"),
        ("hardware.yaml", "device:\n", "device: [\n"),
    ] {
        let lab = Lab::without_server();
        lab.edit(file, line, with);
        said += &format!("----- {:?}\n{}\n", with, refusal(&lab, 3, &[]));
    }
    let lab = Lab::without_server();
    said += &format!("----- --set\n{}\n", refusal(&lab, 3, &["treads=9"]));
    insta::assert_snapshot!(said);
}

#[test]
fn a_missing_profile_and_missing_arguments() {
    let lab = Lab::without_server();
    let message = refusal_of(&lab, 3, &["run", "nowhere.yaml", "profile.yaml"]);
    assert!(message.contains("nowhere.yaml"), "{message}");
    refusal_of(&lab, 2, &["run"]);
    refusal_of(&lab, 2, &["run", "hardware.yaml"]);
    refusal_of(&lab, 2, &["report"]);
    refusal_of(&lab, 2, &["fly"]);
}

#[test]
fn pools_and_working_sets() {
    let Some(lab) = Lab::new() else { return };
    let mut said = String::new();
    for pool in ["900TB", "100MiB"] {
        said += &format!("----- buffer_pool: {pool}\n");
        said += &refusal(&lab, 3, &[&format!("server.buffer_pool={pool}")]);
    }
    with_sizes_filtered(|| insta::assert_snapshot!(said));
}

#[test]
fn directories() {
    let Some(lab) = Lab::new() else { return };
    lab.edit("hardware.yaml", "  create: true\n", "");
    let mut said = format!("----- missing\n{}", refusal(&lab, 3, &[]));
    fs::write(lab.path("d"), "a file").unwrap();
    said += &format!("----- a file\n{}", refusal(&lab, 3, &[]));
    lab.edit("hardware.yaml", "path: ./d\n", "path: ./d\n  create: true\n");
    said += &format!("----- a file, and create\n{}", refusal(&lab, 3, &[]));
    fs::remove_file(lab.path("d")).unwrap();
    said += &format!(
        "----- too small\n{}",
        refusal(&lab, 3, &["tables=10000", "rows=1000000000", "server.transport=tcp"])
    );
    lab.edit("hardware.yaml", "path: ./d\n", "path: ./d\n  required_space: 900TB\n");
    said += &format!("----- less than required\n{}", refusal(&lab, 3, &[]));
    with_sizes_filtered(|| insta::assert_snapshot!(said));
}

#[test]
fn read_only_filesystems() {
    let Some(lab) = Lab::new() else { return };
    if !may_mount() {
        return;
    }
    let mount = Mount::tmpfs(&lab.path("d"), "1g");
    mount.make_read_only();
    let mut said = refusal(&lab, 3, &[]);
    lab.edit("hardware.yaml", "path: ./d\n", "path: ./d/b\n");
    said += &refusal(&lab, 3, &[]);
    insta::assert_snapshot!(said);
}

#[test]
fn a_tmpfs_is_warned_of() {
    let Some(lab) = Lab::new() else { return };
    if !may_mount() {
        return;
    }
    let _mount = Mount::tmpfs(&lab.path("d"), "1g");
    let output = lab.output(&["check", "hardware.yaml", "profile.yaml"]);
    assert!(output.status.success());
    insta::assert_snapshot!(anonymous(&lab, &String::from_utf8(output.stderr).unwrap()));
}

#[test]
fn servers() {
    let Some(lab) = Lab::new() else { return };
    lab.edit("hardware.yaml", "memory:\n", "server:\n  program: /nowhere/mariadbd\nmemory:\n");
    let mut said = refusal(&lab, 3, &[]);
    lab.edit("hardware.yaml", "/nowhere/mariadbd", "/bin/true");
    said += &refusal(&lab, 3, &[]);
    lab.edit("hardware.yaml", "  program: /bin/true\n", "  account: no-such-account\n");
    said += &refusal(&lab, 3, &[]);
    insta::assert_snapshot!(said);
}

#[test]
fn long_socket_paths() {
    let Some(lab) = Lab::new() else { return };
    let long = "x".repeat(60);
    lab.edit("hardware.yaml", "path: ./d\n", &format!("path: ./{long}\n"));
    let message = refusal(&lab, 3, &[]);
    for words in ["hardware.yaml:4", "the kernel allows 107", "server.transport: tcp", &long] {
        assert!(message.contains(words), "{message}");
    }
    let output = lab.output(&["check", "hardware.yaml", "profile.yaml", "--set", "server.transport=tcp"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// What only the server can know ends the preparation, with its cause.
#[test]
fn settings_that_the_server_refuses() {
    for (variables, told, cause) in [
        ("innodb_no_such_thing: 1", "innodb_no_such_thing", "this server does not know"),
        ("innodb_stats_method: perhaps", "perhaps", "does not fit its variable"),
        ("", "requires innodb_buffer_pool_size", "make memory.buffer_pool larger"),
    ] {
        let Some(lab) = Lab::new() else { return };
        lab.edit("profile.yaml", "server:\n", &format!("server:\n  variables: {{{variables}}}\n"));
        // What preflight accepts for the usual page is too small a pool for a large one.
        let page = if variables.is_empty() { "page_size=64KiB" } else { "page_size=16KiB" };
        let output = lab.output(&[
            "run",
            "hardware.yaml",
            "profile.yaml",
            "--out",
            "out",
            "--set",
            "server.buffer_pool=6MiB",
            "--set",
            page,
        ]);
        let message = String::from_utf8(output.stderr).unwrap();
        assert_eq!(code(output.status), 4, "{message}");
        assert!(message.contains(told), "{told}: {message}");
        let line = message.lines().find(|line| line.starts_with("likely cause: ")).unwrap_or(&message);
        assert!(line.contains(cause), "{cause}: {message}");
        lab.nothing_left();
        assert_eq!(lab.result("out")["outcome"], "failed");
    }
}

#[test]
fn a_result_folder_that_exists() {
    let Some(lab) = Lab::new() else { return };
    fs::create_dir(lab.path("out")).unwrap();
    fs::write(lab.path("out/precious"), "text").unwrap();
    let message = refusal(&lab, 2, &[]);
    assert_eq!(message, "error: out exists; a result needs a folder of its own, name another with --out\n");
    assert_eq!(fs::read_to_string(lab.path("out/precious")).unwrap(), "text");
}

#[test]
fn results_that_are_none() {
    let lab = Lab::without_server();
    for folder in ["empty", "foreign", "emptied"] {
        fs::create_dir(lab.path(folder)).unwrap();
    }
    lab.write("foreign/journal.jsonl", "{\"hello\": \"world\"}\n");
    lab.write("foreign/plan.json", "{}");
    lab.write("emptied/journal.jsonl", "");
    let mut said = String::new();
    for result in ["missing", "empty", "foreign", "emptied", "profile.yaml"] {
        said += &format!("----- {result}\n{}", refusal_of(&lab, 2, &["report", result]));
    }
    said += &format!("----- run --from\n{}", refusal_of(&lab, 2, &["run", "--from", "missing"]));
    insta::assert_snapshot!(said);
}

/// A journal that was cut reports as partial; places where a report cannot be written are named.
#[test]
fn cut_results_and_closed_places() {
    let Some(lab) = Lab::loaded() else { return };
    lab.run("out", &["warmup=0s", "duration=2s"]);
    let journal = lab.path("out/journal.jsonl");
    let bytes = fs::read(&journal).unwrap();
    let last_line = bytes[..bytes.len() - 1].iter().rposition(|&byte| byte == b'\n').unwrap();
    fs::write(&journal, &bytes[..last_line + 20]).unwrap();
    let cut = lab.result("out");
    assert_eq!(cut["outcome"], "partial");
    assert_eq!(cut["runs"][0]["seconds"], 2.0);
    assert!(cut["notes"][0].as_str().unwrap().contains("the next line is unusable: "), "{}", cut["notes"]);

    fs::write(&journal, &bytes[..20]).unwrap();
    let mut said = refusal_of(&lab, 2, &["report", "out"]);
    fs::write(&journal, &bytes).unwrap();
    fs::write(lab.path("file"), "").unwrap();
    for place in ["nowhere/report.html", "file/report.html", "out"] {
        said += &refusal_of(&lab, 2, &["report", "out", "--format", "html", "--out", place]);
    }
    insta::assert_snapshot!(said);
}
