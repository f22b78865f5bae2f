//! Bounded numbers.

use std::collections::BTreeSet;

use super::OutboxTables;
use crate::outbox::{Count, PULSE_MAX, Pulse, RowId};
use crate::time::StoreTime;

impl OutboxTables {
    /// Bounded numbers: looks at one row more than is counted.
    pub fn pulse(&self, at_most: u32, now: StoreTime) -> Pulse {
        let most = at_most.min(PULSE_MAX);
        let bound = most as usize + 1;
        let count = |found: usize| Count::up_to(most.into(), found as u64);
        let graves: Vec<_> =
            self.dead.iter().rev().filter(|(_, dead)| dead.discarded_at.is_none()).take(bound).collect();
        let source_of = |id: &RowId| self.rows.get(id).and_then(|row| row.source.clone());
        let halted: BTreeSet<Option<String>> =
            graves.iter().filter(|(_, dead)| dead.halts).map(|(id, _)| source_of(id)).collect();
        let looked: Vec<_> = self.queue.iter().take(bound).collect();
        let waiting = || looked.iter().filter(|(_, pending)| pending.due_at.is_some());
        let waits = |(id, pending): &(RowId, &super::queue::Pending)| {
            let goes = pending.attempts > 0 || pending.due_at.is_some_and(|due_at| due_at <= now);
            let free = pending.lane.is_none() || !halted.contains(&pending.lane);
            let row = self.rows.get(id).filter(|_| goes && free)?;
            Some(row.deliver_at.unwrap_or(row.created_at))
        };
        let all = looked.len() < bound && graves.len() < bound;
        let or_more = |found: usize| Count { number: count(found).number, or_more: looked.len() >= bound };
        Pulse {
            now,
            newest: self.rows.keys().next_back().copied(),
            pending: or_more(waiting().count()),
            retrying: or_more(waiting().filter(|(_, pending)| pending.attempts > 0).count()),
            dead: count(graves.len()),
            halted_sources: Count { number: halted.len() as u64, or_more: graves.len() >= bound },
            lag: waiting().filter_map(waits).min().map(|oldest| oldest.until(now)),
            lag_is_least: !all,
        }
    }
}
