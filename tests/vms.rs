//! Virtual machines through a real libvirt: `make test-vms` starts a private one and runs these tests beside it.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::print_stdout,
    reason = "clippy's exceptions for tests do not reach their helper functions"
)]

#[path = "vms/lab.rs"]
mod lab;

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use drivestone::fleet::vms::check::check;
use drivestone::fleet::vms::{Machines, Request, Stage, VmsError, Watch};

use lab::{Foreign, Lab, TARGET};

#[test]
fn machines_are_made_as_asked_and_nothing_is_left_of_them() {
    let lab = Lab::new();
    let foreign = Foreign::make(&lab);
    let before = lab.everything();
    let (libvirt, instances) = lab.near_and_far();
    let request = Request { libvirt: &libvirt, instances: &instances, target: TARGET };
    let checked = check(&request, &|| false).unwrap();
    assert!(
        checked.warnings().iter().any(|warning| warning.contains("EMULATED")),
        "{:?}",
        checked.warnings()
    );

    let started = Instant::now();
    let seen = Mutex::new(Vec::new());
    let progress = |host: &str, stage: &Stage| {
        println!("{:5.1} s  {host}: {stage}", started.elapsed().as_secs_f64());
        seen.lock().unwrap().push((host.to_owned(), stage.clone()));
    };
    let watch = Watch { interrupted: &|| false, progress: &progress };
    let machines = Machines::make(&request, &checked, lab.state(), &watch).unwrap();
    let seen = seen.into_inner().unwrap();
    for host in ["vm1", "vm2"] {
        assert!(seen.contains(&(host.to_owned(), Stage::Ready)), "{seen:?}");
        lab::assert_guest(machines.ssh_config(), host);
    }
    lab.assert_domain(&format!("drivestone-{}-vm1", machines.tag()));
    lab.assert_preallocated(&format!("drivestone-{}-vm1-data.img", machines.tag()), libvirt.data_disk_bytes);
    let config = std::fs::read_to_string(machines.ssh_config()).unwrap();
    assert_eq!(config.matches("ProxyJump root@lab-hypervisor").count(), 1, "{config}");
    lab.assert_refused_host_key(machines.ssh_config());
    assert!(lab.clean(&["--remove"]).stdout.contains("still running"), "a living run is left alone");

    machines.remove().unwrap();
    assert_eq!(lab.everything(), before);
    assert_eq!(lab.state_files(), Vec::<String>::new());
    foreign.assert_untouched();
}

#[test]
fn an_interrupt_leaves_nothing_at_any_stage() {
    let lab = Lab::new();
    let before = lab.everything();
    let (libvirt, instances) = lab.plan(2);
    let request = Request { libvirt: &libvirt, instances: &instances, target: TARGET };
    let checked = check(&request, &|| false).unwrap();
    for stage in [Stage::MakingDisks, Stage::Starting, Stage::WaitingForAddress] {
        let reached = AtomicBool::new(false);
        let watch = Watch {
            interrupted: &|| reached.load(Ordering::Relaxed),
            progress: &|_, now| {
                reached.store(reached.load(Ordering::Relaxed) || *now == stage, Ordering::Relaxed)
            },
        };
        let error = Machines::make(&request, &checked, lab.state(), &watch).unwrap_err();
        assert!(error.is_interrupt(), "{stage}: {error}");
        assert_eq!(lab.everything(), before, "{stage}");
        assert_eq!(lab.state_files(), Vec::<String>::new(), "{stage}");
    }
}

#[test]
fn a_machine_that_does_not_come_says_why_and_leaves_nothing() {
    let lab = Lab::new();
    let before = lab.everything();
    let (mut libvirt, instances) = lab.plan(1);
    libvirt.boot_timeout_s = 4;
    let request = Request { libvirt: &libvirt, instances: &instances, target: TARGET };
    let checked = check(&request, &|| false).unwrap();
    let watch = Watch { interrupted: &|| false, progress: &|_, _| {} };
    let error = Machines::make(&request, &checked, lab.state(), &watch).unwrap_err();
    let VmsError::NotReady { reason, .. } = &error else { panic!("{error}") };
    assert!(reason.starts_with("no address") && reason.ends_with("after 4 s"), "{error}");
    assert_eq!(lab.everything(), before);

    libvirt.image_volume = lab.make_empty_image();
    libvirt.boot_timeout_s = 20;
    let request = Request { libvirt: &libvirt, instances: &instances, target: TARGET };
    let checked = check(&request, &|| false).unwrap();
    let error = Machines::make(&request, &checked, lab.state(), &watch).unwrap_err();
    assert!(error.to_string().contains("no address"), "{error}");
    lab.remove_empty_image();
    assert_eq!(lab.everything(), before);
}

