//! How far another host's clock is from ours.

use serde::{Deserialize, Serialize};

/// Two clocks part by at most this: 200 µs a second, twice what the worst crystals do.
const DRIFT_PPM: i64 = 200;

/// A host's monotonic clock minus the coordinator's, and how wrong that may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClockOffset {
    /// Best estimate, ns.
    pub offset_ns: i64,
    /// The truth is within this, ns: half the round trip when it was measured.
    pub bound_ns: i64,
    /// When it was measured, on our clock.
    measured_ns: i64,
}

impl ClockOffset {
    /// From one ping: sent at `sent_ns` and answered by `received_ns` on our clock, read as `agent_ns` on
    /// the other. The answer was written somewhere in between, at worst at either end.
    #[must_use]
    pub fn from_round_trip(sent_ns: i64, agent_ns: i64, received_ns: i64) -> Self {
        let half = (received_ns - sent_ns).max(0) / 2;
        Self { offset_ns: agent_ns - (sent_ns + half), bound_ns: half + 1, measured_ns: received_ns }
    }

    /// How wrong it may be at a moment of our clock, ns: clocks drift apart.
    #[must_use]
    pub fn bound_at(self, ours_ns: i64) -> i64 {
        let age_us = (ours_ns - self.measured_ns).unsigned_abs() / 1000 + 1;
        self.bound_ns + i64::try_from(age_us).unwrap_or(i64::MAX / DRIFT_PPM / 2) * DRIFT_PPM / 1000
    }

    /// Whether this one, now, says more than an earlier one.
    #[must_use]
    pub fn is_better_than(self, earlier: Self) -> bool {
        self.bound_ns < earlier.bound_at(self.measured_ns)
    }

    /// A moment of our clock on the host's.
    #[must_use]
    pub fn to_agent(self, ours_ns: i64) -> i64 {
        ours_ns + self.offset_ns
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A clock that started `offset` away from ours and runs `ppm` too fast.
    fn theirs(ours_ns: i64, offset: i64, ppm: i64) -> i64 {
        ours_ns + offset + ours_ns / 1_000_000 * ppm
    }

    proptest! {
        /// Whatever the two ways take, the true offset lies within the bound.
        #[test]
        fn truth_is_within_the_bound(offset in -1_000_000_000_000_i64..1_000_000_000_000,
                                     sent in 0_i64..1_000_000_000_000,
                                     there in 0_i64..1_000_000_000, back in 0_i64..1_000_000_000) {
            let agent = sent + there + offset;
            let measured = ClockOffset::from_round_trip(sent, agent, sent + there + back);
            prop_assert!((measured.offset_ns - offset).abs() <= measured.bound_ns);
        }

        /// Pings once a second between clocks that drift: the kept offset places a common moment within
        /// the bound that it states for that moment.
        #[test]
        fn a_moment_is_placed_within_the_bound_on_a_clock_that_drifts(
            offset in -1_000_000_000_000_i64..1_000_000_000_000,
            ppm in -DRIFT_PPM..=DRIFT_PPM,
            ways in prop::collection::vec((1_000_i64..20_000_000, 1_000_i64..20_000_000), 1..120),
            ahead in 0_i64..5_000_000_000,
        ) {
            let mut kept: Option<ClockOffset> = None;
            let mut now = 0;
            for (second, (there, back)) in (0..).zip(ways) {
                let sent = second * 1_000_000_000;
                now = sent + there + back;
                let measured = ClockOffset::from_round_trip(sent, theirs(sent + there, offset, ppm), now);
                if kept.is_none_or(|kept| measured.is_better_than(kept)) {
                    kept = Some(measured);
                }
            }
            let (kept, moment) = (kept.unwrap(), now + ahead);
            let error = (kept.to_agent(moment) - theirs(moment, offset, ppm)).abs();
            prop_assert!(error <= kept.bound_at(moment), "{error} > {}", kept.bound_at(moment));
        }
    }

    #[test]
    fn an_old_measurement_gives_way_to_a_slightly_worse_new_one() {
        let early = ClockOffset::from_round_trip(0, 100, 20_000);
        let late = ClockOffset::from_round_trip(10_000_000_000, 10_000_000_100, 10_000_060_000);
        assert!(late.is_better_than(early), "{} against {}", late.bound_ns, early.bound_at(10_000_060_000));
        assert!(!ClockOffset::from_round_trip(20_000, 0, 80_000).is_better_than(early));
    }
}
