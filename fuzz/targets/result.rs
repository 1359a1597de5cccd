//! A result: `plan.json` on the first line, the journal's lines below it. Whatever they hold, there is
//! a report or an error.
#![no_main]

#[path = "input/bundle.rs"]
mod bundle;

use drivestone::analysis::analyze;
use drivestone::report::{Format, render};

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let at = bytes.iter().position(|byte| *byte == b'\n').unwrap_or(bytes.len());
    let (plan, lines) = bytes.split_at(at);
    let folder = bundle::folder();
    std::fs::write(folder.join("plan.json"), plan).unwrap();
    std::fs::write(folder.join("journal.jsonl"), bundle::signed(lines.get(1..).unwrap_or_default())).unwrap();
    let Ok(result) = analyze(folder) else { return };
    for format in Format::ALL {
        render(format, std::slice::from_ref(&result)).unwrap();
    }
});
