//! Reading stored HDR histograms, which may come from anywhere.
//!
//! The library's own reader reserves what a header asks for, up to 4 GiB, and builds a whole array of
//! counts. This one knows the only shape that the journal holds, refuses any other before anything
//! is reserved, and gives the counts that are not zero.
//!
//! Format: <https://github.com/HdrHistogram/HdrHistogram>, V2 encoding, deflated.

use std::io::Read as _;

use flate2::read::ZlibDecoder;

/// First four bytes of a deflated histogram, and of the histogram in it.
const DEFLATED: u32 = 0x1c84_9314;
const PLAIN: u32 = 0x1c84_9313;
/// Cookie, length of the counts, normalizing offset, digits, lowest, highest, ratio.
const HEADER_BYTES: usize = 40;
/// Longest number in the counts.
const LONGEST_NUMBER: usize = 9;

/// The shape of a histogram.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shape {
    /// Highest value; the lowest is 1.
    pub highest: u64,
    /// Significant decimal digits, 1–5.
    pub digits: u32,
}

impl Shape {
    /// Values below this have a count each; above, steps double each time that values double.
    fn exact_below(self) -> u64 {
        (2 * 10_u64.pow(self.digits)).next_power_of_two()
    }

    /// The lowest value of the count at a place, or `None` beyond the highest value.
    fn value_at(self, place: u64) -> Option<u64> {
        let half = self.exact_below() / 2;
        let doublings = (place / half).saturating_sub(1);
        let value = if doublings == 0 { place } else { place % half + half };
        let value = u64::try_from(u128::from(value).checked_shl(u32::try_from(doublings).ok()?)?).ok()?;
        (value <= self.highest).then_some(value)
    }

    /// The highest value that shares a count with this one.
    pub fn highest_equivalent(self, value: u64) -> u64 {
        let above = (value / self.exact_below()).checked_ilog2().map_or(0, |log| log + 1);
        value | ((1 << above) - 1)
    }

    /// Counts that a histogram of this shape holds at most.
    fn places(self) -> usize {
        let doublings = (self.highest / self.exact_below()).checked_ilog2().map_or(0, |log| log as usize + 1);
        (doublings + 2) * (self.exact_below() as usize / 2)
    }
}

/// The counts that are not zero, as `(value, count)` in ascending order of values.
///
/// # Errors
/// When the bytes are not a deflated V2 histogram of this very shape.
pub fn decode(bytes: &[u8], shape: Shape) -> Result<Vec<(u64, u64)>, String> {
    let (head, deflated) = bytes.split_at_checked(8).ok_or("cut short")?;
    if number(head, 0) != u64::from(DEFLATED) {
        return Err("not a deflated V2 histogram".to_owned());
    }
    let most = HEADER_BYTES + shape.places() * LONGEST_NUMBER;
    let mut plain = Vec::new();
    let inflated = ZlibDecoder::new(deflated).take(most as u64 + 1).read_to_end(&mut plain);
    inflated.map_err(|error| format!("not deflated: {error}"))?;
    if plain.len() > most {
        return Err(format!("longer than the {most} bytes of an hour at {} digits", shape.digits));
    }
    let (header, counts) = plain.split_at_checked(HEADER_BYTES).ok_or("cut short")?;
    check(header, counts.len(), shape)?;
    read_counts(counts, shape)
}

fn check(header: &[u8], counts: usize, shape: Shape) -> Result<(), String> {
    let wanted: [(&str, u64, u64); 6] = [
        ("cookie", number(header, 0), u64::from(PLAIN)),
        ("length", number(header, 4), counts as u64),
        ("offset", number(header, 8), 0),
        ("digits", number(header, 12), u64::from(shape.digits)),
        ("lowest value", number(header, 16) << 32 | number(header, 20), 1),
        ("highest value", number(header, 24) << 32 | number(header, 28), shape.highest),
    ];
    match wanted.iter().find(|(_, found, wanted)| found != wanted) {
        Some((name, found, wanted)) => Err(format!("its {name} is {found}, not {wanted}")),
        None => Ok(()),
    }
}

/// Four bytes, most significant first.
fn number(bytes: &[u8], at: usize) -> u64 {
    bytes[at..at + 4].iter().fold(0, |number, byte| number << 8 | u64::from(*byte))
}

