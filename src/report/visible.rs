//! Text for terminals: what could steer one is shown, not obeyed.

/// The text with control characters (but for newlines and tabs) and marks that turn the direction of
/// writing replaced by their escapes, such as `\u{1b}`.
#[must_use]
pub fn visible(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\n' | '\t' => shown.push(c),
            c if c.is_control() || matches!(c, '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}') => {
                shown.extend(c.escape_unicode());
            }
            c => shown.push(c),
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steering_is_shown() {
        assert_eq!(visible("a\x1b[2Jb\u{202e}c\r\n–ü\t"), "a\\u{1b}[2Jb\\u{202e}c\\u{d}\n–ü\t");
    }
}
