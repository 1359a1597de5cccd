//! Sizes in bytes, with units that say what they mean.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer};

use super::text::{ValueError, deserialize_text, quoted};

/// A size of at least one byte: `24GiB` is 24 × 2³⁰, `24GB` is 24 × 10⁹.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct ByteSize(u64);

/// Units with their bytes, largest first.
const UNITS: [(&str, u64); 9] = [
    ("TiB", 1 << 40),
    ("TB", 1_000_000_000_000),
    ("GiB", 1 << 30),
    ("GB", 1_000_000_000),
    ("MiB", 1 << 20),
    ("MB", 1_000_000),
    ("KiB", 1 << 10),
    ("kB", 1_000),
    ("B", 1),
];
/// An exact figure with more digits than this is harder to read than a rounded one.
const EXACT_BELOW: u64 = 100_000;
/// Digits after the point that are read.
const FRACTION_DIGITS: usize = 9;

impl ByteSize {
    /// A size of so many bytes.
    #[must_use]
    pub const fn of_bytes(bytes: u64) -> Self {
        Self(bytes)
    }

    /// Its bytes.
    #[must_use]
    pub fn bytes(self) -> u64 {
        self.0
    }
}

impl fmt::Display for ByteSize {
    /// The largest unit that divides the size (`24GiB`, `24GB`), otherwise two digits of the binary
    /// unit below it (`1.50GiB`).
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0 == 0 {
            return f.write_str("0B");
        }
        let exact = UNITS.iter().find(|(_, unit)| self.0.is_multiple_of(*unit));
        if let Some((name, unit)) = exact
            && self.0 / unit < EXACT_BELOW
        {
            return write!(f, "{}{name}", self.0 / unit);
        }
        let (name, unit) = UNITS
            .iter()
            .find(|(name, unit)| name.ends_with("iB") && self.0 >= *unit)
            .copied()
            .unwrap_or(("B", 1));
        write!(f, "{:.2}{name}", self.0 as f64 / unit as f64)
    }
}

impl FromStr for ByteSize {
    type Err = ValueError;

    fn from_str(text: &str) -> Result<Self, ValueError> {
        let refuse = |why: &str, remedy: &str| Err(ValueError(format!("{} {why}; {remedy}", quoted(text))));
        const EXAMPLES: &str = "write for example 24GiB (binary) or 24GB (decimal)";
        if text.starts_with('-') {
            return refuse("is negative", EXAMPLES);
        }
        let digits_end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
        let (number, unit) = text.split_at(digits_end);
        let unit = unit.trim_start();
        let Some((whole, fraction, scale)) = decimal(number) else {
            return refuse("is not a size", EXAMPLES);
        };
        let Some((_, unit_bytes)) = UNITS.iter().find(|(name, _)| *name == unit) else {
            let why = if unit.is_empty() { "has no unit" } else { "has an unknown unit" };
            return refuse(why, &unit_remedy(number, unit));
        };
        let unit_bytes = u128::from(*unit_bytes);
        let bytes = whole.saturating_mul(unit_bytes).saturating_add(fraction * unit_bytes / scale);
        match u64::try_from(bytes) {
            Ok(0) => refuse("is less than one byte", EXAMPLES),
            Ok(bytes) if i64::try_from(bytes).is_ok() => Ok(Self(bytes)),
            _ => refuse("is larger than any device", EXAMPLES),
        }
    }
}

/// `1.25` as (1, 25, 100). A whole part that no unit could carry saturates.
fn decimal(number: &str) -> Option<(u128, u128, u128)> {
    let (whole, fraction) = number.split_once('.').unwrap_or((number, "0"));
    let digits = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
    if !digits(whole) || !digits(fraction) || fraction.len() > FRACTION_DIGITS {
        return None;
    }
    let scale = 10_u128.pow(u32::try_from(fraction.len()).ok()?);
    Some((whole.parse().unwrap_or(u128::MAX), fraction.parse().ok()?, scale))
}

