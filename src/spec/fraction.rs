//! Numbers with a fraction: parameters of key distributions.

use std::str::FromStr;

use serde::{Deserialize, Deserializer};

use super::text::{ValueError, deserialize_text, quoted};

macro_rules! fraction {
    ($(#[$doc:meta])* $name:ident, $admits:expr, $expected:literal) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq)]
        pub struct $name(f64);

        impl $name {
            /// The number.
            #[must_use]
            pub fn get(self) -> f64 {
                self.0
            }
        }

        impl FromStr for $name {
            type Err = ValueError;

            fn from_str(text: &str) -> Result<Self, ValueError> {
                let admits: fn(f64) -> bool = $admits;
                let plain = text.bytes().all(|b| b.is_ascii_digit() || b == b'.');
                text.parse()
                    .ok()
                    .filter(|value| plain && admits(*value))
                    .map(Self)
                    .ok_or_else(|| ValueError(format!("{} is no such number; write {}", quoted(text), $expected)))
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                deserialize_text(deserializer, $expected)
            }
        }
    };
}

fraction!(
    /// A share, above 0 and below 1.
    Share,
    |value| value > 0.0 && value < 1.0,
    "a number above 0 and below 1, for example 0.2"
);
fraction!(
    /// An exponent, from 0 to 100.
    Exponent,
    |value| (0.0..=100.0).contains(&value),
    "a number from 0 to 100, for example 0.8"
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_plain_numbers_in_range() {
        assert_eq!("0.2".parse::<Share>().unwrap().get(), 0.2);
        for text in ["0", "1", "-0.2", "1e-3", "NaN", "inf", ".", "", "0,2"] {
            assert!(text.parse::<Share>().is_err(), "{text}");
        }
        assert_eq!(["0", "100"].map(|text| text.parse::<Exponent>().unwrap().get()), [0.0, 100.0]);
        assert_eq!(
            "101".parse::<Exponent>().unwrap_err().to_string(),
            "`101` is no such number; write a number from 0 to 100, for example 0.8"
        );
    }
}
