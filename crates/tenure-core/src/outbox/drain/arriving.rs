//! Messages that have just come, where the store lists them: read in the order of their numbers, whatever their source.
//!
//! ```text
//!   numbers      ▪ ▪ ▫ ▪ ▪ ▪ · · ▪ ▪ ▪ ▪ ▫ ▪ ▪ ▪ ▪ ▪ ▪ ▪ …
//!                │   └ missed        missed ┘ │ └ read next
//!                before                       read_to
//! ```
//!
//! Where everything goes well a message needs no more than this: it is read beside those that came with it, and removed beside
//! them. What goes wrong belongs into lanes, and the store lays it there: what is behind a failure, and what is too much of one source.
//!
//! - **Nothing is passed by.** A number that was not there when the list was read past it may be committed late. It is remembered, and
//!   asked for by every look, together with what is ahead: so what a message may stand behind is seen by the same snapshot. What was
//!   read and is not held is remembered the same way. When these become many, all before one of them are asked for: of numbers that
//!   are so old few are there. With nothing held, all is read from the first on.
//! - **Nothing overtakes.** What came late is taken in before what is ahead, and if there was more of it than fits into a look,
//!   nothing ahead is. What stands in a lane waits until the list was read as far as its number: something of its source may be
//!   there, before it.
//! - **Nobody takes all the room.** When there has been none for a while, sources of which much is held give it back, and go on
//!   from their lanes.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use super::super::lane::Lane;
use super::super::{Arrivals, ArrivalsLook, Missed, RowId, Stored};
use super::Drain;
use super::reading::whole;
use crate::mutation::{Rule, off};
use crate::time::Monotonic;

/// How many numbers are asked for one by one.
const MISSED_MAX: usize = 512;
/// How long there may be no room before sources of which much is held give some back.
const ROOM_AFTER: Duration = Duration::from_millis(100);

/// How far the list was read.
#[derive(Debug, Default)]
pub(super) struct Arriving {
    /// Whether the store lists what has just come.
    pub(super) listed: bool,
    read_to: Option<RowId>,
    /// All before this number may have been missed: to begin with, those before the first that was there.
    before: Option<RowId>,
    /// Numbers from there up to `read_to` that were not there, or were left.
    missed: BTreeSet<RowId>,
    /// Some of them were left, and are there.
    owed: bool,
    /// There may be more behind `read_to`.
    more: bool,
    /// By the last look there may be more that was missed than it has found.
    unsure: bool,
    /// Sources that give room back.
    lay: Vec<String>,
    no_room_since: Option<Monotonic>,
}

impl Arriving {
    /// Begins once more with the first.
    fn restart(&mut self) {
        (self.read_to, self.before) = (None, None);
        self.missed.clear();
    }

    /// Rows are held no longer, without being settled.
    pub(super) fn left(&mut self, rows: impl IntoIterator<Item = RowId>) {
        if !self.listed || off(Rule::ReadAgainWhatWasLeft) {
            return;
        }
        for id in rows {
            self.owed = true;
            if self.read_to.is_some_and(|read_to| id <= read_to) {
                self.miss(id);
            }
        }
    }

    /// The list was read from one number to the next that was there.
    fn read_on(&mut self, id: RowId) {
        match self.read_to {
            None => self.before = Some(id),
            Some(read_to) if id.0.abs_diff(read_to.0) > MISSED_MAX as u64 => {
                // More than can be asked for one by one.
                self.before = Some(id);
                self.missed.clear();
            }
            Some(read_to) => (read_to.0 + 1..id.0).for_each(|number| self.miss(RowId(number))),
        }
        self.read_to = Some(id);
    }

    fn miss(&mut self, id: RowId) {
        if self.before.is_some_and(|before| id < before) {
            return;
        }
        self.missed.insert(id);
        if self.missed.len() <= MISSED_MAX {
            return;
        }
        if let Some(middle) = self.missed.iter().nth(MISSED_MAX / 2).copied() {
            self.missed = self.missed.split_off(&middle);
            self.before = Some(middle);
        }
    }
}

impl Drain {
    /// The part of a look that is for the list; `asks` says whether the look has others. None of them is without it: what stands in
    /// lanes may stand behind something that has just come.
    pub(super) fn arrivals_look(&mut self, room: usize, asks: bool) -> Option<ArrivalsLook> {
        let (held, state) = (&self.held, &mut self.arriving);
        if !state.listed || !(asks || state.more || state.owed) {
            return None;
        }
        if held.is_empty() {
            // With nothing held there is nothing to be spared.
            state.restart();
        }
        state.owed = false;
        let again = match state.before {
            None => 0,
            // These come along once more.
            Some(before) => {
                let left: usize = self.lanes.values().map(|lane| lane.left.len()).sum();
                held.iter().filter(|id| **id < before).count() + left
            }
        };
        let mut missed = Missed { limit: whole(again + room.max(1)), ..Missed::default() };
        if !off(Rule::LookBehind) {
            missed.before = state.before;
            missed.numbers = state.missed.iter().copied().collect();
        }
        let lay = std::mem::take(&mut state.lay);
        Some(ArrivalsLook { after: state.read_to, limit: whole(room.max(1)), missed, lay })
    }

