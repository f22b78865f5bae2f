//! The event store: what is written goes through the one writing connection, what is read through one of its own.

use std::sync::Arc;

use async_trait::async_trait;
use tenure_core::StoreError;
use tenure_core::contract::{AppendError, EventStore, Wakeup};
use tenure_core::event::{
    AllPage, Append, AppendAnswer, Limits, Position, Snapshot, StreamName, StreamPage, StreamRead,
};

use super::append::append_whole;
use super::decide::{Unappended, is_written};
use super::{read, snapshots};
use crate::store::SqliteStore;

#[async_trait]
impl EventStore for SqliteStore {
    async fn append(&self, append: &Append, limits: &Limits) -> Result<AppendAnswer, AppendError> {
        append.check(limits, true)?;
        let append = append.clone();
        let answer = self
            .run(move |database| {
                database.write(|writing| {
                    match append_whole(writing.connection, writing.statements, &append, writing.now.wall) {
                        // Nobody knows what is left of the transaction, so it is rolled back.
                        Err(Unappended::Fault(fault)) => Err(fault),
                        // What was refused has left it as it was, so there is nothing to roll back.
                        answer => Ok(answer),
                    }
                })
            })
            .await?;
        let answer = answer.map_err(|unappended| unappended.at(self.label()))?;
        if is_written(&answer) {
            self.shared().bells.ring();
        }
        Ok(answer)
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
