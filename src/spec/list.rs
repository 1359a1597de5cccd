//! Lists, also as one piece of text: `--set counts=4,8` and `counts=[4, 8]`.

use std::fmt;
use std::marker::PhantomData;
use std::str::FromStr;

use serde::de::{Error, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};

use super::error::SpecError;
use super::source::{Place, Source};
use super::text::{ValueError, quoted};

/// Reads a list with at least one value; `expected` completes "write …".
pub(super) fn deserialize_list<'de, T, D>(deserializer: D, expected: &'static str) -> Result<Vec<T>, D::Error>
where
    T: Deserialize<'de> + FromStr<Err = ValueError>,
    D: Deserializer<'de>,
{
    let values = deserializer.deserialize_any(ListVisitor(expected, PhantomData))?;
    match values.is_empty() {
        true => Err(D::Error::custom(format!("is empty; write {expected}"))),
        false => Ok(values),
    }
}

struct ListVisitor<T>(&'static str, PhantomData<T>);

impl<'de, T: Deserialize<'de> + FromStr<Err = ValueError>> Visitor<'de> for ListVisitor<T> {
    type Value = Vec<T>;

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(self.0)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Vec<T>, A::Error> {
        let mut values = Vec::new();
        while let Some(value) = items.next_element()? {
            values.push(value);
        }
        Ok(values)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Vec<T>, E> {
        let inner = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(text);
        inner.split(',').map(|item| item.trim().parse().map_err(E::custom)).collect()
    }
}

/// Refuses a value that is written twice, with both places if they are lines of the file.
pub(super) fn refuse_repeated<T: AsRef<str>>(
    values: impl IntoIterator<Item = (Place, T)>,
) -> Result<(), SpecError> {
    let mut seen: Vec<(Place, T)> = Vec::new();
    for (place, value) in values {
        if let Some((first, _)) = seen.iter().find(|(_, other)| other.as_ref() == value.as_ref()) {
            let where_else = match first.line {
                Some(line) if place.line != Some(line) => format!("is also written on line {line}"),
                _ => "is written twice".to_owned(),
            };
            let message = format!("{} {where_else}; keep one of the two", quoted(value.as_ref()));
            return Err(SpecError::Refused { place: Box::new(place), message });
        }
        seen.push((place, value));
    }
    Ok(())
}

/// The values of a list, each with its place.
pub(super) fn placed<'a, T>(
    source: &'a Source,
    list: &'a str,
    values: &'a [T],
) -> impl Iterator<Item = (Place, &'a T)> {
    values.iter().enumerate().map(move |(n, value)| (source.item_place(list, n, ""), value))
}
