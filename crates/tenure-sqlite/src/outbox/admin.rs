//! What an operator sees of the outbox and does to it.

use std::collections::BTreeSet;

use async_trait::async_trait;
use tenure_core::StoreError;
use tenure_core::contract::OutboxAdmin;
use tenure_core::outbox::{
    Acted, CauseId, Counted, DeadWalk, Details, Graves, LIST_MAX, Listing, MessageId, Pulse, Selection,
    Stats, Summary,
};

use super::dead::{self, Act};
use super::{list, stats};
use crate::admin::actor;
use crate::store::SqliteStore;

/// How many messages one transaction changes: renewals wait for it.
const ACT_BATCH: usize = 200;

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

    async fn named(&self, ids: &[MessageId]) -> Result<Vec<Summary>, StoreError> {
        let ids: BTreeSet<MessageId> = ids.iter().take(LIST_MAX as usize).copied().collect();
        self.browse(move |snapshot| list::named(snapshot, &ids)).await
    }

    async fn count_dead(&self, walk: &DeadWalk) -> Result<Counted, StoreError> {
        let walk = walk.clone();
        self.browse(move |snapshot| Ok(dead::find(snapshot, &walk)?.counted())).await
    }

    async fn retry(&self, walk: &DeadWalk, by: &str) -> Result<Acted, StoreError> {
        self.act(Act::Retry, walk, by).await
    }

    async fn discard(&self, walk: &DeadWalk, by: &str) -> Result<Acted, StoreError> {
        self.act(Act::Discard, walk, by).await
    }
}

impl SqliteStore {
    /// Does the same to all dead messages that fit, in small transactions.
    async fn act(&self, act: Act, walk: &DeadWalk, by: &str) -> Result<Acted, StoreError> {
        let (by, walk) = (actor(by), walk.to_change());
        let cause = walk.filter.cause;
        let pass = self.browse(move |snapshot| dead::find(snapshot, &walk)).await?;
        let mut changed = Vec::new();
        for some in pass.met().chunks(ACT_BATCH) {
            let (by, some) = (by.clone(), some.to_vec());
            let ids = self
                .run(move |database| database.write(|writing| dead::act(writing, act, &by, (&some, cause))))
                .await?;
            if matches!(act, Act::Retry) {
                self.shared().bells.ring();
            }
            changed.extend(ids);
        }
        Ok(pass.acted(changed))
    }
}
