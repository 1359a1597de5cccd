//! Figures as reports write them. One that is not finite becomes [`MISSING`].

/// `1 thread`, `32 threads`.
pub(super) fn threads(threads: u32) -> String {
    format!("{threads} {}", if threads == 1 { "thread" } else { "threads" })
}

/// Stands where there is no figure.
pub(super) const MISSING: &str = "–";

/// With so many decimals and thousands separators.
pub(super) fn decimals(value: f64, places: usize) -> String {
    if !value.is_finite() {
        return MISSING.to_owned();
    }
    let digits = format!("{:.places$}", value.abs());
    let (whole, fraction) = digits.split_once('.').unwrap_or((&digits, ""));
    let negative = value < 0.0 && digits.bytes().any(|b| (b'1'..=b'9').contains(&b));
    let mut text = String::from(if negative { "-" } else { "" });
    for (position, digit) in whole.chars().enumerate() {
        if position > 0 && (whole.len() - position).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    if !fraction.is_empty() {
        text.push('.');
        text.push_str(fraction);
    }
    text
}

/// A count, with thousands separators.
pub(super) fn count(value: u64) -> String {
    decimals(value as f64, 0)
}

/// A latency in ms: two decimals, below 1 ms three significant digits.
pub(super) fn ms(value: f64) -> String {
    if value > 0.0 && value < 1.0 { significant(value, 3) } else { decimals(value, 2) }
}

/// A share of 0–1 in percent, one decimal.
pub(super) fn percent(share: f64) -> String {
    unit(share * 100.0, 1, "%")
}

/// Bytes in binary units.
pub fn bytes(value: f64) -> String {
    const UNITS: [&str; 6] = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
    let mut scaled = value;
    let mut index = 0;
    while scaled.abs() >= 1023.95 && index + 1 < UNITS.len() {
        scaled /= 1024.0;
        index += 1;
    }
    let places = if index == 0 && scaled.fract() == 0.0 { 0 } else { 1 };
    unit(scaled, places, UNITS[index])
}

/// A figure for a mean such as "1.02 syncs a transaction": three significant digits, never fewer
/// than its whole part.
pub(super) fn mean(value: f64) -> String {
    significant(value, 3)
}

/// So many significant digits, but the whole part is never rounded.
pub(super) fn significant(value: f64, digits: i32) -> String {
    if value == 0.0 || !value.is_finite() {
        return decimals(value, 0);
    }
    let magnitude = value.abs().log10().floor() as i32;
    decimals(value, usize::try_from(digits - 1 - magnitude).unwrap_or(0).min(9))
}

/// Its text, or [`MISSING`].
pub(super) fn or_missing(value: Option<f64>, write: impl Fn(f64) -> String) -> String {
    value.map_or_else(|| MISSING.to_owned(), write)
}

fn unit(value: f64, places: usize, unit: &str) -> String {
    if value.is_finite() { format!("{} {unit}", decimals(value, places)) } else { MISSING.to_owned() }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn golden_figures() {
        assert_eq!(decimals(1_234_567.891, 2), "1,234,567.89");
        assert_eq!(decimals(999.999, 2), "1,000.00");
        assert_eq!(decimals(-1_000.0, 0), "-1,000");
        assert_eq!(decimals(-0.001, 2), "0.00");
        assert_eq!(count(100), "100");
        assert_eq!((ms(0.0), ms(0.012_345), ms(0.5)), ("0.00".into(), "0.0123".into(), "0.500".into()));
        assert_eq!((ms(1.0), ms(12.345), ms(1234.5)), ("1.00".into(), "12.35".into(), "1,234.50".into()));
        assert_eq!(percent(0.7534), "75.3 %");
        assert_eq!((bytes(512.0), bytes(1536.0)), ("512 B".into(), "1.5 KiB".into()));
        assert_eq!(bytes(260.0 * 1024.0 * 1024.0 * 1024.0), "260.0 GiB");
        assert_eq!(bytes(1024.0 * 1024.0 - 1.0), "1.0 MiB");
        assert_eq!((mean(0.0), mean(1.0234), mean(1234.5)), ("0".into(), "1.02".into(), "1,234".into()));
        assert_eq!((percent(f64::NAN), bytes(f64::INFINITY)), (MISSING.into(), MISSING.into()));
    }

    proptest! {
        #[test]
        fn separators_take_nothing_away(value in -1e15..1e15f64, places in 0..4usize) {
            let plain: f64 = decimals(value, places).replace(',', "").parse().unwrap();
            prop_assert!((plain - value).abs() <= 0.5 / 10f64.powi(places as i32) + value.abs() * 1e-15);
        }
    }
}
