//! What a sink says of a delivery, and what is written down about it.

use std::time::Duration;

use serde::Serialize;

use super::{CauseId, RowId};

/// The longest reason that is stored, in bytes.
pub const REASON_MAX_BYTES: usize = 2_000;

/// A sink's answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// The receiver has it.
    Accepted,
    /// The receiver will never take it: it is dead at once.
    Rejected {
        /// Why.
        reason: String,
    },
    /// It did not work this time.
    Transient {
        /// Why.
        reason: String,
        /// How long the receiver asks to be left alone.
        retry_after: Option<Duration>,
    },
    /// This process cannot read it, and no other try will: it is dead at once.
    Poison {
        /// Why.
        reason: String,
    },
    /// It was not tried, because one before it in the same batch and source was not accepted. Burns no attempt.
    Withheld,
}

impl Verdict {
    /// How an attempt with this verdict ended; `None` when there was none.
    pub const fn kind(&self) -> Option<Kind> {
        match self {
            Self::Accepted => Some(Kind::Success),
            Self::Rejected { .. } => Some(Kind::Rejected),
            Self::Transient { .. } => Some(Kind::Transient),
            Self::Poison { .. } => Some(Kind::Poison),
            Self::Withheld => None,
        }
    }

    /// A failure that may pass.
    pub fn transient(reason: impl Into<String>) -> Self {
        Self::Transient { reason: reason.into(), retry_after: None }
    }

    /// A refusal that will not pass.
    pub fn rejected(reason: impl Into<String>) -> Self {
        Self::Rejected { reason: reason.into() }
    }
}

/// How an attempt ended, as history and metrics call it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// The receiver has it.
    Success,
    /// The receiver will not take it.
    Rejected,
    /// It did not work this time.
    Transient,
    /// The row cannot be read.
    Poison,
}

impl Kind {
    /// Every kind.
    pub const ALL: [Self; 4] = [Self::Success, Self::Rejected, Self::Transient, Self::Poison];

    /// The word for it in tables.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Success => "success",
            Self::Rejected => "rejected",
            Self::Transient => "transient",
            Self::Poison => "poison",
        }
    }

    /// The kind that a word in a table stands for.
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == word)
    }
}

/// What becomes of the message after an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    /// It is dispatched.
    Done,
    /// It is tried again, not before this span has passed.
    Again {
        /// The span, from the moment at which it is recorded.
        after: Duration,
    },
    /// It is dead.
    Dead {
        /// Whether its source stands still until an operator has decided.
        halt: bool,
    },
}

/// One attempt, to be recorded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome {
    /// The row.
    pub id: RowId,
    /// The number of the attempt, from 1. Recorded only if no other attempt of this number was: no attempt counts twice,
    /// and nothing that is finished goes back.
    pub attempt: u32,
    /// How it ended.
    pub kind: Kind,
    /// What becomes of the message.
    pub next: Next,
    /// Why, for people; none for a success.
    pub reason: Option<String>,
    /// How long it took.
    pub took: Duration,
}

impl Outcome {
    /// What it has in common with others, if the message is dead of it.
    pub fn cause(&self) -> CauseId {
        CauseId::of(self.kind, self.reason.as_deref().unwrap_or_default())
    }
}

/// The store's answer to a batch of outcomes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Recorded {
    /// These were written, in any order. What is missing had been settled before, by this relay or another.
    Applied(Vec<RowId>),
    /// Nothing was written: the relay is no longer in office.
    Fenced,
}

/// Cuts a reason to what is stored, at a character's end, without NUL, which databases refuse.
pub fn shorten(reason: &str) -> String {
    // What stands for NUL is longer than NUL, hence once before and once after.
    cut(&cut(reason).replace('\0', "\u{fffd}")).to_owned()
}

fn cut(reason: &str) -> &str {
    let mut end = reason.len().min(REASON_MAX_BYTES);
    while !reason.is_char_boundary(end) {
        end -= 1;
    }
    &reason[..end]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_are_cut_at_characters() {
        let long = "ä".repeat(REASON_MAX_BYTES);
        assert_eq!(shorten(&long).len(), REASON_MAX_BYTES);
        assert_eq!(shorten(&format!("x{long}")).len(), REASON_MAX_BYTES - 1);
        assert_eq!(shorten("a\0b"), "a\u{fffd}b");
    }

    #[test]
    fn words_and_kinds_are_the_same() {
        for kind in Kind::ALL {
            assert_eq!(Kind::from_word(kind.as_str()), Some(kind));
        }
        assert_eq!(Kind::from_word("Success"), None);
    }
}
