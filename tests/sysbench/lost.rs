//! Connections that the server ends while load threads use them.

use std::thread;
use std::time::Duration;

use super::server::Server;
use super::sides::{Driven, drive, plan, prepare_by_drivestone};

const THREADS: usize = 3;

/// Runs a load for three seconds, and ends the connections of its threads after one.
fn drive_and_cut(settings: &str) -> Option<Driven> {
    let mut server = Server::start()?;
    let plan = plan(&format!("{settings} threads={THREADS} duration=3s events=1000000"));
    prepare_by_drivestone(&mut server, &plan);
    let access = server.access();
    Some(thread::scope(|scope| {
        let load = scope.spawn(|| drive(&access, &plan));
        thread::sleep(Duration::from_millis(1500));
        // The connection that reads the server's counters has no database.
        let threads = "SELECT id FROM information_schema.processlist WHERE db = 'sbtest'";
        let threads: Vec<u64> = server.rows(threads);
        assert_eq!(threads.len(), THREADS, "load threads are connected");
        // The first that is lost may end the load, and with it the others.
        threads.iter().for_each(|id| server.kill(*id));
        load.join().unwrap()
    }))
}

fn lost(driven: &Driven) -> u64 {
    driven.seconds.iter().filter_map(|second| second.errors.get(&2013)).sum()
}

#[test]
fn threads_that_may_make_new_ones_and_go_on() {
    let Some(driven) = drive_and_cut("reconnect=true") else { return };
    driven.outcome.as_ref().unwrap();
    let reconnects: u64 = driven.seconds.iter().map(|second| second.reconnects).sum();
    assert_eq!((lost(&driven), reconnects), (3, 3));
    let last = driven.seconds.last().unwrap();
    assert!(last.second >= 2 && last.latency.count > 0, "nothing after the cut: {last:?}");
    assert_eq!(driven.ended.as_ref().unwrap().threads.len(), THREADS);
}

#[test]
fn threads_that_are_to_make_new_ones_do_so_in_time() {
    let Some(mut server) = Server::start() else { return };
    let plan = plan(&format!("threads={THREADS} duration=2s events=1000000 reconnect_every=5"));
    prepare_by_drivestone(&mut server, &plan);
    let driven = drive(&server.access(), &plan);
    driven.outcome.as_ref().unwrap();
    let reconnects: u64 = driven.seconds.iter().map(|second| second.reconnects).sum();
    let ended = driven.ended.as_ref().unwrap();
    let measured: u64 = ended.threads.iter().map(|thread| thread.events).sum();
    // A thread's count begins before the interval, and its last one may come after it.
    let expected = measured as f64 / 5.0;
    assert!((reconnects as f64 - expected).abs() <= 2.0 * THREADS as f64, "{reconnects} for {measured}");
    assert!(reconnects > 3 && lost(&driven) == 0);
    assert_eq!(
        ended.counted.server.map(|(before, after)| after - before),
        i64::try_from(ended.counted.ours).ok()
    );
}

#[test]
fn threads_that_may_not_end_the_load_and_what_was_measured_stays() {
    let Some(driven) = drive_and_cut("") else { return };
    let error = driven.outcome.as_ref().unwrap_err().to_string();
    assert!(error.starts_with("load thread ") && error.contains(" stopped at `"), "{error}");
    assert!(driven.seconds.first().is_some_and(|second| second.latency.count > 0), "{:?}", driven.seconds);
    assert_eq!(lost(&driven), 0);
    let ended = driven.ended.as_ref().unwrap();
    assert!(ended.measured_ns < 3_000_000_000, "{ended:?}");
    assert_eq!(
        ended.threads.iter().map(|thread| thread.events).sum::<u64>(),
        driven.seconds.iter().map(|second| second.latency.count).sum::<u64>()
    );
}
