//! Latency distributions: recording, storing, merging, percentiles.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::{Serializer as _, V2DeflateSerializer};

use super::hdr::{self, Shape};
use crate::protocol::event::LatencyRecord;

/// The longest latency that is told apart, ns: an hour.
pub const LONGEST_NS: u64 = 3_600_000_000_000;
/// Latencies of transactions: three significant digits, 0.1 % of the value. It takes 270 kB.
pub type LatencyHistogram = Latencies<3>;
/// Latencies of one kind of statement: two digits, 1 % of the value. It takes 37 kB.
pub type StatementHistogram = Latencies<2>;
/// Transactions that a stored distribution, or a sum of them, may count: above, percentiles would
/// lose the exact rank. At a million a second that is 285 years.
pub const MOST_COUNTED: u64 = 1 << 53;

/// A stored distribution that cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("latency histogram unreadable: {0}")]
pub struct HistogramError(String);

/// A stored distribution that has been read: the counts that are not zero, and the exact figures.
///
/// It takes the memory of what it holds.
#[derive(Debug, Clone, Default)]
pub struct Distribution<const DIGITS: u8 = 3> {
    /// `(latency ns, transactions)`, ascending.
    counts: Vec<(u64, u64)>,
    count: u64,
    sum_ns: u64,
    min_ns: u64,
    max_ns: u64,
}

const fn shape(digits: u8) -> Shape {
    Shape { highest: LONGEST_NS, digits: digits as u32 }
}

impl<const DIGITS: u8> Distribution<DIGITS> {
    /// Reads a stored distribution.
    ///
    /// # Errors
    /// When the text is not a histogram of our shape, or the figures beside it cannot be its own.
    pub fn of_record(record: &LatencyRecord) -> Result<Self, HistogramError> {
        if record.count == 0 {
            return Ok(Self::default());
        }
        let bytes = BASE64.decode(&record.hdr).map_err(|e| HistogramError(e.to_string()))?;
        let counts = hdr::decode(&bytes, shape(DIGITS)).map_err(HistogramError)?;
        check(record, &counts)?;
        let LatencyRecord { count, sum_ns, min_ns, max_ns, .. } = *record;
        Ok(Self { counts, count, sum_ns, min_ns, max_ns })
    }

    /// Transactions.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The same percentile that a [`LatencyHistogram`] with these transactions gives.
    #[must_use]
    pub fn percentile_ns(&self, percentile: f64) -> Option<u64> {
        let rank = ((percentile / 100.0).min(1.0) * self.count as f64).ceil().max(1.0) as u64;
        let mut passed = 0_u64;
        let (value, _) = self.counts.iter().find(|(_, n)| {
            passed = passed.saturating_add(*n);
            passed >= rank
        })?;
        Some(shape(DIGITS).highest_equivalent(*value).clamp(self.min_ns, self.max_ns))
    }
}

/// The figures beside a stored distribution must be its own.
fn check(record: &LatencyRecord, counts: &[(u64, u64)]) -> Result<(), HistogramError> {
    let refuse = |reason: String| Err(HistogramError(reason));
    let stored: u128 = counts.iter().map(|(_, n)| u128::from(*n)).sum();
    if stored != u128::from(record.count) {
        return refuse(format!("it holds {stored} transactions where {} were counted", record.count));
    }
    if stored > u128::from(MOST_COUNTED) {
        return refuse(format!("{stored} transactions are more than {MOST_COUNTED} in all"));
    }
    if record.min_ns > record.max_ns {
        return refuse(format!("its minimum {} is above its maximum {}", record.min_ns, record.max_ns));
    }
    Ok(())
}

/// Latencies in nanoseconds: an HDR histogram of so many significant digits, plus exact count, sum, minimum and
/// maximum.
#[derive(Debug, Clone)]
pub struct Latencies<const DIGITS: u8> {
    buckets: Histogram<u64>,
    count: u64,
    sum_ns: u64,
    min_ns: u64,
    max_ns: u64,
    saturated: u64,
}

impl<const DIGITS: u8> Default for Latencies<DIGITS> {
    fn default() -> Self {
        Self::new()
    }
}

impl<const DIGITS: u8> Latencies<DIGITS> {
    /// An empty distribution.
    ///
    /// # Panics
    /// Never: the bounds are constants that the histogram accepts, as a test shows.
    #[must_use]
    #[expect(clippy::expect_used, reason = "constant bounds")]
    pub fn new() -> Self {
        let buckets = Histogram::new_with_bounds(1, LONGEST_NS, DIGITS).expect("valid constant bounds");
        Self { buckets, count: 0, sum_ns: 0, min_ns: u64::MAX, max_ns: 0, saturated: 0 }
    }

    /// Files one latency. Above an hour it counts as an hour, and as saturated.
    pub fn record(&mut self, latency_ns: u64) {
        self.record_n(latency_ns, 1);
    }

