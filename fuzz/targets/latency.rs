//! A stored latency distribution: a record as JSON, or the bytes of a histogram, deflated or not.
#![no_main]

use std::io::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use drivestone::protocol::event::LatencyRecord;
use drivestone::stats::latency::LatencyHistogram;
use flate2::{Compression, write::ZlibEncoder};

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    if let Ok(record) = serde_json::from_slice(bytes) {
        merge(&record);
    }
    if let Some((count, bytes)) = bytes.split_first_chunk() {
        let mut deflated = ZlibEncoder::new(vec![0x1c, 0x84, 0x93, 0x14, 0, 0, 0, 0], Compression::none());
        deflated.write_all(&counts(bytes)).unwrap();
        for bytes in [bytes, &deflated.finish().unwrap()] {
            let count = u64::from_le_bytes(*count);
            merge(&LatencyRecord {
                count,
                sum_ns: count,
                min_ns: 1,
                max_ns: count,
                hdr: STANDARD.encode(bytes),
            });
        }
    }
});

/// A histogram of the right shape with these counts.
fn counts(bytes: &[u8]) -> Vec<u8> {
    let mut plain = vec![0x1c, 0x84, 0x93, 0x13];
    plain.extend_from_slice(&(bytes.len() as u32).to_be_bytes());
    plain.extend_from_slice(&[0, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0, 1]);
    plain.extend_from_slice(&drivestone::stats::latency::LONGEST_NS.to_be_bytes());
    plain.extend_from_slice(&1.0_f64.to_be_bytes());
    plain.extend_from_slice(bytes);
    plain
}

fn merge(record: &LatencyRecord) {
    let mut histogram = LatencyHistogram::new();
    histogram.record(1_000_000);
    for _ in 0..3 {
        let _ = histogram.merge_record(record);
    }
    for percentile in [0.0, 50.0, 99.0, 100.0] {
        let value = histogram.percentile_ns(percentile);
        assert!(histogram.min_ns() <= value && value <= histogram.max_ns());
    }
    let _ = (histogram.mean_ns(), histogram.to_record());
}
