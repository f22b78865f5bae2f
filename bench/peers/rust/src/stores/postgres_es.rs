//! postgres-es, the Postgres of cqrs-es. It has no outbox: one event for each append, and nothing else.
//!
//! Its repository alone is measured, by the call that commits the events of a command: what is around it in cqrs-es reads the
//! stream first. Best: a connection for each writer, and a pool that does not ask the server before each use whether the
//! connection still lives. The defaults are the pool that the crate makes.

use std::sync::Arc;

use cqrs_es::event_sink::EventSink;
use cqrs_es::persist::{PersistedEventRepository, SerializedEvent};
use cqrs_es::{Aggregate, DomainEvent};
use postgres_es::{PostgresEventRepository, default_postgress_pool};
use serde::{Deserialize, Serialize};
use serde_json::json;
use sqlx08::postgres::PgPoolOptions;

use super::{Store, Writer};
use crate::Result;
use crate::args::Args;
use crate::peers::Order;

pub(crate) struct PostgresEs;

impl Store for PostgresEs {
    type Writer = PostgresEsWriter;

    async fn setup(_: &Args) -> Result<()> {
        // Users copy the tables from the crate; the program that runs the comparison made them.
        Ok(())
    }

    async fn writers(args: &Args) -> Result<Vec<PostgresEsWriter>> {
        let pool = if args.best() {
            let options = PgPoolOptions::new().max_connections(args.connections);
            options.test_before_acquire(false).connect(&args.url).await?
        } else {
            default_postgress_pool(&args.url).await
        };
        let repository = Arc::new(PostgresEventRepository::new(pool));
        Ok((0..args.connections).map(|_| PostgresEsWriter(repository.clone())).collect())
    }
}

pub(crate) struct PostgresEsWriter(Arc<PostgresEventRepository>);

impl Writer for PostgresEsWriter {
    async fn append(&mut self, stream: &str, version: u32, order: u64) -> Result<()> {
        let event = Placed(Order::new(order));
        let stored = SerializedEvent::new(
            stream.into(),
            usize::try_from(version)?,
            Orders::TYPE.into(),
            event.event_type(),
            event.event_version(),
            serde_json::to_value(event)?,
            json!({}),
        );
        Ok(self.0.persist::<Orders>(&[stored], None).await?)
    }
}

/// The aggregate. `persist` asks it only for its type.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Orders;

impl Aggregate for Orders {
    const TYPE: &'static str = "order";
    type Command = ();
    type Event = Placed;
    type Error = std::fmt::Error;
    type Services = ();

    async fn handle(
        &mut self,
        (): (),
        (): &(),
        _: &EventSink<Self>,
    ) -> std::result::Result<(), std::fmt::Error> {
        Ok(())
    }

    fn apply(&mut self, _: Placed) {}
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Placed(Order);

impl DomainEvent for Placed {
    fn event_type(&self) -> String {
        "OrderPlaced".into()
    }

    fn event_version(&self) -> String {
        "1".into()
    }
}
