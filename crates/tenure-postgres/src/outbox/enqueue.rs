//! Enqueueing: in the user's own transaction, so that a message is sent exactly if the data it speaks of is there.

use std::collections::HashMap;
use std::sync::Arc;

use tenure_core::StoreError;
use tenure_core::contract::EnqueueError;
use tenure_core::outbox::{Enqueued, Existing, Limits, MessageId, NewMessage};
use tenure_sql::limits::{RESTLESS_TRIES, STATEMENT_BYTES};
use tenure_sql::{Columns, Reader, enqueueing, fresh_id, micros};
use tokio_postgres::GenericClient;
use tokio_postgres::types::Type;

use super::content::Batch;
use crate::error::store_error;
use crate::rows::Plain;
use crate::store::PostgresStore;
use crate::writing::Params;

/// Enqueues messages in transactions of the user's own. Cheap to clone; got by [`PostgresStore::outbox`].
///
/// A message is sent exactly if the transaction commits. Enqueueing the same message again, by its id, does nothing; one
/// with the same id that says something else is an error, and leaves the transaction as it was. Trace headers
/// (`traceparent`, `tracestate`) are not part of what a message says.
///
/// A program in any language may insert a row by itself as well; topic, type and payload are enough:
///
/// ```sql
/// INSERT INTO tenure_outbox (topic, type, payload) VALUES ('orders', 'OrderPlaced', '{"order": 7}');
/// ```
///
/// A role that enqueues needs INSERT and SELECT on `tenure_outbox` and INSERT on `tenure_outbox_pending`, which the table's
/// trigger fills with the inserter's rights. (A plain insert needs no SELECT.)
#[derive(Debug, Clone)]
pub struct Outbox {
    texts: Arc<Texts>,
    limits: Limits,
}

#[derive(Debug)]
struct Texts {
    /// For a message without a delay.
    now: String,
    /// For one with a delay, and for other drivers.
    one: String,
    many: String,
    compare: String,
    store: String,
    /// Whether a connection may keep a statement prepared.
    #[cfg_attr(not(feature = "sqlx"), allow(dead_code))]
    prepares: bool,
}

impl Texts {
    /// The statement that inserts this message.
    fn of(&self, message: &NewMessage) -> &str {
        if message.delay.is_zero() { &self.now } else { &self.one }
    }
}

/// The message's own id, or one that nobody has.
fn id_of(message: &NewMessage) -> MessageId {
    message.id.unwrap_or_else(fresh_id)
}

impl PostgresStore {
    /// What enqueues messages in the user's own transactions; cheap to clone.
    pub fn outbox(&self) -> Outbox {
        let statements = &self.shared.statements.outbox;
        let texts = Texts {
            now: statements.enqueue_now.clone(),
            one: statements.enqueue.clone(),
            many: statements.enqueue_all.clone(),
            compare: statements.compare.clone(),
            store: self.shared.label.clone(),
            prepares: !self.shared.pooled,
        };
        Outbox { texts: Arc::new(texts), limits: Limits::default() }
    }
}

impl Outbox {
    /// The same with other limits than the default ones.
    #[must_use]
    pub fn with_limits(&self, limits: Limits) -> Self {
        Self { texts: Arc::clone(&self.texts), limits }
    }

    /// Enqueues a message in a transaction of sqlx.
    ///
    /// ```no_run
    /// # async fn example(pool: sqlx::PgPool, outbox: tenure_postgres::Outbox) -> Result<(), Box<dyn std::error::Error>> {
    /// use tenure_core::outbox::NewMessage;
    ///
    /// let mut tx = pool.begin().await?;
    /// sqlx::query("UPDATE orders SET state = 'placed' WHERE id = 7").execute(&mut *tx).await?;
    /// let message = NewMessage::json("orders", "OrderPlaced", r#"{"order":7}"#).from_source("order-7");
    /// outbox.enqueue(&mut *tx, &message).await?;
    /// tx.commit().await?;
    /// # Ok(())
    /// # }
    /// ```
    #[cfg(feature = "sqlx")]
    pub async fn enqueue(
        &self,
        connection: &mut sqlx::PgConnection,
        message: &NewMessage,
    ) -> Result<Enqueued, EnqueueError> {
        message.check(&self.limits)?;
        enqueueing(1, self.insert_sqlx(connection, message)).await
    }

