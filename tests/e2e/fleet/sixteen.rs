//! As many hosts as the published tables have.

use super::Fleet;

#[test]
fn sixteen_hosts_start_at_one_moment() {
    let Some(fleet) = Fleet::new(16) else { return };
    let journal = fleet.run("out", &["rows=1000"]);
    assert_eq!(journal.ending(), ("complete", ""));
    let (.., started) = journal.only("run_started");
    let starts = started["instances"].as_array().unwrap();
    assert_eq!(starts.len(), 16);
    let mut late = Vec::new();
    for (start, name) in starts.iter().zip(fleet.hosts.names()) {
        assert_eq!(start["host"], name);
        assert_eq!(journal.seconds(0, name), [-1, 0, 1, 2], "{name}");
        let (.., began) = journal.events("load_started").find(|(_, from, _)| *from == name).unwrap();
        late.push(began["began_ns"].as_i64().unwrap() - start["begin_ns"].as_i64().unwrap());
    }
    late.sort_unstable();
    println!("threads began {} to {} µs after the moment", late[0] / 1000, late[15] / 1000);
    // Never before it; after it as the machine can.
    assert!(late[0] >= 0 && late[15] < 1_000_000_000, "{late:?}");
    let (.., threads) = journal.events("load_second").last().unwrap();
    assert_eq!(threads["threads"], 1);
}
