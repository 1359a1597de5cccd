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
    let suffix = suffix(&line);
    line.extend_from_slice(suffix.as_bytes());
    line.push(b'\n');
    Ok(line)
}

/// What follows the body of a line.
fn suffix(body: &[u8]) -> String {
    format!(",\"crc\":\"{:08x}\"}}", crc32fast::hash(body))
}

/// The entry in a line (without its newline), or why it is not one.
///
/// # Errors
/// When the line is cut, altered, or not an entry.
pub fn decode(line: &[u8]) -> Result<Entry, String> {
    let body = line.len().checked_sub(SUFFIX).map(|length| &line[..length]).ok_or("cut short")?;
    let checksum = &line[body.len()..];
    if !checksum.starts_with(b",\"crc\":\"") {
        return Err("no checksum at its end".to_owned());
    }
    // Compared as text: another spelling of the same number was not written here.
    if checksum != suffix(body).as_bytes() {
        return Err("its checksum does not match".to_owned());
    }
    serde_json::from_slice(line).map_err(|error| format!("not a journal entry: {error}"))
}
