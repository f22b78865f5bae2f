//! What an operator sees of the outbox and does to it.

use async_trait::async_trait;
use tenure_core::StoreError;
use tenure_core::contract::OutboxAdmin;
use tenure_core::outbox::{
    CauseId, Count, Details, Filter, Graves, LIST_MAX, Listing, Pulse, Selection, State, Stats, shorten,
};
use tenure_sql::{Reader, not_built};
use tokio_postgres::Error;
use tokio_postgres::types::Type;
use uuid::Uuid;

use super::statements;
use crate::error::store_error;
use crate::rows::Shown;
use crate::store::{PostgresStore, Shared};
use crate::wire::Id;
use crate::writing::Params;

#[async_trait]
impl OutboxAdmin for PostgresStore {
    async fn stats(&self) -> Result<Stats, StoreError> {
        let shared = &self.shared;
        let begin = statements::begin_counting(&shared.limits);
        let answers = shared.run_all(&begin, &[(&shared.statements.outbox.stats, &[])]).await?;
        let Some(row) = answers.first().and_then(|rows| rows.first()) else { return Ok(Stats::default()) };
        Reader { store: &shared.label }.stats(&Shown(row))
    }

    async fn pulse(&self, _: u32) -> Result<Pulse, StoreError> {
        Err(not_built(&self.shared.label))
    }

    async fn graves(&self, _: Option<CauseId>, _: u32, _: u32) -> Result<Graves, StoreError> {
        Err(not_built(&self.shared.label))
    }

    async fn list(&self, selection: &Selection) -> Result<Listing, StoreError> {
        let (shared, filter) = (&self.shared, &selection.filter);
        let lists = &shared.statements.outbox.list;
        let Ok(id) = named(filter) else { return Ok(Listing::default()) };
        let sql = match (&id, filter.state) {
            (Some(_), _) => &lists.by_id,
            (None, None) => &lists.any,
            (None, Some(State::Pending)) => &lists.pending,
            (None, Some(State::Dispatched)) => &lists.dispatched,
            (None, Some(State::Dead)) => &lists.dead,
            (None, Some(State::Discarded)) => &lists.discarded,
        };
        let params: Params<'_> = &[
            (&selection.before.map(|row| row.0), Type::INT8),
            (&filter.topic, Type::TEXT),
            (&filter.source, Type::TEXT),
            (&filter.kind, Type::TEXT),
            (&i64::from(selection.limit.min(LIST_MAX)), Type::INT8),
            (&id, Type::TEXT),
        ];
        let params = if id.is_some() { params } else { &params[..5] };
        let rows = shared.run(sql, params).await?;
        let reader = Reader { store: &shared.label };
        let found = rows.iter().map(|row| reader.summary(&Shown(row)));
        let mut found = found.collect::<Result<Vec<_>, StoreError>>()?;
        found.retain(|summary| filter.state.is_none_or(|state| state == summary.state));
        let full = found.len() == selection.limit.min(LIST_MAX) as usize;
        let last = found.last();
        Ok(Listing {
            more_before: last.filter(|_| full).map(|last| last.row),
            looked_back_to: last.map(|last| last.created_at),
            messages: found,
        })
    }

    async fn show(&self, id: &str, payload_max: usize) -> Result<Option<Details>, StoreError> {
        let shared = &self.shared;
        let texts = &shared.statements.outbox;
        let Ok(id) = Uuid::try_parse(id) else { return Ok(None) };
        let (id, any) = (id.to_string(), None::<&str>);
        let params: Params<'_> = &[
            (&None::<i64>, Type::INT8),
            (&any, Type::TEXT),
            (&any, Type::TEXT),
            (&any, Type::TEXT),
            (&1_i64, Type::INT8),
            (&id, Type::TEXT),
        ];
        let begin = statements::begin(&shared.limits);
        let calls: [(&str, Params<'_>); 2] = [(&texts.show, params), (&texts.attempts, &[(&id, Type::TEXT)])];
        let answers = shared.run_all(&begin, &calls).await?;
        let [found, attempts] = &answers[..] else { return Ok(None) };
        let Some(row) = found.first() else { return Ok(None) };
        let reader = Reader { store: &shared.label };
        let attempts = attempts.iter().map(|row| reader.attempt(&Shown(row)));
        reader.details(&Shown(row), attempts.collect::<Result<_, _>>()?, payload_max).map(Some)
    }

    async fn count_dead(&self, filter: &Filter, at_most: u32) -> Result<Count, StoreError> {
        let shared = &self.shared;
        let (true, Ok(id)) = (may_be_dead(filter), named(filter)) else {
            return Ok(Count::default());
        };
        let params: Params<'_> = &[
            (&filter.topic, Type::TEXT),
            (&filter.source, Type::TEXT),
            (&filter.kind, Type::TEXT),
            (&id, Type::TEXT),
        ];
        let rows = shared.run(&shared.statements.outbox.count_dead, params).await?;
        let count = rows.first().map_or(Ok(0), |row| row.try_get::<_, i64>(0));
        count
            .map(|count| Count::up_to(at_most.into(), count.unsigned_abs()))
            .map_err(|error| store_error(&shared.label, error))
    }

    async fn retry(&self, filter: &Filter, by: &str, limit: u32) -> Result<Vec<String>, StoreError> {
        self.shared.decide(&self.shared.statements.outbox.retry, filter, by, limit).await
    }

    async fn discard(&self, filter: &Filter, by: &str, limit: u32) -> Result<Vec<String>, StoreError> {
        self.shared.decide(&self.shared.statements.outbox.discard, filter, by, limit).await
    }
}

impl Shared {
    /// Changes dead messages, and wakes a relay: what was changed may be due, or let others go.
    async fn decide(
        &self,
        sql: &str,
        filter: &Filter,
        by: &str,
        limit: u32,
    ) -> Result<Vec<String>, StoreError> {
        let (true, Ok(id)) = (may_be_dead(filter), named(filter)) else { return Ok(Vec::new()) };
        let params: Params<'_> = &[
            (&filter.topic, Type::TEXT),
            (&filter.source, Type::TEXT),
            (&filter.kind, Type::TEXT),
            (&id, Type::TEXT),
            (&i64::from(limit), Type::INT8),
            (&shorten(by), Type::TEXT),
        ];
        let begin = statements::begin(&self.limits);
        let wake = &self.statements.outbox.wake;
        let answers = self.run_all(&begin, &[(sql, params), (wake, &[])]).await?;
        let changed = answers.first().map_or(&[][..], |rows| rows);
        let ids = changed.iter().map(|row| row.try_get::<_, Id>(0).map(|id| id.0.to_string()));
        ids.collect::<Result<_, Error>>().map_err(|error| store_error(&self.label, error))
    }
}

/// The id that is asked for, as the server writes it. A text that is no UUID stands in no row.
fn named(filter: &Filter) -> Result<Option<String>, uuid::Error> {
    filter.id.as_deref().map(|id| Uuid::try_parse(id).map(|id| id.to_string())).transpose()
}

fn may_be_dead(filter: &Filter) -> bool {
    filter.state.is_none_or(|state| state == State::Dead)
}
