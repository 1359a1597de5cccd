//! Help, completions, the manual page, and readers that leave early.

use std::io::{BufRead as _, BufReader};
use std::process::Stdio;

use serde_json::Value;

use super::lab::Lab;

#[test]
fn help_is_worth_reading() {
    let lab = Lab::without_server();
    for subcommand in [
        "",
        "check",
        "plan",
        "run",
        "report",
        "env",
        "devices",
        "discover",
        "iostat",
        "import",
        "completions",
        "man",
    ] {
        let arguments: Vec<&str> =
            [subcommand, "--help"].into_iter().filter(|word| !word.is_empty()).collect();
        let output = lab.output(&arguments);
        assert!(output.status.success());
        insta::assert_snapshot!(format!("help_{subcommand}"), String::from_utf8(output.stdout).unwrap());
    }
}

#[test]
fn completions_and_manual_are_printed() {
    let lab = Lab::without_server();
    for shell in ["bash", "zsh", "fish"] {
        let output = lab.output(&["completions", shell]);
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(output.status.success() && text.contains("drivestone") && text.contains("report"), "{text}");
    }
    let output = lab.output(&["man"]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success() && text.contains(".TH drivestone 1"), "{text}");
}

#[test]
fn a_reader_may_leave_early() {
    let Some(lab) = Lab::loaded() else { return };
    lab.run("out", &["warmup=0s", "duration=1s"]);
    for arguments in [["report", "out", "--format", "html"], ["report", "out", "--format", "json"]] {
        let mut child =
            lab.command(&arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut line = Vec::new();
        BufReader::with_capacity(1, child.stdout.take().unwrap()).read_until(b'\n', &mut line).unwrap();
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{}", output.status);
        assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    }
}

#[test]
fn devices_and_paths_are_shown_down_to_their_disks() {
    let lab = Lab::without_server();
    let text = |arguments: &[&str]| {
        let output = lab.output(arguments);
        assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    assert!(text(&["devices"]).starts_with("NAME"));
    let stack: Value = serde_json::from_str(&text(&["devices", ".", "--json"])).unwrap();
    let headline = &stack["devices"][0];
    assert_eq!((&headline["role"], headline["written_bytes"].as_u64() > Some(0)), (&"headline".into(), true));
    assert!(stack["path"].as_str().is_some_and(|path| lab.path("").ends_with(path.trim_start_matches('/'))));
    let name = headline["name"].as_str().unwrap();
    assert!(text(&["devices"]).contains(name) && text(&["devices", ".", "--redact"]).contains(name));
    let profile = text(&["discover", "."]);
    lab.write("found.yaml", &profile);
    let plan = lab.output(&["plan", "found.yaml", "profile.yaml", "--set", "server.buffer_pool=6MiB"]);
    assert!(plan.status.success(), "{profile}\n{}", String::from_utf8_lossy(&plan.stderr));
}

#[test]
fn what_is_no_device_and_on_none_is_refused_by_name() {
    let lab = Lab::without_server();
    let mut told = String::new();
    for what in ["/no/such/path", "sdnone", "/dev/null", "/proc/self", "300:0"] {
        for command in ["devices", "discover"] {
            let output = lab.output(&[command, what]);
            assert_eq!(output.status.code(), Some(2), "{command} {what}");
            told += &String::from_utf8(output.stderr).unwrap();
        }
    }
    insta::assert_snapshot!("devices_that_are_none", told);
}
