//! Random numbers for workloads: one seeded generator a thread.

use rand_core::{Rng as _, SeedableRng as _};
use rand_xoshiro::Xoshiro256PlusPlus;

/// A seeded generator. Two generators with the same seed give the same stream on every machine.
#[derive(Debug, Clone)]
pub struct WorkloadRng(Xoshiro256PlusPlus);

impl WorkloadRng {
    /// The generator of one stream: `run_seed` names the run, `stream` the thread within it.
    ///
    /// The two are spread by SplitMix64 so that neighbouring streams share nothing.
    #[must_use]
    pub fn new(run_seed: u64, stream: u64) -> Self {
        Self(Xoshiro256PlusPlus::seed_from_u64(run_seed ^ split_mix(stream)))
    }

    /// A uniform 64-bit number.
    pub fn next_u64(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// Uniform in 0–1, 1 excluded: the 53 bits that a float holds.
    pub fn unit(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Uniform in `low..=high`, by multiplication (Lemire); the bias is below 2⁻³² for any table.
    pub fn between(&mut self, low: u64, high: u64) -> u64 {
        let span = u128::from(high - low) + 1;
        let scaled = (u128::from(self.next_u64()) * span) >> 64;
        low + u64::try_from(scaled).unwrap_or(u64::MAX)
    }
}

/// The two streams of a load thread: which rows it touches, and what it writes into them.
///
/// They are apart so that a repeated run touches the same rows and still changes them: a text that is
/// there already would make an update that writes nothing.
#[derive(Debug, Clone)]
pub struct Streams {
    /// Tables, ids and values of `k`.
    pub choices: WorkloadRng,
    /// Contents of `c` and `pad`.
    pub text: WorkloadRng,
}

impl Streams {
    /// The streams of one thread. `generation` counts the runs that have changed the dataset before.
    #[must_use]
    pub fn new(run_seed: u64, stream: u64, generation: u32) -> Self {
        // The highest bit keeps texts apart from the choices of every other stream.
        let text_seed = run_seed ^ split_mix(1 << 63 | u64::from(generation));
        Self { choices: WorkloadRng::new(run_seed, stream), text: WorkloadRng::new(text_seed, stream) }
    }
}

/// Vigna's SplitMix64 finaliser.
fn split_mix(value: u64) -> u64 {
    let mut z = value.wrapping_add(0x9E37_79B9_7F4A_7C15);
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_differ_and_repeat() {
        let first = |seed, stream| WorkloadRng::new(seed, stream).next_u64();
        assert_eq!(first(7, 1), first(7, 1));
        assert_ne!(first(7, 1), first(7, 2));
        assert_ne!(first(7, 1), first(8, 1));
    }

    #[test]
    fn a_generation_changes_texts_and_nothing_else() {
        let [mut a, mut b] = [Streams::new(7, 1, 0), Streams::new(7, 1, 1)];
        assert_eq!(a.choices.next_u64(), b.choices.next_u64());
        assert_ne!(a.text.next_u64(), b.text.next_u64());
        assert_ne!(a.choices.next_u64(), a.text.next_u64());
    }

    #[test]
    fn between_reaches_both_ends_and_nothing_else() {
        let mut rng = WorkloadRng::new(1, 1);
        let mut seen = [0_u32; 5];
        for _ in 0..1000 {
            seen[usize::try_from(rng.between(10, 14) - 10).unwrap()] += 1;
        }
        assert!(seen.iter().all(|&n| n > 120), "{seen:?}");
        assert_eq!(rng.between(3, 3), 3);
        rng.between(0, u64::MAX);
    }
}
