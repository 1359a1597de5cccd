//! A job, as an agent reads it. What is understood is written and understood again.
#![no_main]

use drivestone::protocol::Job;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    if let Ok(one) = serde_json::from_slice::<Job>(bytes) {
        let text = serde_json::to_vec(&one).unwrap();
        assert_eq!(serde_json::from_slice::<Job>(&text).unwrap(), one);
    }
});
