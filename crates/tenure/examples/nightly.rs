//! A nightly job that one copy runs at a time, and whose writes a deposed copy cannot make.
//!
//! `cargo run -p tenure --example nightly --features postgres,sqlx -- postgres://app@db.internal/app`

use std::error::Error;
use std::sync::Arc;

use sqlx::Connection;
use tenure::core::contract::Schema;
use tenure::postgres::{PostgresOptions, PostgresStore};
use tenure::{LeaseSettings, Leases, Stop, local_node};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let url = std::env::args().nth(1).ok_or("give the URL of a Postgres database")?;
    let store = PostgresStore::connect(PostgresOptions::from_url(&url)?).await?;
    store.migrate().await?;
    let leases = Leases::new(Arc::new(store.clone()), local_node(None)?);

    let nightly = leases.lease("nightly", LeaseSettings::default())?;
    nightly.on_lost(|why| tracing::warn!(%why, "lost"));
    let stop = Stop::new();
    let Some(fence) = nightly.acquire_when_free(&stop).await? else { return Ok(()) };

    let mut connection = sqlx::PgConnection::connect(&url).await?;
    let mut tx = connection.begin().await?;
    // Refused if anyone took over, in this very transaction.
    store.fencing().check_sqlx(&mut tx, &fence).await?;
    sqlx::query("create table if not exists nightly_runs (term bigint, at timestamptz default now())")
        .execute(&mut *tx)
        .await?;
    sqlx::query("insert into nightly_runs (term) values ($1)")
        .bind(fence.term.as_column())
        .execute(&mut *tx)
        .await?;
    tx.commit().await?;

    nightly.release().await?;
    Ok(())
}