    /// Takes in what has come. Answers how many rows are new.
    pub(super) fn arrived(&mut self, asked: &ArrivalsLook, found: Arrivals, now: Monotonic) -> usize {
        let is_ahead = |id: &RowId| asked.after.is_none_or(|after| *id > after);
        let Arrivals { rows, seen, more, more_missed } = found;
        for id in seen.iter().take_while(|id| !is_ahead(id)) {
            // What was left while this look was under way is still to be read again.
            if !self.held.contains(id) {
                self.arriving.missed.remove(id);
            }
        }
        let mut room = self.settings.read_ahead.saturating_sub(self.held.len()).max(1);
        let (mut fresh, mut full) = (0, None);
        for row in rows {
            if self.held.contains(&row.id) {
                continue;
            }
            if is_ahead(&row.id) && (more_missed || room == 0) {
                full = Some(row.id);
                break;
            }
            if self.arrive(row, now) {
                fresh += 1;
                room = room.saturating_sub(1);
            }
        }
        let state = &mut self.arriving;
        (state.more, state.unsure) = (more || more_missed || full.is_some(), more_missed);
        if !more_missed {
            let ahead = seen.into_iter().filter(is_ahead);
            ahead.take_while(|id| full.is_none_or(|full| *id < full)).for_each(|id| state.read_on(id));
        }
        fresh
    }

    /// Takes a row in; not one of a source that is closed, which is read again when it is not.
    fn arrive(&mut self, row: Stored, now: Monotonic) -> bool {
        let Some(source) = row.lane() else {
            self.held.insert(row.id);
            self.unordered.held += 1;
            self.unordered.queue.push_back(row);
            return true;
        };
        let source = match self.lanes.get_key_value(source) {
            Some((source, _)) => source.clone(),
            None => source.into(),
        };
        let (resting, looks) = (&mut self.resting, self.looks);
        let lane = self.lanes.entry(source.clone()).or_insert_with(|| {
            resting.ends(&source);
            Lane::arriving(now, looks)
        });
        if lane.closed {
            lane.left.insert(row.id);
            return false;
        }
        self.held.insert(row.id);
        let was_ready = lane.is_ready();
        lane.arrive(row);
        if !was_ready && lane.is_ready() {
            self.ready.push_back(source);
        }
        true
    }

    /// Whether something may still be on the list that came before a row of a lane, of its own source: it was not read so far yet.
    pub(super) fn may_be_overtaking(&self, row: &Stored) -> bool {
        let state = &self.arriving;
        let unread = state.more && state.read_to.is_none_or(|read_to| read_to < row.id);
        state.listed && (unread || state.unsure) && !off(Rule::LanesWaitForTheList)
    }

    /// A look that has found nothing but what was held, from the first on, has found all.
    pub(super) fn saw_all_arrivals(&self, asked: Option<&ArrivalsLook>) -> bool {
        !self.arriving.listed || (asked.is_some_and(|look| look.after.is_none()) && !self.arriving.more)
    }

    /// Takes note of how much room there is. If there is little for a while, although more could be delivered at once, sources of
    /// which much is held give some back: others may stand behind them.
    pub(super) fn make_room(&mut self, room: usize, now: Monotonic) {
        if !self.arriving.listed || off(Rule::MakeRoom) {
            return;
        }
        if room >= self.settings.read_ahead / 4 || self.flights >= self.settings.concurrency {
            self.arriving.no_room_since = None;
            return;
        }
        let since = *self.arriving.no_room_since.get_or_insert(now);
        if since.until(now) < ROOM_AFTER {
            return;
        }
        self.arriving.no_room_since = None;
        let keep = self.settings.run.min(self.settings.read_ahead / 4);
        let much = |lane: &Lane| lane.came && lane.queue.len() > keep;
        let mut sources: Vec<_> =
            self.lanes.iter().filter(|(_, lane)| much(lane)).map(|(source, _)| source.clone()).collect();
        sources.sort_unstable();
        for source in sources {
            self.give_back(&source, keep);
            self.arriving.lay.push(source.to_string());
        }
    }

    /// Drops what is held of a source, but for so many rows.
    fn give_back(&mut self, source: &Arc<str>, keep: usize) {
        let Some(lane) = self.lanes.get_mut(source) else { return };
        if !lane.arrives {
            // Where some of it stands in its lane, it is read again from its head.
            self.close(source, Vec::new());
            return;
        }
        let rows: Vec<_> = lane.queue.drain(keep..).map(|row| row.id).collect();
        self.arriving.left(rows.iter().copied());
        for id in rows {
            self.forget(id, Some(source));
        }
    }
}