/// What to write instead of a unit that does not exist: `24G` and `24gb` leave two readings.
fn unit_remedy(number: &str, unit: &str) -> String {
    let number: String = number.chars().take(20).collect();
    match unit.chars().next().map(|c| c.to_ascii_uppercase()) {
        Some('B') => format!("write {number}B for bytes"),
        Some(letter @ ('K' | 'M' | 'G' | 'T')) => {
            let decimal = if letter == 'K' { 'k' } else { letter };
            format!("write {number}{letter}iB (binary) or {number}{decimal}B (decimal)")
        }
        _ => format!(
            "write for example {number}GiB (binary) or {number}GB (decimal); \
             units are B, kB, KiB, MB, MiB, GB, GiB, TB, TiB"
        ),
    }
}

impl<'de> Deserialize<'de> for ByteSize {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserialize_text(deserializer, "a size such as 24GiB (binary) or 24GB (decimal)")
    }
}

/// How large the buffer pool is to be.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum PoolSizeSpec {
    /// So many bytes.
    Fixed(ByteSize),
    /// So many percent of the dataset, above 0 and up to 1000.
    OfDataset(f64),
}

impl fmt::Display for PoolSizeSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PoolSizeSpec::Fixed(size) => size.fmt(f),
            PoolSizeSpec::OfDataset(percent) => write!(f, "{percent}%"),
        }
    }
}

impl FromStr for PoolSizeSpec {
    type Err = ValueError;

    fn from_str(text: &str) -> Result<Self, ValueError> {
        if let Some(number) = text.strip_suffix('%') {
            let number = number.trim_end();
            // The float parser alone would take `inf`, `1e2` and `+5`.
            return decimal(number)
                .and_then(|_| number.parse::<f64>().ok())
                .filter(|percent| *percent > 0.0 && *percent <= 1000.0)
                .map(PoolSizeSpec::OfDataset)
                .ok_or_else(|| {
                    ValueError(format!(
                        "{} is not a usable percentage; write more than 0% and at most 1000% of the dataset, \
                         for example 15%",
                        quoted(text)
                    ))
                });
        }
        text.parse().map(PoolSizeSpec::Fixed).map_err(|ValueError(message)| {
            ValueError(format!("{message}; or a percentage of the dataset, such as 15%"))
        })
    }
}

impl<'de> Deserialize<'de> for PoolSizeSpec {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserialize_text(deserializer, "a size such as 24GiB or a percentage of the dataset such as 15%")
    }
}

/// An InnoDB page size: 4, 8, 16, 32 or 64 KiB.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PageSize(u32);

impl PageSize {
    /// What InnoDB takes unless told otherwise.
    pub const DEFAULT: PageSize = PageSize(16 << 10);
    const ALL: [PageSize; 5] =
        [PageSize(4 << 10), PageSize(8 << 10), PageSize(16 << 10), PageSize(32 << 10), PageSize(64 << 10)];

    /// Its bytes.
    #[must_use]
    pub fn bytes(self) -> u32 {
        self.0
    }
}

impl FromStr for PageSize {
    type Err = ValueError;

    fn from_str(text: &str) -> Result<Self, ValueError> {
        let size = text.parse::<ByteSize>().ok();
        PageSize::ALL.into_iter().find(|page| size == Some(ByteSize(u64::from(page.0)))).ok_or_else(|| {
            ValueError(format!(
                "{} is not a page size of InnoDB; write 4KiB, 8KiB, 16KiB, 32KiB or 64KiB",
                quoted(text)
            ))
        })
    }
}

impl<'de> Deserialize<'de> for PageSize {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserialize_text(deserializer, "4KiB, 8KiB, 16KiB, 32KiB or 64KiB")
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn bytes(text: &str) -> u64 {
        text.parse::<ByteSize>().unwrap().bytes()
    }

    #[test]
    fn binary_and_decimal_are_never_confused() {
        assert_eq!(bytes("24GiB"), 25_769_803_776);
        assert_eq!(bytes("24GB"), 24_000_000_000);
        assert_eq!(bytes("512MiB"), 536_870_912);
        assert_eq!(bytes("1.5TiB"), 1_649_267_441_664);
        assert_eq!(bytes("260 GB"), 260_000_000_000);
        assert_eq!(bytes("1kB"), 1000);
        assert_eq!(bytes("1KiB"), 1024);
        assert_eq!(bytes("7B"), 7);
    }

