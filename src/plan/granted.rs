//! Options beside what the server made of them: it corrects some values instead of refusing them.

use std::collections::BTreeMap;

/// One sentence for each option that is in force with another value than planned. Options that no
/// variable shows (`skip_log_bin`, those that this version lacks) cannot be compared and pass.
#[must_use]
pub fn not_granted(options: &BTreeMap<String, String>, variables: &BTreeMap<String, String>) -> Vec<String> {
    let compared = options.iter().filter_map(|(option, planned)| {
        let name = option.strip_prefix("loose_").unwrap_or(option);
        let granted = variables.get(name)?;
        (!same(planned, granted))
            .then(|| format!("the server runs with {name} = `{granted}`, not `{planned}` as planned"))
    });
    compared.collect()
}

/// Whether two spellings mean one value: letters of either case, `1` and `ON`, `16M` and `16777216`.
fn same(planned: &str, granted: &str) -> bool {
    let equal = planned.eq_ignore_ascii_case(granted);
    equal || both(switch(planned), switch(granted)) || both(number(planned), number(granted))
}

fn both<T: PartialEq>(a: Option<T>, b: Option<T>) -> bool {
    a.is_some() && a == b
}

fn switch(text: &str) -> Option<bool> {
    let is_one_of = |words: [&str; 4]| words.iter().any(|word| word.eq_ignore_ascii_case(text));
    match (is_one_of(["1", "on", "true", "yes"]), is_one_of(["0", "off", "false", "no"])) {
        (false, false) => None,
        (on, _) => Some(on),
    }
}

/// Option files take K, M, G and T for powers of 1,024.
fn number(text: &str) -> Option<f64> {
    let suffixes = [('k', 10), ('m', 20), ('g', 30), ('t', 40)];
    let last = text.chars().last()?.to_ascii_lowercase();
    let shift = suffixes.iter().find(|(suffix, _)| *suffix == last).map(|(_, shift)| *shift);
    let digits = if shift.is_some() { &text[..text.len() - 1] } else { text };
    digits.parse::<f64>().ok().map(|value| value * (1_u64 << shift.unwrap_or(0)) as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(option: &str, planned: &str, variable: &str, granted: &str) -> Vec<String> {
        let map = |name: &str, value: &str| BTreeMap::from([(name.to_owned(), value.to_owned())]);
        not_granted(&map(option, planned), &map(variable, granted))
    }

    #[test]
    fn one_value_has_many_spellings() {
        for (planned, granted) in
            [("16M", "16777216"), ("90", "90.000000"), ("ON", "1"), ("off", "OFF"), ("o_direct", "O_DIRECT")]
        {
            assert_eq!(told("a", planned, "a", granted), [""; 0], "{planned} {granted}");
        }
        assert_eq!(told("skip_log_bin", "", "log_bin", "OFF"), [""; 0]);
    }

    #[test]
    fn what_the_server_corrected_is_told() {
        assert_eq!(
            told("innodb_io_capacity", "many", "innodb_io_capacity", "100"),
            ["the server runs with innodb_io_capacity = `100`, not `many` as planned"]
        );
        for (planned, granted) in [("ON", "OFF"), ("", "x"), ("é", "1"), ("2", "ON"), ("1e99", "5")] {
            assert_eq!(told("loose_a", planned, "a", granted).len(), 1, "{planned} {granted}");
        }
    }
}
