//! Messages that have just come, where the store lists them: read in the order of their numbers, whatever their source.
//!
//! ```text
//!   the list     ▪ ▪ ▫ ▪ ▪ ▪ ▪ ▪ ▪ ▫ ▪ ▪ ▪ ▪ ▪ ▪ ▪ ▪ …
//!                └── held, but for ▫ ──┘ └── read next
//!                    which came late    read_to
//! ```
//!
//! Where everything goes well a message needs no more than this: it is read beside those that came with it, and removed beside
//! them. What goes wrong belongs into lanes, and the store lays it there: what is behind a failure, and what is too much of one source.
//!
//! - **Nothing overtakes.** Whatever is read and not taken in is read again before anything behind it: `read_to` goes back, for a
//!   source that is closed as soon as it is forgotten.
//!   And what stands in a lane waits until the list was read as far as its number: something of its source may be there, before it.
//! - **Nothing is passed by.** What is committed late stands before `read_to`. So the numbers up to there are asked for again and
//!   again, which costs little, for nearly all of them are held; what is not held is read. With nothing held, all is read from the first on.
//! - **Nobody takes all the room.** When there has been none for a while, sources of which much is held give it back, and go on
//!   from their lanes.

use std::time::Duration;

use super::super::lane::Lane;
use super::super::{Arrivals, ArrivalsLook, RowId, Stored};
use super::Drain;
use super::reading::whole;
use crate::mutation::{Rule, off};
use crate::time::Monotonic;

/// How often the numbers before `read_to` are asked for at most, while there is more to read.
const BEHIND_EVERY: Duration = Duration::from_millis(20);
/// How much longer the pause is than the look that asked for them took.
const BEHIND_PAUSE: u32 = 4;
/// How many of them may be late in one look; more are found by the next.
const LATE_MAX: usize = 1_000;
/// How long there may be no room before sources of which much is held give some back.
const ROOM_AFTER: Duration = Duration::from_millis(100);

/// How far the list was read.
#[derive(Debug, Default)]
pub(super) struct Arriving {
    /// Whether the store lists what has just come.
    pub(super) listed: bool,
    read_to: Option<RowId>,
    /// It went back: rows that are held come along once more.
    back: bool,
    /// There may be more behind `read_to`.
    more: bool,
    /// Numbers before `read_to` that are not held.
    late: Vec<RowId>,
    /// Before this moment the numbers are not asked for once more.
    behind_from: Option<Monotonic>,
    /// Sources that give room back.
    lay: Vec<String>,
    no_room_since: Option<Monotonic>,
}

impl Arriving {
    /// There is known to be something that may have been passed by.
    pub(super) fn hurry(&mut self) {
        self.behind_from = None;
    }

    /// A row was read and is not held: it comes again before anything behind it.
    fn back_to(&mut self, id: RowId) {
        if off(Rule::ReadAgainWhatWasLeft) {
            return;
        }
        let before = RowId(id.0.saturating_sub(1));
        if self.read_to.is_some_and(|read_to| read_to > before) {
            self.read_to = Some(before);
            self.back = true;
        }
        self.more = true;
    }
}

impl Drain {
    pub(super) fn arrivals_look(&mut self, room: usize, due: bool, now: Monotonic) -> Option<ArrivalsLook> {
        let held = self.held.len();
        let state = &mut self.arriving;
        if !state.listed {
            return None;
        }
        if held == 0 {
            // With nothing held there is nothing to be spared.
            (state.read_to, state.back) = (None, false);
            state.late.clear();
        }
        let ahead = due || state.more;
        let pauses = state.behind_from.is_some_and(|from| from > now);
        let behind = ahead && state.read_to.is_some() && !pauses && !off(Rule::LookBehind);
        if !ahead && state.late.is_empty() {
            return None;
        }
        let late = state.late.len().min(room);
        let again: Vec<_> = state.late.drain(..late).collect();
        let held_again = if std::mem::take(&mut state.back) { held } else { 0 };
        Some(ArrivalsLook {
            after: state.read_to,
            limit: if ahead { whole((room - late).max(1) + held_again) } else { 0 },
            again,
            behind: behind.then(|| whole(held + LATE_MAX)),
            lay: std::mem::take(&mut state.lay),
        })
    }

    /// Takes in what has come. Answers how many rows are new.
    pub(super) fn arrived(
        &mut self,
        asked: &ArrivalsLook,
        found: Arrivals,
        since: Monotonic,
        now: Monotonic,
    ) -> usize {
        let state = &mut self.arriving;
        let went_back = state.back;
        if asked.limit > 0 {
            state.more = found.more || (went_back && state.more);
            // What was left meanwhile stays to be read.
            if !went_back {
                state.read_to = found.read_to.or(asked.after);
            }
        }
        if asked.behind.is_some() {
            let pause = since.until(now).saturating_mul(BEHIND_PAUSE).max(BEHIND_EVERY);
            state.behind_from = Some(now.after(pause));
            let held = &self.held;
            let late = found.behind.into_iter().filter(|id| !held.contains(id));
            state.late = late.take(LATE_MAX).collect();
        }
        let mut fresh = 0;
        for row in found.rows {
            if !self.held.contains(&row.id) {
                fresh += usize::from(self.arrive(row, now));
            }
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
            lane.leave(row.id);
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

    /// Whether something may still be on the list that came before a row of a lane, of its own source: the list was not read so far
    /// yet.
    pub(super) fn may_be_overtaking(&self, row: &Stored) -> bool {
        let state = &self.arriving;
        let unread = state.more && state.read_to.is_none_or(|read_to| read_to < row.id);
        state.listed && unread && !off(Rule::LanesWaitForTheList)
    }

    /// Rows of a source are held no longer, without being settled.
    pub(super) fn left(&mut self, rows: impl Iterator<Item = RowId>) {
        if let Some(first) = rows.min().filter(|_| self.arriving.listed) {
            self.arriving.back_to(first);
        }
    }

    /// A look that has found nothing but what was held, from the first on, has found all.
    pub(super) fn saw_all_arrivals(&self, asked: Option<&ArrivalsLook>) -> bool {
        let whole = |look: &ArrivalsLook| look.after.is_none() && look.limit > 0;
        !self.arriving.listed || (asked.is_some_and(whole) && !self.arriving.more)
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
        let mut given_back = Vec::new();
        for (source, lane) in &mut self.lanes {
            if !lane.arrives || lane.queue.len() <= keep {
                continue;
            }
            let rows: Vec<_> = lane.queue.drain(keep..).map(|row| row.id).collect();
            given_back.push((source.clone(), rows));
        }
        given_back.sort_unstable_by(|(one, _), (other, _)| one.cmp(other));
        for (source, rows) in given_back {
            self.left(rows.iter().copied());
            for id in rows {
                self.forget(id, Some(&source));
            }
            self.arriving.lay.push(source.to_string());
        }
    }
}
