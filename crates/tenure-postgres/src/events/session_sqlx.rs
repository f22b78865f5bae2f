//! Appending in a transaction of sqlx.

use sqlx::PgConnection;
use sqlx::postgres::PgRow;
use tenure_core::StoreError;
use tenure_core::outbox::{Existing, MessageId};
use tenure_sql::Reader;

use super::append::{Failure, Session};
use super::content::{Given, Reply, There};
use super::session::{messages, out_of_order, reply};
use super::statements::{KEEP, SAVE, UNDO};
use crate::error::sqlx_error;
use crate::rows::OfSqlx;
use crate::statements::for_sqlx;

/// A transaction of sqlx.
pub(super) struct JoinedSqlx<'a> {
    pub(super) connection: &'a mut PgConnection,
    pub(super) store: &'a str,
    pub(super) sequence: &'a str,
    /// Whether a connection may keep a statement prepared.
    pub(super) prepares: bool,
}

impl JoinedSqlx<'_> {
    async fn say(&mut self, sql: &'static str) -> Result<(), Failure> {
        let said = sqlx::raw_sql(sql).execute(&mut *self.connection).await;
        said.map(|_| ()).map_err(|error| Failure::Store(sqlx_error(self.store, error)))
    }

    async fn run(&mut self, sql: &str, given: &Given<'_>) -> Result<Vec<PgRow>, Failure> {
        let (events, mark, sent) = (&given.events, &given.mark, &given.dispatches);
        let rows = sqlx::query(for_sqlx(sql))
            .bind(given.stream)
            .bind(given.expected)
            .bind(&events.ids)
            .bind(&events.kinds)
            .bind(&events.schemas)
            .bind(&events.messages)
            .bind(&events.correlations)
            .bind(&events.causations)
            .bind(&events.headers)
            .bind(&events.texts)
            .bind(&events.bytes)
            .bind(mark.consumer)
            .bind(&mark.message)
            .bind(&mark.fingerprint)
            .bind(&mark.refused)
            .bind(&sent.ids)
            .bind(&sent.sources)
            .bind(&sent.versions)
            .bind(&sent.indexes)
            .bind(&sent.topics)
            .bind(&sent.kinds)
            .bind(&sent.texts)
            .bind(&sent.bytes)
            .bind(&sent.content_types)
            .bind(&sent.headers)
            .bind(&sent.delays)
            .persistent(self.prepares)
            .fetch_all(&mut *self.connection)
            .await;
        rows.map_err(|error| {
            let code = error.as_database_error().and_then(|db| db.code().map(|code| code.into_owned()));
            match code.as_deref() {
                Some("23505") => Failure::Raced(sqlx_error(self.store, error)),
                Some("22012") => Failure::Store(out_of_order(self.store, self.sequence)),
                _ => Failure::Store(sqlx_error(self.store, error)),
            }
        })
    }
}

impl Session for JoinedSqlx<'_> {
    const JOINED: bool = true;

    async fn append(&mut self, sql: &str, given: &Given<'_>, undoes: bool) -> Result<Reply, Failure> {
        if !undoes {
            return reply(self.store, self.run(sql, given).await?.first().map(OfSqlx));
        }
        self.say(SAVE).await?;
        match self.run(sql, given).await {
            Ok(rows) => {
                self.say(KEEP).await?;
                reply(self.store, rows.first().map(OfSqlx))
            }
            Err(failed) => {
                self.say(UNDO).await?;
                Err(failed)
            }
        }
    }

    async fn look(&mut self, sql: &str, given: &Given<'_>) -> Result<There, StoreError> {
        let rows = sqlx::query(for_sqlx(sql))
            .bind(given.stream)
            .bind(&given.events.ids)
            .bind(given.expected)
            .bind(given.mark.consumer)
            .bind(&given.mark.message)
            .persistent(self.prepares)
            .fetch_all(&mut *self.connection)
            .await
            .map_err(|error| sqlx_error(self.store, error))?;
        let rows: Vec<OfSqlx<'_>> = rows.iter().map(OfSqlx).collect();
        There::read(Reader { store: self.store }, &rows)
    }

    async fn messages(
        &mut self,
        sql: &str,
        ids: &[String],
    ) -> Result<Vec<(MessageId, Existing)>, StoreError> {
        let rows = sqlx::query(for_sqlx(sql))
            .bind(ids)
            .persistent(self.prepares)
            .fetch_all(&mut *self.connection)
            .await
            .map_err(|error| sqlx_error(self.store, error))?;
        messages(self.store, rows.iter().map(OfSqlx))
    }
}
