//! How far another host's clock is from ours.

use serde::{Deserialize, Serialize};

/// A host's monotonic clock minus the coordinator's, and how wrong that may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClockOffset {
    /// Best estimate, ns.
    pub offset_ns: i64,
    /// The truth is within this, ns: half the round trip.
    pub bound_ns: i64,
}

impl ClockOffset {
    /// From one ping: sent at `sent_ns` and answered by `received_ns` on our clock, read as `agent_ns` on
    /// the other. The answer was written somewhere in between, at worst at either end.
    #[must_use]
    pub fn from_round_trip(sent_ns: i64, agent_ns: i64, received_ns: i64) -> Self {
        let half = (received_ns - sent_ns).max(0) / 2;
        Self { offset_ns: agent_ns - (sent_ns + half), bound_ns: half + 1 }
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
    }
}
