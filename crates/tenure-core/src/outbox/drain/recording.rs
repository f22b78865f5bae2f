//! What is written down, and what an answer means.

use std::collections::HashSet;
use std::time::Duration;

use super::super::{Next, Outcome, Recorded, RowId};
use super::Drain;
use super::numbers::Numbers;
use crate::mutation::{Rule, off};
use crate::time::Monotonic;

/// How many batches of outcomes are recorded at once: one is written while the disk is waited for by another.
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
        if self.records >= RECORDS_MAX || self.outcomes.is_empty() {
            return None;
        }
        let part = self.batch() / 4;
        let gathers = self.arriving.listed && self.gathers_until(now) > now;
        // A second one only when it is worth a round trip; or else a source stands still behind a record that is stuck.
        if self.records > 0 && self.outcomes.len() < part && !self.has_failures() {
            return None;
        }
        let mut count = self.outcomes.len().min(self.settings.batch);
        let mut gathering = None;
        if self.arriving.listed {
            // Without many more than there were, hardly any runs have come.
            if gathers && self.outcomes.len() < self.in_vain + part {
                return None;
            }
            let runs = self.runs();
            let in_runs = runs.iter().map(|(first, last)| length(*first, *last)).sum::<usize>();
            if !gathers {
                let in_run = |outcome: &Outcome| holds(&runs, outcome.id);
                let key = |outcome: &Outcome| (outcome.next == Next::Done, in_run(outcome), outcome.id);
                self.outcomes.make_contiguous().sort_by_cached_key(key);
            } else if in_runs >= part.max(1) {
                count = count.min(in_runs);
                self.first_of(&runs, count);
                gathering = self.gathering.filter(|_| in_runs < self.outcomes.len());
            } else {
                self.in_vain = self.outcomes.len();
                return None;
            }
        }
        self.records += 1;
        self.gathering = gathering;
        self.in_vain = 0;
        Some(self.outcomes.drain(..count).collect())
    }

    /// When to ask for outcomes to record although nothing else has happened.
    pub fn record_due(&self) -> Option<Monotonic> {
        self.gathering.filter(|_| self.records < RECORDS_MAX).map(|since| since.after(GATHER))
    }

    /// Until when outcomes wait for those that are under way. Not after a failure: its source stands still until that is written down.
    /// Nor at the end.
    fn gathers_until(&mut self, now: Monotonic) -> Monotonic {
        let since = *self.gathering.get_or_insert(now);
        if self.flights == 0 || self.has_failures() || self.stopping { since } else { since.after(GATHER) }
    }

    fn has_failures(&self) -> bool {
        self.outcomes.iter().any(|outcome| outcome.next != Next::Done)
    }

    /// What makes a full batch: there are never more than were read ahead.
    fn batch(&self) -> usize {
        self.settings.batch.min(self.settings.read_ahead)
    }

    /// The long runs of numbers among the outcomes, by their ends.
    fn runs(&self) -> Vec<(RowId, RowId)> {
        // Numbers alone are moved while they are put in order.
        let mut numbers: Vec<RowId> = self.outcomes.iter().map(|outcome| outcome.id).collect();
        numbers.sort_unstable();
        let worth = (self.batch() / RUNS_MAX).max(1);
        let runs = numbers.chunk_by(|one, next| one.0 + 1 == next.0).filter(|run| run.len() >= worth);
        runs.filter_map(|run| Some((*run.first()?, *run.last()?))).collect()
    }

    /// Puts so many outcomes to the front: the first that are in runs.
    fn first_of(&mut self, runs: &[(RowId, RowId)], count: usize) {
        let (mut chosen, mut left) = (Vec::with_capacity(runs.len()), count);
        for (first, last) in runs {
            let some = length(*first, *last).min(left);
            left -= some;
            if let Some(more) = some.checked_sub(1) {
                chosen.push((*first, RowId(first.0.saturating_add_unsigned(more as u64))));
            }
        }
        let all = std::mem::take(&mut self.outcomes);
        let (front, rest): (Vec<_>, Vec<_>) = all.into_iter().partition(|outcome| holds(&chosen, outcome.id));
        self.outcomes.extend(front);
        self.outcomes.extend(rest);
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

/// How many numbers there are from one to another.
fn length(first: RowId, last: RowId) -> usize {
    usize::try_from(last.0.abs_diff(first.0)).map_or(usize::MAX, |count| count.saturating_add(1))
}

/// Whether a number is in one of the runs, which are in order.
fn holds(runs: &[(RowId, RowId)], id: RowId) -> bool {
    let at = runs.partition_point(|(_, last)| *last < id);
    runs.get(at).is_some_and(|(first, _)| *first <= id)
}
