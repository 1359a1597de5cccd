//! The same keys: what both draw comes from one distribution.

use drivestone::plan::Plan;

use super::server::Server;
use super::sides::{plan, prepare_by_drivestone, prepare_by_sysbench, run_by_drivestone, run_by_sysbench};
use super::trace::by_connection;

/// Seeds are fixed, so that this is no matter of chance: beyond it lie 1 in 10,000 pairs of samples.
const BEYOND_CHANCE: f64 = 2.23;

/// Distributions that sysbench 1.0 has, with parameters of their own and with its defaults.
const KEYS: [&str; 6] = [
    "keys=uniform",
    "keys=special",
    "keys=special spec_pct=10 spec_res=60 spec_iter=3",
    "keys=gaussian",
    "keys=pareto",
    "keys=pareto pareto_h=0.1",
];

/// The largest distance between the shares that two samples have below any value, in units that do not depend
/// on their sizes (Kolmogorov and Smirnov).
fn distance(a: &mut [i64], b: &mut [i64]) -> f64 {
    assert!(a.len() > 100 && b.len() > 100, "{} and {} values", a.len(), b.len());
    a.sort_unstable();
    b.sort_unstable();
    let share = |sample: &[i64], value: i64| {
        sample.partition_point(|other| *other <= value) as f64 / sample.len() as f64
    };
    let furthest = a.iter().chain(b.iter()).map(|value| (share(a, *value) - share(b, *value)).abs());
    let (n, m) = (a.len() as f64, b.len() as f64);
    furthest.fold(0.0, f64::max) * (n * m / (n + m)).sqrt()
}

/// Numbers in the statements of each connection.
fn drawn(server: &mut Server) -> Vec<Vec<i64>> {
    let connections = by_connection(&server.logged());
    connections.into_iter().map(|sent| sent.into_iter().flat_map(|sent| sent.numbers).collect()).collect()
}

fn by_both(server: &mut Server, plan: &Plan) -> (Vec<Vec<i64>>, Vec<Vec<i64>>) {
    server.forget();
    run_by_sysbench(server, plan);
    let theirs = drawn(server);
    server.forget();
    run_by_drivestone(server, plan);
    (theirs, drawn(server))
}

fn assert_alike(mut theirs: Vec<i64>, mut ours: Vec<i64>, what: &str) {
    let distance = distance(&mut theirs, &mut ours);
    assert!(distance < BEYOND_CHANCE, "{what}: {distance:.2} apart");
}

#[test]
fn ids_and_loaded_values_follow_sysbenchs_distributions() {
    let Some(mut server) = Server::start() else { return };
    for keys in KEYS {
        let plan = plan(&format!("kind=oltp_point_select tables=1 rows=3000 events=3000 {keys}"));
        let loaded = |server: &mut Server| server.rows::<i64>("SELECT k FROM sbtest.sbtest1");
        prepare_by_sysbench(&mut server, &plan);
        let theirs = loaded(&mut server);
        prepare_by_drivestone(&mut server, &plan);
        assert_alike(theirs, loaded(&mut server), &format!("values of k with {keys}"));
        let (theirs, ours) = by_both(&mut server, &plan);
        assert_alike(theirs.concat(), ours.concat(), &format!("ids with {keys}"));
    }
}

/// Each thread of `select_random_points` has its own part of the values.
#[test]
fn threads_draw_from_sysbenchs_parts() {
    let Some(mut server) = Server::start() else { return };
    let plan = plan("kind=select_random_points tables=1 rows=1000 threads=2 events=600");
    prepare_by_drivestone(&mut server, &plan);
    let (theirs, ours) = by_both(&mut server, &plan);
    let ends = |side: &[Vec<i64>]| {
        let mut ends: Vec<_> = side
            .iter()
            .map(|values| (*values.iter().min().unwrap(), *values.iter().max().unwrap()))
            .collect();
        ends.sort_unstable();
        ends
    };
    assert_eq!(ends(&theirs), [(0, 500), (500, 1000)]);
    assert_eq!(ends(&ours), ends(&theirs));
}

/// Ids that `oltp_insert` chooses itself are spread over all signed 32-bit numbers, and none comes twice.
#[test]
fn chosen_ids_are_spread_like_sysbenchs() {
    let Some(mut server) = Server::start() else { return };
    let plan = plan("kind=oltp_insert tables=1 rows=0 table_size=500 auto_inc=false events=2000");
    let ids = |server: &mut Server| server.rows::<i64>("SELECT id FROM sbtest.sbtest1");
    prepare_by_sysbench(&mut server, &plan);
    run_by_sysbench(&server, &plan);
    let theirs = ids(&mut server);
    prepare_by_drivestone(&mut server, &plan);
    run_by_drivestone(&server, &plan);
    let ours = ids(&mut server);
    assert_eq!((theirs.len(), ours.len()), (2000, 2000));
    assert_alike(theirs, ours, "chosen ids");
}

#[test]
fn different_samples_are_told_apart() {
    let even: Vec<i64> = (0..1000).collect();
    let shifted: Vec<i64> = (100..1100).collect();
    assert!(distance(&mut even.clone(), &mut even.clone()) < 0.001);
    assert!(distance(&mut even.clone(), &mut shifted.clone()) > BEYOND_CHANCE);
}
