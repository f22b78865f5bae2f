//! Rows of a search, and of bounded numbers.

use tenure_core::StoreError;
use tenure_core::outbox::{Count, Listing, Pulse, RowId, State, Summary, Walk};
use tenure_core::time::StoreTime;

use super::message::{amount, counted};
use super::{Columns, Reader};

/// What a search has found. Its rows are those of messages, and of each page at least one, which tells how far it has come.
#[derive(Debug, Default)]
pub struct Found {
    messages: Vec<Summary>,
    looked: u32,
    end: Option<RowId>,
    end_at: Option<StoreTime>,
}

impl Found {
    /// How many rows were looked at.
    pub const fn looked(&self) -> u32 {
        self.looked
    }

    /// The page that it makes. `state` is what a message must be in, if the statement could not see to it.
    pub fn listing(self, walk: &Walk, state: Option<State>) -> Listing {
        let Self { mut messages, looked, end, end_at } = self;
        let found = messages.len();
        messages.truncate(walk.limit.saturating_sub(1) as usize);
        let last = messages.last();
        let more_before = walk.more_before(found, last.map(|last| last.row), looked, end);
        let looked_back_to = if messages.len() < found { last.map(|last| last.created_at) } else { end_at };
        messages.retain(|message| state.is_none_or(|state| state == message.state));
        Listing { messages, more_before, looked_back_to }
    }
}

impl Reader<'_> {
    /// A row of a search. The columns are those of a [`summary`](Self::summary), empty where nothing was found, and
    /// `looked`, `end_id` and `end_us`.
    pub fn found(self, row: &impl Columns, found: &mut Found) -> Result<(), StoreError> {
        found.looked = counted(self.need(row.number("looked"), "looked")?);
        found.end = self.maybe(row.number("end_id"), "end_id")?.map(RowId);
        found.end_at = self.maybe(row.moment("end_us"), "end_at")?;
        if self.maybe(row.number("id"), "id")?.is_some() {
            found.messages.push(self.summary(row)?);
        }
        Ok(())
    }

    /// Bounded numbers. The columns are `looked`, `pending`, `retrying`, `dead`, `halted_sources`, `newest`, `oldest_us` and
    /// `now_us`; one more than `at_most` was looked at.
    pub fn pulse(self, row: &impl Columns, at_most: u32) -> Result<Pulse, StoreError> {
        let count = |column| self.need(row.number(column), column).map(amount);
        let most = u64::from(at_most);
        let now = self.need(row.moment("now_us"), "now")?;
        let oldest = self.maybe(row.moment("oldest_us"), "oldest")?;
        let (looked, dead) = (count("looked")?, count("dead")?);
        let of_looked = |number: u64| Count { number: number.min(most), or_more: looked > most };
        Ok(Pulse {
            now,
            newest: self.maybe(row.number("newest"), "newest")?.map(RowId),
            pending: of_looked(count("pending")?),
            retrying: of_looked(count("retrying")?),
            dead: Count::up_to(most, dead),
            halted_sources: Count { number: count("halted_sources")?.min(most), or_more: dead > most },
            lag: oldest.map(|oldest| oldest.until(now)),
            lag_is_least: looked > most || dead > most,
        })
    }
}
