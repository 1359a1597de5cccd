//! `load.ignore_errors`: which SQL errors start a transaction again.

use std::fmt;

use serde::de::{Error, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};

use super::count::Count;
use super::text::{ValueError, quoted};

/// A code of the server's.
type Code = Count<u16, 1, 65_535, 1213>;

/// Which SQL errors start a transaction again.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum IgnoreErrorsSpec {
    /// sysbench's three: 1213, 1020, 1205.
    #[default]
    Default,
    /// Every one.
    All,
    /// Those with these codes; none if there are none.
    Codes(Vec<u16>),
}

impl IgnoreErrorsSpec {
    /// The codes as written.
    pub(super) fn codes(&self) -> &[u16] {
        match self {
            Self::Default | Self::All => &[],
            Self::Codes(codes) => codes,
        }
    }
}

const EXPECTED: &str = "all, none, or a list of error codes, for example [1213, 1020, 1205]";

impl<'de> Deserialize<'de> for IgnoreErrorsSpec {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct ErrorsVisitor;

        impl<'de> Visitor<'de> for ErrorsVisitor {
            type Value = IgnoreErrorsSpec;

            fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
                f.write_str(EXPECTED)
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<IgnoreErrorsSpec, A::Error> {
                let mut codes = Vec::new();
                while let Some(code) = items.next_element::<Code>()? {
                    codes.push(code.get());
                }
                Ok(IgnoreErrorsSpec::Codes(codes))
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<IgnoreErrorsSpec, E> {
                match text {
                    "all" => Ok(IgnoreErrorsSpec::All),
                    "none" => Ok(IgnoreErrorsSpec::Codes(Vec::new())),
                    list => parse(list).map_err(E::custom),
                }
            }
        }

        deserializer.deserialize_any(ErrorsVisitor)
    }
}

fn parse(list: &str) -> Result<IgnoreErrorsSpec, ValueError> {
    let inner = list.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(list);
    let codes = inner.split(',').map(|code| code.trim().parse::<Code>().map(|code| code.get()));
    let codes: Result<Vec<u16>, ValueError> = codes.collect();
    codes
        .map(IgnoreErrorsSpec::Codes)
        .map_err(|_| ValueError(format!("{} is not such a choice; write {EXPECTED}", quoted(list))))
}
