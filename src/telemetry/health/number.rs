//! Numbers in what tools print as JSON: of several widths, and sometimes in quotes.

use serde_json::Value;

/// A count: a whole number that is not negative, as a number or its digits. Counters of 128 bits are read as
/// far as they fit into 64.
pub fn count(value: &Value) -> Option<u64> {
    match value {
        Value::Number(number) => number.as_u64().or_else(|| whole(number.as_f64()?)),
        Value::String(text) => text.trim().parse().ok(),
        _ => None,
    }
}

/// The nearest whole number: floating point is how numbers of more than 64 bits, and those of older versions of
/// nvme-cli, arrive.
fn whole(value: f64) -> Option<u64> {
    // 2⁶⁴ and more would saturate.
    (value.fract() == 0.0 && (0.0..18_446_744_073_709_551_616.0).contains(&value)).then_some(value as u64)
}

/// A percentage; some may pass 100, none has four digits.
pub fn percent(value: &Value) -> Option<u32> {
    u32::try_from(count(value)?).ok().filter(|percent| *percent < 1_000)
}

/// A temperature that electronics can have, °C.
pub fn celsius(value: &Value) -> Option<i32> {
    let degrees = value.as_i64().and_then(|degrees| i32::try_from(degrees).ok())?;
    (-60..200).contains(&degrees).then_some(degrees)
}

/// The same from kelvins. Drives without a sensor say 0.
pub fn celsius_of_kelvins(value: &Value) -> Option<i32> {
    celsius(&Value::from(i64::try_from(count(value)?).ok()?.checked_sub(273)?))
}

/// A count of units, in bytes.
pub fn bytes(value: &Value, unit_bytes: u64) -> Option<u64> {
    count(value)?.checked_mul(unit_bytes)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn counts_come_as_numbers_or_digits() {
        for value in [json!(7), json!(7.0), json!("7"), json!(" 7 ")] {
            assert_eq!(count(&value), Some(7), "{value}");
        }
        assert_eq!(count(&json!(u64::MAX)), Some(u64::MAX));
        let wide: Value = serde_json::from_str("18446744073709551615000").unwrap();
        let nonsense =
            [json!(-1), json!(1e300), json!(0.5), json!("many"), json!("-7"), json!(null), json!([7])];
        for value in nonsense.iter().chain([&wide, &json!(18_446_744_073_709_551_616.0)]) {
            assert_eq!(count(value), None, "{value}");
        }
    }

    #[test]
    fn what_cannot_be_is_unknown() {
        assert_eq!((percent(&json!(104)), percent(&json!(65_535))), (Some(104), None));
        assert_eq!(
            (celsius(&json!(-5)), celsius(&json!(65_535)), celsius(&json!("x"))),
            (Some(-5), None, None)
        );
        assert_eq!(celsius_of_kelvins(&json!(310)), Some(37));
        assert_eq!((celsius_of_kelvins(&json!(0)), celsius_of_kelvins(&json!(u64::MAX))), (None, None));
        assert_eq!((bytes(&json!(2), 512_000), bytes(&json!(u64::MAX), 2)), (Some(1_024_000), None));
    }
}
