//! STAND-IN, to be dropped when the outbox is merged: as much of an outbox as the cases about events look at.

use std::sync::Arc;

use async_trait::async_trait;
use sqlx::mysql::{MySqlConnection, MySqlRow};
use sqlx::{AssertSqlSafe, Row as _};
use tenure_conformance::outbox::{AuditLine, OutboxBackend, PlainRow, UserTransaction};
use tenure_core::StoreError;
use tenure_core::contract::{EnqueueError, OutboxAdmin, OutboxStore};
use tenure_core::id::NodeName;
use tenure_core::lease::Fence;
use tenure_core::outbox::{
    Accept, Body, Consumer, Details, Enqueued, Filter, Found, Limits, Loaded, Look, Message, MessageId,
    NewMessage, Outcome, Page, Recorded, Retention, RowId, Selection, Sequence, State, Stats, Stored,
    Summary, Swept,
};
use tenure_core::time::StoreTime;

use crate::suite::MySqlBackend;

const NOT_HERE: &str = "no case about events asks for this";

#[derive(Debug)]
struct StandIn {
    url: String,
    outbox: String,
}

impl StandIn {
    async fn connection(&self) -> MySqlConnection {
        let options: sqlx::mysql::MySqlConnectOptions = self.url.parse().expect("a URL");
        sqlx::ConnectOptions::connect(&options).await.expect("a connection")
    }

    async fn rows(&self, rest: &str) -> Vec<MySqlRow> {
        let sql = format!(
            "SELECT id, message_id, source, source_seq, source_index, topic, type, payload, payload_bytes, content_type, \
             headers, TIMESTAMPDIFF(MICROSECOND, '1970-01-01', created_at) AS created_us, \
             TIMESTAMPDIFF(MICROSECOND, '1970-01-01', COALESCE(deliver_at, created_at)) AS due_us, \
             finished_at IS NULL AS pending FROM {} {rest}",
            self.outbox
        );
        sqlx::query(AssertSqlSafe(sql)).fetch_all(&mut self.connection().await).await.expect("rows")
    }
}

fn body(row: &MySqlRow) -> Body {
    match row.get::<Option<String>, _>("payload") {
        Some(text) => Body::Text(text),
        None => Body::Bytes(row.get("payload_bytes")),
    }
}

fn sequence(row: &MySqlRow) -> Sequence {
    Sequence { version: row.get("source_seq"), index: row.get("source_index") }
}

fn stored(row: &MySqlRow) -> Stored {
    Stored {
        id: RowId(row.get("id")),
        message_id: row.get("message_id"),
        ordered: row.get::<Option<String>, _>("source").is_some(),
        source: row.get("source"),
        sequence: sequence(row),
        topic: row.get("topic"),
        kind: row.get("type"),
        body: Found::Body(body(row)),
        content_type: row.get("content_type"),
        headers: row.get("headers"),
        created_at: StoreTime::from_micros(row.get("created_us")),
        due_at: StoreTime::from_micros(row.get("due_us")),
        attempts: 0,
        forgiven: 0,
    }
}

#[async_trait]
impl OutboxStore for StandIn {
    async fn enqueue(&self, messages: &[NewMessage], _: &Limits) -> Result<Vec<Enqueued>, EnqueueError> {
        let sql = format!(
            "INSERT INTO {} (message_id, topic, type, payload, content_type) VALUES (?, ?, ?, ?, ?)",
            self.outbox
        );
        let mut connection = self.connection().await;
        let mut answers = Vec::new();
        for message in messages {
            let id = message.id.expect("an id");
            sqlx::query(AssertSqlSafe(sql.clone()))
                .bind(id.to_string())
                .bind(&message.topic)
                .bind(&message.kind)
                .bind(message.body.parts().0)
                .bind(&message.content_type)
                .execute(&mut connection)
                .await
                .expect("inserted");
            answers.push(Enqueued { id, fresh: true });
        }
        Ok(answers)
    }

    async fn look(&self, look: &Look) -> Result<Page, StoreError> {
        let now = sqlx::query("SELECT TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)) AS now_us");
        let now = now.fetch_one(&mut self.connection().await).await.expect("a clock").get("now_us");
        let mut rows: Vec<Stored> = self
            .rows("WHERE finished_at IS NULL ORDER BY source, source_seq, source_index, id")
            .await
            .iter()
            .map(stored)
            .collect();
        if let Some(lane) = look.lanes.first() {
            rows.retain(|row| row.source.as_deref() == Some(lane.source.as_str()));
        }
        Ok(Page { rows, ..Page::empty(StoreTime::from_micros(now)) })
    }

    async fn load(&self, _: RowId, _: &Limits) -> Result<Loaded, StoreError> {
        panic!("{NOT_HERE}")
    }

    async fn record(
        &self,
        _: Option<&Fence>,
        _: &NodeName,
        outcomes: &[Outcome],
    ) -> Result<Recorded, StoreError> {
        let sql = format!("UPDATE {} SET finished_at = UTC_TIMESTAMP(6) WHERE id = ?", self.outbox);
        for outcome in outcomes {
            let query = sqlx::query(AssertSqlSafe(sql.clone())).bind(outcome.id.0);
            query.execute(&mut self.connection().await).await.expect("recorded");
        }
        Ok(Recorded::Applied(outcomes.iter().map(|outcome| outcome.id).collect()))
    }

