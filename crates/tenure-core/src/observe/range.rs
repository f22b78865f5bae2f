//! A page of names, as a range of an index.

/// No valid name is as high as this many times the highest character.
const HIGHEST: usize = 200;

/// The names that begin so and come after one: from `from` on, below `below`, but not `but`. Compared byte by byte.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NameRange {
    /// The first name that may be meant.
    pub from: String,
    /// Every name that is meant is lower than this.
    pub below: String,
    /// The one that is left out, for it ended the page before; empty for none.
    pub but: String,
}

impl NameRange {
    /// The range of names with a prefix after one.
    pub fn of(prefix: &str, after: Option<&str>) -> Self {
        let but = after.unwrap_or_default();
        let from = if but > prefix { but } else { prefix };
        let below = end_of(prefix).unwrap_or_else(|| "\u{10ffff}".repeat(HIGHEST));
        Self { from: from.to_owned(), below, but: but.to_owned() }
    }
}

/// The lowest text that is higher than all that begin so; `None` when every text is lower.
fn end_of(prefix: &str) -> Option<String> {
    let mut rest = prefix.to_owned();
    while let Some(last) = rest.pop() {
        // What lies between is no character, but belongs to the codes of other encodings.
        let next = if last == '\u{d7ff}' { Some('\u{e000}') } else { char::from_u32(u32::from(last) + 1) };
        if let Some(next) = next {
            rest.push(next);
            return Some(rest);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_has_what_begins_so_and_nothing_else() {
        let names = [
            "",
            "a",
            "ab",
            "ab\u{10ffff}",
            "ab\u{10ffff}x",
            "ac",
            "\u{d7ff}",
            "\u{d7ff}z",
            "\u{e000}",
            "\u{10ffff}",
            "\u{10ffff}x",
        ];
        for prefix in names {
            let range = NameRange::of(prefix, None);
            for name in names.iter().filter(|name| !name.is_empty()) {
                let within =
                    *name >= range.from.as_str() && *name < range.below.as_str() && *name != range.but;
                assert_eq!(within, name.starts_with(prefix), "{name:?} of {prefix:?}: {range:?}");
            }
        }
    }

    #[test]
    fn a_page_begins_behind_the_last_name_of_the_one_before() {
        let range = NameRange::of("a", Some("ab"));
        assert_eq!((range.from.as_str(), range.below.as_str(), range.but.as_str()), ("ab", "b", "ab"));
        assert_eq!(NameRange::of("b", Some("ab")).from, "b");
    }
}
