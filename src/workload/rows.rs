//! Contents of the sysbench 1.x table's text columns.

use super::random::WorkloadRng;

/// Bytes in column `c`: ten groups of eleven digits, joined by `-`.
pub const C_LEN: usize = 119;
/// Bytes in column `pad`: five groups.
pub const PAD_LEN: usize = 59;

const GROUP: usize = 11;

/// Contents of column `c`.
pub fn c_value(rng: &mut WorkloadRng) -> [u8; C_LEN] {
    digits(rng)
}

/// Contents of column `pad`.
pub fn pad_value(rng: &mut WorkloadRng) -> [u8; PAD_LEN] {
    digits(rng)
}

/// Eleven digits come from one 64-bit draw: 10¹¹ values out of 2⁶⁴ leave a bias below 10⁻⁸.
fn digits<const N: usize>(rng: &mut WorkloadRng) -> [u8; N] {
    let mut text = [b'-'; N];
    for group in text.chunks_mut(GROUP + 1) {
        let mut number = rng.next_u64();
        for digit in group.iter_mut().take(GROUP) {
            *digit = b'0' + (number % 10) as u8;
            number /= 10;
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_of_eleven_digits() {
        let mut rng = WorkloadRng::new(1, 1);
        for (text, groups) in [(c_value(&mut rng).to_vec(), 10), (pad_value(&mut rng).to_vec(), 5)] {
            let text = String::from_utf8(text).unwrap();
            let parts: Vec<&str> = text.split('-').collect();
            assert_eq!(parts.len(), groups, "{text}");
            assert!(parts.iter().all(|p| p.len() == 11 && p.bytes().all(|b| b.is_ascii_digit())));
        }
    }
}