    #[cfg(feature = "sqlx")]
    async fn insert_sqlx(
        &self,
        connection: &mut sqlx::PgConnection,
        message: &NewMessage,
    ) -> Result<Enqueued, EnqueueError> {
        let id = id_of(message);
        for _ in 0..RESTLESS_TRIES {
            let (text, bytes) = message.body.parts();
            let query = sqlx::query(crate::statements::for_sqlx(self.texts.of(message)))
                .bind(id.to_string())
                .bind(message.source.as_deref())
                .bind(message.sequence.version)
                .bind(message.sequence.index)
                .bind(message.topic.as_str())
                .bind(message.kind.as_str())
                .bind(text)
                .bind(bytes)
                .bind(message.content_type.as_deref())
                .bind(message.headers_json());
            let query = if message.delay.is_zero() { query } else { query.bind(micros(message.delay)) };
            let done = query
                .persistent(self.texts.prepares)
                .execute(&mut *connection)
                .await
                .map_err(|error| self.sqlx_error(error))?;
            if done.rows_affected() > 0 {
                return Ok(Enqueued { id, fresh: true });
            }
            if let Some(answer) = self.known_sqlx(connection, std::slice::from_ref(message)).await?.pop() {
                return Ok(answer);
            }
        }
        Err(self.restless())
    }

    /// Enqueues messages in a transaction of sqlx, in few round trips however many they are. Those of one source are
    /// ordered as they are given, unless they have sequences.
    #[cfg(feature = "sqlx")]
    pub async fn enqueue_all(
        &self,
        connection: &mut sqlx::PgConnection,
        messages: &[NewMessage],
    ) -> Result<Vec<Enqueued>, EnqueueError> {
        NewMessage::check_all(messages, &self.limits)?;
        enqueueing(messages.len(), self.insert_all_sqlx(connection, messages)).await
    }

    #[cfg(feature = "sqlx")]
    async fn insert_all_sqlx(
        &self,
        connection: &mut sqlx::PgConnection,
        messages: &[NewMessage],
    ) -> Result<Vec<Enqueued>, EnqueueError> {
        let mut answers = Vec::with_capacity(messages.len());
        for messages in chunks(messages) {
            let batch = Batch::of(messages);
            let rows = sqlx::query(crate::statements::for_sqlx(&self.texts.many))
                .bind(&batch.ids)
                .bind(&batch.sources)
                .bind(&batch.versions)
                .bind(&batch.indexes)
                .bind(&batch.topics)
                .bind(&batch.kinds)
                .bind(&batch.texts)
                .bind(&batch.bytes)
                .bind(&batch.content_types)
                .bind(&batch.headers)
                .bind(&batch.delays)
                .persistent(self.texts.prepares)
                .fetch_all(&mut *connection)
                .await
                .map_err(|error| self.sqlx_error(error))?;
            let fresh = rows.iter().map(|row| sqlx::Row::try_get(row, "fresh"));
            let fresh = fresh.collect::<Result<Vec<bool>, _>>().map_err(|error| self.sqlx_error(error))?;
            let mut settled = self.settle(messages, rows.iter().map(crate::rows::OfSqlx), &fresh)?;
            for at in settled.unsettled() {
                let answer = self.insert_sqlx(&mut *connection, &messages[at]).await?;
                settled.put(at, answer);
            }
            answers.extend(settled.answers());
        }
        Ok(answers)
    }

    /// Enqueues a message in a transaction of tokio-postgres.
    ///
    /// ```no_run
    /// # async fn example(
    /// #     client: &mut tokio_postgres::Client, outbox: tenure_postgres::Outbox,
    /// # ) -> Result<(), Box<dyn std::error::Error>> {
    /// use tenure_core::outbox::NewMessage;
    ///
    /// let tx = client.transaction().await?;
    /// tx.execute("UPDATE orders SET state = 'placed' WHERE id = 7", &[]).await?;
    /// let message = NewMessage::json("orders", "OrderPlaced", r#"{"order":7}"#).from_source("order-7");
    /// outbox.enqueue_on(&tx, &message).await?;
    /// tx.commit().await?;
    /// # Ok(())
    /// # }
    /// ```
    pub async fn enqueue_on(
        &self,
        client: &(impl GenericClient + Sync),
        message: &NewMessage,
    ) -> Result<Enqueued, EnqueueError> {
        message.check(&self.limits)?;
        enqueueing(1, self.insert_on(client, message)).await
    }

