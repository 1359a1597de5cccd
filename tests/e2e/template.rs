//! One dataset, loaded once and copied into every lab that needs one.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use super::lab::Lab;

static TEMPLATE: OnceLock<PathBuf> = OnceLock::new();

/// Copies the loaded `d` into a lab, owners and modes included.
pub fn copy_into(lab: &Lab) {
    let template = TEMPLATE.get_or_init(load);
    copy(template, &lab.path("d"));
}

/// Loads a dataset by a short run and moves it aside. Statics are never dropped, so what earlier test
/// runs left is removed here.
fn load() -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("dataset");
    let mine = folder.join(std::process::id().to_string());
    for left in fs::read_dir(&folder).into_iter().flatten().flatten() {
        let dead = !Path::new("/proc").join(left.file_name()).exists();
        if dead || left.path() == mine {
            let _ = fs::remove_dir_all(left.path());
        }
    }
    fs::create_dir_all(&folder).unwrap();
    let lab = Lab::new().unwrap();
    lab.run("template", &["warmup=0s", "duration=1s"]);
    copy(&lab.path("d"), &mine);
    mine
}

fn copy(from: &Path, to: &Path) {
    let status = Command::new("cp").arg("-a").arg("--sparse=always").args([from, to]).status().unwrap();
    assert!(status.success(), "{status}");
}
