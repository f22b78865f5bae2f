//! Tenure at its default settings: only enqueueing here. `tenure bench` measures its drain and latency.

use sqlx::{Connection, PgConnection};
use tenure_core::contract::Schema;
use tenure_core::outbox::NewMessage;
use tenure_postgres::{Outbox, PostgresOptions, PostgresStore};

use super::{BUSINESS, NoWorker, Order, Peer, Producer};
use crate::Result;
use crate::args::Args;

pub(crate) struct Tenure;

impl Peer for Tenure {
    type Worker = NoWorker;
    type Producer = TenureProducer;

    async fn setup(args: &Args) -> Result<()> {
        PostgresStore::connect(PostgresOptions::from_url(&args.url)?).await?.migrate().await?;
        Ok(())
    }

    async fn fill(_: &Args) -> Result<()> {
        Err("`tenure bench drain` fills its own queue".into())
    }

    async fn start(_: &Args) -> Result<NoWorker> {
        Err("`tenure bench` starts its own relay".into())
    }

    async fn producer(args: &Args) -> Result<TenureProducer> {
        let outbox = PostgresStore::connect(PostgresOptions::from_url(&args.url)?).await?.outbox();
        Ok(TenureProducer { connection: PgConnection::connect(&args.url).await?, outbox })
    }
}

pub(crate) struct TenureProducer {
    connection: PgConnection,
    outbox: Outbox,
}

impl Producer for TenureProducer {
    async fn send(&mut self, order: u64, business: bool) -> Result<()> {
        let mut tx = self.connection.begin().await?;
        if business {
            sqlx::query(BUSINESS).bind("c-5678").bind(1999i32).execute(&mut *tx).await?;
        }
        let message = NewMessage::json("orders", "OrderPlaced", Order::json(order)?);
        let message = message.from_source(format!("source-{}", order % 64));
        self.outbox.enqueue(&mut tx, &message).await?;
        Ok(tx.commit().await?)
    }
}
