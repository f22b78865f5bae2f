//! The contestants: one file each, with the settings that it is measured with.

pub(crate) mod graphile;
pub(crate) mod plain;
pub(crate) mod river;
pub(crate) mod sqlxmq;
pub(crate) mod tenure;

use std::future::Future;

use serde::{Deserialize, Serialize};

use crate::Result;
use crate::args::Args;

/// A job queue.
pub(crate) trait Peer: 'static {
    type Worker: Worker;
    type Producer: Producer;

    /// Creates its tables in an empty database.
    fn setup(args: &Args) -> impl Future<Output = Result<()>> + Send;

    /// Enqueues `args.jobs` jobs, in bulk.
    fn fill(args: &Args) -> impl Future<Output = Result<()>> + Send;

    /// Starts to work.
    fn start(args: &Args) -> impl Future<Output = Result<Self::Worker>> + Send;

    /// A user's connection.
    fn producer(args: &Args) -> impl Future<Output = Result<Self::Producer>> + Send;
}

/// A worker at work.
pub(crate) trait Worker {
    fn stop(self) -> impl Future<Output = Result<()>> + Send;
}

/// A user's connection.
pub(crate) trait Producer: Send + 'static {
    /// Enqueues a job in a transaction of its own, with a business row in it if asked for.
    fn send(&mut self, order: u64, business: bool) -> impl Future<Output = Result<()>> + Send;
}

/// The business row. Its table is made by the program that runs the comparison.
pub(crate) const BUSINESS: &str = "INSERT INTO orders (customer, total) VALUES ($1, $2)";

/// The payload: about a hundred bytes, as a small order would be, and the same for every contestant.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, riverqueue::JobArgs)]
#[river(kind = "order")]
pub(crate) struct Order {
    pub(crate) order: u64,
    pub(crate) customer: String,
    pub(crate) total: u32,
    pub(crate) lines: Vec<Line>,
    pub(crate) note: String,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Line {
    pub(crate) sku: String,
    pub(crate) n: u32,
}

impl Order {
    pub(crate) fn new(order: u64) -> Self {
        let lines = vec![Line { sku: "A-1".into(), n: 2 }];
        Self { order, customer: "c-5678".into(), total: 1999, lines, note: "leave at the door".into() }
    }

    pub(crate) fn json(order: u64) -> Result<String> {
        Ok(serde_json::to_string(&Self::new(order))?)
    }
}

/// For contestants that are only measured at enqueueing here.
pub(crate) struct NoWorker;

impl Worker for NoWorker {
    async fn stop(self) -> Result<()> {
        Ok(())
    }
}
