//! What a test needs from the machine: other programs, and a folder on a disk.

use std::env;
use std::ffi::OsStr;
use std::io::Write;
use std::path::PathBuf;

use tempfile::TempDir;

/// Where distributions put servers, which an ordinary user's PATH leaves out.
const SYSTEM_FOLDERS: [&str; 4] = ["/usr/local/sbin", "/usr/sbin", "/sbin", "/usr/libexec"];

/// The path of `program`, or None after saying that the test is skipped:
///
/// ```ignore
/// let Some(server) = require("mariadbd") else { return };
/// ```
///
/// # Panics
/// When the program is missing and CI=true: there, a test that was not run is a failure.
pub fn require(program: &str) -> Option<PathBuf> {
    let found = find(program, &env::var_os("PATH").unwrap_or_default());
    found.or_else(|| {
        let told = skip(program, env::var_os("CI").as_deref());
        // Written past the test runner, which keeps what a passing test prints to itself.
        std::io::stderr().write_all(format!("{told}\n").as_bytes()).unwrap();
        None
    })
}

/// A new folder on the disk of the build, removed when dropped. The system's folder for temporary
/// files is often a tmpfs, which knows neither O_DIRECT nor a device.
pub fn scratch() -> TempDir {
    tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap()
}

fn find(program: &str, path: &OsStr) -> Option<PathBuf> {
    let folders = env::split_paths(path).chain(SYSTEM_FOLDERS.iter().map(PathBuf::from));
    folders.map(|folder| folder.join(program)).find(|candidate| candidate.is_file())
}

fn skip(program: &str, ci: Option<&OsStr>) -> String {
    assert!(ci != Some(OsStr::new("true")), "{program} is missing: `.ci/prepare tests` installs it");
    let name = std::thread::current().name().unwrap_or("a test").to_owned();
    format!("SKIPPED: {name}: {program} is missing, `.ci/prepare tests` installs it")
}

#[test]
fn a_program_is_found_on_the_path_and_beside_it() {
    let folder = scratch();
    let program = folder.path().join("some-server");
    std::fs::write(&program, "").unwrap();
    assert_eq!(find("some-server", folder.path().as_os_str()), Some(program));
    assert_eq!(find("some-server", OsStr::new("/nowhere")), None);
    assert!(require("sh").is_some());
}

#[test]
fn a_missing_program_skips_by_name() {
    let told = skip("no-such-server", None);
    assert!(told.starts_with("SKIPPED: "), "{told}");
    assert!(told.contains("a_missing_program_skips_by_name: no-such-server is missing"), "{told}");
}

#[test]
#[should_panic(expected = "no-such-server is missing")]
fn a_missing_program_fails_in_ci() {
    skip("no-such-server", Some(OsStr::new("true")));
}
