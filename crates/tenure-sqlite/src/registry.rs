//! The registry: holdings that were granted elsewhere, written down with a term of this store.

use std::time::Duration;

use async_trait::async_trait;
use rusqlite::params;
use tenure_core::StoreError;
use tenure_core::contract::{LeaseRegistry, Schema};
use tenure_core::lease::{Term, decide};
use tenure_core::registry::{Entry, Recorded, Touched};

use crate::error::Fault;
use crate::rows::{LeaseRow, Plain};
use crate::store::{BACKEND, SqliteStore};
use crate::writing::Writing;

/// How many rows one transaction of a sweep stamps; fewer than on servers, for renewals wait for it.
const SWEEP_BATCH: usize = 500;

#[async_trait]
impl LeaseRegistry for SqliteStore {
    async fn prepare(&self) -> Result<(), StoreError> {
        self.migrate().await.map(drop)
    }

    async fn record(&self, entry: &Entry, stale_after: Duration) -> Result<Recorded, StoreError> {
        let entry = entry.clone();
        self.run(move |database| {
            database.write(|writing| {
                writing.decide(&entry.name, |record, now| {
                    let remembered = writing.last_term(&entry.name)?;
                    Ok(decide::record(record, remembered, &entry, stale_after, BACKEND, now)?)
                })
            })
        })
        .await
    }

    async fn touch(&self, entry: &Entry, term: Term, stale_after: Duration) -> Result<Touched, StoreError> {
        let entry = entry.clone();
        self.run(move |database| {
            database.write(|writing| {
                writing.decide(&entry.name, |record, now| {
                    Ok(decide::touch(record, &entry, term, stale_after, now))
                })
            })
        })
        .await
    }

    async fn stamp_released(&self, entry: &Entry, term: Term) -> Result<bool, StoreError> {
        let entry = entry.clone();
        self.run(move |database| {
            database.write(|writing| {
                writing
                    .decide(&entry.name, |record, now| Ok(decide::stamp_released(record, &entry, term, now)))
            })
        })
        .await
    }

    async fn sweep(&self) -> Result<u64, StoreError> {
        let mut swept = 0;
        loop {
            let batch = self.run(|database| database.write(sweep_batch)).await?;
            swept += batch as u64;
            if batch < SWEEP_BATCH {
                return Ok(swept);
            }
        }
    }
}

/// Stamps the first rows that their recorders have forgotten. The statement only picks candidates; the core decides.
fn sweep_batch(writing: &Writing<'_>) -> Result<usize, Fault> {
    let forgotten = forgotten(writing)?;
    let mut swept = 0;
    for row in &forgotten {
        let seen = row.seen_at(&writing.now);
        if let Some(decision) = decide::sweep(&seen, BACKEND, writing.now.wall) {
            writing.apply(decision, Some((row, &seen)))?;
            swept += 1;
        }
    }
    Ok(swept)
}

fn forgotten(writing: &Writing<'_>) -> Result<Vec<LeaseRow>, Fault> {
    let mut statement = writing.connection.prepare_cached(&writing.statements.lease_sweep)?;
    let (wall, steady) = (writing.now.wall.as_micros(), writing.now.steady.as_ref());
    let (boot, micros) = (steady.map(|steady| &*steady.boot), steady.map(|steady| steady.micros));
    let mut found = statement.query(params![BACKEND, wall, boot, micros, SWEEP_BATCH as i64])?;
    let mut rows = Vec::new();
    while let Some(row) = found.next()? {
        rows.push(LeaseRow::read(&Plain::of(row))?);
    }
    Ok(rows)
}
