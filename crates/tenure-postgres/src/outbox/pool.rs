//! The connections of the outbox: a pool of its own, opened when it is first used.
//!
//! They live on the runtime of the first who uses them, not on that of the heartbeat: what a relay reads and writes is
//! bulk, and nothing slow shares a thread with the heartbeat.

use std::sync::OnceLock;

use deadpool_postgres::Pool;
use tenure_core::StoreError;
use tokio::runtime::Handle;
use tokio_postgres::error::SqlState;
use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{Error, Row};

use super::statements;
use crate::connect::Connector;
use crate::error::pool_error;
use crate::options::PostgresOptions;
use crate::statements::COMMIT;
use crate::store::{Shared, pool};
use crate::transaction::{Lent, Unanswered};
use crate::writing::{Call, Params, batch, pipeline, query};

/// The connections, once someone has asked for one.
pub(crate) struct OutboxPool {
    options: PostgresOptions,
    opened: OnceLock<Opened>,
}

struct Opened {
    connector: Connector,
    pool: Pool,
}

impl OutboxPool {
    pub(crate) fn new(options: &PostgresOptions) -> Self {
        Self { options: options.clone(), opened: OnceLock::new() }
    }
}

impl Shared {
    fn opened(&self) -> Result<&Opened, StoreError> {
        if let Some(opened) = self.outbox.opened.get() {
            return Ok(opened);
        }
        let handle = Handle::try_current().unwrap_or_else(|_| self.connector.handle().clone());
        let connector = self.connector.on(handle);
        let opening = statements::opening(&self.limits, self.modern);
        let saying = if self.pooled { connector.clone() } else { connector.with_opening(opening) };
        let options = &self.outbox.options;
        let pool = pool(options, saying, options.max_outbox_connections)?;
        Ok(self.outbox.opened.get_or_init(|| Opened { connector, pool }))
    }

    /// Opens connections on the runtime of the outbox that are not of its pool.
    pub(crate) fn outbox_connector(&self) -> Result<&Connector, StoreError> {
        Ok(&self.opened()?.connector)
    }

    pub(crate) async fn lend_outbox(&self) -> Result<Lent, StoreError> {
        match self.opened()?.pool.get().await {
            Ok(object) => Ok(Lent::new(object)),
            Err(error) => Err(pool_error(&self.label, error)),
        }
    }

    /// Runs one statement in a transaction of its own, in one round trip. Where sessions are real it is prepared once on
    /// each connection: to plan a look takes longer than a small one itself.
    pub(crate) async fn run(&self, sql: &str, params: Params<'_>) -> Result<Vec<Row>, StoreError> {
        self.try_run(sql, params).await?.map_err(|error| self.explain(Unanswered::No(error)))
    }

    /// The same, where it matters what the server's refusal was.
    pub(crate) async fn try_run(
        &self,
        sql: &str,
        params: Params<'_>,
    ) -> Result<Result<Vec<Row>, Error>, StoreError> {
        if self.pooled {
            let begin = statements::begin(&self.limits);
            let lent = self.lend_outbox().await?;
            let client = lent.client()?;
            let calls = vec![batch(client, &begin), query(client, sql, params), batch(client, COMMIT)];
            let answer = self.answer(pipeline(calls)).await.map(|mut answers| answers.swap_remove(1));
            return self.settle_outbox(lent, answer);
        }
        let lent = self.lend_outbox().await?;
        let object = lent.object()?;
        let types: Vec<Type> = params.iter().map(|(_, kind)| kind.clone()).collect();
        let values: Vec<&(dyn ToSql + Sync)> = params.iter().map(|(value, _)| *value).collect();
        let call = async {
            let statement = object.prepare_typed_cached(sql, &types).await?;
            object.query(&statement, &values).await
        };
        let answer = self.answer(call).await;
        self.settle_outbox(lent, answer)
    }

    /// Runs several statements in one transaction and one round trip; the answers of each but the first and the last.
    pub(crate) async fn run_all(
        &self,
        begin: &str,
        calls: &[(&str, Params<'_>)],
    ) -> Result<Vec<Vec<Row>>, StoreError> {
        let lent = self.lend_outbox().await?;
        let client = lent.client()?;
        let mut all: Vec<Call<'_>> = vec![batch(client, begin)];
        all.extend(calls.iter().map(|(sql, params)| query(client, sql, params)));
        all.push(batch(client, COMMIT));
        let answer = self.answer(pipeline(all)).await.map(|mut answers| {
            answers.pop();
            answers.split_off(1)
        });
        self.settle_outbox(lent, answer)?.map_err(|error| self.explain(Unanswered::No(error)))
    }

    /// Runs several statements that only read, one after another and in one round trip, each by a snapshot of its own.
    pub(crate) async fn run_each(&self, calls: &[(&str, Params<'_>)]) -> Result<Vec<Vec<Row>>, StoreError> {
        if self.pooled {
            return self.run_all(&statements::begin(&self.limits), calls).await;
        }
        let lent = self.lend_outbox().await?;
        let object = lent.object()?;
        let work = async {
            let mut prepared = Vec::with_capacity(calls.len());
            for (sql, params) in calls {
                let types: Vec<Type> = params.iter().map(|(_, kind)| kind.clone()).collect();
                let values: Vec<&(dyn ToSql + Sync)> = params.iter().map(|(value, _)| *value).collect();
                prepared.push((object.prepare_typed_cached(sql, &types).await?, values));
            }
            let mut all: Vec<Call<'_>> = Vec::with_capacity(prepared.len());
            for (statement, values) in &prepared {
                all.push(Box::pin(object.query(statement, values)));
            }
            pipeline(all).await
        };
        let answer = self.answer(work).await;
        self.settle_outbox(lent, answer)?.map_err(|error| self.explain(Unanswered::No(error)))
    }

    fn settle_outbox<T>(
        &self,
        lent: Lent,
        answer: Result<T, Unanswered>,
    ) -> Result<Result<T, Error>, StoreError> {
        match answer {
            Ok(answer) => {
                lent.give_back();
                Ok(Ok(answer))
            }
            // Its prepared statements are of no use any more: another connection prepares them anew.
            Err(Unanswered::No(error)) if is_stale(&error) => Ok(Err(error)),
            Err(Unanswered::No(error)) => {
                lent.give_back();
                Ok(Err(error))
            }
            Err(silence) => Err(self.explain(silence)),
        }
    }
}

/// Whether a prepared statement no longer fits: the tables have changed, or the session is another's.
fn is_stale(error: &Error) -> bool {
    let stale = [
        SqlState::FEATURE_NOT_SUPPORTED,
        SqlState::INVALID_SQL_STATEMENT_NAME,
        SqlState::DUPLICATE_PSTATEMENT,
        SqlState::UNDEFINED_TABLE,
    ];
    error.code().is_some_and(|code| stale.contains(code))
}
