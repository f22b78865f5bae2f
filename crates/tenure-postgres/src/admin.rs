//! What an operator sees of leases and does to them.

use std::time::Duration;

use async_trait::async_trait;
use tenure_core::StoreError;
use tenure_core::contract::LeaseAdmin;
use tenure_core::lease::{
    Change, FORGET_MAX, Forgotten, HistoryId, LeaseName, LeasePageOf, LeaseRecord, Revoke, decide,
};
use tenure_core::observe::NameRange;
use tenure_core::time::StoreTime;
use tenure_sql::Reader;
use tokio_postgres::types::Type;

use crate::error::unreachable;
use crate::rows::Plain;
use crate::store::PostgresStore;
use crate::writing::{Audit, Params};

/// A thousand years: an interval of more is none, to the server.
const KEEP_MAX_US: i64 = 1_000 * 366 * 86_400 * 1_000_000;

#[async_trait]
impl LeaseAdmin for PostgresStore {
    async fn list(&self, page: &LeasePageOf) -> Result<(Vec<LeaseRecord>, StoreTime), StoreError> {
        let shared = &self.shared;
        let prefix = page.prefix.as_deref().unwrap_or_default();
        let range = NameRange::of(prefix, page.after.as_ref().map(LeaseName::as_str));
        let params: Params<'_> = &[
            (&i64::from(page.limit), Type::INT8),
            (&range.from, Type::TEXT),
            (&range.below, Type::TEXT),
            (&range.but, Type::TEXT),
        ];
        let rows = shared.read(&shared.statements.lease_list, params).await?;
        let reader = Reader { store: &shared.label };
        let mut leases = Vec::with_capacity(rows.len());
        let mut last = None;
        for row in &rows {
            let (record, now) = reader.lease_and_now(&Plain(row))?;
            leases.extend(record);
            last = Some(now);
        }
        let now = last.ok_or_else(|| unreachable(&shared.label, "the server did not tell the time"))?;
        Ok((leases, now))
    }

    async fn history(
        &self,
        name: Option<&LeaseName>,
        before: Option<HistoryId>,
        limit: u32,
    ) -> Result<Vec<Change>, StoreError> {
        let shared = &self.shared;
        let params: Params<'_> = &[
            (&name.map(LeaseName::as_str), Type::TEXT),
            (&i64::from(limit), Type::INT8),
            (&before.map_or(i64::MAX, |before| before.0), Type::INT8),
        ];
        let rows = shared.read(&shared.statements.history_list, params).await?;
        rows.iter().map(|row| Reader { store: &shared.label }.change(&Plain(row))).collect()
    }

    async fn forget_history(
        &self,
        keep: Duration,
        after: Option<HistoryId>,
        limit: u32,
    ) -> Result<Forgotten, StoreError> {
        let (shared, limit) = (&self.shared, limit.min(FORGET_MAX));
        let keep = i64::try_from(keep.as_micros()).unwrap_or(i64::MAX).min(KEEP_MAX_US);
        let params: Params<'_> = &[
            (&after.map_or(i64::MIN, |after| after.0), Type::INT8),
            (&i64::from(limit), Type::INT8),
            (&keep, Type::INT8),
        ];
        let rows = shared.run(&shared.statements.history_forget, params).await?;
        let reader = Reader { store: &shared.label };
        let looked: Result<Vec<_>, _> = rows.iter().map(|row| reader.fate(&Plain(row))).collect();
        let (gone, resume) = Forgotten::plan(&looked?, limit);
        Ok(Forgotten { lines: gone.len() as u64, resume })
    }

    async fn revoke(&self, name: &LeaseName, by: &str, force: bool) -> Result<Revoke, StoreError> {
        let (transaction, locked) = self.shared.begin(name, None).await?;
        let decision = decide::revoke(locked.record.as_ref(), force, locked.now);
        let audit = decision.outcome.audit().map(|(action, detail)| Audit {
            actor: by,
            action,
            subject: name.as_str(),
            detail,
        });
        transaction.apply(decision, audit).await
    }
}
