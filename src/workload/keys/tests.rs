use super::*;
use crate::workload::random::WorkloadRng;

const ALL: [KeyDistribution; 9] = [
    KeyDistribution::Uniform,
    KeyDistribution::SPECIAL,
    KeyDistribution::Special { iterations: 12, hot_ids_pct: 10, hot_picks_pct: 60 },
    KeyDistribution::SPECIAL_04,
    KeyDistribution::Special04 { iterations: 12, hot_ids_pct: 10, hot_picks_pct: 60 },
    KeyDistribution::GAUSSIAN,
    KeyDistribution::PARETO,
    KeyDistribution::ZIPFIAN,
    KeyDistribution::Zipfian { exponent: 1.0 },
];

/// Draws many picks and compares how many fall into each of ten bins with the stated density.
fn chi_square(keys: KeyDistribution, edges: [f64; 11], low: u64) -> (f64, [u64; 10]) {
    let (n, size) = (200_000_u64, 100_000_u64);
    let picker = KeyPicker::new(keys, low, low + size - 1);
    let density = Density::new(keys, size);
    let mut rng = WorkloadRng::new(11, 3);
    let mut counts = [0_u64; 10];
    for _ in 0..n {
        let id = picker.pick(&mut rng);
        assert!((low..low + size).contains(&id));
        let x = ((id - low) as f64 + 0.5) / size as f64;
        counts[edges.iter().rposition(|&e| x >= e).unwrap().min(9)] += 1;
    }
    let parts = (0..10).map(|i| {
        let expected = n as f64 * (density.cumulative(edges[i + 1]) - density.cumulative(edges[i]));
        (counts[i] as f64 - expected).powi(2) / expected.max(1.0)
    });
    (parts.sum(), counts)
}

#[test]
fn picks_follow_the_density() {
    let middle = [0.0, 0.3, 0.4, 0.45, 0.495, 0.5, 0.505, 0.55, 0.6, 0.7, 1.0];
    let low_end = [0.0, 1e-4, 1e-3, 3e-3, 1e-2, 3e-2, 0.1, 0.2, 0.4, 0.7, 1.0];
    for keys in ALL {
        for (edges, low) in [(middle, 1), (low_end, 1), (middle, 12_345)] {
            let (chi_square, counts) = chi_square(keys, edges, low);
            // 9 degrees of freedom: 40 is beyond the 0.001 % point; the seed is fixed.
            assert!(chi_square < 40.0, "{keys:?}: chi² {chi_square}, counts {counts:?}");
        }
    }
}

#[test]
fn the_first_zipfian_ranks_have_their_exact_shares() {
    let (n, size, exponent) = (400_000, 1_000, 0.8_f64);
    let picker = KeyPicker::new(KeyDistribution::Zipfian { exponent }, 1, size);
    let total: f64 = (1..=size).map(|k| (k as f64).powf(-exponent)).sum();
    let mut rng = WorkloadRng::new(5, 1);
    let mut counts = [0_u32; 4];
    for _ in 0..n {
        if let Some(count) = counts.get_mut(usize::try_from(picker.pick(&mut rng)).unwrap() - 1) {
            *count += 1;
        }
    }
    for (k, count) in (1..).zip(counts) {
        let expected = f64::from(n) * f64::from(k).powf(-exponent) / total;
        let error = (f64::from(count) - expected).abs() / expected.sqrt();
        assert!(error < 4.0, "rank {k}: {count}, expected {expected}");
    }
}

#[test]
fn a_pareto_fifth_takes_four_fifths() {
    let share = Density::new(KeyDistribution::PARETO, 1_000_000).cumulative(0.2);
    assert!((share - 0.8).abs() < 1e-9, "{share}");
}

#[test]
fn sysbench_04_stretches_the_range_in_whole_numbers() {
    assert_eq!([0, 49, 50, 60, 75, 99].map(stretch_04), [1, 1, 2, 2, 4, 100]);
}

/// Counted in the rows that sysbench 1.0.20 loaded into a table of 100,000: 752 values from 49,750 to 50,501 had
/// 76 % of the rows, and the values below them no more than those above.
#[test]
fn hot_picks_reach_the_upper_three_quarters_of_the_hot_ids() {
    let density = Density::new(KeyDistribution::SPECIAL, 100_000);
    let between = |low: f64, high: f64| density.cumulative(high / 1e5) - density.cumulative(low / 1e5);
    assert!((between(49_749.0, 50_501.0) - 0.76).abs() < 0.005, "{}", between(49_749.0, 50_501.0));
    assert!(between(49_500.0, 49_748.0) < 0.01);
    assert!(between(50_502.0, 50_750.0) < 0.01);
}

#[test]
fn tiny_ranges_are_kept() {
    let mut rng = WorkloadRng::new(1, 1);
    for size in 1..30 {
        for keys in ALL {
            let picker = KeyPicker::new(keys, 7, 6 + size);
            for _ in 0..50 {
                assert!((7..7 + size).contains(&picker.pick(&mut rng)), "{keys:?}");
            }
        }
    }
}

#[test]
fn hot_values_are_held_by_many_rows() {
    let rows = |keys| Density::new(keys, 100_000).rows_of_a_picked_value();
    assert!((rows(KeyDistribution::Uniform) - 1.0).abs() < 1e-9);
    // Three quarters of 100,000 rows share 750 values, with 0.4 1,000, and three quarters of the picks go there.
    let special = rows(KeyDistribution::SPECIAL);
    assert!((75.0..79.0).contains(&special), "{special}");
    let special = rows(KeyDistribution::SPECIAL_04);
    assert!((56.0..60.0).contains(&special), "{special}");
}
