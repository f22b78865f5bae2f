//! Texts of others: cut to a length, and with what cannot be seen made visible.

use maud::{Markup, html};

/// How much of a text stands in a cell.
const CELL_CHARS: usize = 200;
/// How much of it can be had by pointing at it.
const TITLE_CHARS: usize = 1_000;

/// A text in a cell: at most 200 characters of it, more of it behind.
pub(crate) fn cell(text: &str) -> Markup {
    cut(text, CELL_CHARS)
}

/// At most so many characters of a text, more of it behind.
pub(crate) fn cut(text: &str, chars: usize) -> Markup {
    let (shown, more) = beginning(text, chars);
    if !more {
        return html! { bdi { (shown) } };
    }
    let (title, _) = beginning(text, TITLE_CHARS);
    html! { bdi title=(title) { (shown) "…" } }
}

/// A name or an id, in the letters of code.
pub(crate) fn code(text: &str) -> Markup {
    html! { code { (cell(text)) } }
}

/// The beginning of a text as it may be shown, and whether there is more.
pub(crate) fn beginning(text: &str, chars: usize) -> (String, bool) {
    let mut rest = text.chars();
    let shown = rest.by_ref().take(chars).flat_map(visible).collect();
    (shown, rest.next().is_some())
}

/// A payload as it may be shown: lines stay lines.
pub(crate) fn lines(text: &str) -> String {
    let keep = |c: char| match c {
        '\n' | '\t' => Seen::Itself(std::iter::once(c)),
        other => visible(other),
    };
    text.chars().flat_map(keep).collect()
}

enum Seen {
    Itself(std::iter::Once<char>),
    Named(std::vec::IntoIter<char>),
}

impl Iterator for Seen {
    type Item = char;
    fn next(&mut self) -> Option<char> {
        match self {
            Self::Itself(one) => one.next(),
            Self::Named(all) => all.next(),
        }
    }
}

/// A character that would act on the page's text, instead of standing in it, is shown by its name: one that turns the
/// direction of what follows could make a reason read as its opposite.
fn visible(c: char) -> Seen {
    let acts = c.is_control()
        || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}');
    match (acts, c) {
        (false, c) => Seen::Itself(std::iter::once(c)),
        (true, '\n' | '\r' | '\t') => Seen::Itself(std::iter::once(' ')),
        (true, c) => Seen::Named(format!("⟨U+{:04X}⟩", u32::from(c)).chars().collect::<Vec<_>>().into_iter()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_escaped_cut_and_seen() {
        let markup = cell("<script>alert(1)</script>").into_string();
        assert_eq!(markup, "<bdi>&lt;script&gt;alert(1)&lt;/script&gt;</bdi>");
        let long = cell(&"\"x".repeat(600)).into_string();
        assert!(long.starts_with("<bdi title=\"&quot;x") && long.contains("…</bdi>"), "{long}");
        assert!(long.chars().count() < 200 * 6 + 1_000 * 6 + 50);
        assert_eq!(beginning("a\u{202e}b\u{0}\nc", 10).0, "a⟨U+202E⟩b⟨U+0000⟩ c");
        assert_eq!(lines("a\n\tb\u{7}"), "a\n\tb⟨U+0007⟩");
    }

    #[test]
    fn a_text_as_long_as_it_may_be_is_whole() {
        assert_eq!(beginning(&"é".repeat(5), 5), ("é".repeat(5), false));
        assert_eq!(beginning(&"é".repeat(6), 5), ("é".repeat(5), true));
    }
}