/// Zigzag numbers: a positive one is a count, a negative one so many counts of zero.
fn read_counts(mut bytes: &[u8], shape: Shape) -> Result<Vec<(u64, u64)>, String> {
    let mut counts = Vec::new();
    let mut place = 0_u64;
    while !bytes.is_empty() {
        let (zigzag, rest) = split_number(bytes).ok_or("cut short")?;
        bytes = rest;
        let half = zigzag >> 1;
        if zigzag & 1 == 1 {
            place = place.saturating_add(half + 1);
            continue;
        }
        if half > 0 {
            let value = shape.value_at(place).ok_or("it counts values beyond its highest")?;
            counts.push((value, half));
        }
        place = place.saturating_add(1);
    }
    Ok(counts)
}

/// A number of seven bits a byte, least significant first; a ninth byte has eight.
fn split_number(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let mut number = 0;
    for (at, byte) in bytes.iter().enumerate().take(LONGEST_NUMBER) {
        let last = at + 1 == LONGEST_NUMBER || byte & 0x80 == 0;
        let bits = if at + 1 == LONGEST_NUMBER { *byte } else { byte & 0x7f };
        number |= u64::from(bits) << (7 * at);
        if last {
            return Some((number, &bytes[at + 1..]));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use flate2::{Compression, write::ZlibEncoder};
    use hdrhistogram::Histogram;
    use hdrhistogram::serialization::{Serializer as _, V2DeflateSerializer};
    use proptest::prelude::*;

    use super::*;

    const SHAPE: Shape = Shape { highest: 3_600_000_000_000, digits: 3 };

    fn stored(header: [u64; 6], counts: &[u8]) -> Vec<u8> {
        let [cookie, length, offset, digits, low, high] = header;
        let mut plain = Vec::new();
        for word in [cookie, length, offset, digits, low >> 32, low, high >> 32, high] {
            plain.extend_from_slice(&(word as u32).to_be_bytes());
        }
        plain.extend_from_slice(&1.0_f64.to_be_bytes());
        plain.extend_from_slice(counts);
        let mut deflated = ZlibEncoder::new(Vec::new(), Compression::fast());
        deflated.write_all(&plain).unwrap();
        let deflated = deflated.finish().unwrap();
        [&DEFLATED.to_be_bytes()[..], &(deflated.len() as u32).to_be_bytes(), &deflated].concat()
    }

    fn header(counts: &[u8]) -> [u64; 6] {
        [u64::from(PLAIN), counts.len() as u64, 0, 3, 1, SHAPE.highest]
    }

    /// The library would reserve 4 GiB for the first and 50 MB for the second.
    #[test]
    fn other_shapes_are_refused_before_anything_is_reserved() {
        let refused = |header, counts: &[u8]| decode(&stored(header, counts), SHAPE).unwrap_err();
        let mut huge = header(&[]);
        huge[1] = u64::from(u32::MAX);
        assert_eq!(refused(huge, &[]), "its length is 4294967295, not 0");
        let mut wide = header(&[]);
        (wide[3], wide[5]) = (5, u64::MAX);
        assert_eq!(refused(wide, &[]), "its digits is 5, not 3");
        let bomb = vec![0; 1 << 20];
        assert_eq!(refused(header(&bomb), &bomb), "longer than the 304168 bytes of an hour at 3 digits");
    }

    #[test]
    fn counts_beyond_the_highest_value_are_refused() {
        let zeros_without_end = [0xff; 9];
        let refused = |counts: &[u8]| decode(&stored(header(counts), counts), SHAPE).unwrap_err();
        assert_eq!(refused(&[&zeros_without_end[..], &[2]].concat()), "it counts values beyond its highest");
        assert_eq!(refused(&[0x80]), "cut short");
    }

    proptest! {
        /// What the library writes is what is read here, at its resolution.
        #[test]
        fn the_librarys_histograms_are_read(values in prop::collection::vec(
            prop_oneof![0_u64..3000, 1..SHAPE.highest + 1, Just(SHAPE.highest)], 1..80)) {
            let mut histogram = Histogram::<u64>::new_with_bounds(1, SHAPE.highest, 3).unwrap();
            values.iter().for_each(|&v| histogram.record(v).unwrap());
            let mut bytes = Vec::new();
            V2DeflateSerializer::new().serialize(&histogram, &mut bytes).unwrap();
            let expected: Vec<(u64, u64)> = histogram
                .iter_recorded()
                .map(|v| (histogram.lowest_equivalent(v.value_iterated_to()), v.count_at_value()))
                .collect();
            prop_assert_eq!(decode(&bytes, SHAPE).unwrap(), expected);
        }

        #[test]
        fn any_counts_are_read_or_refused(counts in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = decode(&stored(header(&counts), &counts), SHAPE);
        }

        #[test]
        fn any_bytes_are_refused(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            prop_assert!(decode(&bytes, SHAPE).is_err());
        }
    }
}
