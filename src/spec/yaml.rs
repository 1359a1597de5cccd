//! From YAML text to a tree.
//!
//! Built from parser events rather than through serde, because a server variable must keep its
//! spelling (`0x10`, `1.50`, `ON`), which typed scalars lose.

use std::collections::HashMap;

use serde_yaml::granit_parser::{Event, Parser, ScalarStyle, ScanError, Span};

use super::error::SpecError;
use super::source::Source;
use super::text::quoted;
use super::tree::{Key, Mark, Node, Origin, Value, dotted};

/// Reads the one document of a file.
pub(super) fn parse(source: &Source) -> Result<Node, SpecError> {
    let mut builder = Builder { source, open: Vec::new(), root: None, documents: 0 };
    for event in Parser::new_from_str(source.text()) {
        let (event, span) = event.map_err(|error| syntax_error(source, &error))?;
        builder.take(event, span)?;
    }
    let root = builder.root.filter(|root| !matches!(root.value, Value::Absent));
    let root = root.ok_or_else(|| SpecError::Empty { file: source.file().to_owned() })?;
    refuse_duplicates(&root, "", source)?;
    Ok(root)
}

fn syntax_error(source: &Source, error: &ScanError) -> SpecError {
    let marker = error.marker();
    let mark = Mark { line: marker.line(), column: marker.col(), width: 1 };
    let indentation = source.line(mark.line).unwrap_or_default();
    let indentation = &indentation[..indentation.len() - indentation.trim_start().len()];
    let remedy = if indentation.contains('\t') {
        "indent with spaces, not with tabs"
    } else {
        "check indentation, quotes and colons here and on the line above"
    };
    source.refuse("", &Origin::File(mark), format!("not valid YAML: {}; {remedy}", error.info()))
}

/// A mapping or list whose end has not come yet.
struct Open {
    origin: Origin,
    items: Items,
}

enum Items {
    Map { entries: Vec<(Key, Node)>, key: Option<Key> },
    List(Vec<Node>),
}

struct Builder<'a> {
    source: &'a Source,
    open: Vec<Open>,
    root: Option<Node>,
    documents: usize,
}

impl Builder<'_> {
    fn take(&mut self, event: Event<'_>, span: Span) -> Result<(), SpecError> {
        let origin = Origin::File(mark(&span));
        let tag = match &event {
            Event::Scalar(_, _, _, tag)
            | Event::SequenceStart(_, _, tag)
            | Event::MappingStart(_, _, tag) => tag.is_some(),
            _ => false,
        };
        if tag {
            return Err(self.refuse(&origin, "tags (`!…`) have no meaning here; remove the tag"));
        }
        match event {
            Event::DocumentStart(..) => {
                self.documents += 1;
                if self.documents > 1 {
                    return Err(
                        self.refuse(&origin, "a second document begins here; write one document a file")
                    );
                }
            }
            Event::Scalar(text, style, ..) => {
                let absent = style == ScalarStyle::Plain && matches!(&*text, "" | "~" | "null");
                let value = if absent { Value::Absent } else { Value::Text(text.into_owned()) };
                self.place(Node { origin, value })?;
            }
            Event::MappingStart(..) => {
                self.open.push(Open { origin, items: Items::Map { entries: Vec::new(), key: None } });
            }
            Event::SequenceStart(..) => self.open.push(Open { origin, items: Items::List(Vec::new()) }),
            Event::MappingEnd | Event::SequenceEnd => {
                if let Some(Open { origin, items }) = self.open.pop() {
                    let value = match items {
                        Items::Map { entries, .. } => Value::Map(entries),
                        Items::List(items) => Value::List(items),
                    };
                    self.place(Node { origin, value })?;
                }
            }
            Event::Alias(_) => {
                return Err(
                    self.refuse(&origin, "references (`*…`) are not followed; write the value out again")
                );
            }
            _ => {}
        }
        Ok(())
    }

    /// Puts a finished node where it belongs: as root, as key, as value or as item.
    fn place(&mut self, node: Node) -> Result<(), SpecError> {
        match self.open.last_mut().map(|open| &mut open.items) {
            None => self.root = Some(node),
            Some(Items::List(items)) => items.push(node),
            Some(Items::Map { entries, key }) => match (key.take(), node) {
                (Some(key), node) => entries.push((key, node)),
                (None, Node { origin, value: Value::Text(text) }) => *key = Some(Key { text, origin }),
                (None, Node { origin, .. }) => {
                    return Err(self.refuse(&origin, "a key must be plain text; write `key: value`"));
                }
            },
        }
        Ok(())
    }

    fn refuse(&self, origin: &Origin, message: &str) -> SpecError {
        let keys = self.open.iter().filter_map(|open| match &open.items {
            Items::Map { key: Some(key), .. } => Some(key.text.as_str()),
            _ => None,
        });
        let field = keys.fold(String::new(), |parent, key| dotted(&parent, key));
        self.source.refuse(&field, origin, message.to_owned())
    }
}

fn mark(span: &Span) -> Mark {
    Mark { line: span.start.line(), column: span.start.col(), width: span.len().max(1) }
}

fn refuse_duplicates(node: &Node, path: &str, source: &Source) -> Result<(), SpecError> {
    let entries = match &node.value {
        Value::Map(entries) => entries,
        Value::List(items) => return items.iter().try_for_each(|item| refuse_duplicates(item, path, source)),
        Value::Absent | Value::Text(_) => return Ok(()),
    };
    let mut seen: HashMap<&str, &Origin> = HashMap::new();
    for (key, value) in entries {
        let field = dotted(path, &key.text);
        if let Some(Origin::File(first)) = seen.insert(&key.text, &key.origin) {
            let message =
                format!("{} is also written on line {}; keep one of the two", quoted(&key.text), first.line);
            return Err(source.refuse(&field, &key.origin, message));
        }
        refuse_duplicates(value, &field, source)?;
    }
    Ok(())
}
