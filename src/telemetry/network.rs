//! `/proc/net/dev`: one line an interface.

use crate::protocol::sample::NetworkCounters;

/// The interface of 127.0.0.1, by which clients reach a server over TCP.
pub const LOOPBACK: &str = "lo";

/// The counters of one interface.
#[must_use]
pub fn parse_interface(text: &str, interface: &str) -> Option<NetworkCounters> {
    let line = text.lines().find_map(|line| line.trim_start().strip_prefix(interface)?.strip_prefix(':'))?;
    let fields: Vec<u64> = line.split_ascii_whitespace().map_while(|field| field.parse().ok()).collect();
    let field = |place: usize| fields.get(place).copied();
    let lost = [field(2)?, field(3)?, field(10)?, field(11)?];
    Some(NetworkCounters {
        interface: interface.to_owned(),
        received_bytes: field(0)?,
        received_packets: field(1)?,
        sent_bytes: field(8)?,
        sent_packets: field(9)?,
        lost_packets: lost.into_iter().fold(0, u64::saturating_add),
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn one_of_several_interfaces() {
        let text = "Inter-|   Receive                                                |  Transmit\n \
                    face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier compressed\n    \
                    lo: 1000 10 1 2 0 0 0 0 2000 20 3 4 0 0 0 0\n  lo2:1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1\n";
        let lo = parse_interface(text, LOOPBACK).unwrap();
        assert_eq!(
            (lo.received_bytes, lo.received_packets, lo.sent_bytes, lo.sent_packets),
            (1000, 10, 2000, 20)
        );
        assert_eq!((lo.lost_packets, parse_interface(text, "lo2").unwrap().sent_bytes), (10, 1));
        assert_eq!((parse_interface(text, "eth0"), parse_interface("lo: 1 2 3", "lo")), (None, None));
    }

    proptest! {
        #[test]
        fn text_never_panics(text in "(lo:|[ -~\n]){0,60}") {
            let _ = parse_interface(&text, LOOPBACK);
        }
    }
}
