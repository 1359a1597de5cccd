//! Frequencies of processors, as cpufreq tells them.

use std::path::{Path, PathBuf};

use super::kernel_file::KernelFile;
use super::platform::numbered;

/// Reading one makes the kernel ask that processor, so that not all of a large host are asked.
const MOST: usize = 8;
/// A frequency's digits.
const DIGITS: usize = 16;

/// Files of a few processors, spread evenly over all.
#[derive(Debug)]
pub struct Frequencies(Vec<KernelFile>);

impl Frequencies {
    /// Of the processors below `/sys` or what stands for it; none where the kernel does not tell.
    #[must_use]
    pub fn of(sysfs: &Path) -> Self {
        let cpus = numbered(&sysfs.join("devices/system/cpu"), "cpu");
        let files: Vec<PathBuf> = cpus
            .iter()
            .map(|cpu| cpu.join("cpufreq/scaling_cur_freq"))
            .filter(|file| file.exists())
            .collect();
        let step = files.len().div_ceil(MOST).max(1);
        Self(files.iter().step_by(step).map(|file| KernelFile::open(file)).collect())
    }

    /// The frequencies now, kHz.
    pub fn now_khz(&self) -> Vec<u32> {
        let read = |file: &KernelFile| {
            let mut space = [0; DIGITS];
            std::str::from_utf8(file.read_start(&mut space)).ok()?.trim().parse().ok()
        };
        self.0.iter().filter_map(read).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_few_of_many_processors() {
        let sysfs = tempfile::tempdir().unwrap();
        for cpu in 0..20 {
            let folder = sysfs.path().join(format!("devices/system/cpu/cpu{cpu}/cpufreq"));
            fs::create_dir_all(&folder).unwrap();
            fs::write(folder.join("scaling_cur_freq"), format!("{}\n", 1_000_000 + cpu)).unwrap();
        }
        fs::create_dir_all(sysfs.path().join("devices/system/cpu/cpufreq")).unwrap();
        let now = Frequencies::of(sysfs.path()).now_khz();
        assert_eq!(now, [1_000_000, 1_000_003, 1_000_006, 1_000_009, 1_000_012, 1_000_015, 1_000_018]);
        assert_eq!(Frequencies::of(Path::new("/nowhere")).now_khz(), [0; 0]);
    }
}
