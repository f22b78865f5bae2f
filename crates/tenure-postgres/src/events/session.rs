//! The three places where an append happens: a transaction of its own, one of tokio-postgres, one of sqlx.
//!
//! In the user's transaction nothing may be left behind by an append that comes to nothing, and the transaction must go on.
//! Where someone else may write the same at the same moment, a savepoint stands before the statement; where that cannot be,
//! none is needed, and there is one round trip.

use tenure_core::StoreError;
use tenure_core::outbox::{Existing, MessageId};
use tenure_sql::{Columns, Reader};
use tokio_postgres::error::SqlState;
use tokio_postgres::types::Type;
use tokio_postgres::{Error, GenericClient, Row};

use super::append::{Failure, Session};
use super::content::{Given, Reply, There, no_row};
use super::statements::{KEEP, SAVE, UNDO};
use crate::error::store_error;
use crate::rows::Plain;
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
        reply(&shared.label, rows.first().map(Plain))
    }

    async fn look(&mut self, sql: &str, given: &Given<'_>) -> Result<There, StoreError> {
        let rows = self.0.run(sql, &given.look()).await?;
        There::read(Reader { store: &self.0.label }, &plain(&rows))
    }

    async fn messages(
        &mut self,
        sql: &str,
        ids: &[String],
    ) -> Result<Vec<(MessageId, Existing)>, StoreError> {
        let rows = self.0.run(sql, &[(&ids, Type::TEXT_ARRAY)]).await?;
        messages(&self.0.label, rows.iter().map(Plain))
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
            return reply(self.store, rows.first().map(Plain));
        }
        // Waited for: without a transaction there is no savepoint, and nothing may be written then.
        self.client.batch_execute(SAVE).await.map_err(fails)?;
        let keep = async { self.client.batch_execute(KEEP).await.map(|()| Vec::new()) };
        let calls: Vec<Call<'_>> = vec![Box::pin(self.client.query_typed(sql, &params)), Box::pin(keep)];
        match pipeline(calls).await {
            Ok(answers) => reply(self.store, answers.first().and_then(|rows| rows.first()).map(Plain)),
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
        There::read(Reader { store: self.store }, &plain(&rows))
    }

    async fn messages(
        &mut self,
        sql: &str,
        ids: &[String],
    ) -> Result<Vec<(MessageId, Existing)>, StoreError> {
        let rows = self.client.query_typed(sql, &[(&ids, Type::TEXT_ARRAY)]).await;
        messages(self.store, rows.map_err(|error| store_error(self.store, error))?.iter().map(Plain))
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

pub(super) fn reply(store: &str, row: Option<impl Columns>) -> Result<Reply, Failure> {
    let reader = Reader { store };
    let read = row.ok_or_else(|| no_row(reader)).and_then(|row| Reply::read(reader, &row));
    read.map_err(Failure::Store)
}

pub(super) fn messages(
    store: &str,
    rows: impl Iterator<Item = impl Columns>,
) -> Result<Vec<(MessageId, Existing)>, StoreError> {
    let reader = Reader { store };
    rows.map(|row| Ok((reader.message_id(&row)?, reader.existing(&row)?))).collect()
}

fn plain(rows: &[Row]) -> Vec<Plain<'_>> {
    rows.iter().map(Plain).collect()
}

pub(super) fn corrupt(store: &str, message: String) -> StoreError {
    StoreError::Corrupt { store: store.to_owned(), message }
}

/// The only row of an answer.
pub(super) fn only<'r>(store: &str, rows: &'r [Row]) -> Result<&'r Row, StoreError> {
    rows.first().ok_or_else(|| crate::error::unreachable(store, "the server answered with no row"))
}
