//! Enqueueing on connections of sqlx.
//!
//! Each statement is a round trip to the driver's own thread, so many messages go into one statement.

use std::collections::HashSet;

use sqlx::query::Query;
use sqlx::sqlite::{Sqlite, SqliteArguments};
use sqlx::{Row, SqliteConnection};
use tenure_core::contract::EnqueueError;
use tenure_core::outbox::{Enqueued, NewMessage};
use tenure_sql::enqueueing;

use super::enqueue::{Outbox, Unsent, Values, known};
use super::statements::ENQUEUE_CHUNK;
use crate::error::Fault;
use crate::fence::from_sqlx;
use crate::rows::{Foreign, OfSqlx, READER};
use crate::statements::for_sqlx;

impl Outbox {
    /// Enqueues a message in a transaction of sqlx; on a connection without one, the message is committed at once.
    ///
    /// ```no_run
    /// # async fn place(store: tenure_sqlite::SqliteStore, pool: sqlx::SqlitePool) -> Result<(), Box<dyn std::error::Error>> {
    /// use tenure_core::outbox::NewMessage;
    ///
    /// let outbox = store.outbox();
    /// let mut transaction = pool.begin_with("BEGIN IMMEDIATE").await?;
    /// sqlx::query("insert into orders (id) values (7)").execute(&mut *transaction).await?;
    /// let message = NewMessage::json("orders", "OrderPlaced", r#"{"order":7}"#).from_source("order-7");
    /// outbox.enqueue(&mut transaction, &message).await?;
    /// transaction.commit().await?;
    /// # Ok(()) }
    /// ```
    pub async fn enqueue(
        &self,
        transaction: &mut SqliteConnection,
        message: &NewMessage,
    ) -> Result<Enqueued, EnqueueError> {
        message.check(self.limits())?;
        let inserted = enqueueing(1, self.insert_sqlx(transaction, message)).await;
        inserted.map_err(|unsent| self.unsent(unsent))
    }

    /// Enqueues several messages: all, or none and the transaction is as before.
    pub async fn enqueue_all(
        &self,
        transaction: &mut SqliteConnection,
        messages: &[NewMessage],
    ) -> Result<Vec<Enqueued>, EnqueueError> {
        NewMessage::check_all(messages, self.limits())?;
        let inserted = enqueueing(messages.len(), self.insert_all_sqlx(transaction, messages)).await;
        inserted.map_err(|unsent| self.unsent(unsent))
    }

    pub(crate) async fn insert_all_sqlx(
        &self,
        transaction: &mut SqliteConnection,
        messages: &[NewMessage],
    ) -> Result<Vec<Enqueued>, Unsent> {
        run(transaction, "savepoint tenure_enqueue").await?;
        let mut inserted = Ok(Vec::with_capacity(messages.len()));
        for chunk in messages.chunks(ENQUEUE_CHUNK) {
            let done = self.insert_chunk(transaction, chunk).await;
            inserted = inserted.and_then(|mut all: Vec<_>| {
                done.map(|done| {
                    all.extend(done);
                    all
                })
            });
            if inserted.is_err() {
                run(transaction, "rollback to tenure_enqueue").await?;
                break;
            }
        }
        run(transaction, "release tenure_enqueue").await?;
        inserted
    }

    /// A full chunk in one statement; the rest one by one, so that there are only two statements to prepare.
    async fn insert_chunk(
        &self,
        transaction: &mut SqliteConnection,
        messages: &[NewMessage],
    ) -> Result<Vec<Enqueued>, Unsent> {
        let mut enqueued = Vec::with_capacity(messages.len());
        if messages.len() < ENQUEUE_CHUNK {
            for message in messages {
                enqueued.push(self.insert_sqlx(transaction, message).await?);
            }
            return Ok(enqueued);
        }
        let now = self.now();
        let rows: Vec<_> = messages.iter().map(|message| Values::of(message, now)).collect();
        let mut query = sqlx::query(for_sqlx(&self.statements().enqueue_chunk));
        for values in &rows {
            query = bind(query, values);
        }
        let fresh = query.fetch_all(&mut *transaction).await.map_err(from_sqlx)?;
        let mut fresh: HashSet<String> =
            fresh.iter().map(|row| row.try_get(0)).collect::<Result<_, _>>().map_err(from_sqlx)?;
        for values in &rows {
            // Of two with one id in the same call, the first is the new one.
            enqueued.push(match fresh.remove(&values.id_text) {
                true => Enqueued { id: values.id, fresh: true },
                false => self.compare_sqlx(transaction, values).await?,
            });
        }
        Ok(enqueued)
    }

    async fn insert_sqlx(
        &self,
        transaction: &mut SqliteConnection,
        message: &NewMessage,
    ) -> Result<Enqueued, Unsent> {
        let values = Values::of(message, self.now());
        let query = bind(sqlx::query(for_sqlx(&self.statements().enqueue)), &values);
        let done = query.execute(&mut *transaction).await.map_err(from_sqlx)?;
        match done.rows_affected() {
            0 => self.compare_sqlx(transaction, &values).await,
            _ => Ok(Enqueued { id: values.id, fresh: true }),
        }
    }

    async fn compare_sqlx(
        &self,
        transaction: &mut SqliteConnection,
        values: &Values<'_>,
    ) -> Result<Enqueued, Unsent> {
        let query = sqlx::query(for_sqlx(&self.statements().existing)).bind(values.id_text.clone());
        let row = query.fetch_one(transaction).await.map_err(from_sqlx)?;
        let existing = READER.existing(&Foreign::compared(OfSqlx(&row))).map_err(Fault::from)?;
        Ok(known(values, &existing)?)
    }
}

/// Runs a statement that has no parameters.
pub(crate) async fn run(transaction: &mut SqliteConnection, statement: &'static str) -> Result<(), Unsent> {
    sqlx::query(statement).execute(transaction).await.map_err(from_sqlx)?;
    Ok(())
}

/// Binds the parameters of `outbox_enqueue.sql`.
fn bind<'q>(
    query: Query<'q, Sqlite, SqliteArguments>,
    values: &Values<'_>,
) -> Query<'q, Sqlite, SqliteArguments> {
    let message = values.message;
    let (text, bytes) = values.payload();
    query
        .bind(values.id_text.clone())
        .bind(message.source.clone())
        .bind(message.sequence.version)
        .bind(message.sequence.index)
        .bind(message.topic.clone())
        .bind(message.kind.clone())
        .bind(message.content_type.clone())
        .bind(values.headers.clone())
        .bind(values.delay_us)
        .bind(values.now_us)
        .bind(text.map(str::to_owned))
        .bind(bytes.map(<[u8]>::to_vec))
}
