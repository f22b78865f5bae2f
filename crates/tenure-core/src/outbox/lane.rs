//! One source as the relay sees it: what was read, what is under way, what is not recorded yet.

use std::collections::{BTreeSet, VecDeque};

use super::{Place, RowId, Stored};
use crate::time::Monotonic;

/// A source with rows in memory.
#[derive(Debug)]
pub(super) struct Lane {
    /// Read, in order, not under way.
    pub(super) queue: VecDeque<Stored>,
    /// Whether some of its rows are with the sink.
    pub(super) flying: bool,
    /// How many of its rows are held: queued, under way, or not recorded yet.
    pub(super) held: usize,
    /// How many of its outcomes are not recorded yet.
    pub(super) unrecorded: usize,
    /// It delivers nothing more before it was read again from its head: a row failed, or was settled elsewhere.
    pub(super) closed: bool,
    /// How far it was read.
    pub(super) read_to: Option<Place>,
    /// When it was last read from its head.
    pub(super) read_from_head: Monotonic,
    /// Whether the last look at it found fewer rows than it asked for.
    pub(super) dry: bool,
    /// All that is known of it has just come: there is no lane of it in the store to be looked at.
    pub(super) arrives: bool,
    /// Some of what is known of it has just come.
    pub(super) came: bool,
    /// Its rows on the list of arrivals that were read and are not held: they are read again once the lane is forgotten. Until then
    /// nothing of it is taken in.
    pub(super) left: BTreeSet<RowId>,
    /// By which look more of it was last asked for.
    pub(super) asked: u64,
    /// Since when it is known.
    pub(super) since: Monotonic,
}

impl Lane {
    pub(super) fn new(now: Monotonic, look: u64) -> Self {
        Self {
            queue: VecDeque::new(),
            flying: false,
            held: 0,
            unrecorded: 0,
            closed: false,
            read_to: None,
            read_from_head: now,
            dry: false,
            arrives: false,
            came: false,
            left: BTreeSet::new(),
            asked: look,
            since: now,
        }
    }

    /// Whether it has something for the sink.
    pub(super) fn is_ready(&self) -> bool {
        !self.flying && !self.closed && !self.queue.is_empty()
    }

    /// Whether nothing about it is to be remembered any more.
    pub(super) fn is_spent(&self) -> bool {
        !self.flying
            && self.unrecorded == 0
            && self.queue.is_empty()
            && (self.closed || self.dry || self.arrives)
    }

    /// How many of its rows wait for the sink or are with it.
    pub(super) fn undelivered(&self) -> usize {
        self.held.saturating_sub(self.unrecorded)
    }

    /// A source of which a row has just come.
    pub(super) fn arriving(now: Monotonic, look: u64) -> Self {
        Self { dry: true, arrives: true, ..Self::new(now, look) }
    }

    /// Takes in a row that was read from its lane.
    pub(super) fn insert(&mut self, row: Stored) {
        self.arrives = false;
        self.read_to = self.read_to.max(Some(row.place()));
        self.held += 1;
        self.put(row);
    }

    /// Takes in a row that has just come: how far the lane was read is another matter.
    pub(super) fn arrive(&mut self, row: Stored) {
        self.came = true;
        self.held += 1;
        self.put(row);
    }

    /// Puts a row where it belongs: usually last, but a row that was committed late may belong before others, and one that
    /// comes back untried behind it.
    pub(super) fn put(&mut self, row: Stored) {
        let place = row.place();
        if self.queue.back().is_none_or(|last| last.place() < place) {
            self.queue.push_back(row);
            return;
        }
        let at = self.queue.partition_point(|queued| queued.place() < place);
        self.queue.insert(at, row);
    }
}
