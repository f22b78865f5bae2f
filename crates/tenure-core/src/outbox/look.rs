//! What the relay asks the store for, and what it gets: rows that are pending, source by source.
//!
//! A look never goes by a cursor alone (law 7). It visits sources in rotation, and the rows of a source from its head;
//! `after` only spares the store the rows that the relay holds already, and is left out again and again, so that a row
//! that was committed late is seen all the same.

use super::decode::too_large;
use super::{Body, Limits, Part, Poison, Sequence};
use crate::time::StoreTime;
use serde::Serialize;

/// The row's number in the outbox. Says nothing about order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(transparent)]
pub struct RowId(pub i64);

/// Where a row stands in its source: by its sequence, and by its number among equal ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Place {
    /// The sequence that the sender gave.
    pub sequence: Sequence,
    /// The row's number.
    pub id: RowId,
}

/// One look at what is pending. The store answers all of it by one snapshot, or by several that come to the same.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Look {
    /// More rows of sources that the relay knows.
    pub lanes: Vec<LaneLook>,
    /// Sources that it does not know yet.
    pub discover: Option<Discover>,
    /// Rows without a source.
    pub unordered: Option<UnorderedLook>,
    /// Messages that have just come, where the store lists them. Without it, it lays them all into their lanes first.
    pub arrivals: Option<ArrivalsLook>,
    /// Only what belongs to this part; `None` everything.
    pub part: Option<Part>,
}

/// More rows of one source, in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LaneLook {
    /// The source.
    pub source: String,
    /// Only rows after this place; `None` from the head on.
    pub after: Option<Place>,
    /// How many at most.
    pub limit: u32,
}

/// Further sources, in the order of their bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Discover {
    /// Only sources after this one; `None` from the first on.
    pub after: Option<String>,
    /// How many sources to visit at most, parked ones included.
    pub sources: u32,
    /// How many rows of each source at most. None of one whose head is not due yet.
    pub rows_each: u32,
    /// Sources to leave out.
    pub except: Vec<String>,
}

/// Rows without a source that are due, in the order in which they became due.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnorderedLook {
    /// Only rows after this moment and number; `None` from the first on.
    pub after: Option<(StoreTime, RowId)>,
    /// How many at most.
    pub limit: u32,
}

/// Messages that have just come, in the order of their numbers, whatever their source.
///
/// A store that [lists them](crate::contract::OutboxStore::lists_arrivals) reads and removes many at once for the price of a few, because
/// they stand side by side. What cannot go at once, it lays into its lane: from then on it is found as every other row.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ArrivalsLook {
    /// Only rows after this number; `None` from the first on.
    pub after: Option<RowId>,
    /// How many of them at most.
    pub limit: u32,
    /// And what may have been missed up to there, seen by the same snapshot: what is ahead may stand behind it.
    pub missed: Missed,
    /// Sources whose rows are to be laid into their lanes, of those that this look comes across.
    pub lay: Vec<String>,
}

/// Numbers that may be on the list although it was read past them: they were taken early and committed late, or were read and left.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Missed {
    /// All before this one; `None` none.
    pub before: Option<RowId>,
    /// These.
    pub numbers: Vec<RowId>,
    /// How many rows at most, from the first on.
    pub limit: u32,
}

/// What a look has found among the messages that have just come.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Arrivals {
    /// The rows, in the order of their numbers. None of a source that has anything in its lane.
    pub rows: Vec<Stored>,
    /// All numbers that were there, also of what was laid into its lane, in order.
    pub seen: Vec<RowId>,
    /// Whether there may be more behind the last of them.
    pub more: bool,
    /// Whether there may be more of what was missed.
    pub more_missed: bool,
}

