//! An event, as the coordinator reads it. What is understood is written and understood again.
#![no_main]

use drivestone::protocol::Event;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    if let Ok(one) = serde_json::from_slice::<Event>(bytes) {
        let text = serde_json::to_vec(&one).unwrap();
        assert_eq!(serde_json::from_slice::<Event>(&text).unwrap(), one);
    }
});
