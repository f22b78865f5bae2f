//! The registry: holdings that were granted elsewhere, written down beside this store's own leases.

use std::time::Duration;

use async_trait::async_trait;
use tenure_core::StoreError;
use tenure_core::contract::{LeaseRegistry, Schema};
use tenure_core::lease::{Term, decide};
use tenure_core::registry::{Entry, Recorded, Touched};
use tenure_sql::limits::SWEEP_BATCH;
use tenure_sql::micros;
use tokio_postgres::types::Type;

use crate::error::corrupt;
use crate::store::{BACKEND, PostgresStore};
use crate::writing::Params;

#[async_trait]
impl LeaseRegistry for PostgresStore {
    async fn prepare(&self) -> Result<(), StoreError> {
        self.migrate().await.map(|_| ())
    }

    async fn record(&self, entry: &Entry, stale_after: Duration) -> Result<Recorded, StoreError> {
        let (transaction, locked) = self.shared.begin(&entry.name, None).await?;
        let (record, remembered) = (locked.record.as_ref(), locked.remembered);
        match decide::record(record, remembered, entry, stale_after, BACKEND, locked.now) {
            Ok(decision) => transaction.apply(decision, None).await,
            Err(error) => {
                transaction.rollback().await;
                Err(corrupt(&self.shared.label, &error))
            }
        }
    }

    async fn touch(&self, entry: &Entry, term: Term, stale_after: Duration) -> Result<Touched, StoreError> {
        let touched = self
            .shared
            .write_at_once(
                &self.shared.statements.lease_touch,
                &[
                    (&entry.name.as_str(), Type::TEXT),
                    (&term.as_column(), Type::INT8),
                    (&entry.claim.to_string(), Type::TEXT),
                    (&micros(stale_after), Type::INT8),
                ],
            )
            .await?;
        if !touched.is_empty() {
            return Ok(Touched::Living);
        }
        let (record, now) = self.shared.lease_at_once(&entry.name).await?;
        match decide::touch(record.as_ref(), entry, term, stale_after, now).outcome {
            Touched::Living => Err(StoreError::Failed {
                store: self.shared.label.clone(),
                message: "the row changed while it was touched".into(),
                source: None,
            }),
            over => Ok(over),
        }
    }

    async fn stamp_released(&self, entry: &Entry, term: Term) -> Result<bool, StoreError> {
        let stamped = self
            .shared
            .write(
                &self.shared.statements.lease_stamp,
                &[
                    (&entry.name.as_str(), Type::TEXT),
                    (&term.as_column(), Type::INT8),
                    (&entry.claim.to_string(), Type::TEXT),
                ],
            )
            .await?;
        Ok(!stamped.is_empty())
    }

    async fn sweep(&self) -> Result<u64, StoreError> {
        let mut swept = 0;
        loop {
            let params: Params<'_> = &[(&BACKEND, Type::TEXT), (&i64::from(SWEEP_BATCH), Type::INT8)];
            let batch = self.shared.write(&self.shared.statements.lease_sweep, params).await?.len() as u64;
            swept += batch;
            if batch < u64::from(SWEEP_BATCH) {
                return Ok(swept);
            }
        }
    }
}