/// The answer to a look.
#[derive(Debug, Clone, PartialEq)]
pub struct Page {
    /// The store's time.
    pub now: StoreTime,
    /// The rows; those of one source in their order.
    pub rows: Vec<Stored>,
    /// The last source visited, also one of another part, when there may be more; `None` when the rotation has come to its
    /// end or none was asked.
    pub more_after: Option<String>,
    /// Where the search for rows without a source was broken off, because many of other parts were in the way; `None`
    /// when as many as were asked for have been found, or there are no more.
    pub unordered_after: Option<(StoreTime, RowId)>,
    /// When the earliest of what was seen and is not due will be due.
    pub next_due: Option<StoreTime>,
    /// Sources that were found and have nothing that is due, and when they will have, if that is known. Where it costs a store
    /// nothing to pass by them it need not tell.
    pub resting: Vec<(String, Option<StoreTime>)>,
    /// Whether there is something that this look could not see through, so that more may be due than it has found: what other
    /// programs have inserted and no relay could put into the queue yet.
    pub unseen: bool,
    /// Messages that have just come.
    pub arrivals: Arrivals,
}

impl Page {
    /// A page without a row.
    pub fn empty(now: StoreTime) -> Self {
        Self {
            now,
            rows: Vec::new(),
            more_after: None,
            unordered_after: None,
            next_due: None,
            resting: Vec::new(),
            unseen: false,
            arrivals: Arrivals::default(),
        }
    }
}

/// Payloads up to this size, in bytes, are carried along by a look; larger ones are loaded one by one.
pub const INLINE_MAX_BYTES: usize = 16 * 1024;

/// The name under which a row's contents came back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Found {
    /// The payload.
    Body(Body),
    /// There is one, too large to be carried along: it is loaded when its turn has come.
    Large,
    /// The row has none, or two.
    Unclear(&'static str),
}

/// The answer to a request for a payload that was too large to be carried along.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Loaded {
    /// The payload.
    Body(Body),
    /// It is above the limit, and was not read.
    TooLarge {
        /// Its size.
        bytes: usize,
    },
    /// The row has two, or one that is no text.
    Unclear(&'static str),
    /// There is no such row any more: someone else has settled it.
    Gone,
}

impl Loaded {
    /// What it makes of the row: its payload, or the reason why it can never be delivered; `None` when it is gone.
    pub fn read(self, limits: &Limits) -> Option<Result<Body, Poison>> {
        Some(match self {
            Self::Body(body) => Ok(body),
            Self::TooLarge { bytes } => Err(too_large(bytes, limits)),
            Self::Unclear(what) => Err(Poison(what.into())),
            Self::Gone => return None,
        })
    }
}

impl Found {
    /// What is wrong with a row that has two payloads.
    pub const BOTH: &'static str = "the row has both payload and payload_bytes";
    /// What is wrong with a row that has none: an empty payload is an empty text, and not null.
    pub const NEITHER: &'static str = "the row has neither payload nor payload_bytes";
}

/// A pending row as it stands in the tables, unchecked: anyone may have inserted it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stored {
    /// Its number.
    pub id: RowId,
    /// The message's id, which should be a UUID.
    pub message_id: String,
    /// Whether its source orders it, as the queue has it: not so for one that cannot be a source.
    pub ordered: bool,
    /// What orders it, as it was inserted.
    pub source: Option<String>,
    /// Where it stands in its source.
    pub sequence: Sequence,
    /// Where it goes.
    pub topic: String,
    /// What it is.
    pub kind: String,
    /// What it says.
    pub body: Found,
    /// What the payload is written in.
    pub content_type: Option<String>,
    /// Its headers, which should be an object of JSON.
    pub headers: Option<String>,
    /// When it was enqueued.
    pub created_at: StoreTime,
    /// When it is due.
    pub due_at: StoreTime,
    /// How many attempts were made.
    pub attempts: u32,
    /// How many of them an operator's retry has forgiven: they no longer count against the budget.
    pub forgiven: u32,
}

impl Stored {
    /// The source that it stands in the order of, if there is one.
    pub fn lane(&self) -> Option<&str> {
        self.source.as_deref().filter(|_| self.ordered)
    }

    /// Where it stands in its source.
    pub fn place(&self) -> Place {
        Place { sequence: self.sequence, id: self.id }
    }
}
