//! Who is who: a node is a chosen name plus a random incarnation, so that two processes with one name stay two.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// The longest name of a node, in bytes.
pub const NODE_NAME_MAX_BYTES: usize = 200;

/// Why a name was refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NameError {
    /// The name has no characters.
    #[error("the {what} is empty")]
    Empty {
        /// What the name was for.
        what: &'static str,
    },
    /// The name has more bytes than the limit.
    #[error("the {what} has {bytes} bytes; the limit is {limit}")]
    TooLong {
        /// What the name was for.
        what: &'static str,
        /// The length that was given.
        bytes: usize,
        /// The longest that is accepted.
        limit: usize,
    },
    /// The name holds a control character.
    #[error("the {what} holds the control character U+{code:04X} at byte {at}; remove it")]
    Control {
        /// What the name was for.
        what: &'static str,
        /// The character's code point.
        code: u32,
        /// Where it stands.
        at: usize,
    },
    /// The name is no identifier that may go into SQL.
    #[error("the {what} `{text}` is not of the form [a-z_][a-z0-9_]* with at most {limit} characters")]
    NotAnIdentifier {
        /// What the name was for.
        what: &'static str,
        /// The text that was given, shortened.
        text: String,
        /// The longest that is accepted.
        limit: usize,
    },
}

/// Checks a name that is data: any text without control characters, from 1 to `limit` bytes.
pub(crate) fn check_name(what: &'static str, text: &str, limit: usize) -> Result<(), NameError> {
    if text.is_empty() {
        return Err(NameError::Empty { what });
    }
    if text.len() > limit {
        return Err(NameError::TooLong { what, bytes: text.len(), limit });
    }
    // Most are of plain letters, and whoever enqueues waits for this.
    if text.bytes().all(|byte| matches!(byte, b' '..=b'~')) {
        return Ok(());
    }
    match text.char_indices().find(|(_, c)| c.is_control()) {
        Some((at, c)) => Err(NameError::Control { what, code: c.into(), at }),
        None => Ok(()),
    }
}

/// The chosen name of a node: a host name, a pod name, whatever the operator knows it by.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct NodeName(String);

impl NodeName {
    /// Accepts any text of 1 to 200 bytes without control characters.
    pub fn new(text: impl Into<String>) -> Result<Self, NameError> {
        let text = text.into();
        check_name("node name", &text, NODE_NAME_MAX_BYTES)?;
        Ok(Self(text))
    }

    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for NodeName {
    type Error = NameError;
    fn try_from(text: String) -> Result<Self, NameError> {
        Self::new(text)
    }
}

impl From<NodeName> for String {
    fn from(name: NodeName) -> Self {
        name.0
    }
}

impl fmt::Display for NodeName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A random number of 128 bits that names one thing among all that ever were: an incarnation, a claim, a session.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Unique(u128);

impl Unique {
    /// Takes the number from the caller, for chance is an input.
    pub const fn from_u128(bits: u128) -> Self {
        Self(bits)
    }

    /// The number.
    pub const fn as_u128(self) -> u128 {
        self.0
    }
}

/// 32 lower-case hexadecimal digits.
impl fmt::Display for Unique {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

impl fmt::Debug for Unique {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// A text that is not 32 hexadecimal digits.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("not 32 hexadecimal digits")]
pub struct NotUnique;

impl FromStr for Unique {
    type Err = NotUnique;
    fn from_str(text: &str) -> Result<Self, NotUnique> {
        if text.len() != 32 || !text.bytes().all(|b| b.is_ascii_hexdigit()) {
            return Err(NotUnique);
        }
        u128::from_str_radix(text, 16).map(Self).map_err(|_| NotUnique)
    }
}

impl TryFrom<String> for Unique {
    type Error = NotUnique;
    fn try_from(text: String) -> Result<Self, NotUnique> {
        text.parse()
    }
}

impl From<Unique> for String {
    fn from(unique: Unique) -> Self {
        unique.to_string()
    }
}

/// One running process: its chosen name, and the incarnation that no other process ever has.
///
/// Two processes that were given one name (a copied pod, a forgotten container) differ in their incarnation, and
/// everything that compares holders compares incarnations.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Node {
    /// The chosen name.
    pub name: NodeName,
    /// The random number of this process.
    pub incarnation: Unique,
    /// The machine it runs on.
    pub machine: String,
    /// The process id there.
    pub pid: u32,
}

impl fmt::Display for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({}/{})", self.name, self.machine, self.pid)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_and_unicode_are_data_and_control_characters_are_refused() {
        assert!(NodeName::new("o'brien; \"–\" 東京").is_ok());
        assert_eq!(NodeName::new("a\0b"), Err(NameError::Control { what: "node name", code: 0, at: 1 }));
        assert!(matches!(NodeName::new(""), Err(NameError::Empty { .. })));
        assert!(NodeName::new("x".repeat(200)).is_ok());
        assert!(matches!(NodeName::new("x".repeat(201)), Err(NameError::TooLong { bytes: 201, .. })));
    }

    #[test]
    fn unique_numbers_survive_their_text_form() {
        let unique = Unique::from_u128(0x00ff_1234);
        assert_eq!(unique.to_string().parse(), Ok(unique));
        assert_eq!("zz".parse::<Unique>(), Err(NotUnique));
        assert_eq!("+0000000000000000000000000000001".parse::<Unique>(), Err(NotUnique));
    }
}