    async fn insert_on(
        &self,
        client: &(impl GenericClient + Sync),
        message: &NewMessage,
    ) -> Result<Enqueued, EnqueueError> {
        let id = id_of(message);
        for _ in 0..RESTLESS_TRIES {
            let (text, bytes) = message.body.parts();
            let params: Params<'_> = &[
                (&id.to_string(), Type::TEXT),
                (&message.source, Type::TEXT),
                (&message.sequence.version, Type::INT8),
                (&message.sequence.index, Type::INT4),
                (&message.topic, Type::TEXT),
                (&message.kind, Type::TEXT),
                (&text, Type::TEXT),
                (&bytes, Type::BYTEA),
                (&message.content_type, Type::TEXT),
                (&message.headers_json(), Type::TEXT),
                (&micros(message.delay), Type::INT8),
            ];
            let params = if message.delay.is_zero() { &params[..params.len() - 1] } else { params };
            let inserted = client.execute_typed(self.texts.of(message), params).await;
            if inserted.map_err(|error| self.error(error))? > 0 {
                return Ok(Enqueued { id, fresh: true });
            }
            if let Some(answer) = self.known(client, std::slice::from_ref(message)).await?.pop() {
                return Ok(answer);
            }
        }
        Err(self.restless())
    }

    /// Enqueues messages in a transaction of tokio-postgres, in few round trips however many they are. Those of one source
    /// are ordered as they are given, unless they have sequences.
    pub async fn enqueue_all_on(
        &self,
        client: &(impl GenericClient + Sync),
        messages: &[NewMessage],
    ) -> Result<Vec<Enqueued>, EnqueueError> {
        NewMessage::check_all(messages, &self.limits)?;
        enqueueing(messages.len(), self.insert_all_on(client, messages)).await
    }

    async fn insert_all_on(
        &self,
        client: &(impl GenericClient + Sync),
        messages: &[NewMessage],
    ) -> Result<Vec<Enqueued>, EnqueueError> {
        let mut answers = Vec::with_capacity(messages.len());
        for messages in chunks(messages) {
            let batch = Batch::of(messages);
            let params: Params<'_> = &[
                (&batch.ids, Type::TEXT_ARRAY),
                (&batch.sources, Type::TEXT_ARRAY),
                (&batch.versions, Type::INT8_ARRAY),
                (&batch.indexes, Type::INT4_ARRAY),
                (&batch.topics, Type::TEXT_ARRAY),
                (&batch.kinds, Type::TEXT_ARRAY),
                (&batch.texts, Type::TEXT_ARRAY),
                (&batch.bytes, Type::BYTEA_ARRAY),
                (&batch.content_types, Type::TEXT_ARRAY),
                (&batch.headers, Type::TEXT_ARRAY),
                (&batch.delays, Type::INT8_ARRAY),
            ];
            let rows =
                client.query_typed(&self.texts.many, params).await.map_err(|error| self.error(error))?;
            let fresh = rows.iter().map(|row| row.try_get("fresh"));
            let fresh = fresh.collect::<Result<Vec<bool>, _>>().map_err(|error| self.error(error))?;
            let mut settled = self.settle(messages, rows.iter().map(Plain), &fresh)?;
            for at in settled.unsettled() {
                let answer = self.insert_on(client, &messages[at]).await?;
                settled.put(at, answer);
            }
            answers.extend(settled.answers());
        }
        Ok(answers)
    }

    /// The statement, for other drivers, to be run in the transaction of the data that the message speaks of.
    ///
    /// Its parameters are `$1` the id, a UUID as `text`, or null for one by chance; `$2` the source as `text`, or null;
    /// `$3` and `$4` the sequence as `bigint` and `integer` (0 and 0 orders by insertion); `$5` topic and `$6` type as
    /// `text`; the payload as `$7` `text` or `$8` `bytea`, the other null; `$9` content type as `text` or null; `$10`
    /// headers, an object of JSON as `text`, or null; `$11` the delay in microseconds as `bigint` (0 for none).
    ///
    /// It answers with the id in one row. No row means that there is a message with this id already: the same one if a
    /// producer replays. Nothing else is checked here; a message that cannot be delivered is parked by the relay with
    /// the reason.
    pub fn statement(&self) -> &str {
        &self.texts.one
    }

    /// What is known after many were inserted: those that are new, and those given twice.
    fn settle(
        &self,
        messages: &[NewMessage],
        rows: impl Iterator<Item = impl Columns>,
        fresh: &[bool],
    ) -> Result<Settled, EnqueueError> {
        let mut settled = Settled(vec![None; messages.len()]);
        let mut first: HashMap<MessageId, usize> = HashMap::new();
        for (at, ((message, row), fresh)) in messages.iter().zip(rows).zip(fresh).enumerate() {
            if !fresh {
                continue;
            }
            let id = self.reader().message_id(&row)?;
            let earlier = *first.entry(id).or_insert(at);
            if earlier != at {
                message.is_same(id, &Existing::from(&messages[earlier]))?;
            }
            settled.put(at, Enqueued { id, fresh: earlier == at });
        }
        Ok(settled)
    }

    /// Answers for messages whose ids were found; none when they are gone again.
    async fn known(
        &self,
        client: &(impl GenericClient + Sync),
        messages: &[NewMessage],
    ) -> Result<Vec<Enqueued>, EnqueueError> {
        let ids = ids(messages);
        let rows = client
            .query_typed(&self.texts.compare, &[(&ids, Type::TEXT_ARRAY)])
            .await
            .map_err(|error| self.error(error))?;
        self.judge(messages, rows.iter().map(Plain))
    }

    #[cfg(feature = "sqlx")]
    async fn known_sqlx(
        &self,
        connection: &mut sqlx::PgConnection,
        messages: &[NewMessage],
    ) -> Result<Vec<Enqueued>, EnqueueError> {
        let rows = sqlx::query(crate::statements::for_sqlx(&self.texts.compare))
            .bind(ids(messages))
            .persistent(self.texts.prepares)
            .fetch_all(connection)
            .await
            .map_err(|error| self.sqlx_error(error))?;
        self.judge(messages, rows.iter().map(crate::rows::OfSqlx))
    }

    fn judge(
        &self,
        messages: &[NewMessage],
        rows: impl Iterator<Item = impl Columns>,
    ) -> Result<Vec<Enqueued>, EnqueueError> {
        let mut answers = Vec::new();
        for (message, row) in messages.iter().zip(rows) {
            let id = self.reader().message_id(&row)?;
            message.is_same(id, &self.reader().existing(&row)?)?;
            answers.push(Enqueued { id, fresh: false });
        }
        Ok(answers)
    }

    fn reader(&self) -> Reader<'_> {
        Reader { store: &self.texts.store }
    }

    fn error(&self, error: tokio_postgres::Error) -> StoreError {
        store_error(&self.texts.store, error)
    }

    #[cfg(feature = "sqlx")]
    fn sqlx_error(&self, error: sqlx::Error) -> StoreError {
        crate::error::sqlx_error(&self.texts.store, error)
    }

    fn restless(&self) -> EnqueueError {
        let message = "a message with the same id comes and goes".into();
        StoreError::Busy { store: self.texts.store.clone(), message }.into()
    }
}

fn ids(messages: &[NewMessage]) -> Vec<String> {
    messages.iter().filter_map(|message| message.id).map(|id| id.to_string()).collect()
}

/// The answers for messages of one statement, as far as they are known.
struct Settled(Vec<Option<Enqueued>>);

impl Settled {
    fn put(&mut self, at: usize, answer: Enqueued) {
        if let Some(place) = self.0.get_mut(at) {
            *place = Some(answer);
        }
    }

    fn unsettled(&self) -> Vec<usize> {
        let open = self.0.iter().enumerate().filter(|(_, answer)| answer.is_none());
        open.map(|(at, _)| at).collect()
    }

    fn answers(self) -> impl Iterator<Item = Enqueued> {
        self.0.into_iter().flatten()
    }
}

/// Cuts messages into what one statement carries.
fn chunks(messages: &[NewMessage]) -> impl Iterator<Item = &[NewMessage]> {
    let mut rest = messages;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let mut bytes = 0;
        let fits = rest.iter().take_while(|message| {
            bytes += message.body.as_bytes().len();
            bytes <= STATEMENT_BYTES
        });
        let (chunk, others) = rest.split_at(fits.count().max(1));
        rest = others;
        Some(chunk)
    })
}
