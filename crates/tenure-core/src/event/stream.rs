//! Streams, and the two numbers of an event: its version in its stream, and its position among all.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::id::{NameError, check_name};

/// The longest name of a stream, in bytes: that of a source in the outbox, for a process is both.
pub const STREAM_MAX_BYTES: usize = 500;

/// The name of a stream, such as `loan-7`. Compared byte by byte.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(transparent)]
pub struct StreamName(String);

impl StreamName {
    /// Accepts any text of 1 to 500 bytes without control characters.
    pub fn new(text: impl Into<String>) -> Result<Self, NameError> {
        let text = text.into();
        check_name("stream", &text, STREAM_MAX_BYTES)?;
        Ok(Self(text))
    }

    /// The stream of one entity: its kind and its id, with a hyphen between them.
    pub fn of(kind: &str, id: &str) -> Result<Self, NameError> {
        Self::new(format!("{kind}-{id}"))
    }

    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The id of an entity of this kind, if the stream is one's.
    pub fn id_of(&self, kind: &str) -> Option<&str> {
        self.0.strip_prefix(kind)?.strip_prefix('-')
    }
}

impl fmt::Display for StreamName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// How many events a stream has, and so the number of its last one: the first event has version 1.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Version(pub i64);

impl Version {
    /// The version of a stream without events.
    pub const NONE: Self = Self(0);

    /// The version after so many further events.
    #[must_use]
    pub const fn plus(self, events: usize) -> Self {
        Self(self.0.saturating_add(events as i64))
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Where an event stands among all events of a store. Rises from commit to commit, with gaps.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Position(pub i64);

impl Position {
    /// Before the first event.
    pub const START: Self = Self(0);
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hostile_names_are_refused_and_odd_ones_kept() {
        for bad in ["", "a\0b", "a\nb", &"x".repeat(501)] {
            assert!(StreamName::new(bad).is_err(), "{bad:?}");
        }
        for odd in ["'; drop table events; --", "ä/ö?", "-", " ", &"x".repeat(500)] {
            assert_eq!(StreamName::new(odd).unwrap().as_str(), odd);
        }
    }

    #[test]
    fn an_entity_s_id_is_what_follows_its_kind() {
        let stream = StreamName::of("loan", "7-a").unwrap();
        assert_eq!(
            (stream.as_str(), stream.id_of("loan"), stream.id_of("loa")),
            ("loan-7-a", Some("7-a"), None)
        );
    }
}
