//! The three places where an append happens: a transaction of its own, one of tokio-postgres, one of sqlx.
//!
//! In the user's transaction nothing may be left behind by an append that comes to nothing, and the transaction must go on.
//! Where someone else may write the same at the same moment, a savepoint stands before the statement; where that cannot be,
//! none is needed, and there is one round trip.

use tenure_core::StoreError;
use tenure_core::outbox::{Existing, MessageId};
use tokio_postgres::error::SqlState;
use tokio_postgres::types::Type;
use tokio_postgres::{Error, GenericClient, Row};

use super::append::{Failure, Session};
use super::content::{Given, Reply, There};
use super::statements::{KEEP, SAVE, UNDO};
use crate::error::store_error;
use crate::outbox::existing;
use crate::rows::Columns;
use crate::store::Shared;
use crate::writing::{Call, pipeline};

/// A transaction of its own: the statement itself.
pub(super) struct Own<'a>(pub(super) &'a Shared);

impl Session for Own<'_> {
    const JOINED: bool = false;

    async fn append(&mut self, sql: &str, given: &Given<'_>, _: bool) -> Result<Reply, Failure> {
        let shared = self.0;
        let rows = shared.try_run(sql, &given.params()).await.map_err(Failure::Store)?;
        let rows = rows.map_err(|error| failure(&shared.label, &shared.statements.events.sequence, error))?;
        reply(&shared.label, &rows)
    }

    async fn look(&mut self, sql: &str, given: &Given<'_>) -> Result<There, StoreError> {
        let rows = self.0.run(sql, &given.look()).await?;
        There::read(&rows).map_err(|message| corrupt(&self.0.label, message))
    }

    async fn messages(
        &mut self,
        sql: &str,
        ids: &[String],
    ) -> Result<Vec<(MessageId, Existing)>, StoreError> {
        let rows = self.0.run(sql, &[(&ids, Type::TEXT_ARRAY)]).await?;
        messages(&self.0.label, &rows)
    }
}

/// A transaction of tokio-postgres.
pub(super) struct Joined<'a, C> {
    pub(super) client: &'a C,
    pub(super) store: &'a str,
    pub(super) sequence: &'a str,
}

impl<C: GenericClient + Sync> Joined<'_, C> {
    async fn undo(&self) -> Result<(), Failure> {
        let undone = self.client.batch_execute(UNDO).await;
        undone.map_err(|error| Failure::Store(store_error(self.store, error)))
    }
}

impl<C: GenericClient + Sync> Session for Joined<'_, C> {
    const JOINED: bool = true;

    async fn append(&mut self, sql: &str, given: &Given<'_>, undoes: bool) -> Result<Reply, Failure> {
        let fails = |error| failure(self.store, self.sequence, error);
        let params = given.params();
        if !undoes {
            let rows = self.client.query_typed(sql, &params).await.map_err(fails)?;
            return reply(self.store, &rows);
        }
        // Waited for: without a transaction there is no savepoint, and nothing may be written then.
        self.client.batch_execute(SAVE).await.map_err(fails)?;
        let keep = async { self.client.batch_execute(KEEP).await.map(|()| Vec::new()) };
        let calls: Vec<Call<'_>> = vec![Box::pin(self.client.query_typed(sql, &params)), Box::pin(keep)];
        match pipeline(calls).await {
            Ok(mut answers) => reply(self.store, &answers.swap_remove(0)),
            Err(error) => {
                let failed = fails(error);
                self.undo().await?;
                Err(failed)
            }
        }
    }

    async fn look(&mut self, sql: &str, given: &Given<'_>) -> Result<There, StoreError> {
        let rows = self.client.query_typed(sql, &given.look()).await;
        let rows = rows.map_err(|error| store_error(self.store, error))?;
        There::read(&rows).map_err(|message| corrupt(self.store, message))
    }

    async fn messages(
        &mut self,
        sql: &str,
        ids: &[String],
    ) -> Result<Vec<(MessageId, Existing)>, StoreError> {
        let rows = self.client.query_typed(sql, &[(&ids, Type::TEXT_ARRAY)]).await;
        messages(self.store, &rows.map_err(|error| store_error(self.store, error))?)
    }
}

/// What an error of the statement means.
fn failure(store: &str, sequence: &str, error: Error) -> Failure {
    match error.code() {
        Some(&SqlState::UNIQUE_VIOLATION) => Failure::Raced(store_error(store, error)),
        Some(&SqlState::DIVISION_BY_ZERO) => Failure::Store(out_of_order(store, sequence)),
        _ => Failure::Store(store_error(store, error)),
    }
}

/// A position has come out below the number that was shown to readers.
pub(super) fn out_of_order(store: &str, sequence: &str) -> StoreError {
    let message = format!(
        "its sequence gave out a position that readers may have gone past, so nothing was written; someone has changed \
         the sequence: run `ALTER SEQUENCE {sequence} CACHE 1 INCREMENT 1`"
    );
    StoreError::Corrupt { store: store.to_owned(), message }
}

pub(super) fn reply(store: &str, rows: &[impl Columns]) -> Result<Reply, Failure> {
    let none = || "the server answered with no row where there is always one".to_owned();
    let read = rows.first().ok_or_else(none).and_then(Reply::read);
    read.map_err(|message| Failure::Store(corrupt(store, message)))
}

pub(super) fn messages(store: &str, rows: &[impl Columns]) -> Result<Vec<(MessageId, Existing)>, StoreError> {
    let read = |row| {
        let id = Columns::text(row, "message_id").ok().flatten().and_then(|id| id.parse().ok());
        let id = id.ok_or_else(|| corrupt(store, "a message id that is none".into()))?;
        Ok((id, existing(row, store)?))
    };
    rows.iter().map(read).collect()
}

pub(super) fn corrupt(store: &str, message: String) -> StoreError {
    StoreError::Corrupt { store: store.to_owned(), message }
}

/// The only row of an answer.
pub(super) fn only<'r>(store: &str, rows: &'r [Row]) -> Result<&'r Row, StoreError> {
    rows.first().ok_or_else(|| crate::error::unreachable(store, "the server answered with no row"))
}
