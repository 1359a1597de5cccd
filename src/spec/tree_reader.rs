//! Reads a tree into types through serde, and keeps the path to a mistake.

use std::fmt;

use serde::de::value::StrDeserializer;
use serde::de::{
    DeserializeSeed, Deserializer, Error, Expected, IntoDeserializer, MapAccess, SeqAccess, Unexpected,
    Visitor,
};
use serde::forward_to_deserialize_any;

use super::error::SpecError;
use super::field::{example, nearest};
use super::source::Source;
use super::text::quoted;
use super::tree::{Key, Mark, Node, Origin, Value, pointer};

/// Why a tree was refused.
#[derive(Debug)]
pub(super) struct Refusal {
    /// Keys from the innermost outwards.
    path: Vec<String>,
    /// The innermost place known.
    origin: Option<Origin>,
    problem: Problem,
}

#[derive(Debug)]
enum Problem {
    Missing,
    Wrong(String),
}

impl Refusal {
    fn wrong(message: String) -> Self {
        Self { path: Vec::new(), origin: None, problem: Problem::Wrong(message) }
    }

    /// Places the refusal, unless something further in already did.
    pub(super) fn at(mut self, origin: &Origin) -> Self {
        self.origin.get_or_insert_with(|| origin.clone());
        self
    }

    fn under(mut self, key: &str) -> Self {
        self.path.push(key.to_owned());
        self
    }

    pub(super) fn is_about_an_override(&self) -> bool {
        matches!(self.origin, Some(Origin::Override(_)))
    }

    /// The message for people.
    pub(super) fn into_error(self, source: &Source) -> SpecError {
        let path: Vec<&str> = self.path.iter().rev().map(String::as_str).collect();
        let field = path.join(".");
        let mut origin = self.origin.unwrap_or(Origin::File(Mark { line: 1, column: 0, width: 0 }));
        let message = match self.problem {
            Problem::Wrong(message) => message,
            Problem::Missing => {
                // The first line of a file says nothing about a key that is missing at the top.
                if let (Origin::File(mark), 1) = (&mut origin, path.len()) {
                    mark.width = 0;
                }
                let key = path.last().copied().unwrap_or_default();
                match example(&field) {
                    Some(value) => format!("is missing; add it, for example `{key}: {value}`"),
                    None => format!("is missing; add the section `{key}:` with its keys beneath it"),
                }
            }
        };
        source.refuse(&field, &origin, message)
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.problem {
            Problem::Missing => f.write_str("is missing"),
            Problem::Wrong(message) => f.write_str(message),
        }
    }
}

impl std::error::Error for Refusal {}

impl Error for Refusal {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self::wrong(message.to_string())
    }

    fn invalid_type(found: Unexpected, expected: &dyn Expected) -> Self {
        let found = match found {
            Unexpected::Unit => "has no value".to_owned(),
            Unexpected::Map => "is a mapping".to_owned(),
            Unexpected::Seq => "is a list".to_owned(),
            Unexpected::Str(text) => format!("{} stands here", quoted(text)),
            other => format!("{other} stands here"),
        };
        Self::wrong(format!("{found}; write {expected}"))
    }

    fn unknown_variant(variant: &str, expected: &'static [&'static str]) -> Self {
        Self::wrong(format!("{} is not one of the choices; write {}", quoted(variant), expected.join(" or ")))
    }

    fn unknown_field(field: &str, expected: &'static [&'static str]) -> Self {
        let meant = nearest(field, expected.iter().copied())
            .map(|key| format!("did you mean `{key}`? "))
            .unwrap_or_default();
        Self::wrong(format!(
            "{} is not a key here; {meant}valid keys: {}",
            quoted(field),
            expected.join(", ")
        ))
    }

    fn missing_field(field: &'static str) -> Self {
        Self { path: vec![field.to_owned()], origin: None, problem: Problem::Missing }
    }
}

impl<'de> Deserializer<'de> for &'de Node {
    type Error = Refusal;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Refusal> {
        match &self.value {
            Value::Absent => visitor.visit_unit(),
            Value::Text(text) => visitor.visit_borrowed_str(text),
            Value::Map(entries) => visitor.visit_map(MapReader { rest: entries.iter(), current: None }),
            Value::List(items) => visitor.visit_seq(ListReader(items.iter())),
        }
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Refusal> {
        match &self.value {
            Value::Text(text) if text == "true" => visitor.visit_bool(true),
            Value::Text(text) if text == "false" => visitor.visit_bool(false),
            Value::Text(text) => Err(Refusal::wrong(format!(
                "{} is neither true nor false; write true or false",
                quoted(text)
            ))),
            _ => self.deserialize_any(visitor),
        }
    }

    /// An absent value is no `None`: a key without a value is a mistake, not a default.
    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Refusal> {
        visitor.visit_some(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _name: &'static str,
        choices: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Refusal> {
        match &self.value {
            Value::Text(text) => visitor.visit_enum(text.as_str().into_deserializer()),
            Value::Absent => Err(Refusal::wrong(format!("has no value; write {}", choices.join(" or ")))),
            _ => Err(Refusal::wrong(format!("is not a single word; write {}", choices.join(" or ")))),
        }
    }

    /// A section without keys is an empty one, so that what is missing is named.
    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Refusal> {
        let found = match &self.value {
            Value::Absent | Value::Map(_) => return self.deserialize_map(visitor),
            Value::Text(text) => format!("{} stands here", quoted(text)),
            Value::List(_) => "is a list".to_owned(),
        };
        Err(Refusal::wrong(format!("{found}; write `key: value` lines with the keys {}", fields.join(", "))))
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Refusal> {
        match &self.value {
            Value::Absent => visitor.visit_map(MapReader { rest: [].iter(), current: None }),
            _ => self.deserialize_any(visitor),
        }
    }

    forward_to_deserialize_any! {
        i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct
        newtype_struct seq tuple tuple_struct identifier ignored_any
    }
}

struct MapReader<'de> {
    rest: std::slice::Iter<'de, (Key, Node)>,
    current: Option<&'de (Key, Node)>,
}

impl<'de> MapAccess<'de> for MapReader<'de> {
    type Error = Refusal;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, Refusal> {
        self.current = self.rest.next();
        let Some((key, _)) = self.current else { return Ok(None) };
        let text: StrDeserializer<Refusal> = key.text.as_str().into_deserializer();
        seed.deserialize(text).map(Some).map_err(|refusal| refusal.at(&key.origin).under(&key.text))
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, Refusal> {
        let Some((key, node)) = self.current else {
            return Err(Refusal::wrong("a value was asked for before its key".to_owned()));
        };
        seed.deserialize(node).map_err(|refusal| refusal.at(pointer(key, node)).under(&key.text))
    }
}

struct ListReader<'de>(std::slice::Iter<'de, Node>);

impl<'de> SeqAccess<'de> for ListReader<'de> {
    type Error = Refusal;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, Refusal> {
        self.0
            .next()
            .map(|item| seed.deserialize(item).map_err(|refusal| refusal.at(&item.origin)))
            .transpose()
    }
}
