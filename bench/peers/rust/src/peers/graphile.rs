//! graphile_worker.
//!
//! Best drain: as its own `benches/perf_test.rs` has it (many handlers, a local queue of 5,000, completions in batches).
//! Best latency: a few handlers that each fetch for themselves; a local queue only delays.
//! Enqueueing is the SQL function that its book names for users' transactions.

use std::sync::Arc;
use std::time::Duration;

use graphile_worker::{
    IntoTaskHandlerResult, JobSpec, LocalQueueConfig, RawJobSpec, TaskHandler, WorkerContext, WorkerOptions,
    WorkerUtils,
};
use sqlx::postgres::PgPoolOptions;
use sqlx::{Connection, PgConnection, PgPool};
use tokio::task::JoinHandle;

use super::{BUSINESS, Order, Peer, Producer, Worker};
use crate::args::{Args, Step};
use crate::{Result, recorder};

const SCHEMA: &str = "graphile_worker";
const ADD_JOB: &str = "SELECT id FROM graphile_worker.add_job('order', $1::text::json)";
/// How many jobs go into one bulk insert.
const BULK: u64 = 5_000;

impl TaskHandler for Order {
    const IDENTIFIER: &'static str = "order";

    async fn run(self, _: WorkerContext) -> impl IntoTaskHandlerResult {
        recorder::started(self.order);
        Ok::<(), String>(())
    }
}

pub(crate) struct Graphile;

impl Peer for Graphile {
    type Worker = GraphileWorker;
    type Producer = GraphileProducer;

    async fn setup(args: &Args) -> Result<()> {
        let pool = PgPool::connect(&args.url).await?;
        WorkerUtils::new(pool, SCHEMA).migrate().await?;
        Ok(())
    }

    async fn fill(args: &Args) -> Result<()> {
        let pool = PgPool::connect(&args.url).await?;
        let utils = WorkerUtils::new(pool, SCHEMA);
        for first in (0..args.jobs).step_by(BULK as usize) {
            let orders = first..args.jobs.min(first + BULK);
            let jobs = orders.map(|order| {
                let payload = serde_json::to_value(Order::new(order))?;
                Ok(RawJobSpec { identifier: "order".into(), payload, spec: JobSpec::default() })
            });
            utils.add_raw_jobs(&jobs.collect::<Result<Vec<_>>>()?).await?;
        }
        Ok(())
    }

    async fn start(args: &Args) -> Result<GraphileWorker> {
        let mut options = WorkerOptions::default().schema(SCHEMA).define_job::<Order>();
        options = match (args.best(), args.step) {
            (false, _) => options.database_url(&args.url),
            (true, Step::Latency) => options.pg_pool(pool(args, 10).await?).concurrency(4),
            (true, _) => options
                .pg_pool(pool(args, 20).await?)
                .concurrency(500)
                .poll_interval(Duration::from_millis(5))
                .complete_job_batch_delay(Duration::from_millis(5))
                .local_queue(LocalQueueConfig::default().with_size(5_000)),
        };
        let worker = Arc::new(options.init().await?);
        let theirs = Arc::clone(&worker);
        let work = tokio::spawn(async move { theirs.run().await.map_err(|error| error.to_string()) });
        Ok(GraphileWorker { worker, work })
    }

    async fn producer(args: &Args) -> Result<GraphileProducer> {
        Ok(GraphileProducer(PgConnection::connect(&args.url).await?))
    }
}

async fn pool(args: &Args, connections: u32) -> Result<PgPool> {
    Ok(PgPoolOptions::new().max_connections(connections).connect(&args.url).await?)
}

pub(crate) struct GraphileWorker {
    worker: Arc<graphile_worker::Worker>,
    work: JoinHandle<std::result::Result<(), String>>,
}

impl Worker for GraphileWorker {
    async fn stop(self) -> Result<()> {
        self.worker.request_shutdown();
        Ok(self.work.await??)
    }
}

pub(crate) struct GraphileProducer(PgConnection);

impl Producer for GraphileProducer {
    async fn send(&mut self, order: u64, business: bool) -> Result<()> {
        let mut tx = self.0.begin().await?;
        if business {
            sqlx::query(BUSINESS).bind("c-5678").bind(1999i32).execute(&mut *tx).await?;
        }
        sqlx::query(ADD_JOB).bind(Order::json(order)?).execute(&mut *tx).await?;
        Ok(tx.commit().await?)
    }
}
