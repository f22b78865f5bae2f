//! What an operator sees of leases and does to them.

use std::time::Duration;

use async_trait::async_trait;
use tenure_core::StoreError;
use tenure_core::contract::LeaseAdmin;
use tenure_core::lease::{
    Change, FORGET_MAX, Forgotten, HistoryId, LeaseName, LeasePageOf, LeaseRecord, Revoke, decide,
};
use tenure_core::time::StoreTime;

use crate::driver::Turn;
use crate::lease::{Audit, Locked};
use crate::limits::STATEMENT_ROWS;
use crate::prefix::names_between;
use crate::store::SqlStore;
use crate::value::{Value, micros};

/// A thousand years: servers count no further back.
const KEEP_MAX: Duration = Duration::from_secs(1_000 * 366 * 86_400);

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

    async fn forget_history(
        &self,
        keep: Duration,
        after: Option<HistoryId>,
        limit: u32,
    ) -> Result<Forgotten, StoreError> {
        let (shared, limit) = (&self.shared, limit.min(FORGET_MAX));
        let keep = micros(keep.min(KEEP_MAX));
        let params = vec![after.map_or(i64::MIN, |after| after.0).into(), limit.into(), keep.into()];
        let rows = shared.rows(Turn::Work, &shared.statements.history_old, params).await?;
        let looked = rows.iter().map(|row| shared.reader().fate(row)).collect::<Result<Vec<_>, _>>()?;
        let (gone, resume) = Forgotten::plan(&looked, limit);
        // A line that is not of the last term never becomes one again: nothing can have changed between the two.
        for chunk in gone.chunks(STATEMENT_ROWS) {
            let ids = Value::list(chunk.iter().map(|id| id.0));
            shared.run(Turn::Work, &shared.statements.history_forget, vec![ids]).await?;
        }
        Ok(Forgotten { lines: gone.len() as u64, resume })
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
