//! `.ci/dist` with a compiler that brings a program made before.

#![allow(clippy::unwrap_used, reason = "clippy's exception for tests does not reach their helper functions")]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output};

use tempfile::TempDir;

const DRIVESTONE: &str = env!("CARGO_BIN_EXE_drivestone");
const NAME: &str = concat!("drivestone-", env!("CARGO_PKG_VERSION"), "-riscv64gc-linux");

/// Runs it into `folder/out` on a machine of another architecture, where `built` is what cargo builds.
fn dist(folder: &TempDir, built: &Path) -> Output {
    let bin = folder.path().join("bin");
    fs::create_dir_all(&bin).unwrap();
    let release = folder.path().join("target/riscv64gc-unknown-linux-gnu/release");
    let (to, from) = (release.display(), built.display());
    for (name, body) in [
        ("rustc", "echo riscv64gc-unknown-linux-gnu".to_owned()),
        (
            "cargo",
            format!("[ \"$*\" = 'build --release --locked' ] && mkdir -p {to} && cp {from} {to}/drivestone"),
        ),
    ] {
        fs::write(bin.join(name), format!("#!/bin/sh\n{body}\n")).unwrap();
        fs::set_permissions(bin.join(name), fs::Permissions::from_mode(0o755)).unwrap();
    }
    let path = std::env::var("PATH").unwrap();
    Command::new("sh")
        .arg(concat!(env!("CARGO_MANIFEST_DIR"), "/.ci/dist"))
        .arg(folder.path().join("out"))
        .env("PATH", format!("{}:{path}", bin.display()))
        .env("CARGO_TARGET_DIR", folder.path().join("target"))
        .output()
        .unwrap()
}

fn files(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten();
    let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn the_binary_is_named_after_version_and_architecture_beside_its_checksum() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    for _ in 0..2 {
        let output = dist(&folder, Path::new(DRIVESTONE));
        assert!(output.status.success(), "{output:?}");
        assert_eq!(files(&out), [NAME.to_owned(), format!("{NAME}.sha256")]);
        let printed = String::from_utf8(output.stdout).unwrap();
        assert_eq!(printed, format!("{0}/{NAME}\n{0}/{NAME}.sha256\n", out.display()));
    }
    let checked = |folder: &Path| {
        let mut check = Command::new("sha256sum");
        check.args(["--check", "--status", &format!("{NAME}.sha256")]).current_dir(folder).status().unwrap()
    };
    assert!(checked(&out).success());
    assert!(Command::new(out.join(NAME)).arg("--version").output().unwrap().status.success());
    fs::write(out.join(NAME), "changed").unwrap();
    assert!(!checked(&out).success());
}

#[test]
fn what_needs_libraries_or_is_no_program_is_not_given_out() {
    let folder = tempfile::tempdir().unwrap();
    let text = folder.path().join("text");
    fs::write(&text, "no program").unwrap();
    // The test itself is static as well; the shell is not.
    for (built, why) in [(Path::new("/bin/sh"), "is not static"), (&text, "drivestone")] {
        let output = dist(&folder, built);
        assert!(!output.status.success());
        let told = String::from_utf8(output.stderr).unwrap();
        assert!(told.contains("dist: ") && told.contains(why), "{told}");
        assert!(files(&folder.path().join("out")).is_empty());
    }
}
