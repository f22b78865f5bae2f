//! What is not finished, with the two orders in which it is read: by source, and by due time where there is no source.

use std::collections::{BTreeMap, BTreeSet};

use super::Row;
use crate::outbox::{Place, RowId, SOURCE_MAX_BYTES};
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
}

impl Queue {
    pub(super) fn get(&self, id: RowId) -> Option<&Pending> {
        self.entries.get(&id)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (RowId, &Pending)> {
        self.entries.iter().map(|(id, pending)| (*id, pending))
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
