//! Subscriptions: reading all events in order, at least once, and knowing how far one has come.
//!
//! ```text
//!   read a page ──▶ handle, one after another ──▶ move the checkpoint, every so many events or so long
//!                     │ fails: again after a pause; then it is put aside, or the subscription halts
//! ```
//!
//! A checkpoint says that everything up to it was handled or put aside, and nothing after it was skipped: it moves only to
//! where the store has proven that nothing below may still appear. A handler that moves it in its own transaction handles
//! each event exactly once in effect.

mod cursor;
mod settings;

use serde::Serialize;

use crate::event::{Position, StreamName, Version};
use crate::id::{NameError, check_name};
use crate::outbox::Count;
use crate::time::StoreTime;

pub use cursor::{Cursor, Fate, Front, Lost};
pub use settings::{OnFailure, SubscriptionSettings};

/// Up to how many events that were put aside are counted.
pub const PARKED_COUNT_MAX: u32 = 1_000;

/// The longest name of a subscription, in bytes.
const NAME_MAX_BYTES: usize = 200;

/// The name under which a checkpoint is kept.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(transparent)]
pub struct SubscriptionName(String);

impl SubscriptionName {
    /// Accepts any text of 1 to 200 bytes without control characters.
    pub fn new(text: impl Into<String>) -> Result<Self, NameError> {
        let text = text.into();
        check_name("subscription", &text, NAME_MAX_BYTES)?;
        Ok(Self(text))
    }

    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl std::fmt::Display for SubscriptionName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

/// Where a checkpoint is, and how often an operator has put it somewhere.
///
/// A place alone does not tell whether it is the one that a reader knows: an operator may have sent the subscription back,
/// and another reader come up to that place again, past events that the first one has not handled since.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Checkpoint {
    /// Everything up to here was handled or put aside.
    pub position: Position,
    /// How often an operator has moved it.
    pub rewinds: u64,
}

/// A move of a checkpoint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// Whose.
    pub name: SubscriptionName,
    /// Where the reader knows it to be.
    pub from: Position,
    /// How often an operator has moved it, as far as the reader knows.
    pub rewinds: u64,
    /// Where it goes; not below `from`.
    pub to: Position,
    /// Events between the two that are put aside.
    pub parked: Vec<Aside>,
}

impl Step {
    /// Refuses a step that leads back.
    pub fn check(&self) -> Result<(), Backward> {
        let Self { name, from, to, .. } = self;
        if to < from { Err(Backward { name: name.clone(), from: *from, to: *to }) } else { Ok(()) }
    }

    /// What is answered when the checkpoint is not where this step begins; `None` when it is.
    pub fn elsewhere(&self, there: Checkpoint) -> Option<Advance> {
        let known = Checkpoint { position: self.from, rewinds: self.rewinds };
        (there != known).then_some(Advance::Moved { at: there.position })
    }

    /// Whether it was taken, by where the checkpoint is: for a reader whose step had no answer.
    pub fn is_taken(&self, there: Checkpoint) -> bool {
        self.to > self.from && there == Checkpoint { position: self.to, rewinds: self.rewinds }
    }
}

/// A step that leads back, which only an operator may do.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a step of {name} leads back from {from} to {to}; only a rewind does that")]
pub struct Backward {
    /// Whose step.
    pub name: SubscriptionName,
    /// From where.
    pub from: Position,
    /// To where.
    pub to: Position,
}

/// What became of an operator's move.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use = "a place that is refused has moved nothing"]
pub enum Rewind {
    /// The checkpoint is there.
    Moved,
    /// Nothing has moved: the place lies beyond the end of the log, so events that nobody has appended yet would be passed over.
    Beyond {
        /// The last position that was given out.
        end: Position,
    },
}

impl Rewind {
    /// Whether a checkpoint may go from one place to another, where the log ends at `end`. Back it may in any case: one that stands ahead of
    /// the log, as after the restore of an older backup, comes nearer to it.
    pub fn judge(from: Position, to: Position, end: Position) -> Self {
        if to <= end.max(from) { Self::Moved } else { Self::Beyond { end } }
    }
}

/// An event that a subscription could not handle and goes on without.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Aside {
    /// The event.
    pub position: Position,
    /// Its stream; `None` when its row cannot be read so far.
    pub stream: Option<StreamName>,
    /// Its version there; [`Version::NONE`] when its row cannot be read so far.
    pub version: Version,
    /// What it is; empty when its row cannot be read so far.
    pub kind: String,
    /// Why.
    pub reason: String,
    /// How often it was tried.
    pub attempts: u32,
}

/// An event that was put aside, and when.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parked {
    /// The event and the reason.
    pub aside: Aside,
    /// When.
    pub parked_at: StoreTime,
}

/// The store's answer to a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use = "only Advanced means that the checkpoint has moved"]
pub enum Advance {
    /// The checkpoint is where the step led.
    Advanced,
    /// The reader is no longer in office. Nothing has moved.
    Fenced,
    /// The checkpoint is no longer the one that the reader knows: another reader moved it, or an operator, who may have put
    /// it where it was. Nothing has moved.
    Moved {
        /// Where it is.
        at: Position,
    },
}

/// How far a subscription has come.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Progress {
    /// Whose.
    pub name: SubscriptionName,
    /// Everything up to here was handled or put aside.
    pub position: Position,
    /// When it moved last.
    pub moved_at: StoreTime,
    /// How many events it has put aside, counted up to [`PARKED_COUNT_MAX`].
    pub parked: Count,
}
