//! From bytes to lines: without colours, whatever ends them.

/// A line of a log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// Its number, from 1.
    pub number: usize,
    /// Its text, without what only steers a terminal.
    pub text: String,
}

/// What is longer is cut, bytes: no line of sysbench's is.
const LONGEST: usize = 16 << 10;

/// The lines of a log, one at a time. What is not UTF-8 is replaced.
pub fn lines(bytes: &[u8]) -> impl Iterator<Item = Line> {
    let numbered = bytes.split(|byte| *byte == b'\n').zip(1..);
    // A carriage return begins a line anew on a terminal, as progress does; it keeps the line's number.
    let parts = numbered.flat_map(|(line, number)| {
        let end = line.iter().rposition(|byte| *byte != b'\r').map_or(0, |last| last + 1);
        line[..end].split(|byte| *byte == b'\r').map(move |part| (part, number))
    });
    parts.map(|(part, number)| {
        let part = &part[..part.len().min(LONGEST)];
        Line { number, text: plain(&String::from_utf8_lossy(part)) }
    })
}

/// Without escape sequences (ECMA-48) and other control characters; tabs become spaces.
fn plain(line: &str) -> String {
    let mut out = String::with_capacity(line.len());
    let mut rest = line.chars();
    while let Some(c) = rest.next() {
        match c {
            '\u{1b}' => skip_sequence(&mut rest),
            '\t' | '\u{a0}' => out.push(' '),
            c if c.is_control() || c == '\u{feff}' => {}
            c => out.push(c),
        }
    }
    out
}

fn skip_sequence(rest: &mut std::str::Chars) {
    match rest.next() {
        // A control sequence ends with its final byte, a string with BEL or with ESC \.
        Some('[') => drop(rest.find(|c| ('\u{40}'..='\u{7e}').contains(c))),
        Some(']') if rest.find(|c| ['\u{7}', '\u{1b}'].contains(c)) == Some('\u{1b}') => drop(rest.next()),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(bytes: &[u8]) -> Vec<(usize, String)> {
        lines(bytes).map(|line| (line.number, line.text)).collect()
    }

    #[test]
    fn terminals_leave_traces() {
        let expected = |n: usize, text: &str| (n, text.to_owned());
        assert_eq!(texts(b"a\nb"), [expected(1, "a"), expected(2, "b")]);
        assert_eq!(texts(b"a\r\nb"), [expected(1, "a"), expected(2, "b")]);
        assert_eq!(texts(b"10 %\r20 %\n")[..2], [expected(1, "10 %"), expected(1, "20 %")]);
        assert_eq!(texts(b"\x1b[1;32mtps\x1b[0m: 3"), [expected(1, "tps: 3")]);
        assert_eq!(texts(b"\x1b]0;title\x07read\x1b]8;;\x1b\\:"), [expected(1, "read:")]);
        assert_eq!(texts(b"\xef\xbb\xbfa\tb\xff"), [expected(1, "a b\u{fffd}")]);
        assert_eq!(texts(b"\x1b"), [expected(1, "")]);
    }

    #[test]
    fn a_line_without_end_is_cut() {
        let long = [&b"x".repeat(3 * LONGEST)[..], b"\ny"].concat();
        let read: Vec<_> = lines(&long).map(|line| (line.number, line.text.len())).collect();
        assert_eq!(read, [(1, LONGEST), (2, 1)]);
    }
}
