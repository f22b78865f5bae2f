//! The event store: what is written goes through the one writing connection, what is read through one of its own.

use std::sync::Arc;

use async_trait::async_trait;
use tenure_core::StoreError;
use tenure_core::contract::{AppendError, EventStore, Wakeup};
use tenure_core::event::{
    AllPage, Append, AppendAnswer, Limits, Position, Snapshot, StreamName, StreamPage, StreamRead,
};

use super::{read, snapshots};
use crate::store::SqliteStore;

#[async_trait]
impl EventStore for SqliteStore {
    async fn append(&self, append: &Append, limits: &Limits) -> Result<AppendAnswer, AppendError> {
        append.check(limits, true)?;
        let line = &self.shared().appends;
        let place = line.join(append.clone());
        if place.is_first {
            // Without waiting for anything in between: should this future be dropped, the others are not forgotten.
            let (theirs, bells) = (line.clone(), self.shared().bells.clone());
            if !self.shared().worker.post(move |database| theirs.write(database, &bells)) {
                line.dissolve();
            }
        }
        let answer = place.answer.await.map_err(|_| StoreError::Unreachable {
            store: self.label().to_owned(),
            message: "the append had no answer: the store is closing, or too many jobs wait for it".into(),
        })?;
        answer.map_err(|unappended| unappended.at(self.label()))
    }

    async fn read_stream(&self, read: &StreamRead) -> Result<StreamPage, StoreError> {
        let read = read.clone();
        self.read_events(move |snapshot| read::stream(snapshot, &read)).await
    }

    async fn read_all(&self, after: Position, limit: u32) -> Result<AllPage, StoreError> {
        self.read_events(move |snapshot| read::all(snapshot, after, limit)).await
    }

    async fn load_snapshot(&self, stream: &StreamName) -> Result<Option<Snapshot>, StoreError> {
        let stream = stream.clone();
        self.read_events(move |snapshot| snapshots::load(snapshot, &stream)).await
    }

    async fn save_snapshot(&self, snapshot: &Snapshot) -> Result<(), StoreError> {
        let snapshot = snapshot.clone();
        self.run(move |database| database.write(|writing| snapshots::save(writing, &snapshot))).await
    }

    async fn watch(&self) -> Result<Option<Arc<dyn Wakeup>>, StoreError> {
        Ok(Some(Arc::new(self.watch_log()?)))
    }
}
