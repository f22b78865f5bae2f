//! What operators did, as it is read back.

use async_trait::async_trait;
use tenure_core::StoreError;
use tenure_core::contract::AuditLog;
use tenure_core::observe::{AuditPage, AuditSelection};
use tenure_core::outbox::shorten;
use tenure_sql::{AuditFound, Reader};
use tokio_postgres::types::Type;

use crate::rows::Plain;
use crate::store::PostgresStore;
use crate::writing::Params;

#[async_trait]
impl AuditLog for PostgresStore {
    async fn audit(&self, selection: &AuditSelection) -> Result<AuditPage, StoreError> {
        let shared = &self.shared;
        let params: Params<'_> = &[
            (&selection.before.map_or(i64::MAX, |before| before.0), Type::INT8),
            (&selection.actor, Type::TEXT),
            (&selection.action, Type::TEXT),
            (&selection.subject, Type::TEXT),
            (&(i64::from(selection.limit()) + 1), Type::INT8),
            (&i64::from(selection.steps()), Type::INT8),
        ];
        let rows = shared.run(&shared.statements.audit_list, params).await?;
        let (reader, mut found) = (Reader { store: &shared.label }, AuditFound::default());
        for row in &rows {
            reader.audit(&Plain(row), &mut found)?;
        }
        let AuditFound { lines, looked, end } = found;
        Ok(selection.page(lines, looked, end))
    }

    async fn note(&self, actor: &str, action: &str, subject: &str, detail: &str) -> Result<(), StoreError> {
        let [actor, action, subject, detail] = [actor, action, subject, detail].map(shorten);
        let params: Params<'_> =
            &[(&actor, Type::TEXT), (&action, Type::TEXT), (&subject, Type::TEXT), (&detail, Type::TEXT)];
        self.shared.run(&self.shared.statements.audit_add, params).await.map(|_| ())
    }
}
