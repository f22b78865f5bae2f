//! Going through the dead once, from the lowest number to the highest, by calls of a bounded cost.
//!
//! ```text
//!   numbers of the dead   3  8  9 14 20 21 37 …
//!   fits the filter          x        x     x
//!                            └────────┴── changed by a call whose limit is two; it answers 20, where the next goes on
//! ```
//!
//! A message keeps its number for ever. So what was retried and dies again stands behind whoever goes through, and is not met
//! twice: a walk comes to its end also if nothing that it retries can be delivered.

use super::{Count, Filter, RowId};

/// The most dead messages that one call looks at.
pub const DEAD_LOOK_MAX: u32 = 20_000;

/// The most messages that one call changes.
pub const ACT_MAX: u32 = 1_000;

/// Which dead messages one call goes through.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DeadWalk {
    /// Which ones are meant. Of one whose state is not dead there are none.
    pub filter: Filter,
    /// Only those with a higher number: where the call before has ended.
    pub after: Option<RowId>,
    /// How many are changed or counted at most; a change at most [`ACT_MAX`]. With 0 nothing is done.
    pub limit: u32,
    /// How many dead messages are looked at, at most; at most [`DEAD_LOOK_MAX`]. 0 stands for as many as that.
    pub steps: u32,
}

impl DeadWalk {
    /// From the beginning, to `limit` that fit.
    pub fn of(filter: Filter, limit: u32) -> Self {
        Self { filter, limit, ..Self::default() }
    }

    /// The same as a store changes it: no more than one call may.
    pub fn to_change(&self) -> Self {
        Self { limit: self.limit.min(ACT_MAX), ..self.clone() }
    }

    /// How many dead messages are looked at, at most.
    pub const fn steps(&self) -> u32 {
        if self.steps == 0 || self.steps > DEAD_LOOK_MAX { DEAD_LOOK_MAX } else { self.steps }
    }

    /// The number after which it begins, as a column holds it.
    pub fn after(&self) -> i64 {
        self.after.map_or(i64::MIN, |row| row.0)
    }

    /// Whether not every dead message, or not every one of the cause, fits: then more have to be looked at than are meant.
    pub const fn picks(&self) -> bool {
        let Filter { state: _, topic, source, kind, id, from, until, cause: _ } = &self.filter;
        topic.is_some()
            || source.is_some()
            || kind.is_some()
            || id.is_some()
            || from.is_some()
            || until.is_some()
    }
}

/// What a call has changed, and how far it has come.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Acted {
    /// The messages, by their ids as they stand in the rows. Those that someone else has changed first are not among them.
    pub ids: Vec<String>,
    /// How many dead messages it has passed: all up to where the next call goes on.
    pub looked: u32,
    /// From where to go on; `None` when all that are dead were looked at.
    pub more_after: Option<RowId>,
}

/// What a call has counted, and how far it has come.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counted {
    /// How many fit.
    pub number: u64,
    /// How many dead messages it has passed.
    pub looked: u32,
    /// From where to go on; `None` when all that are dead were looked at.
    pub more_after: Option<RowId>,
}

impl Counted {
    /// As a number for people.
    pub const fn count(&self) -> Count {
        Count { number: self.number, or_more: self.more_after.is_some() }
    }
}

/// The bookkeeping of a call: it is told one dead message after another, and says when to stop.
#[derive(Debug, Clone)]
pub struct DeadPass {
    limit: usize,
    steps: u32,
    looked: u32,
    last: Option<RowId>,
    met: Vec<RowId>,
    /// How many were looked at when the last one that fits was met.
    met_at: u32,
    more: bool,
}

impl DeadPass {
    /// Before the first one.
    pub fn new(walk: &DeadWalk) -> Self {
        Self {
            limit: walk.limit as usize,
            steps: walk.steps(),
            looked: 0,
            last: None,
            met: Vec::new(),
            met_at: 0,
            more: false,
        }
    }

