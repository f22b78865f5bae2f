//! What an operator sees of leases and does to them.

use async_trait::async_trait;
use tenure_core::StoreError;
use tenure_core::contract::LeaseAdmin;
use tenure_core::lease::{Change, HistoryId, LeaseName, LeasePageOf, LeaseRecord, Revoke, decide};
use tenure_core::time::StoreTime;

use crate::driver::Turn;
use crate::lease::{Audit, Locked};
use crate::prefix::names_between;
use crate::store::SqlStore;

#[async_trait]
impl LeaseAdmin for SqlStore {
    async fn list(&self, page: &LeasePageOf) -> Result<(Vec<LeaseRecord>, StoreTime), StoreError> {
        let shared = &self.shared;
        let after = page.after.as_ref().map(LeaseName::as_str);
        let mut params = names_between(page.prefix.as_deref().unwrap_or_default(), after);
        params.push(page.limit.into());
        let rows = shared.rows(Turn::Work, &shared.statements.lease_list, params).await?;
        let mut leases = Vec::with_capacity(rows.len());
        let mut last = None;
        for row in &rows {
            let (record, now) = shared.reader().lease_and_now(row)?;
            leases.extend(record);
            last = Some(now);
        }
        Ok((leases, last.ok_or_else(|| shared.no_row())?))
    }

    async fn history(
        &self,
        name: Option<&LeaseName>,
        before: Option<HistoryId>,
        limit: u32,
    ) -> Result<Vec<Change>, StoreError> {
        let shared = &self.shared;
        let mut params = vec![before.map_or(i64::MAX, |before| before.0).into(), limit.into()];
        let statement = match name {
            None => &shared.statements.history_list,
            Some(name) => {
                params.push(name.as_str().into());
                &shared.statements.history_of
            }
        };
        let rows = shared.rows(Turn::Work, statement, params).await?;
        rows.iter().map(|row| shared.reader().change(row)).collect()
    }

    async fn revoke(&self, name: &LeaseName, by: &str, force: bool) -> Result<Revoke, StoreError> {
        let change = |locked: &Locked| Ok(decide::revoke(locked.record.as_ref(), force, locked.now));
        let audit = |outcome: &Revoke| {
            let (action, detail) = outcome.audit()?;
            Some(Audit { actor: by, action, subject: name.as_str(), detail })
        };
        self.shared.change(Turn::Work, name, None, change, audit).await
    }
}
