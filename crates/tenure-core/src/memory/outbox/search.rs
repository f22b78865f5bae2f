//! Finding messages, and what dead ones have in common.

use std::collections::BTreeMap;

use super::{OutboxTables, Row};
use crate::outbox::{
    CauseId, Count, Counted, DeadPass, DeadWalk, Details, Filter, GRAVES_MAX, Grave, Graves, Listing, RowId,
    Selection, State, Walk,
};

impl OutboxTables {
    /// Messages, the newest first, and how far was looked.
    pub fn list(&self, selection: &Selection) -> Listing {
        let Selection { filter, .. } = selection;
        let walk = Walk::of(selection, None, None);
        // What a store with indexes has to look at.
        let driving = |row: &&Row| match (filter.state, filter.cause) {
            (_, Some(cause)) => self.cause_of(row) == Some(cause),
            (None | Some(State::Dispatched), None) => true,
            (Some(state), None) => self.state(row) == state,
        };
        let rows = self.rows.range(..RowId(walk.before)).rev().map(|(_, row)| row);
        let looked: Vec<&Row> = rows.filter(driving).take(walk.steps as usize).collect();
        let found: Vec<&Row> =
            looked.iter().copied().filter(|row| self.fits(row, filter)).take(walk.limit as usize).collect();
        let shown = &found[..found.len().min(walk.limit as usize - 1)];
        let (last, end) = (shown.last().map(|row| row.id), looked.last().map(|row| row.id));
        let steps = u32::try_from(looked.len()).unwrap_or(u32::MAX);
        let far = if shown.len() < found.len() { shown.last() } else { looked.last() };
        Listing {
            messages: shown.iter().map(|row| self.summary(row)).collect(),
            more_before: walk.more_before(found.len(), last, steps, end),
            looked_back_to: far.map(|row| row.created_at),
        }
    }

    /// All about one message, with at most so much of its payload.
    pub fn show(&self, id: &str, payload_max: usize) -> Option<Details> {
        let row = self.row_named(id).and_then(|id| self.rows.get(&id))?;
        let text = row.payload.as_ref().map(|text| text.clone().into_bytes());
        let is_text = text.is_some();
        let mut payload = text.or_else(|| row.payload_bytes.clone());
        let payload_bytes = payload.as_ref().map_or(0, |payload| payload.len() as u64);
        if let Some(payload) = &mut payload {
            payload.truncate(payload_max);
        }
        Some(Details {
            summary: self.summary(row),
            content_type: row.content_type.clone(),
            headers: row.headers.clone(),
            is_text,
            payload,
            payload_bytes,
            attempts: self.attempts_of(row.id),
        })
    }

    /// How many of the dead messages of a walk fit.
    pub fn count_dead(&self, walk: &DeadWalk) -> Counted {
        self.pass(walk).counted()
    }

    /// Goes through dead messages as far as a walk allows.
    pub(super) fn pass(&self, walk: &DeadWalk) -> DeadPass {
        let mut pass = DeadPass::new(walk);
        let filter = &walk.filter;
        if walk.limit == 0 || filter.state.is_some_and(|state| state != State::Dead) {
            return pass;
        }
        // What a store with indexes has to look at.
        let named = filter.id.as_deref().map(|id| self.row_named(id));
        for id in self.dead.keys().filter(|id| id.0 > walk.after()) {
            let Some(row) = self.rows.get(id) else { continue };
            let cause = self.cause_of(row);
            let met = cause.is_some() && (filter.cause.is_none() || filter.cause == cause);
            if !met || named.is_some_and(|named| named != Some(*id)) {
                continue;
            }
            if !pass.meets(*id, self.fits(row, filter)) {
                break;
            }
        }
        pass
    }

    /// Dead messages by cause.
    pub fn graves(&self, after: Option<CauseId>, limit: u32, count_max: u32) -> Graves {
        let mut causes: BTreeMap<CauseId, Vec<&Row>> = BTreeMap::new();
        for id in self.dead_that_fit(&Filter::default()) {
            let Some(row) = self.rows.get(&id) else { continue };
            if let Some(cause) = self.cause_of(row).filter(|cause| after.is_none_or(|after| *cause > after)) {
                causes.entry(cause).or_default().push(row);
            }
        }
        let limit = limit.min(GRAVES_MAX) as usize;
        let more = causes.len() > limit;
        let grave = |(cause, rows): (CauseId, Vec<&Row>)| {
            let messages = Count::up_to(count_max.into(), rows.len() as u64);
            let (oldest, newest) = (self.summary(rows.first()?), self.summary(rows.last()?));
            Some(Grave { cause, messages, newest, oldest })
        };
        let graves: Vec<Grave> = causes.into_iter().take(limit).filter_map(grave).collect();
        let more_after = graves.last().map(|grave| grave.cause).filter(|_| more);
        Graves { graves, more_after }
    }

    pub(super) fn dead_that_fit<'a>(&'a self, filter: &'a Filter) -> impl Iterator<Item = RowId> + 'a {
        let rows = self.dead.keys().filter_map(|id| self.rows.get(id));
        rows.filter(|row| self.state(row) == State::Dead && self.fits(row, filter)).map(|row| row.id)
    }

    /// What a message is dead of; `None` for one that is not, or that was discarded.
    fn cause_of(&self, row: &Row) -> Option<CauseId> {
        self.dead.get(&row.id).filter(|dead| dead.discarded_at.is_none()).map(|dead| dead.cause)
    }

    fn fits(&self, row: &Row, filter: &Filter) -> bool {
        let Filter { state, topic, source, kind, id, from, until, cause } = filter;
        state.is_none_or(|state| self.state(row) == state)
            && topic.as_ref().is_none_or(|topic| row.topic == *topic)
            && source.as_ref().is_none_or(|source| row.source.as_ref() == Some(source))
            && kind.as_ref().is_none_or(|kind| row.kind == *kind)
            && id.as_ref().is_none_or(|id| row.message_id.eq_ignore_ascii_case(id))
            && from.is_none_or(|from| row.created_at >= from)
            && until.is_none_or(|until| row.created_at < until)
            && cause.is_none_or(|cause| self.cause_of(row) == Some(cause))
    }
}
