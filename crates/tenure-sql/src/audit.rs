//! What operators did, as it is read back.

use async_trait::async_trait;
use tenure_core::StoreError;
use tenure_core::contract::AuditLog;
use tenure_core::observe::{AuditId, AuditPage, AuditSelection};
use tenure_core::outbox::shorten;

use crate::driver::Turn;
use crate::lease::Audit;
use crate::reader::Columns as _;
use crate::store::SqlStore;

/// The longest word for what was done, in characters: the column holds no more.
const ACTION_MAX_CHARS: usize = 100;

#[async_trait]
impl AuditLog for SqlStore {
    async fn audit(&self, selection: &AuditSelection) -> Result<AuditPage, StoreError> {
        let (shared, reader) = (&self.shared, self.shared.reader());
        // One more than is asked for tells whether there are more.
        let limit = i64::from(selection.limit()) + 1;
        let params = vec![
            selection.before.map_or(i64::MAX, |before| before.0).into(),
            selection.steps().into(),
            selection.actor.as_deref().into(),
            selection.action.as_deref().into(),
            selection.subject.as_deref().into(),
            limit.into(),
        ];
        let rows = shared.rows(Turn::Work, &shared.statements.audit_list, params).await?;
        let (mut lines, mut looked, mut end) = (Vec::new(), 0, None);
        for row in &rows {
            let number = |column| reader.need(row.number(column), column);
            (looked, end) = (number("looked")?, Some(AuditId(number("id")?)));
            // The last line that was looked at is there whether or not it is meant.
            if number("fits")? != 0 && number("found")? <= limit {
                lines.push(reader.audit_line(row)?);
            }
        }
        Ok(selection.page(lines, u32::try_from(looked).unwrap_or(u32::MAX), end))
    }

    async fn note(&self, actor: &str, action: &str, subject: &str, detail: &str) -> Result<(), StoreError> {
        let shared = &self.shared;
        let action: String = shorten(action).chars().take(ACTION_MAX_CHARS).collect();
        let (actor, subject, detail) = (shorten(actor), shorten(subject), shorten(detail));
        let audit = Audit { actor: &actor, action: &action, subject: &subject, detail };
        let call = shared.add_audit(&audit);
        shared.run(Turn::Work, call.sql, call.params).await.map(|_| ())
    }
}
