//! What an operator sees of the outbox, and what he may ask for.

use std::str::FromStr;
use std::time::Duration;

use serde::Serialize;

use super::{CauseId, Kind, RowId, Sequence};
use crate::time::StoreTime;

/// The most messages that one call lists.
pub const LIST_MAX: u32 = 1_000;

/// The most rows that one call looks at.
pub const LOOK_MAX: u32 = 20_000;

/// Where a message stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// It waits: for its turn, for its time, or for its next attempt.
    Pending,
    /// The receiver has it.
    Dispatched,
    /// It was given up; an operator decides.
    Dead,
    /// An operator decided that it is not sent.
    Discarded,
}

impl State {
    /// Every state.
    pub const ALL: [Self; 4] = [Self::Pending, Self::Dispatched, Self::Dead, Self::Discarded];

    /// The word for it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Dispatched => "dispatched",
            Self::Dead => "dead",
            Self::Discarded => "discarded",
        }
    }
}

impl FromStr for State {
    type Err = String;
    fn from_str(word: &str) -> Result<Self, String> {
        let known = Self::ALL.into_iter().find(|state| state.as_str() == word);
        known.ok_or_else(|| "a state is one of pending, dispatched, dead and discarded".into())
    }
}

/// Which messages are meant. Every part that is given must fit.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Filter {
    /// Of this state.
    pub state: Option<State>,
    /// Of this topic.
    pub topic: Option<String>,
    /// Of this source.
    pub source: Option<String>,
    /// Of this type.
    pub kind: Option<String>,
    /// With this id, without regard to case. A text: a row that another program inserted may have one that is no UUID.
    pub id: Option<String>,
    /// Enqueued at this moment or later, by the store's clock.
    pub from: Option<StoreTime>,
    /// Enqueued before this moment.
    ///
    /// A list finds rows by their numbers, which rise nearly as time does: one search for the number of each moment, and
    /// [`BISECT_MARGIN`](super::BISECT_MARGIN) rows more at both ends. A row whose time another program set by hand, so that it is out of
    /// order by more than that, may be found only without a range of time; and where there are many such rows side by side, as an
    /// import leaves them, a range may miss others too. A walk through the dead looks at the time of each, and misses none.
    pub until: Option<StoreTime>,
    /// Dead, and of this cause.
    pub cause: Option<CauseId>,
}

/// What to list.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Selection {
    /// Which messages.
    pub filter: Filter,
    /// Only those with a lower number: the last one of the page before.
    pub before: Option<RowId>,
    /// How many at most; at most [`LIST_MAX`].
    pub limit: u32,
    /// How many rows are looked at, at most; at most [`LOOK_MAX`]. 0 stands for as many as that.
    pub steps: u32,
}

/// Messages that were found, and how far was looked.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Listing {
    /// The messages, the newest first.
    pub messages: Vec<Summary>,
    /// From where to go on, also when nothing was found so far; `None` when all there is was looked at.
    pub more_before: Option<RowId>,
    /// When the last row was enqueued that was looked at: how far back the search has come.
    pub looked_back_to: Option<StoreTime>,
}

/// A message in a list. Times are by the store's clock.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Summary {
    /// The row's number, for the next page.
    #[serde(serialize_with = "number")]
    pub row: RowId,
    /// The id, as it stands in the row.
    pub id: String,
    /// Where it stands.
    pub state: State,
    /// What orders it.
    pub source: Option<String>,
    /// Where it stands in its source.
    pub sequence: Sequence,
    /// Where it goes.
    pub topic: String,
    /// What it is.
    #[serde(rename = "type")]
    pub kind: String,
    /// When it was enqueued.
    pub created_at: StoreTime,
    /// How many attempts were made.
    pub attempts: u32,
    /// When it is due, while it is pending and its source does not stand still.
    pub due_at: Option<StoreTime>,
    /// When it was dispatched, given up or discarded.
    pub finished_at: Option<StoreTime>,
    /// What went wrong last.
    pub last_error: Option<String>,
    /// Whether its source stands still because of it.
    pub halts: bool,
}

fn number<S: serde::Serializer>(row: &RowId, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_i64(row.0)
}

/// One attempt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Attempt {
    /// Its number, from 1. It goes on after an operator's retry.
    pub number: u32,
    /// When it ended.
    pub at: StoreTime,
    /// How it ended.
    pub outcome: Kind,
    /// How long it took, in microseconds.
    pub took_us: u64,
    /// The node that made it.
    pub node: String,
    /// The node's term, where it worked under a lease.
    pub term: Option<u64>,
    /// What went wrong.
    pub error: Option<String>,
}

/// All there is about one message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Details {
    /// What a list shows.
    pub summary: Summary,
    /// What the payload is written in.
    pub content_type: Option<String>,
    /// Its headers, as they stand in the row.
    pub headers: Option<String>,
    /// Its payload, as bytes, no more of it than was asked for; `None` when there is none.
    pub payload: Option<Vec<u8>>,
    /// How many bytes the whole payload has.
    pub payload_bytes: u64,
    /// Whether the payload was given as text.
    pub is_text: bool,
    /// Every attempt, the first one first.
    pub attempts: Vec<Attempt>,
}

/// The outbox in numbers.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Stats {
    /// Messages that wait.
    pub pending: u64,
    /// Of those, how many wait for a time that was set when they were enqueued.
    pub delayed: u64,
    /// Of those, how many have failed before.
    pub retrying: u64,
    /// Messages that were given up.
    pub dead: u64,
    /// Messages that an operator discarded.
    pub discarded: u64,
    /// Messages that were delivered and are still kept.
    pub dispatched: u64,
    /// Whether that number is an estimate: a large table is not counted by every store.
    pub dispatched_is_estimate: bool,
    /// Sources that stand still behind a dead message.
    pub halted_sources: u64,
    /// How long the oldest message that could go has been waiting: since it was enqueued, or since the time that was set
    /// for it then.
    pub lag: Option<Duration>,
}
