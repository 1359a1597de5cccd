//! Values that are written as one piece of text, and how messages show them.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;
use std::str::FromStr;

use serde::de::{Deserializer, Error, Visitor};

/// Why a value was refused, and what would be right.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ValueError(pub(super) String);

/// Longest value that a message repeats in full, characters.
const SHOWN_CHARS: usize = 60;

/// A value in backquotes, control characters escaped, the end of a long one cut.
pub(super) fn quoted(value: &str) -> String {
    let mut shown = one_line(&value.chars().take(SHOWN_CHARS).collect::<String>());
    if value.chars().nth(SHOWN_CHARS).is_some() {
        shown.push('…');
    }
    format!("`{shown}`")
}

/// Text with its control characters escaped.
pub(super) fn one_line(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        if c.is_control() {
            shown.extend(c.escape_default());
        } else {
            shown.push(c);
        }
    }
    shown
}

/// Reads a value through its `FromStr`; `expected` completes "write …" where something else stands.
pub(super) fn deserialize_text<'de, T, D>(
    deserializer: D,
    expected: impl Into<Cow<'static, str>>,
) -> Result<T, D::Error>
where
    T: FromStr<Err = ValueError>,
    D: Deserializer<'de>,
{
    deserializer.deserialize_str(TextVisitor(expected.into(), PhantomData))
}

struct TextVisitor<T>(Cow<'static, str>, PhantomData<T>);

impl<T: FromStr<Err = ValueError>> Visitor<'_> for TextVisitor<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(&self.0)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<T, E> {
        text.parse().map_err(E::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::quoted;

    #[test]
    fn values_are_shown_on_one_line_and_short() {
        assert_eq!(quoted("a\nb\u{1b}[31m"), "`a\\nb\\u{1b}[31m`");
        assert_eq!(quoted(&"x".repeat(61)), format!("`{}…`", "x".repeat(60)));
    }
}
