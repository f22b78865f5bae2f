//! What operators did, as it is read back.

use async_trait::async_trait;
use rusqlite::params;
use tenure_core::StoreError;
use tenure_core::contract::AuditLog;
use tenure_core::observe::{AuditId, AuditLine, AuditPage, AuditSelection};
use tenure_core::outbox::shorten;
use tenure_core::time::StoreTime;

use crate::admin::actor;
use crate::error::Fault;
use crate::reader::Snapshot;
use crate::store::SqliteStore;

#[async_trait]
impl AuditLog for SqliteStore {
    async fn audit(&self, selection: &AuditSelection) -> Result<AuditPage, StoreError> {
        let selection = selection.clone();
        self.browse(move |snapshot| audit(snapshot, &selection)).await
    }

    async fn note(&self, by: &str, action: &str, subject: &str, detail: &str) -> Result<(), StoreError> {
        let by = actor(&shorten(by));
        let [action, subject, detail] = [action, subject, detail].map(shorten);
        self.run(move |database| database.write(|writing| writing.add_audit(&by, &action, &subject, &detail)))
            .await
    }
}

fn audit(snapshot: &Snapshot<'_>, selection: &AuditSelection) -> Result<AuditPage, Fault> {
    let AuditSelection { actor, action, subject, before, .. } = selection;
    let before = before.map_or(i64::MAX, |before| before.0);
    let mut statement = snapshot.prepare(&snapshot.statements().audit_list)?;
    let mut rows = statement.query(params![before, actor, action, subject, selection.steps()])?;
    let (mut lines, mut looked, mut end) = (Vec::new(), 0, None);
    while lines.len() <= selection.limit() as usize
        && let Some(row) = rows.next()?
    {
        let id = AuditId(row.get(0)?);
        (looked, end) = (looked + 1, Some(id));
        if row.get("fits")? {
            lines.push(AuditLine {
                id,
                at: StoreTime::from_micros(row.get("at_us")?),
                actor: row.get("actor")?,
                action: row.get("action")?,
                subject: row.get("subject")?,
                detail: row.get("detail")?,
            });
        }
    }
    Ok(selection.page(lines, looked, end))
}
