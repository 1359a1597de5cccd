//! The text of a file, and places in it.

use std::collections::BTreeMap;
use std::fmt;
use std::fs::File;
use std::io::{ErrorKind, Read};
use std::path::Path;

use super::error::SpecError;
use super::text::one_line;
use super::tree::{Mark, Node, Origin, Value, dotted, pointer};

/// Larger files are no profiles.
const MAX_BYTES: u64 = 1 << 20;
/// Characters of a line that are shown around a mistake.
const SHOWN_CHARS: usize = 100;

/// A profile's text with the place of every field in it.
#[derive(Debug, Clone)]
pub struct Source {
    file: String,
    text: String,
    fields: BTreeMap<String, Origin>,
}

impl Source {
    pub(super) fn new(file: &str, text: &str) -> Self {
        Self { file: file.to_owned(), text: text.to_owned(), fields: BTreeMap::new() }
    }

    /// Remembers where each field of `tree` was written.
    pub(super) fn with_fields(mut self, tree: &Node) -> Self {
        self.fields.insert(String::new(), tree.origin.clone());
        collect_fields(tree, "", &mut self.fields);
        self
    }

    /// The file as it was named.
    #[must_use]
    pub fn file(&self) -> &str {
        &self.file
    }

    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// A line by its number from 1, without its end.
    pub(super) fn line(&self, number: usize) -> Option<&str> {
        split_lines(&self.text).nth(number.checked_sub(1)?)
    }

    /// Where a dotted field such as `memory.buffer_pool` is written, or else the nearest section
    /// around it that is. A field given by `--set` is placed there.
    #[must_use]
    pub fn place(&self, field: &str) -> Place {
        let mut known = field;
        loop {
            if let Some(origin) = self.fields.get(known) {
                return self.place_at(field, origin);
            }
            match known.rfind('.') {
                Some(end) => known = &known[..end],
                None if known.is_empty() => break,
                None => known = "",
            }
        }
        Place { file: self.file.clone(), line: None, field: field.to_owned(), excerpt: None }
    }

    /// Where item `n` (from 0) of a list is written, or `key` in it; named as the list is.
    pub(crate) fn item_place(&self, list: &str, n: usize, key: &str) -> Place {
        let item = format!("{list}.{n}");
        let (known, field) = match key {
            "" => (item, list.to_owned()),
            key => (dotted(&item, key), dotted(list, key)),
        };
        Place { field, ..self.place(&known) }
    }

    pub(super) fn place_at(&self, field: &str, origin: &Origin) -> Place {
        let field = field.to_owned();
        match origin {
            Origin::Override(argument) => {
                Place { file: format!("--set {argument}"), line: None, field, excerpt: None }
            }
            Origin::File(mark) => {
                let excerpt = self.line(mark.line).and_then(|line| Excerpt::of(line, *mark));
                Place { file: self.file.clone(), line: Some(mark.line), field, excerpt }
            }
        }
    }

    pub(super) fn refuse(&self, field: &str, origin: &Origin, message: String) -> SpecError {
        SpecError::Refused { place: Box::new(self.place_at(field, origin)), message }
    }
}

/// Lines as YAML counts them: `\n`, `\r\n` and a lone `\r` each end one.
fn split_lines(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = Some(text);
    std::iter::from_fn(move || {
        let current = rest?;
        let Some(end) = current.find(['\n', '\r']) else {
            rest = None;
            return Some(current);
        };
        let length = if current[end..].starts_with("\r\n") { 2 } else { 1 };
        rest = Some(&current[end + length..]);
        Some(&current[..end])
    })
}

fn collect_fields(node: &Node, path: &str, fields: &mut BTreeMap<String, Origin>) {
    match &node.value {
        Value::Map(entries) => {
            for (key, value) in entries {
                let field = dotted(path, &key.text);
                collect_fields(value, &field, fields);
                fields.insert(field, pointer(key, value).clone());
            }
        }
        Value::List(items) => {
            for (n, item) in items.iter().enumerate() {
                let field = dotted(path, &n.to_string());
                collect_fields(item, &field, fields);
                fields.insert(field, item.origin.clone());
            }
        }
        Value::Absent | Value::Text(_) => {}
    }
}

/// Where a field is written. Displays as `profiles/quick.yaml:12: load.threads`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The file as it was named, or `--set key=value`.
    pub file: String,
    /// Line, from 1, if the field or a section around it is in the file.
    pub line: Option<usize>,
    /// The dotted field; empty for the document as a whole.
    pub field: String,
    excerpt: Option<Excerpt>,
}

impl Place {
    /// The line with carets under the value, three lines without a final break.
    #[must_use]
    pub fn snippet(&self) -> Option<String> {
        let (line, excerpt) = (self.line?.to_string(), self.excerpt.as_ref()?);
        let margin = " ".repeat(line.len());
        let (indent, carets) = (" ".repeat(excerpt.column), "^".repeat(excerpt.width));
        Some(format!("{margin} |\n{line} | {}\n{margin} | {indent}{carets}", excerpt.text))
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&one_line(&self.file))?;
        if let Some(line) = self.line {
            write!(f, ":{line}")?;
        }
        if !self.field.is_empty() {
            write!(f, ": {}", one_line(&self.field))?;
        }
        Ok(())
    }
}

/// One line, or a window of a long one, and the part of it that is meant.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Excerpt {
    text: String,
    column: usize,
    width: usize,
}

impl Excerpt {
    fn of(line: &str, mark: Mark) -> Option<Self> {
        if mark.width == 0 {
            return None;
        }
        let skipped = if mark.column < SHOWN_CHARS * 3 / 4 { 0 } else { mark.column - SHOWN_CHARS / 4 };
        let text: String = line
            .chars()
            .skip(skipped)
            .take(SHOWN_CHARS)
            .map(|c| if c.is_control() { ' ' } else { c })
            .collect();
        let text = text.trim_end().to_owned();
        let column = mark.column - skipped;
        let room = text.chars().count().saturating_sub(column).max(1);
        Some(Self { text, column, width: mark.width.min(room) })
    }
}

/// Reads a file that may be anything.
pub(super) fn read_text(path: &Path) -> Result<String, SpecError> {
    let file = path.display().to_string();
    let unreadable = |source: std::io::Error| match source.kind() {
        ErrorKind::NotFound => SpecError::NotFound { file: file.clone() },
        ErrorKind::IsADirectory => SpecError::Directory { file: file.clone() },
        _ => SpecError::Unreadable { file: file.clone(), source },
    };
    let mut bytes = Vec::new();
    File::open(path)
        .and_then(|opened| opened.take(MAX_BYTES + 1).read_to_end(&mut bytes))
        .map_err(unreadable)?;
    if bytes.len() as u64 > MAX_BYTES {
        return Err(SpecError::TooLarge { file });
    }
    String::from_utf8(bytes).map_err(|error| {
        let valid = &error.as_bytes()[..error.utf8_error().valid_up_to()];
        let line = 1 + valid.iter().filter(|byte| **byte == b'\n').count();
        SpecError::NotUtf8 { file: file.clone(), line }
    })
}
