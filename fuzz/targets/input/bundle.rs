//! Input for readers of files.

use std::path::PathBuf;
use std::sync::OnceLock;

/// A folder of this process.
pub fn folder() -> &'static PathBuf {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    FOLDER.get_or_init(|| {
        let folder = std::env::temp_dir().join(format!("drivestone-fuzz-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        folder
    })
}

/// Lines of JSON objects as lines of a journal: mutated lines would hardly ever have a right checksum.
pub fn signed(lines: &[u8]) -> Vec<u8> {
    let mut journal = Vec::new();
    for line in lines.split(|byte| *byte == b'\n') {
        let body = line.strip_suffix(b"}").unwrap_or(line);
        let crc = crc32(body);
        journal.extend_from_slice(body);
        journal.extend_from_slice(format!(",\"crc\":\"{crc:08x}\"}}\n").as_bytes());
    }
    journal
}

fn crc32(bytes: &[u8]) -> u32 {
    let update = |crc: u32, byte: &u8| {
        let step = |crc: u32, _| if crc & 1 == 1 { crc >> 1 ^ 0xedb8_8320 } else { crc >> 1 };
        (0..8).fold(crc ^ u32::from(*byte), step)
    };
    !bytes.iter().fold(u32::MAX, update)
}
