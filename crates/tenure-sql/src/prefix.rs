//! Names that begin alike, as a range of an index: databases compare names byte by byte, and so by characters.

use crate::value::Value;

/// The last character there is.
const LAST: char = char::MAX;
/// So many of them come after every name: none is longer than 500 bytes.
const LAST_NAME: usize = 126;

/// The parameters of a list by names: after which one, from which one on, before which one.
pub(crate) fn names_between(prefix: &str, after: Option<&str>) -> Vec<Value> {
    vec![after.unwrap_or_default().into(), prefix.into(), behind(prefix).into()]
}

/// The first text that comes after all that begin so.
fn behind(prefix: &str) -> String {
    let mut end = prefix.to_owned();
    while let Some(last) = end.pop() {
        if last < LAST {
            end.extend((last..=LAST).nth(1));
            return end;
        }
    }
    String::from(LAST).repeat(LAST_NAME)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_begins_so_comes_before_and_nothing_else_does() {
        assert_eq!(behind("a"), "b");
        assert_eq!(behind("a\u{10ffff}"), "b");
        assert_eq!(behind("\u{d7ff}"), "\u{e000}", "there is nothing in between");
        for prefix in ["", "\u{10ffff}", "x%", "\u{7f}", "\u{ffff}", "ü🦀"] {
            let end = behind(prefix);
            for more in ["", "\0", "z", "\u{10ffff}\u{10ffff}"] {
                let name = format!("{prefix}{more}");
                assert!(*prefix <= *name && name < end, "{prefix:?} {more:?}");
            }
        }
        assert!(behind("").len() > 500);
    }
}
