//! What an operator sees and does.

use std::collections::BTreeSet;

use serde::Serialize;

use super::queue::{Pending, lane_of, place_of};
use super::{OutboxTables, Row};
use crate::outbox::{Acted, DeadWalk, RowId, Stats, Summary};
use crate::time::StoreTime;

/// One thing that an operator did.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct AuditLine {
    /// When.
    pub at: StoreTime,
    /// Who.
    pub by: String,
    /// What.
    pub action: String,
    /// To what.
    pub subject: String,
    /// More about it.
    pub detail: String,
}

impl OutboxTables {
    /// The outbox in numbers.
    pub fn stats(&self, now: StoreTime) -> Stats {
        let mut stats = Stats::default();
        let mut halted = BTreeSet::new();
        for (id, pending) in self.queue.iter() {
            if pending.due_at.is_none() {
                halted.insert(pending.lane.clone());
            }
            if self.dead.contains_key(&id) {
                continue;
            }
            stats.pending += 1;
            stats.retrying += u64::from(pending.attempts > 0);
            let delayed = pending.attempts == 0 && pending.due_at.is_some_and(|due_at| due_at > now);
            stats.delayed += u64::from(delayed);
        }
        let discarded = self.dead.values().filter(|dead| dead.discarded_at.is_some()).count() as u64;
        stats.discarded = discarded;
        stats.dead = self.dead.len() as u64 - discarded;
        stats.dispatched = self.rows.len() as u64 - stats.pending - stats.dead - stats.discarded;
        stats.halted_sources = halted.len() as u64;
        let waits = |(id, pending): (RowId, &Pending)| {
            let due_at = pending.due_at?;
            let goes = pending.attempts > 0 || due_at <= now;
            let free = pending.lane.is_none() || !halted.contains(&pending.lane);
            (goes && free)
                .then(|| self.rows.get(&id).map(|row| row.deliver_at.unwrap_or(row.created_at)))
                .flatten()
        };
        stats.lag = self.queue.iter().filter_map(waits).min().map(|oldest| oldest.until(now));
        stats
    }

    /// Makes dead messages pending again. Answers which.
    pub fn retry(&mut self, walk: &DeadWalk, by: &str, now: StoreTime) -> Acted {
        let pass = self.pass(&walk.to_change());
        let mut changed = Vec::new();
        for id in pass.met().iter().copied() {
            changed.extend(self.note(id, "outbox retry", by, now));
            let (Some(row), Some(dead)) = (self.rows.get(&id), self.dead.remove(&id)) else { continue };
            let (attempts, forgiven) = (dead.attempts, dead.attempts);
            let (lane, place) = (lane_of(row), place_of(row));
            self.queue.put(id, Pending { lane, place, due_at: Some(now), attempts, forgiven });
        }
        pass.acted(changed)
    }

    /// Decides that dead messages are not sent. Answers which.
    pub fn discard(&mut self, walk: &DeadWalk, by: &str, now: StoreTime) -> Acted {
        let pass = self.pass(&walk.to_change());
        let mut changed = Vec::new();
        for id in pass.met().iter().copied() {
            changed.extend(self.note(id, "outbox discard", by, now));
            self.queue.remove(id);
            if let Some(dead) = self.dead.get_mut(&id) {
                dead.discarded_at = Some(now);
            }
        }
        pass.acted(changed)
    }

    /// What operators did, the first one first.
    pub fn audit(&self) -> &[AuditLine] {
        &self.audit
    }

    /// Writes down what is done to a dead message. Answers its id.
    fn note(&mut self, id: RowId, action: &str, by: &str, now: StoreTime) -> Option<String> {
        let row = self.rows.get(&id)?;
        let reason = self.dead.get(&id).and_then(|dead| dead.reason.clone()).unwrap_or_default();
        self.audit.push(AuditLine {
            at: now,
            by: by.to_owned(),
            action: action.to_owned(),
            subject: row.message_id.clone(),
            detail: format!("{}/{}: {reason}", row.topic, row.kind),
        });
        Some(row.message_id.clone())
    }

    pub(super) fn summary(&self, row: &Row) -> Summary {
        let (pending, dead) = (self.queue.get(row.id), self.dead.get(&row.id));
        let last = self.last_attempt(row.id);
        let attempts = pending.map(|pending| pending.attempts).or(dead.map(|dead| dead.attempts));
        let errors = self.attempts.range((row.id, 0)..=(row.id, u32::MAX)).rev();
        Summary {
            row: row.id,
            id: row.message_id.clone(),
            state: self.state(row),
            source: row.source.clone(),
            sequence: row.sequence,
            topic: row.topic.clone(),
            kind: row.kind.clone(),
            created_at: row.created_at,
            attempts: attempts.or(last.map(|last| last.number)).unwrap_or(0),
            due_at: pending.filter(|_| dead.is_none()).and_then(|pending| pending.due_at),
            finished_at: self.finished_at(row),
            last_error: errors.filter_map(|(_, attempt)| attempt.error.clone()).next(),
            halts: dead.is_some_and(|dead| dead.halts && dead.discarded_at.is_none()),
        }
    }
}
