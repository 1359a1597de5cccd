//! Whole numbers with a range.

use std::str::FromStr;

use serde::{Deserialize, Deserializer};

use super::text::{ValueError, deserialize_text, quoted};

/// A whole number from `MIN` to `MAX`; `EXAMPLE` is what messages suggest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Count<T, const MIN: u64, const MAX: u64, const EXAMPLE: u64>(T);

impl<T: Copy, const MIN: u64, const MAX: u64, const EXAMPLE: u64> Count<T, MIN, MAX, EXAMPLE> {
    /// The number.
    #[must_use]
    pub fn get(self) -> T {
        self.0
    }

    /// Whether a number lies in the range.
    #[must_use]
    pub fn admits(value: impl Into<u64>) -> bool {
        (MIN..=MAX).contains(&value.into())
    }

    /// For defaults, which must lie in the range.
    pub(super) const fn of(value: T) -> Self {
        Self(value)
    }
}

impl<T, const MIN: u64, const MAX: u64, const EXAMPLE: u64> Count<T, MIN, MAX, EXAMPLE> {
    fn expected() -> String {
        let range = if MAX == u64::MAX { format!("{MIN} up") } else { format!("{MIN} to {MAX}") };
        format!("a number from {range}, for example {EXAMPLE}")
    }
}

impl<T: TryFrom<u64>, const MIN: u64, const MAX: u64, const EXAMPLE: u64> FromStr
    for Count<T, MIN, MAX, EXAMPLE>
{
    type Err = ValueError;

    fn from_str(text: &str) -> Result<Self, ValueError> {
        let refuse = |why: &str| ValueError(format!("{} {why}; write {}", quoted(text), Self::expected()));
        let digits = text.strip_prefix('-').unwrap_or(text);
        if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
            return Err(refuse("is not a whole number"));
        }
        text.parse::<u64>()
            .ok()
            .filter(|value| (MIN..=MAX).contains(value))
            .and_then(|value| T::try_from(value).ok())
            .map(Self)
            .ok_or_else(|| refuse("is out of range"))
    }
}

impl<'de, T: TryFrom<u64>, const MIN: u64, const MAX: u64, const EXAMPLE: u64> Deserialize<'de>
    for Count<T, MIN, MAX, EXAMPLE>
{
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserialize_text(deserializer, Self::expected())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Threads = Count<u32, 1, 4096, 32>;

    #[test]
    fn the_range_is_closed() {
        assert_eq!("1".parse::<Threads>().unwrap().get(), 1);
        assert_eq!("4096".parse::<Threads>().unwrap().get(), 4096);
        for text in ["0", "4097", "-1", "99999999999999999999999"] {
            let message = text.parse::<Threads>().unwrap_err().to_string();
            assert_eq!(
                message,
                format!("`{text}` is out of range; write a number from 1 to 4096, for example 32")
            );
        }
    }

    #[test]
    fn only_digits_make_a_number() {
        for text in ["", "-", "many", "1.5", "1e3", "+1", "1_000", "1,000", "0x10", " 1", "٣"] {
            let message = text.parse::<Threads>().unwrap_err().to_string();
            assert!(message.contains("is not a whole number"), "{message}");
        }
    }

    #[test]
    fn an_open_range_is_said_so() {
        let message = "x".parse::<Count<u64, 0, { u64::MAX }, 1234>>().unwrap_err().to_string();
        assert_eq!(message, "`x` is not a whole number; write a number from 0 up, for example 1234");
    }
}
