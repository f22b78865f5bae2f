//! A database of its own on a server of MySQL or MariaDB.

use std::time::{Duration, Instant};

use async_trait::async_trait;
use sqlx::mysql::MySqlConnectOptions;
use sqlx::{Connection as _, MySqlConnection, Row as _};
use tenure::core::naming::{Identifier, Naming};
use tenure::mysql::{MySqlOptions, MySqlStore, Outbox};
use tenure::{Database, NewMessage, OpenOptions};
use tokio::sync::Mutex;

use super::rig::{Appends, Producer, Rig};
use super::statements::mysql::{
    BARE, BY_HAND_EVENT, CLEAR, CLEAR_PLAIN, FILL, FILL_EVENTS, FILL_FINISHED, FILL_LANE, FILL_LIST,
    FILL_PLAIN, FILL_STREAMS, FLAVOUR, LOG_BYTES, NUMBERS, NUMBERS_MAX, OPENING, PLAIN_TABLES, SETTLE,
    SETTLE_EVENTS, UNDO_LENGTH, by_hand, create_database, drain_plain, drop_database,
};
use super::statements::{PAYLOAD, for_sqlx};
use crate::mysql::{connect, failed, options};
use crate::output::Failure;

/// How long a rest is waited for: until the server has cleared away what deleted rows left behind.
const REST: Duration = Duration::from_secs(20);
/// So little is left at all times.
const RESTS: i64 = 500;

pub(super) struct MySqlRig {
    url: String,
    schema: String,
    /// Leads into the rig's own database.
    server: MySqlConnectOptions,
    connection: Mutex<MySqlConnection>,
    database: Database,
    outbox: Outbox,
    store: &'static str,
}

impl MySqlRig {
    pub(super) async fn new(url: &str) -> Result<Self, Failure> {
        let schema = format!("tenure_bench_{:08x}", fastrand::u32(..));
        let naming = Naming { schema: Some(Identifier::new("schema", &schema)?), ..Naming::default() };
        let mut tenures = MySqlOptions::from_url(url)?;
        tenures.naming = naming.clone();
        let outbox = MySqlStore::connect(tenures).await?.outbox();
        let mut outside = connect(&options(url)?).await?;
        run(&mut outside, create_database(&schema)).await?;
        let server = options(url)?.database(&schema);
        let mut connection = opened(&server).await?;
        let version: String = sqlx::query(FLAVOUR)
            .fetch_one(&mut connection)
            .await
            .and_then(|row| row.try_get_unchecked(0))
            .map_err(failed)?;
        let store = if version.contains("MariaDB") { "mariadb" } else { "mysql" };
        let database = tenure::open(url, OpenOptions { naming, ..OpenOptions::default() }).await?;
        database.schema().migrate().await?;
        run(&mut connection, PLAIN_TABLES.into()).await?;
        run(&mut connection, NUMBERS.into()).await?;
        let connection = Mutex::new(connection);
        Ok(Self { url: url.to_owned(), schema, server, connection, database, outbox, store })
    }

    async fn run(&self, statements: impl Into<String>) -> Result<(), Failure> {
        run(&mut *self.connection.lock().await, statements.into()).await
    }

    async fn number(&self, statement: &'static str) -> Result<Option<i64>, Failure> {
        let row = sqlx::query(statement).fetch_optional(&mut *self.connection.lock().await).await;
        let number = row.and_then(|row| row.map(|row| row.try_get_unchecked::<String, _>(0)).transpose());
        Ok(number.map_err(failed)?.and_then(|number| number.parse().ok()))
    }

    /// Waits until what deleted rows left behind is cleared away, as far as the server tells.
    async fn rest(&self) -> Result<(), Failure> {
        let began = Instant::now();
        while began.elapsed() < REST {
            match self.number(UNDO_LENGTH).await {
                Ok(Some(length)) if length > RESTS => tokio::time::sleep(Duration::from_millis(50)).await,
                // Only some users may ask; without it the measurement is a little noisier.
                _ => break,
            }
        }
        Ok(())
    }

    /// In pieces of numbers that are there: where each begins, and how many it has.
    async fn in_pieces(&self, count: u64, statement: &'static str, more: &[i64]) -> Result<(), Failure> {
        let mut done = 0;
        while done < count {
            let some = (count - done).min(NUMBERS_MAX);
            let mut fill = sqlx::query(statement);
            for value in more {
                fill = fill.bind(*value);
            }
            let fill = fill.bind(PAYLOAD).bind(some as i64);
            fill.execute(&mut *self.connection.lock().await).await.map_err(failed)?;
            done += some;
        }
        Ok(())
    }
}

/// A connection past Tenure, at the isolation that Tenure has.
async fn opened(server: &MySqlConnectOptions) -> Result<MySqlConnection, Failure> {
    let mut connection = connect(server).await?;
    run(&mut connection, OPENING.into()).await?;
    Ok(connection)
}

async fn run(connection: &mut MySqlConnection, statements: String) -> Result<(), Failure> {
    sqlx::raw_sql(for_sqlx(statements)).execute(connection).await.map(drop).map_err(failed)
}