    /// The next dead message, and whether it fits. Answers whether another may be looked at.
    pub fn meets(&mut self, row: RowId, fits: bool) -> bool {
        if fits && self.met.len() >= self.limit {
            // One more than is meant: it is there, and stays for the next call.
            self.more = true;
            return false;
        }
        self.looked += 1;
        self.last = Some(row);
        if fits {
            self.met.push(row);
            self.met_at = self.looked;
        }
        self.goes_on()
    }

    /// Whether another may be looked at.
    pub const fn goes_on(&self) -> bool {
        !self.more && self.looked < self.steps
    }

    /// How many more may be looked at by a store that looks at many at once.
    pub const fn steps_left(&self) -> u32 {
        self.steps - self.looked
    }

    /// How many more that fit it can use: one more than is meant tells whether there are more.
    pub fn wanted(&self) -> u32 {
        u32::try_from(self.limit + 1 - self.met.len()).unwrap_or(u32::MAX)
    }

    /// The last one that was looked at.
    pub const fn last(&self) -> Option<RowId> {
        self.last
    }

    /// Those that fit.
    pub fn met(&self) -> &[RowId] {
        &self.met
    }

    /// How many were passed, and where to go on.
    pub fn end(&self) -> (u32, Option<RowId>) {
        match self.more {
            true => (self.met_at, self.met.last().copied()),
            false => (self.looked, self.last.filter(|_| self.looked >= self.steps)),
        }
    }

    /// What it counted.
    pub fn counted(&self) -> Counted {
        let (looked, more_after) = self.end();
        Counted { number: self.met.len() as u64, looked, more_after }
    }

    /// What was changed of those that it met.
    pub fn acted(&self, ids: Vec<String>) -> Acted {
        let (looked, more_after) = self.end();
        Acted { ids, looked, more_after }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Goes through the numbers from 1 to 100, of which every tenth fits.
    fn pass(after: Option<RowId>, limit: u32, steps: u32) -> DeadPass {
        let walk = DeadWalk { after, limit, steps, ..DeadWalk::default() };
        let mut pass = DeadPass::new(&walk);
        let begin = after.map_or(1, |row| row.0 + 1);
        for number in begin..=100 {
            if !pass.meets(RowId(number), number % 10 == 0) {
                break;
            }
        }
        pass
    }

    #[test]
    fn it_goes_on_behind_the_last_that_was_meant() {
        let first = pass(None, 2, 0).counted();
        assert_eq!(first, Counted { number: 2, looked: 20, more_after: Some(RowId(20)) });
        assert_eq!(first.count().to_string(), "2+");
        let last = pass(Some(RowId(80)), 2, 0).counted();
        assert_eq!(last, Counted { number: 2, looked: 20, more_after: None }, "no more, and it says so");
    }

    #[test]
    fn it_looks_no_further_than_it_may() {
        let first = pass(None, 5, 7).counted();
        assert_eq!(first, Counted { number: 0, looked: 7, more_after: Some(RowId(7)) });
        // Also when it has all it wants, and looks whether there are more.
        let few = pass(None, 1, 15).counted();
        assert_eq!(few, Counted { number: 1, looked: 15, more_after: Some(RowId(15)) });
    }

    #[test]
    fn whatever_the_bounds_all_calls_together_meet_each_once() {
        for (limit, steps) in [(1, 1), (1, 3), (2, 25), (3, 0), (100, 11), (7, 100)] {
            let (mut after, mut met, mut looked) = (None, Vec::new(), 0);
            loop {
                let pass = pass(after, limit, steps);
                met.extend(pass.met().iter().map(|row| row.0));
                let (passed, more) = pass.end();
                looked += passed;
                let Some(more) = more else { break };
                assert!(after.is_none_or(|after| more > after), "each call gets on");
                after = Some(more);
            }
            assert_eq!(met, (10..=100).step_by(10).collect::<Vec<i64>>(), "{limit}, {steps}");
            assert_eq!(looked, 100, "{limit}, {steps}");
        }
    }
}
