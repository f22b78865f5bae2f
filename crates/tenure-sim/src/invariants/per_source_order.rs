//! The messages of one source take effect for the first time in the order of their places.
//!
//! When one takes effect, every earlier one of its source has done so before, with these exceptions, which are documented:
//! one that was dead and passed over or that nobody can read, one that an operator has retried or discarded, and one that was
//! committed when a later one of its source had been committed already.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use tenure_core::outbox::{MessageId, Place, RowId, State};

use super::Invariant;
use crate::oracle::{Commitment, Fact, Moment, Mover};

/// Nothing overtakes.
#[derive(Debug, Default)]
pub struct PerSourceOrder {
    sources: BTreeMap<Arc<str>, Source>,
    places: BTreeMap<RowId, (Arc<str>, Place)>,
    rows: HashMap<MessageId, RowId>,
}

#[derive(Debug, Default)]
struct Source {
    highest: Option<Place>,
    /// What must take effect before anything after it may.
    waiting: BTreeMap<Place, RowId>,
}

impl Invariant for PerSourceOrder {
    fn name(&self) -> &'static str {
        "per_source_order"
    }

    fn check(&mut self, moment: &Moment<'_>) -> Result<(), String> {
        for fact in moment.facts {
            match fact {
                Fact::Committed(commitment) => self.committed(commitment),
                Fact::PassedOver { row } => self.excuse(*row),
                Fact::Moved { row, by, after: Some(after), .. } => {
                    let passed_over = after.state == State::Dead && !after.halts;
                    if passed_over || matches!(by, Mover::Retry | Mover::Discard) {
                        self.excuse(*row);
                    }
                }
                Fact::Effect { id } => self.effect(id)?,
                _ => {}
            }
        }
        Ok(())
    }
}

impl PerSourceOrder {
    fn committed(&mut self, commitment: &Commitment) {
        let Commitment { row, id, lane: Some(lane), place } = commitment else { return };
        let source = self.sources.entry(lane.clone()).or_default();
        let late = source.highest.is_some_and(|highest| *place < highest);
        source.highest = source.highest.max(Some(*place));
        if !late {
            source.waiting.insert(*place, *row);
        }
        self.places.insert(*row, (lane.clone(), *place));
        // A message that is enqueued again after retention has taken it had its effect before.
        self.rows.extend(id.map(|id| (id, *row)));
    }

    fn excuse(&mut self, row: RowId) {
        if let Some((lane, place)) = self.places.get(&row)
            && let Some(source) = self.sources.get_mut(lane)
        {
            source.waiting.remove(place);
        }
    }

    fn effect(&mut self, id: &MessageId) -> Result<(), String> {
        let Some(row) = self.rows.get(id) else { return Ok(()) };
        let Some((lane, place)) = self.places.get(row) else { return Ok(()) };
        let Some(source) = self.sources.get_mut(lane) else { return Ok(()) };
        source.waiting.remove(place);
        match source.waiting.range(..*place).next() {
            None => Ok(()),
            Some((_, earlier)) => Err(format!(
                "row {} of {lane} took effect before row {}, which stands before it",
                row.0, earlier.0
            )),
        }
    }
}
