//! Snapshots: what spares a reader the events before them. Losing one costs time, and nothing else.

use tenure_core::StoreError;
use tenure_core::event::{Snapshot, StreamName};
use tenure_sql::Reader;
use tokio_postgres::types::Type;

use crate::rows::Plain;
use crate::store::Shared;
use crate::writing::Params;

impl Shared {
    pub(super) async fn load_snapshot(&self, stream: &StreamName) -> Result<Option<Snapshot>, StoreError> {
        let sql = &self.statements.events.snapshot_load;
        let rows = self.run(sql, &[(&stream.as_str(), Type::TEXT)]).await?;
        rows.first().map(|row| Reader { store: &self.label }.snapshot(&Plain(row), stream)).transpose()
    }

    pub(super) async fn save_snapshot(&self, snapshot: &Snapshot) -> Result<(), StoreError> {
        let (text, bytes) = snapshot.body.parts();
        let params: Params<'_> = &[
            (&snapshot.stream.as_str(), Type::TEXT),
            (&snapshot.version.0, Type::INT8),
            (&snapshot.kind, Type::TEXT),
            (&i32::try_from(snapshot.schema).unwrap_or(i32::MAX), Type::INT4),
            (&text, Type::TEXT),
            (&bytes, Type::BYTEA),
        ];
        self.run(&self.statements.events.snapshot_save, params).await.map(|_| ())
    }
}
