//! What an operator sees of leases and does to them.

use std::time::Duration;

use async_trait::async_trait;
use rusqlite::params;
use tenure_core::StoreError;
use tenure_core::contract::LeaseAdmin;
use tenure_core::lease::{
    Change, FORGET_MAX, Fate, Forgotten, HistoryId, LeaseName, LeasePageOf, LeaseRecord, Revoke, decide,
};
use tenure_core::observe::NameRange;
use tenure_core::time::StoreTime;

use crate::error::Fault;
use crate::rows::{LeaseRow, Plain, READER};
use crate::store::SqliteStore;
use crate::writing::Writing;

/// The most rows that one look returns: it shares the connection with renewals.
const PAGE_MAX: u32 = 10_000;
/// The longest name of an operator that the audit trail keeps, in characters.
const ACTOR_MAX_CHARS: usize = 200;

#[async_trait]
impl LeaseAdmin for SqliteStore {
    async fn list(&self, page: &LeasePageOf) -> Result<(Vec<LeaseRecord>, StoreTime), StoreError> {
        let limit = page.limit.min(PAGE_MAX);
        let prefix = page.prefix.as_deref().unwrap_or_default();
        let range = NameRange::of(prefix, page.after.as_ref().map(LeaseName::as_str));
        self.run(move |database| {
            let mut statement = database.connection.prepare_cached(&database.statements.lease_list)?;
            let mut found = statement.query(params![limit, range.from, range.below, range.but])?;
            let now = database.clocks.read();
            let mut records = Vec::new();
            while let Some(row) = found.next()? {
                records.push(LeaseRow::read(&Plain::of(row))?.shown_at(&now));
            }
            Ok((records, now.wall))
        })
        .await
    }

    async fn history(
        &self,
        name: Option<&LeaseName>,
        before: Option<HistoryId>,
        limit: u32,
    ) -> Result<Vec<Change>, StoreError> {
        let before = before.map_or(i64::MAX, |before| before.0);
        let name = name.map(|name| name.as_str().to_owned());
        self.run(move |database| {
            let mut statement = database.connection.prepare_cached(&database.statements.history_list)?;
            let mut found = statement.query(params![name, limit.min(PAGE_MAX), before])?;
            let mut changes = Vec::new();
            while let Some(row) = found.next()? {
                changes.push(READER.change(&Plain::of(row))?);
            }
            Ok(changes)
        })
        .await
    }

    async fn forget_history(
        &self,
        keep: Duration,
        after: Option<HistoryId>,
        limit: u32,
    ) -> Result<Forgotten, StoreError> {
        let (after, limit) = (after.map_or(i64::MIN, |after| after.0), limit.min(FORGET_MAX));
        self.run(move |database| database.write(|writing| forget_history(writing, keep, after, limit))).await
    }

    async fn revoke(&self, name: &LeaseName, by: &str, force: bool) -> Result<Revoke, StoreError> {
        let name = name.clone();
        let by = actor(by);
        self.run(move |database| {
            database.write(|writing| {
                let answer = writing.decide(&name, |record, now| Ok(decide::revoke(record, force, now)))?;
                if let Some((action, detail)) = answer.audit() {
                    writing.add_audit(&by, action, name.as_str(), &detail)?;
                }
                Ok(answer)
            })
        })
        .await
    }
}

fn forget_history(writing: &Writing<'_>, keep: Duration, after: i64, limit: u32) -> Result<Forgotten, Fault> {
    let keep = i64::try_from(keep.as_micros()).unwrap_or(i64::MAX);
    let young = writing.now.wall.as_micros().saturating_sub(keep);
    let mut statement = writing.connection.prepare_cached(&writing.statements.history_old)?;
    let mut rows = statement.query(params![after, limit, young])?;
    let mut looked = Vec::new();
    while let Some(row) = rows.next()? {
        let fate = match row.get::<_, i64>(1)? {
            0 => Fate::Last,
            1 => Fate::Goes,
            _ => Fate::Young,
        };
        looked.push((HistoryId(row.get(0)?), fate));
    }
    let (gone, resume) = Forgotten::plan(&looked, limit);
    let mut statement = writing.connection.prepare_cached(&writing.statements.history_forget)?;
    for id in &gone {
        statement.execute([id.0])?;
    }
    Ok(Forgotten { lines: gone.len() as u64, resume })
}

/// An operator's name as the audit trail keeps it.
pub(crate) fn actor(by: &str) -> String {
    by.chars().take(ACTOR_MAX_CHARS).collect()
}
