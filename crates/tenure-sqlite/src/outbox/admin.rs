//! What an operator sees of the outbox and does to it.

use async_trait::async_trait;
use tenure_core::StoreError;
use tenure_core::contract::OutboxAdmin;
use tenure_core::outbox::{CauseId, Count, Details, Filter, Graves, Listing, Pulse, Selection, Stats};

use super::dead::{self, Act};
use super::{list, stats};
use crate::admin::actor;
use crate::store::SqliteStore;

/// How many messages one transaction changes: renewals wait for it.
const ACT_BATCH: u32 = 200;

#[async_trait]
impl OutboxAdmin for SqliteStore {
    async fn stats(&self) -> Result<Stats, StoreError> {
        self.browse(stats::stats).await
    }

    async fn pulse(&self, at_most: u32) -> Result<Pulse, StoreError> {
        self.sample(move |snapshot| stats::pulse(snapshot, at_most)).await
    }

    async fn graves(&self, after: Option<CauseId>, limit: u32, count_max: u32) -> Result<Graves, StoreError> {
        self.browse(move |snapshot| dead::graves(snapshot, after, limit, count_max)).await
    }

    async fn list(&self, selection: &Selection) -> Result<Listing, StoreError> {
        let selection = selection.clone();
        self.browse(move |snapshot| list::list(snapshot, &selection)).await
    }

    async fn show(&self, id: &str, payload_max: usize) -> Result<Option<Details>, StoreError> {
        let id = id.to_owned();
        self.browse(move |snapshot| list::show(snapshot, &id, payload_max)).await
    }

    async fn count_dead(&self, filter: &Filter, at_most: u32) -> Result<Count, StoreError> {
        let filter = filter.clone();
        self.browse(move |snapshot| dead::count(snapshot, &filter, at_most)).await
    }

    async fn retry(&self, filter: &Filter, by: &str, limit: u32) -> Result<Vec<String>, StoreError> {
        self.act(Act::Retry, filter, by, limit).await
    }

    async fn discard(&self, filter: &Filter, by: &str, limit: u32) -> Result<Vec<String>, StoreError> {
        self.act(Act::Discard, filter, by, limit).await
    }
}

impl SqliteStore {
    /// Does the same to all dead messages that fit, in small transactions.
    async fn act(&self, act: Act, filter: &Filter, by: &str, limit: u32) -> Result<Vec<String>, StoreError> {
        let by = actor(by);
        let (mut changed, mut left, mut after) = (Vec::new(), limit, i64::MIN);
        while left > 0 {
            let (filter, by, batch) = (filter.clone(), by.clone(), left.min(ACT_BATCH));
            let cause = filter.cause;
            let found = self.browse(move |snapshot| dead::find(snapshot, &filter, after, batch)).await?;
            let Some(last) = found.last() else { break };
            after = *last;
            let ids = self
                .run(move |database| database.write(|writing| dead::act(writing, act, &by, (&found, cause))))
                .await?;
            if matches!(act, Act::Retry) {
                self.shared().bells.ring();
            }
            left = left.saturating_sub(u32::try_from(ids.len()).unwrap_or(u32::MAX));
            changed.extend(ids);
        }
        Ok(changed)
    }
}
