//! Checkpoints: moved by one reader at a time, in a transaction of their own or in the handler's.

use std::sync::Arc;

use async_trait::async_trait;
use tenure_core::StoreError;
use tenure_core::contract::CheckpointStore;
use tenure_core::event::{PAGE_MAX, Position, StreamName};
use tenure_core::lease::Fence;
use tenure_core::outbox::shorten;
use tenure_core::subscription::{
    Advance, Checkpoint, PARKED_COUNT_MAX, Parked, Progress, Rewind, Step, SubscriptionName,
};
use tenure_sql::{Columns, Reader};
use tokio_postgres::GenericClient;
use tokio_postgres::types::{ToSql, Type};

use super::session::corrupt;
use super::statements::Statements;
use crate::error::store_error;
#[cfg(feature = "sqlx")]
use crate::rows::OfSqlx;
use crate::rows::Plain;
use crate::store::PostgresStore;
use crate::writing::Params;

/// Moves checkpoints in transactions of the handler's own. Cheap to clone; got by [`PostgresStore::checkpoints`].
///
/// Whoever writes what an event leads to and moves the checkpoint in one transaction has the effect of each event exactly
/// once. On any answer but [`Advance::Advanced`] nothing has moved: roll back, for someone else reads here.
///
/// A role that does this needs SELECT, INSERT and UPDATE on `tenure_checkpoints` and on `tenure_parked`, and with a fence
/// SELECT and UPDATE on `tenure_leases`.
#[derive(Debug, Clone)]
pub struct Checkpoints {
    texts: Arc<Statements>,
    store: Arc<str>,
    /// Whether a connection may keep a statement prepared.
    #[cfg_attr(not(feature = "sqlx"), allow(dead_code))]
    prepares: bool,
}

impl PostgresStore {
    /// What moves checkpoints in the handler's own transactions; cheap to clone.
    pub fn checkpoints(&self) -> Checkpoints {
        Checkpoints {
            texts: Arc::clone(&self.shared.statements.events),
            store: self.shared.label.as_str().into(),
            prepares: !self.shared.pooled,
        }
    }
}

impl Checkpoints {
    /// Moves a checkpoint in a transaction of sqlx, if the reader is in office.
    #[cfg(feature = "sqlx")]
    pub async fn advance_in(
        &self,
        connection: &mut sqlx::PgConnection,
        office: Option<&Fence>,
        step: &Step,
    ) -> Result<Advance, StoreError> {
        let given = Given::of(&self.store, office, step)?;
        let fails = |error| crate::error::sqlx_error(&self.store, error);
        let row = sqlx::query(crate::statements::for_sqlx(&self.texts.checkpoint_advance))
            .bind(given.lease)
            .bind(given.term)
            .bind(given.name)
            .bind(given.from)
            .bind(given.to)
            .bind(&given.positions)
            .bind(&given.streams)
            .bind(&given.versions)
            .bind(&given.kinds)
            .bind(&given.reasons)
            .bind(&given.attempts)
            .bind(given.rewinds)
            .persistent(self.prepares)
            .fetch_one(&mut *connection)
            .await
            .map_err(fails)?;
        if let Some(answer) = moved(&self.store, &OfSqlx(&row))? {
            return Ok(answer);
        }
        let row = sqlx::query(crate::statements::for_sqlx(&self.texts.checkpoint_read))
            .bind(given.name)
            .persistent(self.prepares)
            .fetch_optional(&mut *connection)
            .await
            .map_err(fails)?;
        let there = Reader { store: &self.store }.checkpoint(row.as_ref().map(OfSqlx).as_ref())?;
        Ok(Advance::Moved { at: there.position })
    }

    /// Moves a checkpoint in a transaction of tokio-postgres, if the reader is in office.
    pub async fn advance_on(
        &self,
        client: &(impl GenericClient + Sync),
        office: Option<&Fence>,
        step: &Step,
    ) -> Result<Advance, StoreError> {
        let given = Given::of(&self.store, office, step)?;
        let fails = |error| store_error(&self.store, error);
        let row = client.query_typed_one(&self.texts.checkpoint_advance, &given.params()).await;
        if let Some(answer) = moved(&self.store, &Plain(&row.map_err(fails)?))? {
            return Ok(answer);
        }
        let rows = client.query_typed(&self.texts.checkpoint_read, &[(&given.name, Type::TEXT)]).await;
        let rows = rows.map_err(fails)?;
        let there = Reader { store: &self.store }.checkpoint(rows.first().map(Plain).as_ref())?;
        Ok(Advance::Moved { at: there.position })
    }
}

#[async_trait]
impl CheckpointStore for PostgresStore {
    async fn checkpoint(&self, name: &SubscriptionName) -> Result<Checkpoint, StoreError> {
        let shared = &self.shared;
        let sql = &shared.statements.events.checkpoint_read;
        let rows = shared.run(sql, &[(&name.as_str(), Type::TEXT)]).await?;
        Reader { store: &shared.label }.checkpoint(rows.first().map(Plain).as_ref())
    }