    /// Files the same latency `n` times.
    pub fn record_n(&mut self, latency_ns: u64, n: u64) {
        if n == 0 {
            return;
        }
        self.saturated += if latency_ns > LONGEST_NS { n } else { 0 };
        self.buckets.saturating_record_n(latency_ns.min(LONGEST_NS), n);
        self.count += n;
        self.sum_ns = self.sum_ns.saturating_add(latency_ns.saturating_mul(n));
        self.min_ns = self.min_ns.min(latency_ns);
        self.max_ns = self.max_ns.max(latency_ns);
    }

    /// Adds another distribution to this one.
    pub fn merge(&mut self, other: &Self) {
        if other.count == 0 {
            return;
        }
        // Both have the same bounds, so nothing can fall outside.
        if self.buckets.add(&other.buckets).is_ok() {
            self.count = self.count.saturating_add(other.count);
            self.sum_ns = self.sum_ns.saturating_add(other.sum_ns);
            self.min_ns = self.min_ns.min(other.min_ns);
            self.max_ns = self.max_ns.max(other.max_ns);
            self.saturated += other.saturated;
        }
    }

    /// Empties it, keeping its memory.
    pub fn clear(&mut self) {
        if self.count > 0 {
            self.buckets.reset();
        }
        (self.count, self.sum_ns, self.min_ns, self.max_ns, self.saturated) = (0, 0, u64::MAX, 0, 0);
    }

    /// Latencies filed.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Latencies above an hour.
    #[must_use]
    pub fn saturated(&self) -> u64 {
        self.saturated
    }

    /// Exact sum, ns.
    #[must_use]
    pub fn sum_ns(&self) -> u64 {
        self.sum_ns
    }

    /// Exact minimum, ns.
    #[must_use]
    pub fn min_ns(&self) -> Option<u64> {
        (self.count > 0).then_some(self.min_ns)
    }

    /// Exact maximum, ns.
    #[must_use]
    pub fn max_ns(&self) -> Option<u64> {
        (self.count > 0).then_some(self.max_ns)
    }

