//! The ceiling of appending: the event's row and the message's are inserted by hand, in one statement and so in one
//! transaction and one round trip, into tables that nothing watches. A version that is taken is refused by the index alone.

use sqlx::{Connection, PgConnection};

use super::{Store, Writer};
use crate::Result;
use crate::args::Args;
use crate::peers::{Order, Peer, plain::Plain};

const TABLE: &str = "CREATE TABLE plain_events (position bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, \
    stream text NOT NULL, version bigint NOT NULL, event_id uuid NOT NULL DEFAULT gen_random_uuid(), type text NOT NULL, \
    payload text NOT NULL, recorded_at timestamptz NOT NULL DEFAULT clock_timestamp(), UNIQUE (stream, version))";
const APPEND: &str = "WITH happened AS (INSERT INTO plain_events (stream, version, type, payload) \
        VALUES ($1, $2, 'OrderPlaced', $3)) \
    INSERT INTO plain_jobs (source, topic, type, payload) VALUES ($1, 'orders', 'ShipOrder', $3)";

impl Store for Plain {
    type Writer = PlainWriter;

    async fn setup(args: &Args) -> Result<()> {
        <Self as Peer>::setup(args).await?;
        let mut connection = PgConnection::connect(&args.url).await?;
        sqlx::query(TABLE).execute(&mut connection).await?;
        Ok(())
    }

    async fn writers(args: &Args) -> Result<Vec<PlainWriter>> {
        let mut writers = Vec::new();
        for _ in 0..args.connections {
            writers.push(PlainWriter(PgConnection::connect(&args.url).await?));
        }
        Ok(writers)
    }
}

pub(crate) struct PlainWriter(PgConnection);

impl Writer for PlainWriter {
    async fn append(&mut self, stream: &str, version: u32, order: u64) -> Result<()> {
        let append = sqlx::query(APPEND).bind(stream).bind(i64::from(version)).bind(Order::json(order)?);
        append.execute(&mut self.0).await?;
        Ok(())
    }
}
