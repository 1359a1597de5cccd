//! `--set key=value`: replaces one value of a test profile.

use super::error::SpecError;
use super::field::{SETTABLE, VARIABLES, nearest};
use super::text::quoted;
use super::tree::{Key, Node, Origin, Value};

/// One `--set`, its key in full.
#[derive(Debug)]
pub(super) struct Override {
    argument: String,
    pub(super) key: String,
    pub(super) value: String,
}

impl Override {
    /// Splits `key=value` and finds the field; the value is checked with the rest of the profile.
    pub(super) fn parse(argument: &str) -> Result<Self, SpecError> {
        let refuse = |message: String| SpecError::Override { argument: argument.to_owned(), message };
        let Some((key, value)) = argument.split_once('=') else {
            return Err(refuse("has no `=`; write key=value, for example threads=64".to_owned()));
        };
        let key = full_key(key).map_err(refuse)?;
        Ok(Self { argument: argument.to_owned(), key, value: value.to_owned() })
    }

    /// Puts the value into the tree, in place of what the file says.
    pub(super) fn apply(&self, tree: &mut Node) {
        let value =
            Node { origin: Origin::Override(self.argument.clone()), value: Value::Text(self.value.clone()) };
        let path: Vec<&str> = match self.key.strip_prefix(VARIABLES) {
            // A variable's name may itself hold dots.
            Some(name) => VARIABLES.split_terminator('.').chain([name]).collect(),
            None => self.key.split('.').collect(),
        };
        put(tree, &path, value);
    }
}

/// The dotted key that is meant by a full key or by its last component.
fn full_key(written: &str) -> Result<String, String> {
    if written.strip_prefix(VARIABLES).is_some_and(|name| !name.is_empty()) {
        return Ok(written.to_owned());
    }
    let keys = || SETTABLE.iter().map(|(key, _)| *key);
    let last = |key: &'static str| key.rsplit('.').next().unwrap_or(key);
    if let Some(key) = keys().find(|key| *key == written) {
        return Ok(key.to_owned());
    }
    let matching: Vec<&str> = keys().filter(|key| last(key) == written).collect();
    match matching[..] {
        [key] => Ok(key.to_owned()),
        [] => {
            let meant = nearest(written, keys().chain(keys().map(last)))
                .map(|key| format!("did you mean `{key}`? "))
                .unwrap_or_default();
            let all: Vec<&str> = keys().collect();
            Err(format!(
                "{} is no key that can be set; {meant}keys: {}, {VARIABLES}NAME",
                quoted(written),
                all.join(", ")
            ))
        }
        _ => Err(format!("{} is ambiguous; write {}", quoted(written), matching.join(" or "))),
    }
}

/// Replaces or adds the value at `path`. Text or a list in the way stays: reading the tree refuses it.
fn put(node: &mut Node, path: &[&str], value: Node) {
    let Some((first, rest)) = path.split_first() else {
        *node = value;
        return;
    };
    if matches!(node.value, Value::Absent) {
        node.value = Value::Map(Vec::new());
    }
    let Value::Map(entries) = &mut node.value else { return };
    let index = entries.iter().position(|(key, _)| key.text == *first).unwrap_or(entries.len());
    if index == entries.len() {
        let origin = if rest.is_empty() { value.origin.clone() } else { node.origin.clone() };
        let key = Key { text: (*first).to_owned(), origin: origin.clone() };
        entries.push((key, Node { origin, value: Value::Absent }));
    }
    put(&mut entries[index].1, rest, value);
}
