use proptest::prelude::*;

use super::*;

fn part(instance: usize, transactions: u64) -> Part {
    let mut latency = LatencyHistogram::new();
    latency.record_n(1_000_000 * (instance as u64 + 1), transactions);
    Part {
        threads: 1,
        instance,
        length_ns: 1_000_000_000,
        transactions,
        latency: Distribution::of_record(&latency.to_record()).unwrap(),
        statements: [transactions, 0, 0],
        reconnects: 0,
        queued: None,
        errors: BTreeMap::new(),
    }
}

/// Segments as `(members, first, last, transactions)`.
fn cut(merging: &Merging) -> Vec<(Vec<usize>, i64, i64, u64)> {
    let segments = merging.segments.iter();
    segments.map(|s| (s.segment.members.clone(), s.segment.first, s.segment.last, s.transactions)).collect()
}

#[test]
fn a_silent_instance_holds_nothing_back() {
    let mut merging = Merging::new(2, 2);
    for second in -3..200 {
        assert!(merging.take(second, part(0, 10)));
        assert!(second >= 5 || merging.take(second, part(1, 1)));
        assert!(merging.open.len() <= MOST_OPEN);
    }
    assert!(!merging.take(100, part(1, 1)), "closed long ago");
    merging.finish(&[]);
    assert_eq!(cut(&merging), [(vec![0, 1], 0, 4, 55), (vec![0], 5, 199, 1_950)]);
    let (place, full) = merging.full.as_ref().unwrap();
    assert_eq!((*place, full.all.latency.count(), full.each[1].latency.count()), (0, 55, 5));
    assert_eq!(merging.whole(0).unwrap().latency.count(), 2_000);
    assert_eq!(merging.seconds.len(), 203);
}

/// Three seconds of two instances, then so much of the next of the first alone.
fn with_remnant(length_ns: u64, stopped: &[bool]) -> Merging {
    let mut merging = Merging::new(2, 2);
    for second in -1..2 {
        (0..2).for_each(|instance| assert!(merging.take(second, part(instance, 10))));
    }
    merging.take(2, Part { length_ns, ..part(0, 1) });
    merging.finish(stopped);
    merging.finish(stopped);
    merging
}

#[test]
fn stopping_a_moment_later_is_no_stretch_of_its_own() {
    let merging = with_remnant(800_000, &[true, true]);
    assert_eq!(cut(&merging), [(vec![0, 1], 0, 1, 40)]);
    assert_eq!((merging.seconds.len(), merging.whole(0).unwrap().latency.count()), (3, 20));
    for (length_ns, stopped) in [(800_000, [true, false]), (1_000_000_000, [true, true])] {
        let merging = with_remnant(length_ns, &stopped);
        assert_eq!(cut(&merging)[1..], [(vec![0], 2, 2, 1)], "{length_ns} {stopped:?}");
    }
}

#[test]
fn a_remnant_after_warm_up_leaves_nothing_measured() {
    let mut merging = Merging::new(2, 2);
    (0..2).for_each(|instance| assert!(merging.take(-1, part(instance, 10))));
    merging.take(0, Part { length_ns: 1, ..part(1, 1) });
    merging.finish(&[true, true]);
    assert_eq!((cut(&merging), merging.seconds.len()), (Vec::new(), 1));
}

proptest! {
    // A second costs two walks over 33,000 counts, which takes its time without optimization.
    #![proptest_config(ProptestConfig::with_cases(12))]

    /// However hosts lag behind each other, what they completed adds up to the same.
    #[test]
    fn order_between_hosts_does_not_matter(lags in prop::collection::vec(0_i64..20, 3), ends in 1_i64..21) {
        let mut told: Vec<(i64, i64, usize)> = Vec::new();
        for (instance, lag) in lags.iter().enumerate() {
            let end = if instance == 1 { ends } else { 20 };
            told.extend((0..end).map(|second| (second + lag, second, instance)));
        }
        told.sort_unstable();
        let mut merging = Merging::new(3, 3);
        for (_, second, instance) in told {
            prop_assert!(merging.take(second, part(instance, 2)));
        }
        merging.finish(&[]);
        let mut expected = vec![(vec![0, 1, 2], 0, ends - 1, 6 * ends.unsigned_abs())];
        if ends < 20 {
            expected.push((vec![0, 2], ends, 19, 4 * (20 - ends).unsigned_abs()));
        }
        prop_assert_eq!(cut(&merging), expected);
    }
}
