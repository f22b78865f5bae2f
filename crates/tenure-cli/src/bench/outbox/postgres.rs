//! A schema of its own in a Postgres database.

use std::time::Instant;

use async_trait::async_trait;
use tenure::core::naming::{Identifier, Naming};
use tenure::postgres::{Outbox, PostgresOptions, PostgresStore};
use tenure::{Database, NewMessage, OpenOptions};
use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{Client, NoTls};

use super::rig::{Appends, Producer, Rig};
use super::statements::postgres::{
    BARE, BY_HAND, BY_HAND_EVENT, CHECKPOINT, CLEAR, CLEAR_PLAIN, DRAIN_PLAIN, FILL, FILL_EVENTS,
    FILL_FINISHED, FILL_PLAIN, FILL_STREAMS, LOG_BYTES, PLAIN_TABLES, SETTLE, SETTLE_EVENTS, TRIGGERS_OFF,
    TRIGGERS_ON,
};
use super::statements::{PAYLOAD, create_schema, drop_schema, use_schema};
use crate::output::Failure;

pub(super) struct PostgresRig {
    url: String,
    schema: String,
    client: Client,
    database: Database,
    outbox: Outbox,
}

impl PostgresRig {
    pub(super) async fn new(url: &str) -> Result<Self, Failure> {
        let schema = format!("tenure_bench_{:08x}", fastrand::u32(..));
        let naming = Naming { schema: Some(Identifier::new("schema", &schema)?), ..Naming::default() };
        let mut options = PostgresOptions::from_url(url)?;
        options.naming = naming.clone();
        let outbox = PostgresStore::connect(options).await?.outbox();
        let client = connect(url).await?;
        client.batch_execute(&create_schema(&schema)).await.map_err(failed)?;
        client.batch_execute(&use_schema(&schema)).await.map_err(failed)?;
        let database = tenure::open(url, OpenOptions { naming, ..OpenOptions::default() }).await?;
        database.schema().migrate().await?;
        client.batch_execute(PLAIN_TABLES).await.map_err(failed)?;
        Ok(Self { url: url.to_owned(), schema, client, database, outbox })
    }
}

/// A connection past Tenure. Without TLS: measurements are made beside the database.
async fn connect(url: &str) -> Result<Client, Failure> {
    let (client, connection) = tokio_postgres::connect(url, NoTls).await.map_err(|error| {
        Failure::Failed(format!(
            "the measurements need a plain connection to Postgres, on this machine or a trusted net: {error}"
        ))
    })?;
    tokio::spawn(connection);
    Ok(client)
}

fn failed(error: tokio_postgres::Error) -> Failure {
    let message = error.as_db_error().map_or_else(|| error.to_string(), |db| db.message().to_owned());
    Failure::Failed(format!("postgres: {message}"))
}

