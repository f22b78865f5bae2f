//! Deleting what is finished and old enough, step by step.

use std::ops::Bound;
use std::time::Duration;

use super::{OutboxTables, Row};
use crate::mutation::{Rule, off};
use crate::outbox::{Retention, RowId, State, Swept};
use crate::time::StoreTime;

/// So many rows are looked at for each that may be deleted.
const SCAN_FACTOR: usize = 10;

impl OutboxTables {
    /// One bounded step: rows after `resume`, if the sweeper is in office.
    pub fn sweep(
        &mut self,
        fence_holds: bool,
        retention: &Retention,
        resume: Option<i64>,
        now: StoreTime,
    ) -> Swept {
        if !fence_holds && !off(Rule::Fence) {
            return Swept { fenced: true, ..Swept::default() };
        }
        let mut swept = Swept::default();
        let batch = retention.batch as usize;
        let from = resume.map_or(Bound::Unbounded, |id| Bound::Excluded(RowId(id)));
        let (mut old, mut looked_at, mut last) = (Vec::new(), 0, resume);
        let mut rows = self.rows.range((from, Bound::Unbounded)).peekable();
        while old.len() < batch && looked_at < batch.saturating_mul(SCAN_FACTOR) {
            let Some((id, row)) = rows.next() else { break };
            (looked_at, last) = (looked_at + 1, Some(id.0));
            if let Some(state) = self.old_enough(row, retention, now) {
                old.push((*id, state));
            }
        }
        let more_rows = rows.peek().is_some();
        for (id, state) in old {
            self.delete(id);
            match state {
                State::Dead => swept.dead += 1,
                State::Discarded => swept.discarded += 1,
                State::Dispatched | State::Pending => swept.dispatched += 1,
            }
        }
        let mut more_inbox = false;
        if let Some(keep) = retention.inbox {
            (swept.inbox, more_inbox) = self.inbox.sweep(keep, batch, now);
        }
        swept.resume = if more_rows || more_inbox { last.or(Some(i64::MIN)) } else { None };
        swept
    }

    fn old_enough(&self, row: &Row, retention: &Retention, now: StoreTime) -> Option<State> {
        let state = self.state(row);
        let finished = self.queue.get(row.id).is_none();
        if !finished && !off(Rule::SweepOnlyFinished) {
            return None;
        }
        let keep = match state {
            State::Dead => retention.dead,
            State::Discarded => retention.discarded,
            State::Dispatched | State::Pending => retention.dispatched,
        };
        let since = self.finished_at(row).unwrap_or(row.created_at);
        keep.is_some_and(|keep| is_over(since, keep, now)).then_some(state)
    }

    fn delete(&mut self, id: RowId) {
        if let Some(row) = self.rows.remove(&id) {
            self.by_message_id.remove(&row.message_id.to_ascii_lowercase());
        }
        self.queue.remove(id);
        self.dead.remove(&id);
        let numbers: Vec<_> = self.attempts.range((id, 0)..=(id, u32::MAX)).map(|(key, _)| *key).collect();
        for key in numbers {
            self.attempts.remove(&key);
        }
    }
}

pub(in crate::memory) fn is_over(since: StoreTime, keep: Duration, now: StoreTime) -> bool {
    since.after(keep) <= now
}
