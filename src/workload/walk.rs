//! Ids that no two load threads share and none repeats.

/// Distance between neighbours of a walk, as a share of the range: the golden ratio spreads them evenly.
const STRIDE: f64 = 0.618_033_988_749_894_9;

/// Visits each number of `0..range` once before any comes again, far from the one before.
///
/// Number *n* is *n* × stride mod range; a stride without a divisor in common with the range reaches all.
#[derive(Debug, Clone, Copy)]
pub struct Walk {
    range: u64,
    stride: u64,
    place: u64,
    step: u64,
}

impl Walk {
    /// The walk of one of `threads` threads, numbered from 0: together they visit each number once.
    #[must_use]
    pub fn new(range: u64, thread: u32, threads: u32) -> Self {
        let range = range.max(1);
        let mut stride = ((range as f64 * STRIDE) as u64).max(1);
        while common_divisor(range, stride) != 1 {
            stride += 1;
        }
        Self { range, stride, place: u64::from(thread), step: u64::from(threads.max(1)) }
    }

    /// How many numbers lie behind, those of the other threads included if they went as far.
    #[must_use]
    pub fn passed(&self) -> u64 {
        self.place
    }

    /// Goes on from where an earlier walk of any thread stopped at the latest.
    #[must_use]
    pub fn after(mut self, passed: u64) -> Self {
        self.place += passed;
        self
    }
}

impl Iterator for Walk {
    type Item = u64;

    fn next(&mut self) -> Option<u64> {
        let product = u128::from(self.place) * u128::from(self.stride);
        self.place = self.place.wrapping_add(self.step);
        u64::try_from(product % u128::from(self.range)).ok()
    }
}

fn common_divisor(mut a: u64, mut b: u64) -> u64 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn threads_together_visit_each_number_once() {
        for range in [1_u64, 2, 10, 97, 1000, 4096] {
            let walks = (0..3).flat_map(|thread| {
                let share = (range + 2 - u64::from(thread)) / 3;
                Walk::new(range, thread, 3).take(usize::try_from(share).unwrap())
            });
            let visited: Vec<u64> = walks.collect();
            assert_eq!(visited.len() as u64, range);
            assert_eq!(visited.iter().collect::<BTreeSet<_>>().len() as u64, range, "{range}");
            assert!(visited.iter().all(|&n| n < range));
        }
    }

    #[test]
    fn a_later_walk_repeats_nothing() {
        let mut first = Walk::new(1 << 32, 0, 2);
        let seen: BTreeSet<u64> = first.by_ref().take(500).collect();
        let later: BTreeSet<u64> = Walk::new(1 << 32, 1, 2).after(first.passed()).take(500).collect();
        assert!(seen.is_disjoint(&later));
    }
}
