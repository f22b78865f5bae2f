//! sqlxmq. It has no batched completion: each job is one statement, and one commit, of its own.
//!
//! Best: as many jobs in flight as keep the connections busy (its batch is what lies between least and most), no task
//! beside each job to keep it alive, and a pool that is wide enough for commits to share a flush.

use sqlx08::postgres::{PgConnection, PgPoolOptions};
use sqlx08::{Connection, PgPool};
use sqlxmq::{CurrentJob, JobBuilder, JobRunnerHandle, JobRunnerOptions};

use super::{BUSINESS, Order, Peer, Producer, Worker};
use crate::args::{Args, Step};
use crate::{Result, recorder};

/// Its statement takes an array, its builder one job.
const FILL: &str = "SELECT mq_insert(array_agg((gen_random_uuid(), interval '0', 4, interval '1 second', '', '', NULL, \
    false, 'order', $3, NULL)::mq_new_t)) FROM generate_series($1::bigint, $2::bigint)";
/// How many jobs go into one bulk insert.
const BULK: u64 = 5_000;

pub(crate) struct Sqlxmq;

impl Peer for Sqlxmq {
    type Worker = SqlxmqWorker;
    type Producer = SqlxmqProducer;

    async fn setup(_: &Args) -> Result<()> {
        // Users copy the migrations of the crate into theirs; the program that runs the comparison applied them.
        Ok(())
    }

    async fn fill(args: &Args) -> Result<()> {
        let mut connection = PgConnection::connect(&args.url).await?;
        let payload = Order::json(0)?;
        for first in (0..args.jobs).step_by(BULK as usize) {
            let last = args.jobs.min(first + BULK) - 1;
            let fill =
                sqlx08::query(FILL).bind(i64::try_from(first)?).bind(i64::try_from(last)?).bind(&payload);
            fill.execute(&mut connection).await?;
        }
        Ok(())
    }

    async fn start(args: &Args) -> Result<SqlxmqWorker> {
        // At latency its defaults are its best.
        let tuned = args.best() && args.step == Step::Drain;
        let connections = if tuned { 32 } else { 10 };
        let pool = PgPoolOptions::new().max_connections(connections).connect(&args.url).await?;
        let mut options = JobRunnerOptions::new(&pool, |job| {
            tokio::spawn(work(job));
        });
        if tuned {
            options.set_keep_alive(false).set_concurrency(100, 1_000);
        }
        Ok(SqlxmqWorker { handle: options.run().await?, pool })
    }

    async fn producer(args: &Args) -> Result<SqlxmqProducer> {
        Ok(SqlxmqProducer(PgConnection::connect(&args.url).await?))
    }
}

async fn work(mut job: CurrentJob) {
    let order: Option<Order> = job.json().ok().flatten();
    recorder::started(order.map_or(0, |order| order.order));
    // A job that cannot be completed is counted by the database as left, and fails the run.
    let _ = job.complete().await;
}

pub(crate) struct SqlxmqWorker {
    handle: JobRunnerHandle,
    pool: PgPool,
}

impl Worker for SqlxmqWorker {
    async fn stop(mut self) -> Result<()> {
        self.handle.stop().await;
        self.handle.wait_jobs_finish(std::time::Duration::from_secs(10)).await;
        self.pool.close().await;
        Ok(())
    }
}

pub(crate) struct SqlxmqProducer(PgConnection);

impl Producer for SqlxmqProducer {
    async fn send(&mut self, order: u64, business: bool) -> Result<()> {
        let mut tx = self.0.begin().await?;
        if business {
            sqlx08::query(BUSINESS).bind("c-5678").bind(1999i32).execute(&mut *tx).await?;
        }
        let json = Order::json(order)?;
        JobBuilder::new("order").set_raw_json(&json).spawn(&mut *tx).await?;
        Ok(tx.commit().await?)
    }
}
