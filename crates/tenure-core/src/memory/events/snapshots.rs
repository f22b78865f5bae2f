//! The last snapshot of each stream.

use super::EventTables;
use crate::event::{Snapshot, StreamName};

impl EventTables {
    /// The last snapshot of a stream.
    pub fn snapshot_of(&self, stream: &StreamName) -> Option<&Snapshot> {
        self.snapshots.get(stream)
    }

    /// Keeps a snapshot, unless there is one of a later version.
    pub fn keep(&mut self, snapshot: &Snapshot) {
        let later =
            self.snapshots.get(&snapshot.stream).is_some_and(|there| there.version > snapshot.version);
        if !later {
            self.snapshots.insert(snapshot.stream.clone(), snapshot.clone());
        }
    }
}
