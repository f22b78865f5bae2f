//! A SQLite file of its own, beside the one that was named.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use rusqlite::{Connection, TransactionBehavior, params};
use tenure::sqlite::{Outbox, SqliteOptions, SqliteStore};
use tenure::{Database, NewMessage, OpenOptions};

use super::rig::{Appends, Producer, Rig};
use super::statements::PAYLOAD;
use super::statements::sqlite::{
    BARE, BY_HAND_EVENT, BY_HAND_MESSAGE, CLEAR, CLEAR_PLAIN, DELETE_PLAIN, FILL, FILL_EVENTS, FILL_PLAIN,
    FILL_STREAMS, NOTE_FINISHED, NOTE_PLAIN, PLAIN_TABLES, READ_PLAIN, SETTLE, TABLE_OF_OUTBOX, bare_table,
};
use crate::output::Failure;

pub(super) struct SqliteRig {
    file: PathBuf,
    database: Database,
    outbox: Outbox,
}

impl SqliteRig {
    pub(super) async fn new(url: &str) -> Result<Self, Failure> {
        let named = SqliteOptions::from_url(url)?.path;
        let file = named.with_file_name(format!("tenure-bench-{:08x}.db", fastrand::u32(..)));
        let outbox = SqliteStore::connect(SqliteOptions::new(&file)).await?.outbox();
        let url = format!("sqlite:{}", file.display());
        let database = tenure::open(&url, OpenOptions::default()).await?;
        database.schema().migrate().await?;
        let rig = Self { file, database, outbox };
        rig.run(|connection| {
            connection.execute_batch(PLAIN_TABLES)?;
            let create: String = connection.query_row(TABLE_OF_OUTBOX, [], |row| row.get(0))?;
            connection.execute_batch(&bare_table(&create))
        })
        .await?;
        Ok(rig)
    }

    async fn run<T: Send + 'static>(
        &self,
        job: impl FnOnce(&mut Connection) -> rusqlite::Result<T> + Send + 'static,
    ) -> Result<T, Failure> {
        let file = self.file.clone();
        let done =
            tokio::task::spawn_blocking(move || open(&file).and_then(|mut connection| job(&mut connection)));
        done.await.map_err(|error| Failure::Failed(error.to_string()))?.map_err(failed)
    }
}

/// A connection past Tenure, as durable as Tenure's own.
fn open(file: &Path) -> rusqlite::Result<Connection> {
    let connection = Connection::open(file)?;
    connection.busy_timeout(Duration::from_secs(30))?;
    connection.pragma_update(None, "journal_mode", "wal")?;
    connection.pragma_update(None, "synchronous", "full")?;
    Ok(connection)
}

fn failed(error: rusqlite::Error) -> Failure {
    Failure::Failed(format!("sqlite: {error}"))
}

