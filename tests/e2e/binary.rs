//! The binary itself: it runs on any Linux of its architecture, with no library from the system.

use std::fs;
use std::process::Command;

/// Path of the binary under test.
pub const DRIVESTONE: &str = env!("CARGO_BIN_EXE_drivestone");

/// A segment that names the dynamic linker (ELF specification, program header, `p_type`).
const PT_INTERP: u32 = 3;

/// `p_type` of every program header of a 64-bit little-endian ELF file.
fn segment_types(file: &[u8]) -> Option<Vec<u32>> {
    if !file.starts_with(b"\x7fELF\x02\x01") {
        return None;
    }
    let table = usize::try_from(u64::from_le_bytes(bytes(file, 0x20)?)).ok()?;
    let entry_size = usize::from(u16::from_le_bytes(bytes(file, 0x36)?));
    let entries = usize::from(u16::from_le_bytes(bytes(file, 0x38)?));
    (0..entries).map(|entry| bytes(file, table + entry * entry_size).map(u32::from_le_bytes)).collect()
}

fn bytes<const N: usize>(file: &[u8], at: usize) -> Option<[u8; N]> {
    file.get(at..at + N)?.try_into().ok()
}

/// The smallest file with the given segments.
fn elf(types: &[u32]) -> Vec<u8> {
    let mut file = b"\x7fELF\x02\x01".to_vec();
    file.resize(0x40, 0);
    file[0x20] = 0x40;
    file[0x36] = 56;
    file[0x38] = u8::try_from(types.len()).unwrap();
    for kind in types {
        file.extend(kind.to_le_bytes());
        file.extend([0; 52]);
    }
    file
}

#[test]
fn the_binary_is_static() {
    let types = segment_types(&fs::read(DRIVESTONE).unwrap()).expect("a 64-bit little-endian ELF file");
    assert!(types.contains(&1), "nothing to load: the headers were misread as {types:?}");
    assert!(!types.contains(&PT_INTERP), "{DRIVESTONE} needs a dynamic linker: is RUSTFLAGS set?");
}

#[test]
fn the_binary_starts() {
    let output = Command::new(DRIVESTONE).arg("--help").env_clear().output().unwrap();
    assert!(output.status.success(), "{output:?}");
}

#[test]
fn a_dynamic_linker_would_be_noticed() {
    assert_eq!(segment_types(&elf(&[1, PT_INTERP])), Some(vec![1, PT_INTERP]));
    assert_eq!(segment_types(&elf(&[1, 2])), Some(vec![1, 2]));
    assert_eq!(segment_types(&elf(&[1, 2])[..0x60]), None);
    assert_eq!(segment_types(b"#!/bin/sh\n"), None);
}

#[test]
fn a_reader_of_messages_that_has_gone_changes_nothing() {
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let status = Command::new(DRIVESTONE).args(["check", "/missing", "/missing"]).stderr(writer).status();
    assert_eq!(status.unwrap().code(), Some(3));
}
