//! Numbers as sysbench writes them: digits, at most one point, no exponent.

/// Why a value is not the figure that belongs there.
pub type Refusal = (String, &'static str);

/// No rate, time or latency is larger.
const LARGEST: f64 = 1e12;
/// No count is larger: up to here a float holds every count, and sums of several fit.
pub const MOST: u64 = 1 << 53;
/// What is said of one that is.
pub const COUNT_EXPECTED: &str = "a whole number from 0 to 9007199254740992 was expected";

/// A rate, a time or a latency at the beginning of a text, 0 or more, and what follows it. `None`: there is
/// no number.
pub fn amount(text: &str) -> Result<Option<(f64, &str)>, Refusal> {
    let Some((token, rest)) = token(text)? else { return Ok(None) };
    let value: f64 = token.parse().map_err(|_| (token.to_owned(), "a number was expected"))?;
    if value < 0.0 {
        return Err((token.to_owned(), "it is 0 or more"));
    }
    if value > LARGEST {
        return Err((token.to_owned(), "it is less than a million millions"));
    }
    Ok(Some((value, rest)))
}

/// A count at the beginning of a text, and what follows it.
pub fn count(text: &str) -> Result<Option<(u64, &str)>, Refusal> {
    let Some((token, rest)) = token(text)? else { return Ok(None) };
    match token.parse() {
        Ok(value) if value <= MOST => Ok(Some((value, rest))),
        _ => Err((token.to_owned(), COUNT_EXPECTED)),
    }
}

/// The number at the beginning of a text, as written.
fn token(text: &str) -> Result<Option<(&str, &str)>, Refusal> {
    let text = text.trim_start();
    let digits_at = usize::from(text.starts_with(['-', '+']));
    let end = text[digits_at..].find(|c: char| !c.is_ascii_digit() && c != '.');
    let end = end.map_or(text.len(), |end| digits_at + end);
    let (token, rest) = text.split_at(end);
    if !token.contains(|c: char| c.is_ascii_digit()) {
        let word: String =
            text.chars().take_while(|c| c.is_ascii_alphabetic() || ['-', '+', '.'].contains(c)).collect();
        let bare = word.trim_start_matches(['-', '+']).to_ascii_lowercase();
        return match ["nan", "inf", "infinity"].contains(&bare.as_str()) {
            true => Err((word, "a finite number was expected")),
            false => Ok(None),
        };
    }
    let exponent = rest.strip_prefix(['e', 'E']).map(|rest| rest.trim_start_matches(['-', '+']));
    if exponent.is_some_and(|digits| digits.starts_with(|c: char| c.is_ascii_digit())) {
        let whole: String = text.chars().take_while(|c| !c.is_whitespace()).collect();
        return Err((whole, "a number without exponent was expected"));
    }
    match token.matches('.').count() < 2 {
        true => Ok(Some((token, rest))),
        false => Err((token.to_owned(), "a number with one point was expected")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_end_where_something_else_begins() {
        assert_eq!(amount(" 845.20qps: 3"), Ok(Some((845.2, "qps: 3"))));
        assert_eq!(amount("2.51ms"), Ok(Some((2.51, "ms"))));
        assert_eq!(amount("0.33err/s"), Ok(Some((0.33, "err/s"))));
        assert_eq!(count("9128   (152.13 per sec.)"), Ok(Some((9128, "   (152.13 per sec.)"))));
        assert_eq!((amount("N/A"), amount(""), amount("disabled")), (Ok(None), Ok(None), Ok(None)));
        assert_eq!(amount("."), Ok(None));
    }

    #[test]
    fn what_is_no_figure_is_refused() {
        let value = |text| amount(text).unwrap_err().0;
        assert_eq!(
            ["-1.5", "nan", "-NaN", "inf", "1e9", "1.2.3", "9999999999999999"].map(value),
            ["-1.5", "nan", "-NaN", "inf", "1e9", "1.2.3", "9999999999999999"]
        );
        assert_eq!(count("1.5").unwrap_err().0, "1.5");
        assert_eq!(count("-1").unwrap_err().0, "-1");
        assert_eq!(count("9007199254740992"), Ok(Some((MOST, ""))));
        assert!(count("9007199254740993").is_err() && count("18446744073709551616").is_err());
    }
}
