//! The history of a lease: every change of holder, with its cause.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::{LeaseName, Term};
use crate::id::Node;
use crate::time::StoreTime;

/// Why the holder of a lease changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Cause {
    /// Someone took the lease.
    Acquired,
    /// The holder gave it back.
    Released,
    /// Its ttl ended, and someone else took it.
    Expired,
    /// Its presence ended, and someone else took it.
    Crashed,
    /// An operator ended it at once, without waiting for the holder.
    Fenced,
    /// The holder gave it back because an operator asked for it.
    Resigned,
}

impl Cause {
    /// Every cause, with the text a row holds.
    const TEXTS: [(Self, &'static str); 6] = [
        (Self::Acquired, "acquired"),
        (Self::Released, "released"),
        (Self::Expired, "expired"),
        (Self::Crashed, "crashed"),
        (Self::Fenced, "fenced"),
        (Self::Resigned, "resigned"),
    ];

    /// The text a row holds.
    pub fn as_str(self) -> &'static str {
        Self::TEXTS.iter().find(|(cause, _)| *cause == self).map_or("", |(_, text)| text)
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// A text that names no cause.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("not a cause")]
pub struct NotACause;

impl FromStr for Cause {
    type Err = NotACause;
    fn from_str(text: &str) -> Result<Self, NotACause> {
        Self::TEXTS.iter().find(|(_, known)| *known == text).map(|(cause, _)| *cause).ok_or(NotACause)
    }
}

/// The number of a line of history. Rises with every line, with gaps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct HistoryId(pub i64);

/// The most lines of history that one call looks at to forget them.
pub const FORGET_MAX: u32 = 1_000;

/// What one bounded step of forgetting old history did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Forgotten {
    /// How many lines were deleted.
    pub lines: u64,
    /// After which line the next step goes on; `None` when what follows is young, or nothing does.
    pub resume: Option<HistoryId>,
}

/// What becomes of a line of history.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// It tells the last term of its lease, which is remembered by it for ever.
    Last,
    /// It is old, and may go.
    Goes,
    /// It is young, and so is whatever follows.
    Young,
}

impl Forgotten {
    /// Which lines go, and where the next step goes on, by the lines that were looked at, in their order, at most `limit`.
    pub fn plan(lines: &[(HistoryId, Fate)], limit: u32) -> (Vec<HistoryId>, Option<HistoryId>) {
        let gone = lines.iter().filter(|(_, fate)| *fate == Fate::Goes).map(|(id, _)| *id).collect();
        let ended = lines.len() < limit as usize || lines.iter().any(|(_, fate)| *fate == Fate::Young);
        (gone, lines.last().map(|(id, _)| *id).filter(|_| !ended))
    }
}

/// One line of a lease's history.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Change {
    /// The lease.
    pub name: LeaseName,
    /// The term that began or ended.
    pub term: Term,
    /// What happened to it.
    pub cause: Cause,
    /// Who held, or holds, that term.
    pub node: Node,
    /// When, by the store's clock.
    pub at: StoreTime,
    /// The number of the line, from where a list goes on; `None` before it is written.
    pub id: Option<HistoryId>,
}
