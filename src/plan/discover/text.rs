//! Pieces of YAML: whatever a device calls itself, the profile stays valid.

use crate::protocol::facts::DeviceFacts;

/// Longest name of a proposed profile: a model's words, not its whole history.
const MOST_CHARS: usize = 40;

/// `label: value`, in quotes where it needs them.
pub(super) fn field(label: &str, value: &str) -> String {
    format!("{}: {}", scalar(label), scalar(value))
}

/// A scalar that reads as this text and as nothing else.
fn scalar(text: &str) -> String {
    // Marks that no profile may hold tell nothing either.
    let text: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    let text = text.trim();
    let plain = text.starts_with(|c: char| c.is_alphabetic() || c == '/')
        && !text.contains(": ")
        && !text.contains(" #")
        && !text.ends_with(':')
        && !["true", "false", "null", "yes", "no", "on", "off", "y", "n"]
            .iter()
            .any(|word| text.eq_ignore_ascii_case(word));
    // A JSON string is one of YAML's in double quotes.
    if plain { text.to_owned() } else { serde_json::Value::from(text).to_string() }
}

/// Bytes in GiB, for people.
pub(super) fn gib(bytes: u64) -> String {
    format!("{:.1} GiB", bytes as f64 / f64::from(1 << 30))
}

/// A name for the profile: the model of the disk, or what the kernel calls the device.
pub(super) fn name_from(disk: Option<&DeviceFacts>, device: Option<&DeviceFacts>) -> String {
    let model = disk.and_then(|disk| disk.model.as_deref());
    let text = model.or(device.map(|device| device.name.as_str())).unwrap_or_default();
    let mut name = String::new();
    for c in text.chars().map(|c| c.to_ascii_lowercase()) {
        match c {
            'a'..='z' | '0'..='9' => name.push(c),
            _ if name.ends_with('-') || name.is_empty() => {}
            _ => name.push('-'),
        }
    }
    name.truncate(MOST_CHARS);
    let name = name.trim_end_matches('-');
    if name.is_empty() { "this-device".to_owned() } else { name.to_owned() }
}