#[test]
fn what_is_missing_is_named_before_anything_is_made() {
    let lab = Lab::new();
    let before = lab.everything();
    let refusal = |change: &dyn Fn(&mut drivestone::plan::LibvirtPlan)| {
        let (mut libvirt, instances) = lab.plan(2);
        change(&mut libvirt);
        let request = Request { libvirt: &libvirt, instances: &instances, target: TARGET };
        let error = check(&request, &|| false).unwrap_err().to_string();
        println!("{error}\n");
        assert!(error.starts_with(&libvirt.hypervisors[0]), "{error}");
        error
    };
    assert!(refusal(&|plan| plan.pool = "nowhere".into()).contains("virsh pool-list --all"));
    assert!(refusal(&|plan| plan.network = "nowhere".into()).contains("virsh net-list --all"));
    assert!(refusal(&|plan| plan.image_volume = "none.qcow2".into()).contains("pool images has: base.qcow2"));
    assert!(refusal(&|plan| plan.data_disk_bytes = 1 << 50).contains("pool dut has "));
    assert!(refusal(&|plan| plan.system_disk_bytes = 1 << 20).contains("is smaller than the image"));
    assert!(
        refusal(&|plan| plan.hypervisors[0] = "qemu:///system?socket=/nonexistent".into())
            .contains("/nonexistent")
    );
    let both = refusal(&|plan| {
        plan.pool = "nowhere".into();
        plan.network = "nowhere".into();
    });
    assert_eq!(both.lines().count(), 2, "{both}");
    assert_eq!(lab.everything(), before);
}

#[test]
fn clean_removes_what_a_killed_run_left() {
    let lab = Lab::new();
    let foreign = Foreign::make(&lab);
    let before = lab.everything();
    let mut child = lab.spawn_maker();
    let deadline = Instant::now() + Duration::from_secs(120);
    while lab.running_domains().len() < 3 {
        assert!(Instant::now() < deadline && child.try_wait().unwrap().is_none(), "two machines start");
        thread::sleep(Duration::from_millis(200));
    }
    assert!(lab.clean(&[]).stdout.contains("still running"));
    child.kill().unwrap();
    child.wait().unwrap();

    let listed = lab.clean(&[]);
    println!("{}{}", listed.stdout, listed.stderr);
    for part in ["ended without removing", "domain drivestone-", "-data.img in pool dut", "-vm2-seed.img"] {
        assert!(listed.stdout.contains(part), "{part}");
    }
    assert_ne!(lab.everything(), before, "listing removes nothing");

    let unreachable = lab.without_hypervisor(|| lab.clean(&["--remove"]));
    println!("{}{}", unreachable.stdout, unreachable.stderr);
    assert_eq!(unreachable.code, 4);
    assert_eq!(lab.state_files().iter().filter(|name| name.ends_with(".json")).count(), 1);

    let removed = lab.clean(&["--remove"]);
    assert_eq!((removed.code, removed.stderr.as_str()), (0, ""));
    assert_eq!(lab.everything(), before);
    assert_eq!(lab.state_files(), Vec::<String>::new());
    assert_eq!(lab.clean(&[]).stdout, "nothing is left of any run\n");
    foreign.assert_untouched();
}

#[test]
fn four_machines_are_made_measured_and_removed() {
    let lab = Lab::new();
    let before = lab.everything();
    let said = lab.measure(4, &[2, 4]);
    println!("{}{}", said.stderr, said.stdout);
    assert_eq!(said.code, 0);
    let report = lab.report();
    for (run, instances) in [(0, 2), (1, 4)] {
        let run = &report["results"][0]["runs"][run];
        assert_eq!(run["instances"], instances, "{run}");
        assert!(run["tps"].as_f64().unwrap() > 0.0, "{run}");
    }
    assert_eq!(lab.everything(), before);
    assert_eq!(lab.state_files(), Vec::<String>::new());
}

/// Not a test of its own: the process that `clean_removes_what_a_killed_run_left` kills.
#[test]
fn makes_machines_until_killed() {
    let Some(state) = lab::maker_state() else { return };
    let lab = Lab::at(state);
    let (libvirt, instances) = lab.near_and_far();
    let request = Request { libvirt: &libvirt, instances: &instances, target: TARGET };
    let checked = check(&request, &|| false).unwrap();
    let watch = Watch { interrupted: &|| false, progress: &|_, _| {} };
    let _machines = Machines::make(&request, &checked, lab.state(), &watch).unwrap();
    thread::sleep(Duration::from_secs(600));
}
