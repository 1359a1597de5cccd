//! Help, completions, the manual page, and readers that leave early.

use std::io::{BufRead as _, BufReader};
use std::process::Stdio;

use super::lab::Lab;

#[test]
fn help_is_worth_reading() {
    let lab = Lab::without_server();
    for subcommand in ["", "check", "plan", "run", "report", "env", "import", "completions", "man"] {
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