    /// Exact mean, ns.
    #[must_use]
    pub fn mean_ns(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum_ns as f64 / self.count as f64)
    }

    /// The smallest latency that `percentile` % of the transactions do not exceed, within its digits and
    /// never outside minimum and maximum.
    #[must_use]
    pub fn percentile_ns(&self, percentile: f64) -> Option<u64> {
        (self.count > 0).then(|| self.buckets.value_at_percentile(percentile).clamp(self.min_ns, self.max_ns))
    }

    /// For the journal.
    #[must_use]
    pub fn to_record(&self) -> LatencyRecord {
        let mut bytes = Vec::new();
        if self.count > 0 && V2DeflateSerializer::new().serialize(&self.buckets, &mut bytes).is_err() {
            bytes.clear(); // Writing to memory does not fail; a reader would miss the distribution only.
        }
        LatencyRecord {
            count: self.count,
            sum_ns: self.sum_ns,
            min_ns: self.min_ns().unwrap_or(0),
            max_ns: self.max_ns,
            hdr: BASE64.encode(bytes),
        }
    }

    /// Adds a stored distribution to this one.
    ///
    /// # Errors
    /// When the text is not a histogram of our shape, or the figures beside it cannot be its own.
    pub fn merge_record(&mut self, record: &LatencyRecord) -> Result<(), HistogramError> {
        let other = Distribution::<DIGITS>::of_record(record)?;
        let all = self.count.saturating_add(other.count);
        if all > MOST_COUNTED {
            return Err(HistogramError(format!("{all} transactions are more than {MOST_COUNTED} in all")));
        }
        self.add(&other);
        Ok(())
    }

    /// Adds a distribution to this one. Together they should not exceed [`MOST_COUNTED`].
    pub fn add(&mut self, other: &Distribution<DIGITS>) {
        if other.count == 0 {
            return;
        }
        for (value, n) in &other.counts {
            self.buckets.saturating_record_n(*value, *n);
        }
        self.count = self.count.saturating_add(other.count);
        self.sum_ns = self.sum_ns.saturating_add(other.sum_ns);
        self.min_ns = self.min_ns.min(other.min_ns);
        self.max_ns = self.max_ns.max(other.max_ns);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn of(values: &[u64]) -> LatencyHistogram {
        let mut histogram = LatencyHistogram::new();
        values.iter().for_each(|&v| histogram.record(v));
        histogram
    }

    #[test]
    fn golden_merge_of_two_instances() {
        let mut a = LatencyHistogram::new();
        a.record_n(10_000_000, 9_950);
        a.record_n(20_000_000, 50);
        let b_only = {
            let mut b = LatencyHistogram::new();
            b.record_n(500_000_000, 100);
            b
        };
        let p99 = |h: &LatencyHistogram| h.percentile_ns(99.0).unwrap() as f64 / 1e6;
        let mean_of_p99s = (p99(&a) + p99(&b_only)) / 2.0;
        a.merge(&b_only);
        assert!((p99(&a) - 20.0).abs() < 0.02, "{}", p99(&a));
        assert!((mean_of_p99s - 255.0).abs() < 0.3, "{mean_of_p99s}");
    }

    #[test]
    fn longer_than_an_hour_is_kept_exactly_and_counted() {
        let histogram = of(&[1, 2 * LONGEST_NS]);
        assert_eq!(histogram.saturated(), 1);
        assert_eq!(histogram.max_ns(), Some(2 * LONGEST_NS));
        assert_eq!(histogram.count(), 2);
    }

    #[test]
    fn empty_has_no_figures() {
        let empty = LatencyHistogram::new();
        assert_eq!((empty.min_ns(), empty.max_ns(), empty.percentile_ns(99.0)), (None, None, None));
        assert_eq!(empty.to_record().hdr, "");
    }

    #[test]
    fn a_wrong_count_is_refused() {
        let mut record = of(&[5, 6]).to_record();
        record.count = 3;
        let error = LatencyHistogram::new().merge_record(&record).unwrap_err();
        assert_eq!(
            error.to_string(),
            "latency histogram unreadable: it holds 2 transactions where 3 were counted"
        );
    }

    #[test]
    fn figures_that_no_distribution_has_are_refused() {
        let honest = of(&[5, 6]).to_record();
        let refused = |record| LatencyHistogram::new().merge_record(&record).unwrap_err().to_string();
        assert_eq!(
            refused(LatencyRecord { min_ns: 7, max_ns: 6, ..honest.clone() }),
            "latency histogram unreadable: its minimum 7 is above its maximum 6"
        );
        let mut whole = LatencyHistogram::new();
        whole.record_n(5, MOST_COUNTED - 1);
        whole.merge_record(&honest).unwrap_err();
        assert_eq!(whole.percentile_ns(99.0), Some(5));
    }

    proptest! {
        /// Merging stored parts gives what recording everything in one place gives.
        #[test]
        fn merge_equals_whole(parts in prop::collection::vec(
            prop::collection::vec(1_u64..LONGEST_NS, 0..60), 1..6)) {
            let mut merged = LatencyHistogram::new();
            for part in &parts {
                merged.merge_record(&of(part).to_record()).unwrap();
            }
            let whole = of(&parts.concat());
            prop_assert_eq!(merged.to_record(), whole.to_record());
        }

        /// A stored distribution has the percentiles of the whole one.
        #[test]
        fn a_distribution_has_the_same_percentiles(
            values in prop::collection::vec(prop_oneof![0_u64..5000, 1..LONGEST_NS + 1], 1..60),
            percentile in prop_oneof![0.001_f64..100.0, Just(50.0), Just(99.0), Just(100.0)]) {
            let histogram = of(&values);
            let distribution = Distribution::<3>::of_record(&histogram.to_record()).unwrap();
            prop_assert_eq!(distribution.percentile_ns(percentile), histogram.percentile_ns(percentile));
        }

        /// From 10 µs to an hour a percentile is within 0.1 % of the exact one, or 1 % for statements, and
        /// never above the maximum.
        #[test]
        fn percentiles_are_close(
            mut values in prop::collection::vec(from_10_us_to_an_hour(), 1..200),
            percentile in prop_oneof![0.001_f64..100.0, Just(50.0), Just(99.0), Just(100.0)]) {
            let (transactions, mut statements) = (of(&values), StatementHistogram::new());
            values.iter().for_each(|&v| statements.record(v));
            values.sort_unstable();
            let rank = ((percentile / 100.0 * values.len() as f64).ceil() as usize).clamp(1, values.len());
            let (exact, most) = (values[rank - 1] as f64, values[values.len() - 1]);
            for (got, error) in
                [(transactions.percentile_ns(percentile), 0.001), (statements.percentile_ns(percentile), 0.01)] {
                let got = got.unwrap();
                prop_assert!((got as f64 - exact).abs() <= exact * error, "{} against {}", got, exact);
                prop_assert!(got <= most);
            }
        }
    }

    /// Latencies of every magnitude alike, the ends among them.
    fn from_10_us_to_an_hour() -> impl Strategy<Value = u64> {
        const SHORTEST_NS: f64 = 10_000.0;
        let spread = |share: f64| (SHORTEST_NS * (LONGEST_NS as f64 / SHORTEST_NS).powf(share)) as u64;
        prop_oneof![(0.0_f64..=1.0).prop_map(spread), Just(10_000), Just(LONGEST_NS)]
    }
}
