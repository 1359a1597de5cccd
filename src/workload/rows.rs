//! Contents of the text columns.

use std::fmt;
use std::io::Write as _;

use super::random::WorkloadRng;

/// Bytes in column `c` of sysbench 1.x: ten groups of eleven digits, joined by `-`.
const C_LEN: usize = 119;
/// Bytes in its column `pad`: five groups.
const PAD_LEN: usize = 59;
/// Bytes that fit into `c`.
const MOST: usize = 120;
const GROUP: usize = 11;
/// sysbench 0.4 draws numbers below this.
const BELOW_04: u64 = 1 << 31;

/// A value of `c` or `pad`.
#[derive(Clone, PartialEq, Eq)]
pub struct Text {
    bytes: [u8; MOST],
    length: usize,
}

impl Text {
    /// Its bytes: digits and dashes.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes[..self.length]
    }
}

impl fmt::Display for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(std::str::from_utf8(self.as_bytes()).unwrap_or_default())
    }
}

impl fmt::Debug for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

/// Contents of column `c`.
pub fn c_value(rng: &mut WorkloadRng) -> Text {
    digits(rng, C_LEN)
}

/// Contents of column `pad`.
pub fn pad_value(rng: &mut WorkloadRng) -> Text {
    digits(rng, PAD_LEN)
}

/// Eleven digits come from one 64-bit draw: 10¹¹ values out of 2⁶⁴ leave a bias below 10⁻⁸.
fn digits(rng: &mut WorkloadRng, length: usize) -> Text {
    let mut bytes = [b'-'; MOST];
    for group in bytes[..length].chunks_mut(GROUP + 1) {
        // Two halves and two digits at a time: loading makes up billions of these.
        let number = rng.next_u64() % 100_000_000_000;
        let [mut low, mut high] = [number % 1_000_000, number / 1_000_000].map(|half| half as u32);
        for two in group[..6].chunks_exact_mut(2) {
            two.copy_from_slice(&PAIRS[(low % 100) as usize]);
            low /= 100;
        }
        for two in group[6..10].chunks_exact_mut(2) {
            two.copy_from_slice(&PAIRS[(high % 100) as usize]);
            high /= 100;
        }
        group[10] = b'0' + high as u8;
    }
    Text { bytes, length }
}

/// The digits of 0 to 99, units first.
const PAIRS: [[u8; 2]; 100] = {
    let mut pairs = [[b'0'; 2]; 100];
    let mut number = 0;
    while number < 100 {
        pairs[number] = [b'0' + (number % 10) as u8, b'0' + (number / 10) as u8];
        number += 1;
    }
    pairs
};

/// Column `c` as sysbench 0.4 updates it: ten numbers joined by `-`.
pub fn c_value_04(rng: &mut WorkloadRng) -> Text {
    numbers(rng, 10)
}

/// Column `pad` as sysbench 0.4 inserts it: five numbers.
pub fn pad_value_04(rng: &mut WorkloadRng) -> Text {
    numbers(rng, 5)
}

fn numbers(rng: &mut WorkloadRng, count: usize) -> Text {
    let mut bytes = [0; MOST];
    let mut rest = &mut bytes[..];
    for n in 0..count {
        let dash = if n == 0 { "" } else { "-" };
        // Ten numbers of ten digits and nine dashes fit.
        let _ = write!(rest, "{dash}{}", rng.between(0, BELOW_04 - 1));
    }
    let length = MOST - rest.len();
    Text { bytes, length }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_of_eleven_digits() {
        let mut rng = WorkloadRng::new(1, 1);
        for (text, groups) in [(c_value(&mut rng), 10), (pad_value(&mut rng), 5)] {
            let text = text.to_string();
            let parts: Vec<&str> = text.split('-').collect();
            assert_eq!(parts.len(), groups, "{text}");
            assert!(parts.iter().all(|p| p.len() == 11 && p.bytes().all(|b| b.is_ascii_digit())));
        }
    }

    #[test]
    fn a_group_is_the_lowest_digits_of_a_draw_units_first() {
        let mut draws = WorkloadRng::new(3, 1);
        let mut rng = draws.clone();
        for _ in 0..1_000 {
            for group in pad_value(&mut rng).to_string().split('-') {
                let lowest = format!("{:011}", draws.next_u64() % 100_000_000_000);
                assert_eq!(group, lowest.chars().rev().collect::<String>());
            }
        }
    }

    #[test]
    fn numbers_of_any_length() {
        let mut rng = WorkloadRng::new(1, 1);
        for (text, count) in [(c_value_04(&mut rng), 10), (pad_value_04(&mut rng), 5)] {
            let text = text.to_string();
            let numbers: Vec<u64> = text.split('-').map(|n| n.parse().unwrap()).collect();
            assert_eq!(numbers.len(), count, "{text}");
            assert!(numbers.iter().all(|&n| n < BELOW_04));
        }
    }
}
