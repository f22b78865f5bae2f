//! What a receiver said, as it may be shown: secrets struck out, on one line, and not for ever.

use super::Secret;

/// How much of it goes into a reason.
const REASON_BYTES: usize = 500;
/// A part of a secret that is shorter gives nothing away; struck out it would make holes in plain words.
const PART_MIN_BYTES: usize = 4;

/// Strikes out secrets that a receiver repeats.
pub(super) struct Shown {
    secrets: Vec<Vec<u8>>,
}

impl Shown {
    pub(super) fn without<'a>(secrets: impl IntoIterator<Item = &'a Secret>) -> Self {
        // An empty one would be found everywhere, and again at the same place.
        let secrets = secrets.into_iter().map(Secret::expose).filter(|secret| !secret.is_empty());
        Self { secrets: secrets.map(|secret| secret.as_bytes().to_vec()).collect() }
    }

    /// Strikes this out too, unless it is too short to be a secret.
    #[cfg(feature = "http")]
    pub(super) fn hide_part(&mut self, text: &str) {
        self.secrets.extend((text.len() > PART_MIN_BYTES).then(|| Vec::from(text)));
    }

    /// The first bytes as text on one line: secrets struck out, control characters escaped.
    pub(super) fn plain(&self, bytes: &[u8]) -> String {
        let (mut kept, mut at) = (Vec::new(), 0);
        // A secret is struck out as a whole, also where it goes on behind what is shown, or the body ends within it.
        while at < bytes.len().min(REASON_BYTES) {
            match self.secrets.iter().find_map(|secret| begins_with(&bytes[at..], secret)) {
                Some(length) => {
                    kept.extend_from_slice(b"***");
                    at += length;
                }
                None => {
                    kept.push(bytes[at]);
                    at += 1;
                }
            }
        }
        // A character that the cut went through would show as a mark that was not there.
        let text = String::from_utf8_lossy(&kept);
        let text = if at < bytes.len() { text.trim_end_matches('\u{fffd}') } else { &text };
        let escape = |c: char| match hides(c) {
            true => c.escape_default().collect(),
            false => String::from(c),
        };
        text.trim().chars().map(escape).collect()
    }
}

/// How long the piece of `secret` is that `bytes` begin with.
fn begins_with(bytes: &[u8], secret: &[u8]) -> Option<usize> {
    let length = bytes.len().min(secret.len());
    let whole = length == secret.len() || length >= PART_MIN_BYTES;
    (whole && bytes[..length] == secret[..length]).then_some(length)
}

/// Characters that move a terminal's cursor, or turn its text around.
fn hides(c: char) -> bool {
    c.is_control() || matches!(c, '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_struck_out_wherever_it_stands() {
        let shown = Shown::without([&"t0psecret".into()]);
        assert_eq!(shown.plain(b"a t0psecret b t0psecret"), "a *** b ***");
        let across = format!("{}t0psecret tail", "x".repeat(REASON_BYTES - 3));
        assert_eq!(shown.plain(across.as_bytes()), format!("{}***", "x".repeat(REASON_BYTES - 3)));
        assert_eq!(shown.plain(b"ends with t0psec"), "ends with ***");
        assert_eq!(shown.plain(b"that is t0"), "that is t0", "too short to tell");
    }

    #[test]
    fn an_empty_secret_hides_nothing_and_does_not_hang() {
        let shown = Shown::without([&"".into(), &"t0psecret".into()]);
        assert_eq!(shown.plain(b"a t0psecret"), "a ***");
    }

    #[test]
    fn what_is_shown_is_one_line_of_at_most_500_bytes() {
        let shown = Shown::without([]);
        assert_eq!(shown.plain(b"a\r\nb\x1b[2Jc\0\xe2\x80\xae"), "a\\r\\nb\\u{1b}[2Jc\\u{0}\\u{202e}");
        assert_eq!(shown.plain("ä".repeat(400).as_bytes()), "ä".repeat(250));
        assert_eq!(shown.plain(format!("x{}", "ä".repeat(400)).as_bytes()), format!("x{}", "ä".repeat(249)));
        assert_eq!(shown.plain(b"\xff\xfe ok"), "\u{fffd}\u{fffd} ok");
    }
}
