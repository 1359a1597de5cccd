//! A YAML document as a tree of text whose every part knows where it was written.

/// One value and its origin.
#[derive(Debug, Clone)]
pub(super) struct Node {
    pub(super) origin: Origin,
    pub(super) value: Value,
}

#[derive(Debug, Clone)]
pub(super) enum Value {
    /// Nothing after the key, `~` or `null`.
    Absent,
    /// Text exactly as written; what it means is for the field's type to say.
    Text(String),
    /// Keys in the order of the file.
    Map(Vec<(Key, Node)>),
    List(Vec<Node>),
}

/// A key and its origin.
#[derive(Debug, Clone)]
pub(super) struct Key {
    pub(super) text: String,
    pub(super) origin: Origin,
}

/// Where something was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Origin {
    /// In the file.
    File(Mark),
    /// On the command line: the whole `key=value`.
    Override(String),
}

/// A stretch of one line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Mark {
    /// Line, from 1.
    pub(super) line: usize,
    /// Characters before it in its line.
    pub(super) column: usize,
    /// Characters that it spans; 0 where only the line is meant.
    pub(super) width: usize,
}

/// What to point at when `node`, written under `key`, is wrong: text itself, but the key of
/// anything that spreads over lines or is not there at all.
pub(super) fn pointer<'a>(key: &'a Key, node: &'a Node) -> &'a Origin {
    match node.value {
        Value::Text(_) => &node.origin,
        Value::Absent | Value::Map(_) | Value::List(_) => &key.origin,
    }
}

/// Joins keys to `load.threads`.
pub(super) fn dotted(parent: &str, key: &str) -> String {
    if parent.is_empty() { key.to_owned() } else { format!("{parent}.{key}") }
}
