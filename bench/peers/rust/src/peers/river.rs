//! riverqueue. Completions are batched at its defaults already.
//!
//! Best drain: the most workers it allows, since it fetches as many jobs as it has idle workers, and the shortest pause
//! between fetches. Best latency: the shortest pause and poll, which is also how often it sends notifications.
//! The defaults name a queue with 10 workers, as its README does: the number has no default.

use std::time::Duration;

use riverqueue::migrate::PostgresMigrator;
use riverqueue::{
    BoxError, Client, FETCH_COOLDOWN_MIN, Job, QUEUE_NUM_WORKERS_MAX, QueueConfig, RunHandle, WorkContext,
    WorkOutcome, Workers,
};
use sqlx::postgres::PgPoolOptions;
use sqlx::{PgPool, Postgres, Transaction};
use tokio::sync::OnceCell;

use super::{BUSINESS, Order, Peer, Producer, Worker};
use crate::args::{Args, Step};
use crate::{Result, recorder};

/// How many jobs go into one bulk insert.
const BULK: u64 = 5_000;

/// A process has one client, which paces the notifications of all its connections.
static SHARED: OnceCell<RiverProducer> = OnceCell::const_new();

pub(crate) struct River;

impl Peer for River {
    type Worker = RiverWorker;
    type Producer = RiverProducer;

    async fn setup(args: &Args) -> Result<()> {
        PostgresMigrator::new(PgPool::connect(&args.url).await?).migrate_up().await?;
        Ok(())
    }

    async fn fill(args: &Args) -> Result<()> {
        let client = Client::builder(PgPool::connect(&args.url).await?).build()?;
        for first in (0..args.jobs).step_by(BULK as usize) {
            let orders = first..args.jobs.min(first + BULK);
            client.insert_many(orders.map(Order::new)).await?;
        }
        Ok(())
    }

    async fn start(args: &Args) -> Result<RiverWorker> {
        let mut workers = Workers::new();
        workers.add_fn(work)?;
        let pool = PgPoolOptions::new().max_connections(20).connect(&args.url).await?;
        let builder = Client::builder(pool).workers(workers);
        let builder = match (args.best(), args.step) {
            (false, _) => builder.queue("default", QueueConfig::new(10)),
            (true, Step::Latency) => {
                let queue = QueueConfig::new(100).with_fetch_poll_interval(Duration::from_millis(5));
                builder.fetch_cooldown(FETCH_COOLDOWN_MIN).queue("default", queue)
            }
            (true, _) => {
                let queue = QueueConfig::new(QUEUE_NUM_WORKERS_MAX);
                let queue = queue.with_fetch_poll_interval(Duration::from_millis(5));
                builder.fetch_cooldown(FETCH_COOLDOWN_MIN).without_job_timeout().queue("default", queue)
            }
        };
        Ok(RiverWorker(builder.build()?.start()?))
    }

    async fn producer(args: &Args) -> Result<RiverProducer> {
        let shared = SHARED.get_or_try_init(|| shared(args)).await?;
        Ok(shared.clone())
    }
}

async fn shared(args: &Args) -> Result<RiverProducer> {
    let pool = PgPoolOptions::new()
        .min_connections(args.connections)
        .max_connections(args.connections)
        .test_before_acquire(false);
    let pool = pool.connect(&args.url).await?;
    let builder = Client::builder(pool.clone());
    let latency = args.best() && args.step == Step::Latency;
    let builder = if latency { builder.fetch_cooldown(FETCH_COOLDOWN_MIN) } else { builder };
    Ok(RiverProducer { pool, client: builder.build()? })
}

async fn work(_: WorkContext, job: Job<Order>) -> std::result::Result<WorkOutcome, BoxError> {
    recorder::started(job.args.order);
    Ok(WorkOutcome::Complete)
}

pub(crate) struct RiverWorker(RunHandle);

impl Worker for RiverWorker {
    async fn stop(mut self) -> Result<()> {
        Ok(self.0.stop().await?)
    }
}

#[derive(Clone)]
pub(crate) struct RiverProducer {
    pool: PgPool,
    client: Client,
}

impl Producer for RiverProducer {
    async fn send(&mut self, order: u64, business: bool) -> Result<()> {
        let mut tx: Transaction<'_, Postgres> = self.pool.begin().await?;
        if business {
            sqlx::query(BUSINESS).bind("c-5678").bind(1999i32).execute(&mut *tx).await?;
        }
        self.client.insert(Order::new(order)).tx(&mut tx).await?;
        Ok(tx.commit().await?)
    }
}
