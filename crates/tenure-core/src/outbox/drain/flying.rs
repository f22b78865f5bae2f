//! What goes to the sink, and what its verdicts come to.

use std::sync::Arc;

use super::super::{Kind, Next, OnDead, Outcome, Stored, Verdict, shorten};
use super::{Drain, Flight, Landing};

impl Drain {
    /// The next rows for the sink, if there are any and there is a place for one more flight.
    ///
    /// `batch` is how many rows without a source the sink takes at once.
    pub fn next_flight(&mut self, batch: usize) -> Option<Flight> {
        if self.stopping || self.flights >= self.settings.concurrency {
            return None;
        }
        // In turns, so that neither starves the other.
        self.unordered_first = !self.unordered_first;
        if self.unordered_first {
            self.unordered_flight(batch).or_else(|| self.lane_flight())
        } else {
            self.lane_flight().or_else(|| self.unordered_flight(batch))
        }
    }

    fn unordered_flight(&mut self, batch: usize) -> Option<Flight> {
        let count = self.unordered.queue.len().min(batch.clamp(1, self.settings.run));
        let rows: Vec<_> = self.unordered.queue.drain(..count).collect();
        if rows.is_empty() {
            return None;
        }
        self.flights += 1;
        Some(Flight { lane: None, rows })
    }

    fn lane_flight(&mut self) -> Option<Flight> {
        while let Some(source) = self.ready.pop_front() {
            let Some(lane) = self.lanes.get_mut(&source) else { continue };
            if !lane.is_ready() {
                continue;
            }
            lane.flying = true;
            let count = lane.queue.len().min(self.settings.run);
            let rows = lane.queue.drain(..count).collect();
            self.flights += 1;
            return Some(Flight { lane: Some(source), rows });
        }
        None
    }

    /// A flight is over. `untried` are its rows that were not given to the sink; they burn no attempt. `chance` gives
    /// uniform numbers in `[0, 1)`.
    pub fn landed(
        &mut self,
        lane: Option<Arc<str>>,
        landings: Vec<Landing>,
        untried: Vec<Stored>,
        mut chance: impl FnMut() -> f64,
    ) {
        self.flights = self.flights.saturating_sub(1);
        let mut stopped = false;
        for landing in landings {
            let id = landing.id;
            let Some(outcome) = self.outcome(landing, chance()) else {
                // Withheld: it is read again.
                self.arriving.left([id]);
                self.forget(id, lane.as_ref());
                self.hurry();
                stopped = true;
                continue;
            };
            stopped |= !self.settings.goes_on(outcome.kind);
            if let Some(lane) = lane.as_ref().and_then(|source| self.lanes.get_mut(source)) {
                lane.unrecorded += 1;
            }
            self.owners.insert(id, lane.clone());
            self.outcomes.push_back(outcome);
        }
        let Some(source) = lane else {
            // Behind the others: what cannot be delivered now must not keep them from their turn.
            self.unordered.queue.extend(untried);
            return;
        };
        let Some(state) = self.lanes.get_mut(&source) else { return };
        state.flying = false;
        if stopped || state.closed {
            self.close(&source, untried);
            return;
        }
        // From the last on: each but one that was overtaken goes to the front.
        for row in untried.into_iter().rev() {
            state.put(row);
        }
        if state.is_ready() {
            self.ready.push_back(source);
        }
    }

    fn outcome(&self, landing: Landing, chance: f64) -> Option<Outcome> {
        let Landing { id, attempt, forgiven, verdict, took } = landing;
        let dead = Next::Dead { halt: self.settings.on_dead == OnDead::Halt };
        let used = attempt.saturating_sub(forgiven);
        let (kind, next, reason) = match verdict {
            Verdict::Accepted => (Kind::Success, Next::Done, None),
            Verdict::Rejected { reason } => (Kind::Rejected, dead, Some(shorten(&reason))),
            Verdict::Poison { reason } => (Kind::Poison, dead, Some(shorten(&reason))),
            Verdict::Transient { reason, .. } if used >= self.settings.retry.max_attempts => {
                (Kind::Transient, dead, Some(shorten(&format!("gave up after {used} attempts: {reason}"))))
            }
            Verdict::Transient { reason, retry_after } => {
                let after = self.settings.retry.pause(used, chance, retry_after);
                (Kind::Transient, Next::Again { after }, Some(shorten(&reason)))
            }
            Verdict::Withheld => return None,
        };
        Some(Outcome { id, attempt, kind, next, reason, took })
    }
}