    #[test]
    fn display_takes_the_unit_that_divides() {
        for text in ["24GiB", "24GB", "260GB", "256MiB", "1536MiB", "3TB", "1TiB", "7B", "1001B", "12kB"] {
            assert_eq!(text.parse::<ByteSize>().unwrap().to_string(), text);
        }
        assert_eq!(ByteSize((3 << 29) + 1).to_string(), "1.50GiB");
        assert_eq!(ByteSize(123_457).to_string(), "120.56KiB");
    }

    #[test]
    fn refusals_say_what_to_write() {
        let texts = [
            "24G",
            "24gb",
            "24gib",
            "24k",
            "24Kb",
            "24",
            "24b",
            "24 bytes",
            "24XB",
            "",
            "GiB",
            "1.GiB",
            ".5GiB",
            "1.2.3GiB",
            "0GiB",
            "0.1B",
            "-1GiB",
            "99999999999999999999999TiB",
            "9223372036854775808B",
        ];
        let messages: Vec<String> =
            texts.iter().map(|text| text.parse::<ByteSize>().unwrap_err().to_string()).collect();
        insta::assert_snapshot!("size_refusals", messages.join("\n"));
    }

    #[test]
    fn a_pool_is_a_size_or_a_percentage() {
        assert_eq!("24GiB".parse(), Ok(PoolSizeSpec::Fixed(ByteSize(24 << 30))));
        assert_eq!("12.5%".parse(), Ok(PoolSizeSpec::OfDataset(12.5)));
        assert_eq!("1000 %".parse(), Ok(PoolSizeSpec::OfDataset(1000.0)));
        let messages: Vec<String> = ["0%", "1001%", "-5%", "inf%", "1e2%", "%", "15", "lots"]
            .iter()
            .map(|text| text.parse::<PoolSizeSpec>().unwrap_err().to_string())
            .collect();
        insta::assert_snapshot!("pool_refusals", messages.join("\n"));
    }

    #[test]
    fn pages_are_what_innodb_takes() {
        assert_eq!("16KiB".parse(), Ok(PageSize::DEFAULT));
        assert_eq!("65536B".parse::<PageSize>().unwrap().bytes(), 65536);
        assert_eq!(
            "16kB".parse::<PageSize>().unwrap_err().to_string(),
            "`16kB` is not a page size of InnoDB; write 4KiB, 8KiB, 16KiB, 32KiB or 64KiB"
        );
    }

    proptest! {
        #[test]
        fn whole_units_survive_display(count in 1_u64..100_000, unit in 0..UNITS.len()) {
            let size = ByteSize(count * UNITS[unit].1);
            prop_assert_eq!(size.to_string().parse::<ByteSize>(), Ok(size));
        }

        #[test]
        fn display_is_exact_or_within_half_a_hundredth(bytes in 1..=i64::MAX as u64) {
            let shown = ByteSize(bytes).to_string();
            let read = shown.parse::<ByteSize>().unwrap().bytes();
            if shown.contains('.') {
                let unit = UNITS.iter().find(|(name, unit)| name.ends_with("iB") && bytes >= *unit).unwrap().1;
                prop_assert!(read.abs_diff(bytes) as f64 <= unit as f64 * 0.0051, "{} {}", shown, bytes);
            } else {
                prop_assert_eq!(read, bytes);
            }
        }

        #[test]
        fn parsing_never_panics(text in ".*") {
            let _ = (text.parse::<ByteSize>(), text.parse::<PoolSizeSpec>(), text.parse::<PageSize>());
        }

        #[test]
        fn near_misses_never_panic(text in "[0-9]{0,45}\\.?[0-9]{0,12} ?(B|KiB|GB|TiB|%|g|é)?") {
            let _ = (text.parse::<ByteSize>(), text.parse::<PoolSizeSpec>());
        }
    }
}