#[async_trait]
impl Rig for PostgresRig {
    fn store(&self) -> &'static str {
        "postgres"
    }

    fn database(&self) -> &Database {
        &self.database
    }

    fn address(&self) -> (String, Option<String>) {
        (self.url.clone(), Some(self.schema.clone()))
    }

    async fn fill(&self, count: u64, sources: u32, parked: bool) -> Result<(), Failure> {
        let (count, sources) = (count as i64, i64::from(sources));
        self.client.execute(FILL, &[&count, &sources, &PAYLOAD, &parked]).await.map_err(failed)?;
        Ok(())
    }

    async fn fill_finished(&self, count: u64) -> Result<(), Failure> {
        self.client.batch_execute(TRIGGERS_OFF).await.map_err(failed)?;
        let mut left = count as i64;
        while left > 0 {
            let some = left.min(500_000);
            self.client.execute(FILL_FINISHED, &[&some, &PAYLOAD]).await.map_err(failed)?;
            left -= some;
        }
        self.client.batch_execute(TRIGGERS_ON).await.map_err(failed)
    }

    async fn clear(&self) -> Result<(), Failure> {
        self.client.batch_execute(CLEAR).await.map_err(failed)
    }

    async fn settle(&self) -> Result<(), Failure> {
        self.client.batch_execute(SETTLE).await.map_err(failed)?;
        // Only some roles may; without it the measurement is a little noisier.
        if let Err(error) = self.client.batch_execute(CHECKPOINT).await {
            tracing::debug!(%error, "no checkpoint");
        }
        Ok(())
    }

    async fn ceiling(&self, count: u64, batch: u32) -> Result<f64, Failure> {
        self.client.batch_execute(CLEAR_PLAIN).await.map_err(failed)?;
        self.client.execute(FILL_PLAIN, &[&(count as i64), &PAYLOAD]).await.map_err(failed)?;
        self.settle().await?;
        let statement = self.client.prepare(DRAIN_PLAIN).await.map_err(failed)?;
        let (began, mut last, mut left) = (Instant::now(), 0i64, count);
        while left > 0 {
            let rows = self.client.query(&statement, &[&i64::from(batch), &last]).await.map_err(failed)?;
            last = rows.iter().map(|row| row.get::<_, i64>(0)).max().unwrap_or(last);
            left = left.saturating_sub(rows.len() as u64);
            if rows.is_empty() {
                break;
            }
        }
        Ok(count as f64 / began.elapsed().as_secs_f64())
    }

    async fn log_bytes(&self) -> Result<Option<u64>, Failure> {
        let row = self.client.query_one(LOG_BYTES, &[]).await.map_err(failed)?;
        Ok(u64::try_from(row.get::<_, i64>(0)).ok())
    }

    async fn producer(&self) -> Result<Box<dyn Producer>, Failure> {
        let client = connect(&self.url).await?;
        client.batch_execute(&use_schema(&self.schema)).await.map_err(failed)?;
        Ok(Box::new(PostgresProducer { client, outbox: self.outbox.clone() }))
    }

    async fn fill_events(&self, count: u64) -> Result<(), Failure> {
        let (mut left, mut part) = (count as i64, 0i64);
        while left > 0 {
            let some = left.min(500_000);
            self.client.execute(FILL_EVENTS, &[&part, &some, &PAYLOAD]).await.map_err(failed)?;
            (left, part) = (left - some, part + 1);
        }
        self.client.batch_execute(FILL_STREAMS).await.map_err(failed)?;
        self.client.batch_execute(SETTLE_EVENTS).await.map_err(failed)
    }

    async fn by_hand(&self, appends: Appends) -> Result<f64, Failure> {
        let mut tasks = Vec::new();
        let began = Instant::now();
        for writer in 0..appends.writers {
            let client = connect(&self.url).await?;
            client.batch_execute(&use_schema(&self.schema)).await.map_err(failed)?;
            let statement = client
                .prepare(if appends.events_only { BY_HAND_EVENT } else { BY_HAND })
                .await
                .map_err(failed)?;
            let run = fastrand::u32(..);
            tasks.push(tokio::spawn(async move {
                let mut count = 0i64;
                while began.elapsed() < appends.lasts {
                    let stream = format!("hand-{run:08x}-{writer}-{}", count / 10);
                    client
                        .execute(&statement, &[&stream, &(count % 10 + 1), &PAYLOAD])
                        .await
                        .map_err(failed)?;
                    count += 1;
                }
                Ok::<_, Failure>(count)
            }));
        }
        let mut total = 0;
        for task in tasks {
            total += task.await.map_err(|error| Failure::Failed(error.to_string()))??;
        }
        Ok(total as f64 / began.elapsed().as_secs_f64())
    }

    async fn run(&self, statements: String) -> Result<(), Failure> {
        self.client.batch_execute(&statements).await.map_err(failed)
    }

    async fn remove(&self) -> Result<(), Failure> {
        self.client.batch_execute(&drop_schema(&self.schema)).await.map_err(failed)
    }
}

struct PostgresProducer {
    client: Client,
    outbox: Outbox,
}

#[async_trait]
impl Producer for PostgresProducer {
    async fn enqueue(&mut self, message: &NewMessage) -> Result<(), Failure> {
        let transaction = self.client.transaction().await.map_err(failed)?;
        self.outbox.enqueue_on(&transaction, message).await?;
        transaction.commit().await.map_err(failed)
    }

    async fn bare(&mut self, message: &NewMessage) -> Result<(), Failure> {
        let transaction = self.client.transaction().await.map_err(failed)?;
        // In one round trip, unprepared, as the library does it with this driver.
        let values: &[(&(dyn ToSql + Sync), Type)] = &[
            (&message.source, Type::TEXT),
            (&message.topic, Type::TEXT),
            (&message.kind, Type::TEXT),
            (&PAYLOAD, Type::TEXT),
        ];
        transaction.query_typed(BARE, values).await.map_err(failed)?;
        transaction.commit().await.map_err(failed)
    }
}