    async fn advance(&self, office: Option<&Fence>, step: &Step) -> Result<Advance, StoreError> {
        let shared = &self.shared;
        let given = Given::of(&shared.label, office, step)?;
        let rows = shared.run(&shared.statements.events.checkpoint_advance, &given.params()).await?;
        match moved(&shared.label, &Plain(super::session::only(&shared.label, &rows)?))? {
            Some(answer) => Ok(answer),
            None => Ok(Advance::Moved { at: self.checkpoint(&step.name).await?.position }),
        }
    }

    async fn subscriptions(
        &self,
        after: Option<&SubscriptionName>,
        limit: u32,
    ) -> Result<Vec<Progress>, StoreError> {
        let shared = &self.shared;
        let params: Params<'_> = &[
            (&after.map_or("", SubscriptionName::as_str), Type::TEXT),
            (&i64::from(limit.min(PAGE_MAX)), Type::INT8),
            (&i64::from(PARKED_COUNT_MAX + 1), Type::INT8),
        ];
        let rows = shared.run(&shared.statements.events.checkpoint_list, params).await?;
        rows.iter()
            .take(limit as usize)
            .map(|row| Reader { store: &shared.label }.progress(&Plain(row)))
            .collect()
    }

    async fn parked(
        &self,
        name: &SubscriptionName,
        after: Option<Position>,
        limit: u32,
    ) -> Result<Vec<Parked>, StoreError> {
        let shared = &self.shared;
        let params: Params<'_> = &[
            (&name.as_str(), Type::TEXT),
            (&i64::from(limit.min(PAGE_MAX)), Type::INT8),
            (&after.map_or(i64::MIN, |after| after.0), Type::INT8),
        ];
        let rows = shared.run(&shared.statements.events.parked_list, params).await?;
        rows.iter().map(|row| Reader { store: &shared.label }.parked(&Plain(row))).collect()
    }

    async fn rewind(&self, name: &SubscriptionName, to: Position, by: &str) -> Result<Rewind, StoreError> {
        let shared = &self.shared;
        let params: Params<'_> =
            &[(&name.as_str(), Type::TEXT), (&to.0, Type::INT8), (&shorten(by), Type::TEXT)];
        let rows = shared.run(&shared.statements.events.checkpoint_rewind, params).await?;
        let row = Plain(super::session::only(&shared.label, &rows)?);
        let told = |column| row.number(column).map_err(|message| corrupt(&shared.label, message));
        Ok(match told("moved")?.unwrap_or_default() {
            0 => Rewind::Beyond { end: Position(told("log_end")?.unwrap_or_default()) },
            _ => Rewind::Moved,
        })
    }
}

/// A step as parameters.
struct Given<'a> {
    lease: Option<&'a str>,
    term: Option<i64>,
    name: &'a str,
    from: i64,
    to: i64,
    positions: Vec<i64>,
    streams: Vec<&'a str>,
    versions: Vec<i64>,
    kinds: Vec<&'a str>,
    reasons: Vec<String>,
    attempts: Vec<i32>,
    rewinds: i64,
}

impl<'a> Given<'a> {
    fn of(store: &str, office: Option<&'a Fence>, step: &'a Step) -> Result<Self, StoreError> {
        step.check().map_err(|back| StoreError::Failed {
            store: store.to_owned(),
            message: back.to_string(),
            source: None,
        })?;
        let list = &step.parked;
        Ok(Self {
            lease: office.map(|fence| fence.lease.as_str()),
            term: office.map(|fence| fence.term.as_column()),
            name: step.name.as_str(),
            from: step.from.0,
            to: step.to.0,
            positions: list.iter().map(|aside| aside.position.0).collect(),
            streams: list.iter().map(|aside| aside.stream.as_ref().map_or("", StreamName::as_str)).collect(),
            versions: list.iter().map(|aside| aside.version.0).collect(),
            kinds: list.iter().map(|aside| aside.kind.as_str()).collect(),
            reasons: list.iter().map(|aside| shorten(&aside.reason)).collect(),
            attempts: list.iter().map(|aside| i32::try_from(aside.attempts).unwrap_or(i32::MAX)).collect(),
            rewinds: i64::try_from(step.rewinds).unwrap_or(i64::MAX),
        })
    }

    fn params(&self) -> [(&(dyn ToSql + Sync), Type); 12] {
        [
            (&self.lease, Type::TEXT),
            (&self.term, Type::INT8),
            (&self.name, Type::TEXT),
            (&self.from, Type::INT8),
            (&self.to, Type::INT8),
            (&self.positions, Type::INT8_ARRAY),
            (&self.streams, Type::TEXT_ARRAY),
            (&self.versions, Type::INT8_ARRAY),
            (&self.kinds, Type::TEXT_ARRAY),
            (&self.reasons, Type::TEXT_ARRAY),
            (&self.attempts, Type::INT4_ARRAY),
            (&self.rewinds, Type::INT8),
        ]
    }
}

/// What became of a step; `None` when the checkpoint was elsewhere.
fn moved(store: &str, row: &impl Columns) -> Result<Option<Advance>, StoreError> {
    let count = |column| row.number(column).map_err(|message| corrupt(store, message));
    Ok(match (count("office")?.unwrap_or_default(), count("moved")?.unwrap_or_default()) {
        (0, _) => Some(Advance::Fenced),
        (_, 0) => None,
        _ => Some(Advance::Advanced),
    })
}
