//! What is not finished, with the two orders in which it is read: by source, and by due time where there is no source.

use std::collections::{BTreeMap, BTreeSet};

use super::Row;
use crate::outbox::{Place, RowId, SOURCE_MAX_BYTES, Sequence};
use crate::time::StoreTime;

/// One message that is not finished.
#[derive(Debug, Clone)]
pub(super) struct Pending {
    /// What orders it; `None` also for a source that cannot be one.
    pub(super) lane: Option<String>,
    pub(super) place: Place,
    /// `None` when its source stands still behind it: it is never due.
    pub(super) due_at: Option<StoreTime>,
    pub(super) attempts: u32,
    pub(super) forgiven: u32,
}

impl Pending {
    /// The entry of a row that was just inserted.
    pub(super) fn of(row: &Row) -> Self {
        let due_at = Some(row.deliver_at.unwrap_or(row.created_at));
        Self { lane: lane_of(row), place: place_of(row), due_at, attempts: 0, forgiven: 0 }
    }

    /// Whether it may be listed as one that has just come: it is due, and its number alone says where it stands in its source.
    pub(super) fn may_arrive(&self, now: StoreTime) -> bool {
        let by_number = self.lane.is_none() || self.place.sequence == Sequence::default();
        by_number && self.attempts == 0 && self.due_at.is_some_and(|due_at| due_at <= now)
    }
}

pub(super) fn lane_of(row: &Row) -> Option<String> {
    row.source.clone().filter(|source| !source.is_empty() && source.len() <= SOURCE_MAX_BYTES)
}

pub(super) fn place_of(row: &Row) -> Place {
    Place { sequence: row.sequence, id: row.id }
}

/// The entries, and where each is found.
#[derive(Debug, Clone, Default)]
pub(super) struct Queue {
    entries: BTreeMap<RowId, Pending>,
    lanes: BTreeMap<String, BTreeSet<Place>>,
    unordered: BTreeSet<(StoreTime, RowId)>,
    /// What has just come, and stands in no lane yet.
    arrivals: BTreeMap<RowId, Pending>,
}

impl Queue {
    pub(super) fn get(&self, id: RowId) -> Option<&Pending> {
        self.entries.get(&id).or_else(|| self.arrivals.get(&id))
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (RowId, &Pending)> {
        self.entries.iter().chain(&self.arrivals).map(|(id, pending)| (*id, pending))
    }

    /// What has just come, in the order of its numbers.
    pub(super) fn arrivals(&self) -> &BTreeMap<RowId, Pending> {
        &self.arrivals
    }

    /// Lists an entry as one that has just come.
    pub(super) fn arrive(&mut self, id: RowId, pending: Pending) {
        self.remove(id);
        self.arrivals.insert(id, pending);
    }

    /// Lays what has just come into its lane.
    pub(super) fn lay(&mut self, id: RowId) {
        if let Some(pending) = self.arrivals.remove(&id) {
            self.put(id, pending);
        }
    }

    /// Inserts an entry, or takes it for the one that was there.
    pub(super) fn put(&mut self, id: RowId, pending: Pending) {
        self.remove(id);
        match (&pending.lane, pending.due_at) {
            (Some(lane), _) => {
                self.lanes.entry(lane.clone()).or_default().insert(pending.place);
            }
            (None, Some(due_at)) => {
                self.unordered.insert((due_at, id));
            }
            (None, None) => {}
        }
        self.entries.insert(id, pending);
    }

    pub(super) fn remove(&mut self, id: RowId) -> Option<Pending> {
        if let Some(pending) = self.arrivals.remove(&id) {
            return Some(pending);
        }
        let pending = self.entries.remove(&id)?;
        if let Some(lane) = &pending.lane
            && let Some(places) = self.lanes.get_mut(lane)
        {
            places.remove(&pending.place);
            if places.is_empty() {
                self.lanes.remove(lane);
            }
        }
        if let Some(due_at) = pending.due_at {
            self.unordered.remove(&(due_at, id));
        }
        Some(pending)
    }

    /// The sources that have something, in the order of their bytes.
    pub(super) fn lanes(&self) -> &BTreeMap<String, BTreeSet<Place>> {
        &self.lanes
    }

    /// What has no source, in the order in which it becomes due.
    pub(super) fn unordered(&self) -> &BTreeSet<(StoreTime, RowId)> {
        &self.unordered
    }

    /// The first entry of a source.
    pub(super) fn head(&self, lane: &str) -> Option<&Pending> {
        self.lanes.get(lane).and_then(BTreeSet::first).and_then(|place| self.entries.get(&place.id))
    }
}
