//! A journal of arbitrary bytes, and the same bytes as lines whose checksums are right.
#![no_main]

#[path = "input/bundle.rs"]
mod bundle;

use drivestone::result::reader::JournalReader;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    for journal in [bytes, &bundle::signed(bytes)] {
        let path = bundle::folder().join("journal.jsonl");
        std::fs::write(&path, journal).unwrap();
        let Ok(mut reader) = JournalReader::open(&path) else { continue };
        let read: u64 = reader.by_ref().map(|(_, bytes)| bytes).sum();
        assert!(reader.damage().is_some() || read == journal.len() as u64);
    }
});