    async fn sweep(&self, _: Option<&Fence>, _: &Retention, _: Option<i64>) -> Result<Swept, StoreError> {
        panic!("{NOT_HERE}")
    }
}

#[async_trait]
impl OutboxAdmin for StandIn {
    async fn stats(&self) -> Result<Stats, StoreError> {
        let rows = self.rows("").await;
        let pending = rows.iter().filter(|row| row.get::<i64, _>("pending") == 1).count() as u64;
        Ok(Stats { pending, dispatched: rows.len() as u64 - pending, ..Stats::default() })
    }

    async fn list(&self, _: &Selection) -> Result<Vec<Summary>, StoreError> {
        panic!("{NOT_HERE}")
    }

    async fn show(&self, id: &str) -> Result<Option<Details>, StoreError> {
        let rows = self.rows("").await;
        let row = rows.iter().find(|row| row.get::<String, _>("message_id") == id);
        Ok(row.map(|row| Details {
            summary: Summary {
                row: RowId(row.get("id")),
                id: id.to_owned(),
                state: State::Pending,
                source: row.get("source"),
                sequence: sequence(row),
                topic: row.get("topic"),
                kind: row.get("type"),
                created_at: StoreTime::from_micros(row.get("created_us")),
                attempts: 0,
                due_at: None,
                finished_at: None,
                last_error: None,
                halts: false,
            },
            content_type: row.get("content_type"),
            headers: row.get("headers"),
            payload: Some(body(row).as_bytes().to_vec()),
            is_text: true,
            attempts: Vec::new(),
        }))
    }

    async fn count_dead(&self, _: &Filter) -> Result<u64, StoreError> {
        panic!("{NOT_HERE}")
    }

    async fn retry(&self, _: &Filter, _: &str, _: u32) -> Result<Vec<String>, StoreError> {
        panic!("{NOT_HERE}")
    }

    async fn discard(&self, _: &Filter, _: &str, _: u32) -> Result<Vec<String>, StoreError> {
        panic!("{NOT_HERE}")
    }
}

struct User {
    connection: MySqlConnection,
    inbox: String,
}

impl User {
    async fn note(&mut self, consumer: &Consumer, id: MessageId, refused: Option<&str>) -> bool {
        let sql = format!("INSERT IGNORE INTO {} VALUES (?, ?, NULL, ?, UTC_TIMESTAMP(6))", self.inbox);
        let query =
            sqlx::query(AssertSqlSafe(sql)).bind(consumer.as_str()).bind(id.to_string()).bind(refused);
        query.execute(&mut self.connection).await.expect("noted").rows_affected() == 1
    }
}

#[async_trait]
impl UserTransaction for User {
    async fn enqueue(&mut self, _: &[NewMessage]) -> Result<Vec<Enqueued>, EnqueueError> {
        panic!("{NOT_HERE}")
    }

    async fn accept(&mut self, consumer: &Consumer, id: MessageId) -> Result<Accept, StoreError> {
        Ok(if self.note(consumer, id, None).await { Accept::Fresh } else { Accept::Duplicate })
    }

    async fn accept_message(&mut self, _: &Consumer, _: &Message) -> Result<Accept, StoreError> {
        panic!("{NOT_HERE}")
    }

    async fn refuse(
        &mut self,
        consumer: &Consumer,
        id: MessageId,
        reason: &str,
    ) -> Result<Accept, StoreError> {
        assert!(self.note(consumer, id, Some(reason)).await);
        Ok(Accept::Refused { reason: reason.to_owned() })
    }

    async fn apply(&mut self, _: &str) {
        panic!("{NOT_HERE}")
    }

    async fn commit(mut self: Box<Self>) -> Result<(), StoreError> {
        sqlx::raw_sql("COMMIT").execute(&mut self.connection).await.expect("committed");
        Ok(())
    }

    async fn rollback(mut self: Box<Self>) {
        sqlx::raw_sql("ROLLBACK").execute(&mut self.connection).await.expect("rolled back");
    }
}

#[async_trait]
impl OutboxBackend for MySqlBackend {
    async fn outbox(&self) -> Arc<dyn OutboxStore> {
        Arc::new(StandIn { url: self.sandbox.url.clone(), outbox: self.sandbox.table("outbox") })
    }

    async fn outbox_admin(&self) -> Arc<dyn OutboxAdmin> {
        Arc::new(StandIn { url: self.sandbox.url.clone(), outbox: self.sandbox.table("outbox") })
    }

    async fn begin(&self) -> Box<dyn UserTransaction> {
        let mut connection = self.sandbox.user().await;
        sqlx::raw_sql("BEGIN").execute(&mut connection).await.expect("a transaction");
        Box::new(User { connection, inbox: self.sandbox.table("inbox") })
    }

    async fn insert_plain(&self, _: PlainRow) -> Result<(), String> {
        panic!("{NOT_HERE}")
    }

    async fn effects(&self) -> Vec<String> {
        panic!("{NOT_HERE}")
    }

    async fn audit(&self) -> Vec<AuditLine> {
        panic!("{NOT_HERE}")
    }

    async fn attempt_rows(&self) -> u64 {
        panic!("{NOT_HERE}")
    }
}
