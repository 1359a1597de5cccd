//! What drivestone did not make stays as it is, wherever it stands.

use std::fs;
use std::os::unix::fs::symlink;

use super::lab::{Lab, code};

/// Runs the lab; returns its exit code and what it said.
fn run(lab: &Lab, arguments: &[&str]) -> (i32, String) {
    let output = lab.output(&[&["run", "hardware.yaml", "profile.yaml"], arguments].concat());
    lab.nothing_left();
    (code(output.status), String::from_utf8(output.stderr).unwrap())
}

#[test]
fn a_link_in_the_place_of_its_folder_is_refused() {
    let Some(lab) = Lab::loaded() else { return };
    let dataset = lab.dataset();
    fs::create_dir(lab.path("elsewhere")).unwrap();
    fs::rename(&dataset, lab.path("moved")).unwrap();
    symlink(lab.path("elsewhere"), &dataset).unwrap();
    let (code, message) = run(&lab, &["--out", "out"]);
    assert_eq!(code, 3, "{message}");
    assert!(message.contains("is a link or a file"), "{message}");
    assert!(!lab.path("out").exists());
    assert_eq!(fs::read_dir(lab.path("elsewhere")).unwrap().count(), 0);
}

#[test]
fn a_marker_that_says_nothing_marks_nothing() {
    let Some(lab) = Lab::loaded() else { return };
    let dataset = lab.dataset();
    fs::write(dataset.join("drivestone.json"), "").unwrap();
    fs::remove_file(dataset.join("manifest.json")).unwrap();
    fs::write(dataset.join("data/precious"), "text").unwrap();
    let (code, message) = run(&lab, &["--out", "out"]);
    assert_eq!(code, 3, "{message}");
    assert!(message.contains("files that drivestone did not make"), "{message}");
    assert_eq!(fs::read_to_string(dataset.join("data/precious")).unwrap(), "text");
}

#[test]
fn a_result_does_not_lie_among_the_datasets() {
    let Some(lab) = Lab::loaded() else { return };
    let out = lab.dataset().join("data/result");
    let (code, message) = run(&lab, &["--out", out.to_str().unwrap()]);
    assert_eq!(code, 2, "{message}");
    assert!(message.contains("lies among the datasets"), "{message}");
    assert!(!out.exists());
}

#[test]
fn options_that_would_lead_elsewhere_are_refused() {
    let lab = Lab::without_server();
    for (name, value) in [("datadi", "/tmp"), ("bind_addr", "0.0.0.0"), ("enable_skip_grant_tables", "1")] {
        let change = format!("server.variables.{name}={value}");
        let output = lab.output(&["check", "hardware.yaml", "profile.yaml", "--set", &change]);
        let message = String::from_utf8(output.stderr).unwrap();
        assert_eq!(code(output.status), 3, "{message}");
        assert!(message.contains("is set by drivestone"), "{message}");
    }
}

#[test]
fn a_report_does_not_replace_what_it_is_made_from() {
    let Some(lab) = Lab::loaded() else { return };
    lab.run("out", &["warmup=0s", "duration=1s"]);
    let journal = fs::read(lab.path("out/journal.jsonl")).unwrap();
    let output = lab.output(&["report", "out", "--out", "out/journal.jsonl"]);
    assert_eq!(code(output.status), 2);
    assert_eq!(fs::read(lab.path("out/journal.jsonl")).unwrap(), journal);
    let output = lab.output(&["report", "out", "--out", "/dev/null"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(!fs::metadata("/dev/null").unwrap().is_file(), "a device was replaced");
}

/// A plan comes from a file that anybody may have edited.
#[test]
fn an_edited_plan_is_not_repeated() {
    let Some(lab) = Lab::loaded() else { return };
    lab.run("out", &["warmup=0s", "duration=1s"]);
    let plan = fs::read_to_string(lab.path("out/plan.json")).unwrap();
    fs::write(lab.path("out/plan.json"), plan.replace("\"name\": \"lab\"", "\"name\": \"../../lab\""))
        .unwrap();
    for arguments in [&["run", "--from", "out", "--out", "again"][..], &["report", "out"]] {
        let output = lab.output(arguments);
        let message = String::from_utf8(output.stderr).unwrap();
        assert_eq!(code(output.status), 2, "{message}");
        assert!(message.contains("hardware.name is not a profile's name"), "{message}");
    }
}