#[async_trait]
impl Rig for MySqlRig {
    fn store(&self) -> &'static str {
        self.store
    }

    fn database(&self) -> &Database {
        &self.database
    }

    fn address(&self) -> (String, Option<String>) {
        (self.url.clone(), Some(self.schema.clone()))
    }

    async fn fill(&self, count: u64, sources: u32, parked: bool) -> Result<(), Failure> {
        let sources = i64::from(sources);
        self.in_pieces(count, FILL, &[i64::from(parked), sources, sources]).await?;
        self.run(if parked { FILL_LANE } else { FILL_LIST }).await
    }

    async fn fill_finished(&self, count: u64) -> Result<(), Failure> {
        self.in_pieces(count, FILL_FINISHED[0], &[]).await?;
        self.run(FILL_FINISHED[1]).await
    }

    async fn clear(&self) -> Result<(), Failure> {
        self.run(CLEAR).await
    }

    async fn settle(&self) -> Result<(), Failure> {
        self.run(SETTLE).await?;
        self.rest().await
    }

    async fn ceiling(&self, count: u64, batch: u32) -> Result<f64, Failure> {
        self.run(CLEAR_PLAIN).await?;
        self.in_pieces(count, FILL_PLAIN, &[]).await?;
        self.settle().await?;
        let mut connection = self.connection.lock().await;
        let (began, mut before, mut last, mut left) = (Instant::now(), 0i64, 0i64, count);
        // What was read is removed and noted, and the next is read, in one round trip.
        loop {
            let rows = sqlx::raw_sql(for_sqlx(drain_plain(before, last, batch)))
                .fetch_all(&mut *connection)
                .await
                .map_err(failed)?;
            let ids = rows.iter().map(|row| row.try_get_unchecked::<i64, _>(0));
            let newest = ids.collect::<Result<Vec<_>, _>>().map_err(failed)?.into_iter().max();
            (before, last) = (last, newest.unwrap_or(last));
            left = left.saturating_sub(rows.len() as u64);
            if rows.is_empty() {
                break;
            }
        }
        match left {
            0 => Ok(count as f64 / began.elapsed().as_secs_f64()),
            left => Err(Failure::Failed(format!("the plain loop missed {left} rows"))),
        }
    }

    async fn log_bytes(&self) -> Result<Option<u64>, Failure> {
        let mut connection = self.connection.lock().await;
        let row = sqlx::query(LOG_BYTES).fetch_optional(&mut *connection).await.map_err(failed)?;
        let told = row.map(|row| row.try_get_unchecked::<String, _>(1)).transpose().map_err(failed)?;
        Ok(told.and_then(|bytes| bytes.parse().ok()))
    }

    async fn producer(&self) -> Result<Box<dyn Producer>, Failure> {
        let connection = opened(&self.server).await?;
        Ok(Box::new(MySqlProducer { connection, outbox: self.outbox.clone() }))
    }

    async fn fill_events(&self, count: u64) -> Result<(), Failure> {
        let (mut done, mut part) = (0, 0);
        while done < count {
            let some = (count - done).min(NUMBERS_MAX);
            self.in_pieces(some, FILL_EVENTS, &[part]).await?;
            (done, part) = (done + some, part + 1);
        }
        self.run(FILL_STREAMS).await?;
        self.run(SETTLE_EVENTS).await?;
        self.rest().await
    }

    async fn by_hand(&self, appends: Appends) -> Result<f64, Failure> {
        let mut tasks = Vec::new();
        let began = Instant::now();
        for writer in 0..appends.writers {
            let mut connection = opened(&self.server).await?;
            let run_id = fastrand::u32(..);
            tasks.push(tokio::spawn(async move {
                let mut count = 0i64;
                while began.elapsed() < appends.lasts {
                    let stream = format!("hand-{run_id:08x}-{writer}-{}", count / 10);
                    let version = count % 10 + 1;
                    if appends.events_only {
                        let event = sqlx::query(BY_HAND_EVENT).bind(&stream).bind(version).bind(PAYLOAD);
                        event.execute(&mut connection).await.map_err(failed)?;
                    } else {
                        run(&mut connection, by_hand(&stream, version)).await?;
                    }
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
        run(&mut *self.connection.lock().await, statements).await
    }

    async fn remove(&self) -> Result<(), Failure> {
        self.run(drop_database(&self.schema)).await
    }
}

struct MySqlProducer {
    connection: MySqlConnection,
    outbox: Outbox,
}

#[async_trait]
impl Producer for MySqlProducer {
    async fn enqueue(&mut self, message: &NewMessage) -> Result<(), Failure> {
        let mut transaction = self.connection.begin().await.map_err(failed)?;
        self.outbox.enqueue(&mut transaction, message).await?;
        transaction.commit().await.map_err(failed)
    }

    async fn bare(&mut self, message: &NewMessage) -> Result<(), Failure> {
        let mut transaction = self.connection.begin().await.map_err(failed)?;
        let insert = sqlx::query(BARE)
            .bind(message.source.as_deref())
            .bind(message.topic.as_str())
            .bind(message.kind.as_str())
            .bind(PAYLOAD);
        insert.execute(&mut *transaction).await.map_err(failed)?;
        transaction.commit().await.map_err(failed)
    }
}
