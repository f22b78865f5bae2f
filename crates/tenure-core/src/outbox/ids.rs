//! The ids of messages: chosen by the user, by chance, or by where a message comes from.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

/// The id by which a receiver knows a message again. Unique in an outbox.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct MessageId(Uuid);

impl MessageId {
    /// Takes a UUID of any version.
    pub const fn new(id: Uuid) -> Self {
        Self(id)
    }

    /// The id as a UUID.
    pub const fn as_uuid(self) -> Uuid {
        self.0
    }
}

impl From<Uuid> for MessageId {
    fn from(id: Uuid) -> Self {
        Self(id)
    }
}

impl FromStr for MessageId {
    type Err = uuid::Error;
    fn from_str(text: &str) -> Result<Self, uuid::Error> {
        Uuid::try_parse(text).map(Self)
    }
}

/// As a UUID in lower case with hyphens.
impl fmt::Display for MessageId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// What our UUIDs of version 5 are made under.
const DISPATCHES: Uuid = Uuid::from_u128(0x6d1c_3f0e_9d5b_4f7a_8f2e_7465_6e75_7265);

/// The id of what a process sends: the same for the same source, version and index, for ever. A producer that replays
/// enqueues nothing twice.
pub fn deterministic_id(source: &str, version: i64, index: i32) -> MessageId {
    // A source holds no NUL, so nothing else has the same bytes.
    MessageId(Uuid::new_v5(&DISPATCHES, format!("{source}\0{version}\0{index}").as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn b10_the_same_origin_has_the_same_id_for_ever() {
        // Written down: a change of this value would let every producer's replay send everything again.
        assert_eq!(deterministic_id("loan-7", 3, 0).to_string(), "470831a4-832f-5e77-b6eb-b9d970179689");
        assert_eq!(deterministic_id("loan-7", 3, 0).as_uuid().get_version_num(), 5);
    }

    #[test]
    fn different_origins_have_different_ids() {
        let all = [("a", 1, 11), ("a", 11, 1), ("a1", 1, 1), ("a", 1, 1), ("", 1, 1), ("a", -1, 1)];
        let ids: std::collections::BTreeSet<_> =
            all.iter().map(|(source, version, index)| deterministic_id(source, *version, *index)).collect();
        assert_eq!(ids.len(), all.len());
    }
}
