//! Snapshots: what spares a reader the events before them. Losing one costs time, and nothing else.

use tenure_core::StoreError;
use tenure_core::event::{Snapshot, StreamName};

use crate::driver::Turn;
use crate::store::Shared;

impl Shared {
    pub(super) async fn load_snapshot(&self, stream: &StreamName) -> Result<Option<Snapshot>, StoreError> {
        let sql = &self.statements.snapshot_load;
        let rows = self.rows(Turn::Traffic, sql, [stream.as_str().into()]).await?;
        rows.first().map(|row| self.reader().snapshot(row, stream)).transpose()
    }

    pub(super) async fn save_snapshot(&self, snapshot: &Snapshot) -> Result<(), StoreError> {
        let (text, bytes) = snapshot.body.parts();
        let params = vec![
            snapshot.stream.as_str().into(),
            snapshot.version.0.into(),
            snapshot.kind.as_str().into(),
            i32::try_from(snapshot.schema).unwrap_or(i32::MAX).into(),
            text.into(),
            bytes.into(),
        ];
        self.run(Turn::Traffic, &self.statements.snapshot_save, params).await.map(|_| ())
    }
}
