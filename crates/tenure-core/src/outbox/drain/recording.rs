//! What is written down, and what an answer means.

use std::collections::HashSet;
use std::time::Duration;

use super::super::{Next, Outcome, Recorded, RowId};
use super::Drain;
use super::numbers::Numbers;
use crate::mutation::{Rule, off};
use crate::time::Monotonic;

/// How many batches of outcomes are recorded at once; one more where the store lists what has just come, for there a batch is a matter of
/// few statements, and mostly waits for the disk.
const RECORDS_MAX: usize = 2;
/// A batch is of so many runs of numbers at most, where it is of runs alone.
const RUNS_MAX: usize = 8;
/// How long outcomes wait at most for those beside them that are under way.
const GATHER: Duration = Duration::from_millis(5);

impl Drain {
    /// The next outcomes to record, if there are any and it is their turn.
    ///
    /// Where the store lists what has just come, numbers that stand side by side are noted and removed for the price of a few: so
    /// outcomes wait a moment for those that are under way, and runs go before what stands between gaps. That waits no longer than
    /// this moment either: then it goes first, and failures before all.
    pub fn next_record(&mut self, now: Monotonic) -> Option<Vec<Outcome>> {
        if self.records >= self.records_max() || self.outcomes.is_empty() {
            return None;
        }
        let part = self.settings.batch / 4;
        let mut count = self.outcomes.len().min(self.settings.batch);
        let mut gathering = None;
        if self.arriving.listed {
            let gathers = self.gathers_until(now) > now;
            if gathers && self.outcomes.len() < part {
                return None;
            }
            let in_runs = self.runs_first();
            if !gathers {
                self.outcomes.rotate_left(in_runs);
                self.outcomes.make_contiguous().sort_by_key(|outcome| outcome.next == Next::Done);
            } else if in_runs >= part.max(1) {
                count = count.min(in_runs);
                gathering = self.gathering.filter(|_| in_runs < self.outcomes.len());
            } else {
                return None;
            }
        }
        // A second one only when it is worth a round trip.
        if self.records > 0 && count < part {
            return None;
        }
        self.records += 1;
        self.gathering = gathering;
        Some(self.outcomes.drain(..count).collect())
    }

    fn records_max(&self) -> usize {
        RECORDS_MAX + usize::from(self.arriving.listed)
    }

    /// When to ask for outcomes to record although nothing else has happened.
    pub fn record_due(&self) -> Option<Monotonic> {
        self.gathering.filter(|_| self.records < self.records_max()).map(|since| since.after(GATHER))
    }

    /// Until when outcomes wait for those that are under way. Not after a failure: its source stands still until that is written down.
    /// Nor at the end.
    fn gathers_until(&mut self, now: Monotonic) -> Monotonic {
        let since = *self.gathering.get_or_insert(now);
        let failed = self.outcomes.iter().any(|outcome| outcome.next != Next::Done);
        if self.flights == 0 || failed || self.stopping { since } else { since.after(GATHER) }
    }

    /// Puts outcomes into the order of their numbers, long runs before the rest. Answers how many are in such runs.
    fn runs_first(&mut self) -> usize {
        let outcomes = self.outcomes.make_contiguous();
        outcomes.sort_unstable_by_key(|outcome| outcome.id);
        let worth = (self.settings.batch / RUNS_MAX).max(1);
        let runs: Vec<_> = outcomes.chunk_by(|one, next| one.id.0 + 1 == next.id.0).map(<[_]>::len).collect();
        let in_runs = runs.iter().filter(|count| **count >= worth).sum();
        if in_runs == 0 || in_runs == self.outcomes.len() {
            return in_runs;
        }
        let mut all = std::mem::take(&mut self.outcomes).into_iter();
        let mut rest = Vec::new();
        for count in runs {
            let run = all.by_ref().take(count);
            if count >= worth { self.outcomes.extend(run) } else { rest.extend(run) }
        }
        self.outcomes.extend(rest);
        in_runs
    }

    /// The store has answered. False when the relay is no longer in office, and has to stop at once.
    #[must_use]
    pub fn recorded(&mut self, outcomes: Vec<Outcome>, answer: Recorded, now: Monotonic) -> bool {
        self.records = self.records.saturating_sub(1);
        let Recorded::Applied(applied) = answer else { return false };
        // Nearly always all were: then no set is built.
        let all = applied.len() == outcomes.len();
        let applied: HashSet<RowId, Numbers> =
            if all { HashSet::default() } else { applied.into_iter().collect() };
        for outcome in outcomes {
            let lane = self.owners.remove(&outcome.id).flatten();
            if let Next::Again { after } = outcome.next {
                self.due_in(after, now);
                if let Some(source) = &lane {
                    self.resting.rest(source, after, now);
                }
            }
            self.forget(outcome.id, lane.as_ref());
            let Some(source) = lane else { continue };
            if let Some(state) = self.lanes.get_mut(&source) {
                state.unrecorded = state.unrecorded.saturating_sub(1);
                let settled_elsewhere = !all && !applied.contains(&outcome.id);
                // A source that was closed for a dead message goes on at once.
                self.revisit |=
                    settled_elsewhere || (state.closed && outcome.next == Next::Dead { halt: false });
                if settled_elsewhere {
                    // Perhaps by another relay: what we know of this source is old.
                    self.close(&source, Vec::new());
                }
            }
            self.leave_if_spent(&source);
        }
        true
    }

    /// The store has not answered: nothing is known, so the same is recorded again.
    pub fn record_failed(&mut self, outcomes: Vec<Outcome>) {
        self.records = self.records.saturating_sub(1);
        if off(Rule::RecordAgain) {
            return;
        }
        for outcome in outcomes.into_iter().rev() {
            self.outcomes.push_front(outcome);
        }
    }
}
