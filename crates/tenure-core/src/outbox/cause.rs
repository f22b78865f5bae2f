//! What dead messages have in common, so that an outage's worth of them is one line and not fifty thousand.

use std::fmt;
use std::str::FromStr;

use serde::{Serialize, Serializer};

use super::{Count, Kind, Summary};
use crate::hash;

/// How many characters of a reason count.
const REASON_CHARS: usize = 200;
/// From how many characters on a word of hexadecimal digits is a number, though it has letters alone.
const HEX_WORD: usize = 8;
/// A number behind one of these words says what went wrong, not to which message.
const CODE_WORDS: [&str; 4] = ["http", "status", "code", "error"];

/// What dead messages have in common: how they ended, and the reason without its numbers and names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CauseId(u64);

impl CauseId {
    /// Of messages that died before causes were written down.
    pub const UNKNOWN: Self = Self(0);

    /// The cause of an outcome. Words with digits, hexadecimal words, UUIDs, quoted texts and everything after 200
    /// characters do not count; a number does that follows on `HTTP`, `status`, `code` or `error`.
    pub fn of(kind: Kind, reason: &str) -> Self {
        let plain = without_names(reason);
        let number = hash::key([kind.as_str().as_bytes(), plain.as_bytes()]).cast_unsigned();
        // 63 bits: then it is the same number, in the same order, in databases whose numbers have a sign.
        Self((number >> 1).max(1))
    }

    /// The number, as a column of signed numbers holds it.
    pub const fn as_column(self) -> i64 {
        self.0.cast_signed()
    }

    /// The cause that a column holds; what Tenure never wrote stands for none that is known.
    pub const fn from_column(number: i64) -> Self {
        if number < 0 { Self::UNKNOWN } else { Self(number.cast_unsigned()) }
    }
}

/// 16 lower-case hexadecimal digits.
impl fmt::Display for CauseId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

impl Serialize for CauseId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// A text that is no cause.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a cause is 16 hexadecimal digits, as a list of causes shows them")]
pub struct NotACauseId;

impl FromStr for CauseId {
    type Err = NotACauseId;
    fn from_str(text: &str) -> Result<Self, NotACauseId> {
        if text.len() != 16 || !text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Err(NotACauseId);
        }
        let number = u64::from_str_radix(text, 16).map_err(|_| NotACauseId)?;
        i64::try_from(number).map(Self::from_column).map_err(|_| NotACauseId)
    }
}

/// Dead messages of one cause.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grave {
    /// What they have in common.
    pub cause: CauseId,
    /// How many, counted up to the bound that was asked for.
    pub messages: Count,
    /// The one with the highest number, as a list shows it: its reason stands for all.
    pub newest: Summary,
    /// The one with the lowest number.
    pub oldest: Summary,
}

/// A page of causes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Graves {
    /// In the order of causes, which means nothing to people.
    pub graves: Vec<Grave>,
    /// From where to go on; `None` when there are no more.
    pub more_after: Option<CauseId>,
}

/// The most causes that one call answers with.
pub const GRAVES_MAX: u32 = 200;

/// A reason in lower case, in which what names one message stands as `#`.
fn without_names(reason: &str) -> String {
    let mut plain = String::new();
    let mut before = String::new();
    let mut rest: &str = &reason.chars().take(REASON_CHARS).collect::<String>();
    while let Some(first) = rest.chars().next() {
        let word = rest.split(|c| !in_word(c)).next().unwrap_or_default();
        if !word.is_empty() {
            let lower = word.to_lowercase();
            let code = lower.bytes().all(|byte| byte.is_ascii_digit()) && CODE_WORDS.contains(&&*before);
            match is_name(&lower) && !code {
                true => push_name(&mut plain),
                false => plain.push_str(&lower),
            }
            (before, rest) = (lower, &rest[word.len()..]);
            continue;
        }
        rest = &rest[first.len_utf8()..];
        if matches!(first, '"' | '\'' | '`')
            && let Some(end) = rest.find(first)
        {
            push_name(&mut plain);
            rest = &rest[end + 1..];
        } else if first.is_whitespace() {
            if !plain.ends_with(' ') {
                plain.push(' ');
            }
        } else {
            plain.push(first);
        }
    }
    plain.trim_end().to_owned()
}

