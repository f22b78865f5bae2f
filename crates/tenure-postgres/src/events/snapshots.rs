//! Snapshots: what spares a reader the events before them. Losing one costs time, and nothing else.

use tenure_core::StoreError;
use tenure_core::event::{Snapshot, StreamName, Version};
use tokio_postgres::types::Type;

use super::content::body;
use super::session::corrupt;
use crate::outbox::parts;
use crate::rows::Columns;
use crate::store::Shared;
use crate::writing::Params;

impl Shared {
    pub(super) async fn load_snapshot(&self, stream: &StreamName) -> Result<Option<Snapshot>, StoreError> {
        let sql = &self.statements.events.snapshot_load;
        let rows = self.run(sql, &[(&stream.as_str(), Type::TEXT)]).await?;
        let Some(row) = rows.first() else { return Ok(None) };
        let read = || -> Result<Snapshot, String> {
            let schema = row.number("schema_version")?.unwrap_or_default();
            Ok(Snapshot {
                stream: stream.clone(),
                version: Version(row.number("version")?.unwrap_or_default()),
                kind: row.text("type")?.unwrap_or_default(),
                schema: u32::try_from(schema).map_err(|_| format!("column schema_version holds {schema}"))?,
                body: body(row.text("payload")?, row.bytes("payload_bytes")?),
            })
        };
        read().map(Some).map_err(|message| corrupt(&self.label, message))
    }

    pub(super) async fn save_snapshot(&self, snapshot: &Snapshot) -> Result<(), StoreError> {
        let (text, bytes) = parts(&snapshot.body);
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
