//! The ceiling of enqueueing: the job's row is inserted by hand, into a table that nothing watches.

use sqlx::{Connection, PgConnection};

use super::{BUSINESS, NoWorker, Order, Peer, Producer};
use crate::Result;
use crate::args::Args;

const TABLE: &str = "CREATE TABLE plain_jobs (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, \
    message_id uuid NOT NULL DEFAULT gen_random_uuid() UNIQUE, source text, topic text NOT NULL, type text NOT NULL, \
    payload text NOT NULL, created_at timestamptz NOT NULL DEFAULT clock_timestamp())";
const INSERT: &str =
    "INSERT INTO plain_jobs (source, topic, type, payload) VALUES ($1, 'orders', 'OrderPlaced', $2)";

pub(crate) struct Plain;

impl Peer for Plain {
    type Worker = NoWorker;
    type Producer = PlainProducer;

    async fn setup(args: &Args) -> Result<()> {
        let mut connection = PgConnection::connect(&args.url).await?;
        sqlx::query(TABLE).execute(&mut connection).await?;
        Ok(())
    }

    async fn fill(_: &Args) -> Result<()> {
        Err("nothing drains a plain table here: `tenure bench drain` measures that ceiling".into())
    }

    async fn start(_: &Args) -> Result<NoWorker> {
        Err("nothing works on a plain table".into())
    }

    async fn producer(args: &Args) -> Result<PlainProducer> {
        Ok(PlainProducer(PgConnection::connect(&args.url).await?))
    }
}

pub(crate) struct PlainProducer(PgConnection);

impl Producer for PlainProducer {
    async fn send(&mut self, order: u64, business: bool) -> Result<()> {
        let mut tx = self.0.begin().await?;
        if business {
            sqlx::query(BUSINESS).bind("c-5678").bind(1999i32).execute(&mut *tx).await?;
        }
        let source = format!("source-{}", order % 64);
        sqlx::query(INSERT).bind(source).bind(Order::json(order)?).execute(&mut *tx).await?;
        Ok(tx.commit().await?)
    }
}
