//! What is written down about attempts.

use super::queue::{Pending, lane_of, place_of};
use super::{Dead, OutboxTables, Row};
use crate::id::NodeName;
use crate::mutation::{Rule, off};
use crate::outbox::{Attempt, Next, Outcome, Recorded, RowId};
use crate::time::StoreTime;

impl OutboxTables {
    /// Records attempts, if the relay is in office: `fence_holds` says so, and was found out under the same lock.
    pub fn record(
        &mut self,
        fence_holds: bool,
        term: Option<u64>,
        node: &NodeName,
        outcomes: &[Outcome],
        now: StoreTime,
    ) -> Recorded {
        if !fence_holds && !off(Rule::Fence) {
            return Recorded::Fenced;
        }
        let mut applied = Vec::new();
        for outcome in outcomes {
            if self.record_one(outcome, now) {
                applied.push(outcome.id);
                self.attempts.insert((outcome.id, outcome.attempt), attempt(outcome, term, node, now));
            }
        }
        Recorded::Applied(applied)
    }

    /// Whether the attempt is the next one of a row that is pending; then the row is moved on.
    fn record_one(&mut self, outcome: &Outcome, now: StoreTime) -> bool {
        let Some(row) = self.rows.get(&outcome.id) else { return false };
        let entry = self.queue.get(outcome.id).cloned();
        let next = entry.as_ref().is_some_and(|entry| {
            // What halts its source is dead, and waits for an operator.
            entry.due_at.is_some() && entry.attempts.checked_add(1) == Some(outcome.attempt)
        });
        if !next && !off(Rule::RecordNextAttempt) {
            return false;
        }
        let entry = entry.unwrap_or_else(|| finished(row));
        let entry = Pending { attempts: outcome.attempt, ..entry };
        match outcome.next {
            Next::Done => self.leave(outcome.id),
            Next::Again { after } => {
                self.dead.remove(&outcome.id);
                self.queue.put(outcome.id, Pending { due_at: Some(now.after(after)), ..entry });
            }
            Next::Dead { halt } => {
                let halts = halt && entry.lane.is_some();
                self.leave(outcome.id);
                if halts && !off(Rule::HaltHolds) {
                    self.queue.put(outcome.id, Pending { due_at: None, ..entry });
                }
                let (attempts, reason) = (outcome.attempt, outcome.reason.clone());
                let cause = outcome.cause();
                let dead = Dead { died_at: now, reason, attempts, halts, cause, discarded_at: None };
                self.dead.insert(outcome.id, dead);
            }
        }
        true
    }

    fn leave(&mut self, id: RowId) {
        self.queue.remove(id);
        self.dead.remove(&id);
    }
}

/// The entry of a row that has none any more; asked for only when the rule against it is switched off.
fn finished(row: &Row) -> Pending {
    Pending { lane: lane_of(row), place: place_of(row), due_at: None, attempts: 0, forgiven: 0 }
}

fn attempt(outcome: &Outcome, term: Option<u64>, node: &NodeName, now: StoreTime) -> Attempt {
    Attempt {
        number: outcome.attempt,
        at: now,
        outcome: outcome.kind,
        took_us: u64::try_from(outcome.took.as_micros()).unwrap_or(u64::MAX),
        node: node.as_str().to_owned(),
        term,
        error: outcome.reason.clone(),
    }
}