/// `1.5`, `10.0.0.1:80` and `7` are one name each.
fn push_name(plain: &mut String) {
    let goes_on = [".", ",", ":"].iter().any(|mark| plain.ends_with(&format!("#{mark}")));
    if goes_on {
        plain.pop();
    } else {
        plain.push('#');
    }
}

/// Apostrophes within a word are read before this is asked, hyphens belong to UUIDs and to names such as `order-7`.
fn in_word(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '-' | '_')
}

fn is_name(word: &str) -> bool {
    let hex = |c: char| c.is_ascii_hexdigit() || c == '-';
    word.chars().any(char::is_numeric) || (word.len() >= HEX_WORD && word.chars().all(hex))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn same(one: &str, other: &str) {
        assert_eq!(without_names(one), without_names(other));
        assert_eq!(CauseId::of(Kind::Rejected, one), CauseId::of(Kind::Rejected, other));
    }

    fn other(one: &str, other: &str) {
        assert_ne!(CauseId::of(Kind::Rejected, one), CauseId::of(Kind::Rejected, other), "{one}, {other}");
    }

    #[test]
    fn causes_leave_out_numbers_and_names() {
        same("order 17 is not known", "order 4711 is not known");
        same("timed out after 1.5s", "timed out after 30.25s");
        same("timed out after 1.5 s, again", "timed out after 2 s, again");
        same("no host at 10.0.0.1:80", "no host at 17");
        same("no row 018f3c2e-aaaa-7bbb-8ccc-abcdefabcdef", "no row abcdefab-cdef-abcd-efab-cdefabcdefab");
        same("key 'ada' is there", "key 'bob; drop table' is there");
        same("key \"ada\" is there", "key \"it's bob\" is there");
        same("at deadbeef", "at cafebabe");
        same("two  blanks\n", "two blanks");
        same("Connection refused (10.0.0.1:5432)", "connection refused (10.0.0.22:9999)");
        same("HTTP 503: id 7", "HTTP 503: id 8");
        let long = "x".repeat(200);
        same(&format!("{long} one"), &format!("{long} two"));
    }

    #[test]
    fn what_went_wrong_makes_a_difference() {
        other("connection refused", "connection reset");
        other("HTTP 503", "HTTP 404");
        other("status 500", "status 501");
        other("cannot", "can");
        assert_ne!(CauseId::of(Kind::Rejected, "x"), CauseId::of(Kind::Transient, "x"));
    }

    #[test]
    fn hostile_reasons_are_only_texts() {
        for reason in ["", "'", "\"'`", "\0", "🦀 'a", "`", &"'".repeat(100_000), "it's", "ß-ß_ß"] {
            assert_ne!(CauseId::of(Kind::Poison, reason), CauseId::UNKNOWN);
        }
    }

    #[test]
    fn a_cause_is_the_same_as_text_and_as_a_signed_number() {
        for reason in ["a", "b", "c", "d"] {
            let cause = CauseId::of(Kind::Transient, reason);
            assert!(cause.as_column() > 0);
            assert_eq!(CauseId::from_column(cause.as_column()), cause);
            assert_eq!(cause.to_string().parse(), Ok(cause));
        }
        assert_eq!("0000000000000000".parse(), Ok(CauseId::UNKNOWN));
        assert_eq!(CauseId::from_column(-5), CauseId::UNKNOWN);
        for bad in ["", "1", "+000000000000000", "ffffffffffffffff", "000000000000000g", "00000000000000000"]
        {
            assert_eq!(bad.parse::<CauseId>(), Err(NotACauseId), "{bad}");
        }
    }
}
