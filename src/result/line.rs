//! One journal line: a JSON object whose last field is a CRC-32 over the bytes before it.

use super::Entry;

/// Bytes of `,"crc":"01234567"}`.
const SUFFIX: usize = 18;

/// The line for an entry, with its newline.
///
/// # Errors
/// When the entry cannot be written as JSON.
pub fn encode(entry: &Entry) -> Result<Vec<u8>, serde_json::Error> {
    let mut line = serde_json::to_vec(entry)?;
    line.pop(); // the closing brace
    let crc = crc32fast::hash(&line);
    line.extend_from_slice(format!(",\"crc\":\"{crc:08x}\"}}\n").as_bytes());
    Ok(line)
}

/// The entry in a line (without its newline), or why it is not one.
///
/// # Errors
/// When the line is cut, altered, or not an entry.
pub fn decode(line: &[u8]) -> Result<Entry, String> {
    let body = line.len().checked_sub(SUFFIX).map(|length| &line[..length]).ok_or("cut short")?;
    let crc = line[body.len()..]
        .strip_prefix(b",\"crc\":\"")
        .and_then(|rest| rest.strip_suffix(b"\"}"))
        .and_then(|digits| std::str::from_utf8(digits).ok())
        .and_then(|digits| u32::from_str_radix(digits, 16).ok())
        .ok_or("no checksum at its end")?;
    if crc32fast::hash(body) != crc {
        return Err("its checksum does not match".to_owned());
    }
    serde_json::from_slice(line).map_err(|error| format!("not a journal entry: {error}"))
}
