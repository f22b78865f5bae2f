//! What a message or an event says, for those who may see it.

use maud::{Markup, PreEscaped, html};

use super::number;
use super::text::lines;
use crate::asked::{Asked, Seeing};
use crate::limits::API_PAYLOAD_MAX_BYTES;
use crate::mutation::Rule;

/// How many bytes are read of a payload that is shown: enough to lay a JSON text out, and to take out of it what is not to be
/// seen.
pub(crate) const READ_MAX_BYTES: usize = API_PAYLOAD_MAX_BYTES;

/// A payload, or the beginning of it.
pub(crate) struct Payload<'a> {
    pub(crate) topic: &'a str,
    pub(crate) kind: &'a str,
    /// At most [`READ_MAX_BYTES`] of it.
    pub(crate) bytes: &'a [u8],
    /// How many bytes the whole has.
    pub(crate) whole: u64,
    pub(crate) is_text: bool,
}

/// The payload as text, cut to what a page shows.
pub(crate) fn shown(asked: &Asked, _: Seeing, payload: &Payload<'_>) -> Markup {
    let is_whole = payload.whole <= payload.bytes.len() as u64;
    let mut bytes = payload.bytes.to_vec();
    if let Some(redact) = &asked.desk.redact {
        if !is_whole {
            // Half of a text may hold what the application would have taken out of the whole.
            return html! { p class="soft" { "It has " (number::bytes(payload.whole)) ", too much to have it redacted, and so is not shown." } };
        }
        redact.payload(payload.topic, payload.kind, &mut bytes);
    }
    let max = if asked.desk.off(Rule::CutPayload) { usize::MAX } else { asked.desk.limits.payload_bytes };
    let (text, cut) = written(&bytes, payload.is_text, is_whole, max);
    html! {
        pre class="payload" tabindex="0" aria-label="payload" {
            @if asked.desk.off(Rule::Escape) { (PreEscaped(text)) } @else { (text) }
        }
        @if cut || !is_whole {
            p class="soft" { "This is the beginning: the whole has " (number::bytes(payload.whole)) "." }
        }
    }
}

/// At most so many bytes, as text or as hexadecimal digits, and whether there is more. A JSON text is laid out in lines.
fn written(bytes: &[u8], is_text: bool, is_whole: bool, max: usize) -> (String, bool) {
    let text = std::str::from_utf8(bytes).ok();
    if let Some(text) = text.filter(|_| is_whole)
        && matches!(text.trim_start().as_bytes().first(), Some(b'{' | b'['))
        && let Ok(value) = serde_json::from_str::<serde_json::Value>(text)
        && let Ok(laid_out) = serde_json::to_string_pretty(&value)
        // Numbers that a reader would round, and keys that stand there twice, are shown as they stand there.
        && value_is_kept(text, &laid_out)
    {
        return cut_text(&laid_out, max);
    }
    match text {
        Some(text) => cut_text(text, max),
        None if is_text => cut_text(&String::from_utf8_lossy(bytes), max),
        None => {
            let digits: String = bytes.iter().take(max / 2).map(|byte| format!("{byte:02x}")).collect();
            (digits, bytes.len() > max / 2)
        }
    }
}

/// Whether laying a text out has left everything but blanks as it was, in any order.
fn value_is_kept(text: &str, laid_out: &str) -> bool {
    let count = |text: &str| {
        let mut counts = [0_u32; 256];
        for byte in text.bytes().filter(|byte| !byte.is_ascii_whitespace()) {
            counts[usize::from(byte)] += 1;
        }
        counts
    };
    count(text) == count(laid_out)
}

fn cut_text(text: &str, max: usize) -> (String, bool) {
    let mut end = text.len().min(max);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    (lines(&text[..end]), end < text.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_is_laid_out_and_everything_is_cut() {
        assert_eq!(written(br#"{"a":[1,2]}"#, true, true, 1_000).0, "{\n  \"a\": [\n    1,\n    2\n  ]\n}");
        assert_eq!(written(b"plain", true, true, 3), ("pla".into(), true));
        assert_eq!(written("éé".as_bytes(), true, true, 3), ("é".into(), true));
        assert_eq!(written(&[0xff, 0x00], false, true, 100), ("ff00".into(), false));
        assert_eq!(written(&[0xff; 100], false, true, 10), ("ffffffffff".into(), true));
        assert!(written(&[b'['; 60_000], true, true, 4_096).0.len() <= 4_096, "too deep to be read is shown as it is");
    }

    #[test]
    fn what_laying_out_would_change_is_shown_as_it_stands() {
        for text in [r#"{"a":1.10}"#, r#"{"a":1,"a":2}"#, r#"{"a":12345678901234567890123}"#] {
            assert_eq!(written(text.as_bytes(), true, true, 1_000).0, text);
        }
    }
}
