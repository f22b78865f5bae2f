//! What an operator sees of the outbox and does to it.

use async_trait::async_trait;
use tenure_core::StoreError;
use tenure_core::contract::OutboxAdmin;
use tenure_core::outbox::{
    Acted, CauseId, Counted, DeadWalk, Details, Graves, Listing, MessageId, PULSE_MAX, Pulse, Selection,
    Stats, Summary,
};
use tenure_sql::Reader;
use tokio_postgres::types::Type;

use super::statements;
use crate::error::unreachable;
use crate::rows::Shown;
use crate::store::PostgresStore;

#[async_trait]
impl OutboxAdmin for PostgresStore {
    async fn stats(&self) -> Result<Stats, StoreError> {
        let shared = &self.shared;
        let begin = statements::begin_counting(&shared.limits);
        let answers = shared.run_all(&begin, &[(&shared.statements.outbox.stats, &[])]).await?;
        let Some(row) = answers.first().and_then(|rows| rows.first()) else { return Ok(Stats::default()) };
        Reader { store: &shared.label }.stats(&Shown(row))
    }

    async fn pulse(&self, at_most: u32) -> Result<Pulse, StoreError> {
        let (shared, most) = (&self.shared, at_most.min(PULSE_MAX));
        let rows = shared.run(&shared.statements.outbox.pulse, &[(&i64::from(most + 1), Type::INT8)]).await?;
        let row =
            rows.first().ok_or_else(|| unreachable(&shared.label, "the server answered with no row"))?;
        Reader { store: &shared.label }.pulse(&Shown(row), most)
    }

    async fn list(&self, selection: &Selection) -> Result<Listing, StoreError> {
        self.shared.list(selection).await
    }

    async fn show(&self, id: &str, payload_max: usize) -> Result<Option<Details>, StoreError> {
        self.shared.show(id, payload_max).await
    }

    async fn named(&self, ids: &[MessageId]) -> Result<Vec<Summary>, StoreError> {
        self.shared.named(ids).await
    }

    async fn count_dead(&self, walk: &DeadWalk) -> Result<Counted, StoreError> {
        self.shared.count_dead(walk).await
    }

    async fn graves(&self, after: Option<CauseId>, limit: u32, count_max: u32) -> Result<Graves, StoreError> {
        self.shared.graves(after, limit, count_max).await
    }

    async fn retry(&self, walk: &DeadWalk, by: &str) -> Result<Acted, StoreError> {
        self.shared.decide(&self.shared.statements.outbox.retry, walk, by).await
    }

    async fn discard(&self, walk: &DeadWalk, by: &str) -> Result<Acted, StoreError> {
        self.shared.decide(&self.shared.statements.outbox.discard, walk, by).await
    }
}