#[async_trait]
impl Rig for SqliteRig {
    fn store(&self) -> &'static str {
        "sqlite"
    }

    fn database(&self) -> &Database {
        &self.database
    }

    fn address(&self) -> (String, Option<String>) {
        (format!("sqlite:{}", self.file.display()), None)
    }

    async fn fill(&self, count: u64, sources: u32, parked: bool) -> Result<(), Failure> {
        self.run(move |connection| connection.execute(FILL, params![count as i64, sources, PAYLOAD, parked]))
            .await?;
        Ok(())
    }

    async fn fill_finished(&self, count: u64) -> Result<(), Failure> {
        self.fill(count, 64, false).await?;
        self.run(|connection| connection.execute_batch(NOTE_FINISHED)).await
    }

    async fn clear(&self) -> Result<(), Failure> {
        self.run(|connection| connection.execute_batch(CLEAR)).await
    }

    async fn settle(&self) -> Result<(), Failure> {
        self.run(|connection| connection.query_row(SETTLE, [], |_| Ok(()))).await
    }

    async fn ceiling(&self, count: u64, batch: u32) -> Result<f64, Failure> {
        self.run(move |connection| {
            connection.execute_batch(CLEAR_PLAIN)?;
            connection.execute(FILL_PLAIN, params![count as i64, PAYLOAD])
        })
        .await?;
        self.settle().await?;
        self.run(move |connection| plain_loop(connection, count, batch)).await
    }

    async fn log_bytes(&self) -> Result<Option<u64>, Failure> {
        // The log is emptied again and again; nothing counts what went through it.
        Ok(None)
    }

    async fn producer(&self) -> Result<Box<dyn Producer>, Failure> {
        let (jobs, todo) = std::sync::mpsc::channel::<Job>();
        let (file, outbox) = (self.file.clone(), self.outbox.clone());
        // A thread of the user's own, with his connection.
        std::thread::spawn(move || {
            let mut connection = open(&file);
            while let Ok(Job { message, bare, answer }) = todo.recv() {
                let done = match &mut connection {
                    Ok(connection) => produce(connection, &outbox, &message, bare),
                    Err(error) => Err(Failure::Failed(error.to_string())),
                };
                let _ = answer.send(done);
            }
        });
        Ok(Box::new(SqliteProducer { jobs }))
    }

    async fn fill_events(&self, count: u64) -> Result<(), Failure> {
        self.run(move |connection| {
            let (mut left, mut part) = (count as i64, 0i64);
            while left > 0 {
                let some = left.min(500_000);
                connection.execute(FILL_EVENTS, params![part, some, PAYLOAD])?;
                (left, part) = (left - some, part + 1);
            }
            connection.execute_batch(FILL_STREAMS)
        })
        .await?;
        self.settle().await
    }

    /// One writer is the fastest by hand: several would wait for each other's locks.
    async fn by_hand(&self, appends: Appends) -> Result<f64, Failure> {
        self.run(move |connection| {
            let (began, mut count, run) = (Instant::now(), 0i64, fastrand::u32(..));
            while began.elapsed() < appends.lasts {
                let stream = format!("hand-{run:08x}-{}", count / 10);
                let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
                let place = params![stream, count % 10 + 1, PAYLOAD];
                transaction.prepare_cached(BY_HAND_EVENT)?.execute(place)?;
                if !appends.events_only {
                    transaction.prepare_cached(BY_HAND_MESSAGE)?.execute(place)?;
                }
                transaction.commit()?;
                count += 1;
            }
            Ok(count as f64 / began.elapsed().as_secs_f64())
        })
        .await
    }

    async fn run(&self, statements: String) -> Result<(), Failure> {
        SqliteRig::run(self, move |connection| {
            // What is filled in is thrown away: there is no need to wait for the disk.
            connection.pragma_update(None, "synchronous", "off")?;
            connection.execute_batch(&statements)
        })
        .await
    }

    async fn remove(&self) -> Result<(), Failure> {
        let _ = std::fs::remove_dir_all(format!("{}-tenure", self.file.display()));
        for suffix in ["", "-wal", "-shm"] {
            let file = format!("{}{suffix}", self.file.display());
            if let Err(error) = std::fs::remove_file(&file)
                && error.kind() != std::io::ErrorKind::NotFound
            {
                return Err(Failure::Failed(format!("{file}: {error}")));
            }
        }
        Ok(())
    }
}

/// A row as any program would read it: every column.
type PlainRow = (i64, String, Option<String>, String, String, Option<String>, i64);

fn read_row(row: &rusqlite::Row<'_>) -> rusqlite::Result<PlainRow> {
    Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?, row.get(5)?, row.get(6)?))
}

fn plain_loop(connection: &mut Connection, count: u64, batch: u32) -> rusqlite::Result<f64> {
    let (began, mut last, mut left) = (Instant::now(), 0i64, count);
    while left > 0 {
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let rows = {
            let mut read = transaction.prepare_cached(READ_PLAIN)?;
            let rows = read.query_map(params![batch, last], read_row)?;
            rows.collect::<rusqlite::Result<Vec<_>>>()?
        };
        {
            let mut delete = transaction.prepare_cached(DELETE_PLAIN)?;
            let mut note = transaction.prepare_cached(NOTE_PLAIN)?;
            for (id, ..) in &rows {
                delete.execute([id])?;
                note.execute(params![id, 1])?;
            }
        }
        transaction.commit()?;
        last = rows.last().map_or(last, |(id, ..)| *id);
        left = left.saturating_sub(rows.len() as u64);
        if rows.is_empty() {
            break;
        }
    }
    Ok(count as f64 / began.elapsed().as_secs_f64())
}

fn produce(
    connection: &mut Connection,
    outbox: &Outbox,
    message: &NewMessage,
    bare: bool,
) -> Result<(), Failure> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(failed)?;
    if bare {
        let mut insert = transaction.prepare_cached(BARE).map_err(failed)?;
        insert.execute(params![message.source, message.topic, message.kind, PAYLOAD]).map_err(failed)?;
    } else {
        outbox.enqueue_in(&transaction, message)?;
    }
    transaction.commit().map_err(failed)
}

struct Job {
    message: NewMessage,
    bare: bool,
    answer: tokio::sync::oneshot::Sender<Result<(), Failure>>,
}

struct SqliteProducer {
    jobs: std::sync::mpsc::Sender<Job>,
}

impl SqliteProducer {
    async fn job(&self, message: &NewMessage, bare: bool) -> Result<(), Failure> {
        let (answer, done) = tokio::sync::oneshot::channel();
        let gone = || Failure::Failed("the producer's thread has ended".into());
        self.jobs.send(Job { message: message.clone(), bare, answer }).map_err(|_| gone())?;
        done.await.map_err(|_| gone())?
    }
}

#[async_trait]
impl Producer for SqliteProducer {
    async fn enqueue(&mut self, message: &NewMessage) -> Result<(), Failure> {
        self.job(message, false).await
    }

    async fn bare(&mut self, message: &NewMessage) -> Result<(), Failure> {
        self.job(message, true).await
    }
}
