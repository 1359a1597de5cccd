//! One line of a journal. What is understood is written and understood again.
#![no_main]

use drivestone::result::{Entry, line};

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let _ = line::decode(bytes);
    if let Ok(entry) = serde_json::from_slice::<Entry>(bytes) {
        let text = line::encode(&entry).unwrap();
        assert_eq!(line::decode(text.strip_suffix(b"\n").unwrap()), Ok(entry));
    }
});
