//! What is written down, and what an answer means.

use std::collections::HashSet;

use super::super::{Next, Outcome, Recorded, RowId};
use super::Drain;
use super::numbers::Numbers;
use crate::mutation::{Rule, off};
use crate::time::Monotonic;

/// How many batches of outcomes are recorded at once.
const RECORDS_MAX: usize = 2;

impl Drain {
    /// The next outcomes to record, if there are any and it is their turn.
    pub fn next_record(&mut self) -> Option<Vec<Outcome>> {
        let enough = match self.records {
            0 => 1,
            // A second one only when it is worth a round trip.
            _ => (self.settings.batch / 4).max(1),
        };
        if self.records >= RECORDS_MAX || self.outcomes.len() < enough {
            return None;
        }
        self.records += 1;
        let count = self.outcomes.len().min(self.settings.batch);
        if self.arriving.listed && count < self.outcomes.len() {
            // Those that stand side by side are removed for the price of a few.
            self.outcomes.make_contiguous().select_nth_unstable_by_key(count, |outcome| outcome.id);
        }
        Some(self.outcomes.drain(..count).collect())
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
