//! `/proc/swaps`: what memory is swapped out to.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt as _;
use std::path::PathBuf;

use super::mounts::unescape;

/// One swap space.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Swap {
    /// Its device or file.
    pub path: PathBuf,
    /// Its size, bytes.
    pub size_bytes: u64,
    /// Of it in use, bytes.
    pub used_bytes: u64,
}

/// Parses the whole file. A line that makes no sense, as the header, is left out.
#[must_use]
pub fn parse_swaps(text: &[u8]) -> Vec<Swap> {
    text.split(|&b| b == b'\n').filter_map(parse_line).collect()
}

fn parse_line(line: &[u8]) -> Option<Swap> {
    let mut fields = line.split(u8::is_ascii_whitespace).filter(|field| !field.is_empty());
    let path = PathBuf::from(OsString::from_vec(unescape(fields.next()?)));
    let _kind = fields.next()?;
    let mut kib = || std::str::from_utf8(fields.next()?).ok()?.parse::<u64>().ok()?.checked_mul(1024);
    Some(Swap { path, size_bytes: kib()?, used_bytes: kib()? })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn devices_and_files() {
        let text = b"Filename\t\t\t\tType\t\tSize\t\tUsed\t\tPriority\n\
                     /dev/nvme0n1p3                          partition\t8388604\t\t1024\t\t-2\n\
                     /swap\\040file file 1024 0 -3\nnonsense\n";
        let swap = |path: &str, size_bytes, used_bytes| Swap { path: path.into(), size_bytes, used_bytes };
        let expected = [swap("/dev/nvme0n1p3", 8_388_604 << 10, 1 << 20), swap("/swap file", 1 << 20, 0)];
        assert_eq!(parse_swaps(text), expected);
    }

    proptest! {
        #[test]
        fn bytes_never_panic(text in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = parse_swaps(&text);
        }
    }
}
