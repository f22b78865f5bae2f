//! What a message or an event says, for those who may see it. What comes here is redacted already, and cut.

use maud::{Markup, PreEscaped, html};

use super::number;
use super::text::lines;
use crate::asked::{Asked, Seeing};
use crate::mutation::Rule;

/// A payload, or the beginning of it; `whole` is how many bytes it has in all.
pub(crate) fn shown(asked: &Asked, _: Seeing, bytes: &[u8], whole: u64, is_text: bool) -> Markup {
    let is_whole = whole <= bytes.len() as u64;
    let text = written(bytes, is_text, is_whole);
    html! {
        pre class="payload" tabindex="0" aria-label="payload" {
            @if asked.desk.off(Rule::Escape) { (PreEscaped(text)) } @else { (text) }
        }
        @if !is_whole { p class="soft" { "This is the beginning: the whole has " (number::bytes(whole)) "." } }
    }
}

/// As text or as hexadecimal digits. A JSON text that is whole is laid out in lines.
fn written(bytes: &[u8], is_text: bool, is_whole: bool) -> String {
    // What was cut in the middle of a character is a text all the same.
    let valid = bytes.utf8_chunks().next().map_or("", |chunk| chunk.valid());
    let is_utf8 = valid.len() == bytes.len() || (!is_whole && bytes.len() - valid.len() < 4);
    if is_whole
        && is_utf8
        && matches!(valid.trim_start().as_bytes().first(), Some(b'{' | b'['))
        && let Ok(value) = serde_json::from_str::<serde_json::Value>(valid)
        && let Ok(laid_out) = serde_json::to_string_pretty(&value)
        // Numbers that a reader would round, and keys that stand there twice, are shown as they stand there.
        && is_kept(valid, &laid_out)
    {
        return lines(&laid_out);
    }
    match (is_utf8, is_text) {
        (true, _) => lines(valid),
        (false, true) => lines(&String::from_utf8_lossy(bytes)),
        (false, false) => bytes.iter().map(|byte| format!("{byte:02x}")).collect(),
    }
}

/// Whether laying a text out has left everything but blanks as it was, in any order.
fn is_kept(text: &str, laid_out: &str) -> bool {
    let count = |text: &str| {
        let mut counts = [0_u32; 256];
        for byte in text.bytes().filter(|byte| !byte.is_ascii_whitespace()) {
            counts[usize::from(byte)] += 1;
        }
        counts
    };
    count(text) == count(laid_out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_is_laid_out_and_bytes_are_digits() {
        assert_eq!(written(br#"{"a":[1,2]}"#, true, true), "{\n  \"a\": [\n    1,\n    2\n  ]\n}");
        assert_eq!(written(b"plain", true, true), "plain");
        assert_eq!(written(&"éé".as_bytes()[..3], true, false), "é");
        assert_eq!(written(&[0xff, 0x00], false, true), "ff00");
        assert_eq!(
            written(&[b'['; 60_000], true, true).len(),
            60_000,
            "too deep to be read is shown as it is"
        );
    }

    #[test]
    fn what_laying_out_would_change_is_shown_as_it_stands() {
        for text in [r#"{"a":1.10}"#, r#"{"a":1,"a":2}"#, r#"{"a":12345678901234567890123}"#] {
            assert_eq!(written(text.as_bytes(), true, true), text);
        }
    }
}
