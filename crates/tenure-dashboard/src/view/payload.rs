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
    let is_json = matches!(valid.trim_start().as_bytes().first(), Some(b'{' | b'['))
        && serde_json::from_str::<serde::de::IgnoredAny>(valid).is_ok();
    if is_whole && is_utf8 && is_json {
        return lines(&laid_out(valid));
    }
    match (is_utf8, is_text) {
        (true, _) => lines(valid),
        (false, true) => lines(&String::from_utf8_lossy(bytes)),
        (false, false) => bytes.iter().map(|byte| format!("{byte:02x}")).collect(),
    }
}

/// A JSON text in lines. Only blanks between its parts are changed: numbers, the order of keys, and keys that stand there
/// twice stay as they are.
fn laid_out(json: &str) -> String {
    let (mut text, mut depth, mut in_string, mut escaped) = (String::new(), 0_usize, false, false);
    let line = |text: &mut String, depth: usize| {
        text.push('\n');
        text.extend(std::iter::repeat_n("  ", depth));
    };
    let mut rest = json.chars().peekable();
    while let Some(c) = rest.next() {
        if in_string {
            text.push(c);
            in_string = escaped || c != '"';
            escaped = c == '\\' && !escaped;
            continue;
        }
        match c {
            c if c.is_ascii_whitespace() => {}
            '{' | '[' => {
                text.push(c);
                while rest.next_if(char::is_ascii_whitespace).is_some() {}
                match rest.next_if(|next| matches!(next, '}' | ']')) {
                    Some(end) => text.push(end),
                    None => {
                        depth += 1;
                        line(&mut text, depth);
                    }
                }
            }
            '}' | ']' => {
                depth = depth.saturating_sub(1);
                line(&mut text, depth);
                text.push(c);
            }
            ',' => {
                text.push(c);
                line(&mut text, depth);
            }
            ':' => text.push_str(": "),
            c => {
                in_string = c == '"';
                text.push(c);
            }
        }
    }
    text
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
    fn laying_out_changes_blanks_alone() {
        for text in
            [r#"{"b":1.10,"a":12345678901234567890123,"a":{},"c":[ ]}"#, r#"["{\"}, :","\\",[[]]]"#, "{}"]
        {
            let shown = written(text.as_bytes(), true, true);
            let plain = |text: &str| text.split_whitespace().collect::<String>();
            assert_eq!(plain(&shown), plain(text));
        }
        assert_eq!(written(br#"{"b": [], "a": "x,y"}"#, true, true), "{\n  \"b\": [],\n  \"a\": \"x,y\"\n}");
    }
}
