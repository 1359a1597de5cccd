//! A device that vanishes from the kernel's list while a run goes on.

use std::fs;
use std::process::Command;

use super::journal::Journal;
use super::lab::{Lab, PATIENCE, code, first_run};
use super::mount::{Mount, may_mount};
use super::require::require;

/// In a mount namespace of its own: once the measured interval has begun, a list of devices without the disk below the
/// loop device is put over the kernel's.
const SCRIPT: &str = r#"
out=$1 disk=$2; shift 2
"$@" --out "$out" & run=$!
until grep -q run_started "$out/journal.jsonl" 2>/dev/null; do sleep 0.1; kill -0 $run || exit 9; done
sleep 3
grep -v " $disk " /proc/diskstats > "$out.diskstats"
mount --bind "$out.diskstats" /proc/diskstats
wait $run
"#;

#[test]
fn a_device_that_vanishes_is_told_and_ends_the_run_if_it_is_to() {
    let (Some(lab), true, Some(unshare)) = (Lab::new(), may_mount(), require("unshare")) else { return };
    let Some(_mount) = Mount::ext4(&lab.path("d"), "300M") else { return };
    lab.run("load", &["warmup=0s", "duration=1s"]);
    let journal = Journal::read(&lab.path("load"));
    let (.., facts) = journal.events("probed").next().unwrap();
    let disk = facts["target"]["mount"]["devices"][1]["name"].as_str().unwrap().to_owned();

    for (policy, expected) in [("continue", 0), ("stop", 5)] {
        let mut command = Command::new(&unshare);
        command.args(["--mount", "sh", "-c", SCRIPT, "sh", policy, &disk]);
        let on_loss = format!("load.on_device_loss={policy}");
        let run = lab.command(&[]);
        command.arg(run.get_program()).args(["run", "hardware.yaml", "profile.yaml"]);
        command
            .args(["--set", "warmup=0s", "--set", "duration=8s", "--set", &on_loss])
            .current_dir(lab.path(""));
        let mut running = lab.start_command(policy, command);
        let status = running.wait(PATIENCE);
        let told = running.told();
        assert_eq!(code(status), expected, "{told}");
        assert!(told.contains(&format!("device {disk} has vanished")), "{told}");
        let journal = Journal::read(&lab.path(policy));
        let vanished: Vec<_> = journal.events("device_vanished").collect();
        assert_eq!(vanished.len(), 1, "it is told once");
        let result = lab.result(policy);
        let run = first_run(&result);
        assert!(run["transactions"].as_u64() > Some(0), "{run}");
        let layers = run["per_instance"][0]["stack"]["layers"].as_array().unwrap();
        assert_eq!((&layers[1]["name"], &layers[1]["vanished"]), (&disk.as_str().into(), &true.into()));
        let outcome = if policy == "stop" { "partial" } else { "complete" };
        assert_eq!(run["outcome"], outcome, "{result}");
        assert!(fs::metadata(lab.path(policy).join("journal.jsonl")).is_ok());
    }
}
