//! Lists of processors as the kernel writes them.

use std::collections::BTreeSet;

/// Highest number that Linux gives a processor.
const HIGHEST_CPU: u32 = 8191;

/// The processors of a list as the kernel writes it, such as `0-3,8`.
#[must_use]
pub fn cpus_in(list: &str) -> Option<BTreeSet<u32>> {
    let mut cpus = BTreeSet::new();
    for part in list.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last): (u32, u32) = (first.trim().parse().ok()?, last.trim().parse().ok()?);
        // No machine has as many: a list from a file may say anything.
        if first > last || last > HIGHEST_CPU {
            return None;
        }
        cpus.extend(first..=last);
    }
    Some(cpus)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_processors() {
        assert_eq!(cpus_in("0-3,8"), Some(BTreeSet::from([0, 1, 2, 3, 8])));
        assert_eq!(
            (cpus_in(""), cpus_in("3-1"), cpus_in("0-4294967295"), cpus_in("x")),
            (None, None, None, None)
        );
    }
}
