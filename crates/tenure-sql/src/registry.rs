//! The registry: holdings that were granted elsewhere, written down beside this store's own leases.

use std::time::Duration;

use async_trait::async_trait;
use tenure_core::StoreError;
use tenure_core::contract::{LeaseRegistry, Schema};
use tenure_core::lease::decide::Decision;
use tenure_core::lease::{Term, decide};
use tenure_core::registry::{Entry, Recorded, Touched};

use crate::driver::Turn;
use crate::lease::Locked;
use crate::limits::SWEEP_BATCH;
use crate::store::SqlStore;
use crate::value::micros;

#[async_trait]
impl LeaseRegistry for SqlStore {
    async fn prepare(&self) -> Result<(), StoreError> {
        self.migrate().await.map(|_| ())
    }

    async fn record(&self, entry: &Entry, stale_after: Duration) -> Result<Recorded, StoreError> {
        let backend = self.shared.driver.backend();
        let change = |locked: &Locked| {
            let (record, remembered) = (locked.record.as_ref(), locked.remembered);
            decide::record(record, remembered, entry, stale_after, backend, locked.now)
        };
        self.shared.change(Turn::Work, &entry.name, None, change, |_| None).await
    }

    async fn touch(&self, entry: &Entry, term: Term, stale_after: Duration) -> Result<Touched, StoreError> {
        let params = vec![
            entry.name.as_str().into(),
            term.as_column().into(),
            entry.claim.to_string().into(),
            micros(stale_after).into(),
        ];
        let touched = self.shared.run(Turn::Heartbeat, &self.shared.statements.lease_touch, params).await?;
        if touched.changed > 0 {
            return Ok(Touched::Living);
        }
        let (record, now) = self.shared.lease(Turn::Heartbeat, &entry.name).await?;
        match decide::touch(record.as_ref(), entry, term, stale_after, now).outcome {
            Touched::Living => Err(StoreError::Failed {
                store: self.shared.label().to_owned(),
                message: "the row changed while it was touched".into(),
                source: None,
            }),
            over => Ok(over),
        }
    }

    async fn stamp_released(&self, entry: &Entry, term: Term) -> Result<bool, StoreError> {
        let change =
            |locked: &Locked| Ok(decide::stamp_released(locked.record.as_ref(), entry, term, locked.now));
        self.shared.change(Turn::Work, &entry.name, None, change, |_| None).await
    }

    async fn sweep(&self) -> Result<u64, StoreError> {
        let shared = &self.shared;
        let backend = shared.driver.backend();
        let mut swept = 0;
        loop {
            let params = vec![backend.into(), SWEEP_BATCH.into()];
            let rows = shared.rows(Turn::Work, &shared.statements.lease_forgotten, params).await?;
            let mut stamped = 0;
            for row in &rows {
                let name = shared.reader().lease_name(row)?;
                let change = |locked: &Locked| {
                    let decided =
                        locked.record.as_ref().and_then(|it| decide::sweep(it, backend, locked.now));
                    Ok(match decided {
                        Some(Decision { write, history, .. }) => Decision { outcome: true, write, history },
                        None => Decision { outcome: false, write: None, history: Vec::new() },
                    })
                };
                // One that is locked just now, by whoever has checked its fence, is left for the next sweep.
                match shared.change(Turn::Work, &name, None, change, |_| None).await {
                    Ok(ended) => stamped += u64::from(ended),
                    Err(StoreError::Busy { .. }) => {}
                    Err(error) => return Err(error),
                }
            }
            swept += stamped;
            if stamped == 0 || rows.len() < SWEEP_BATCH as usize {
                return Ok(swept);
            }
        }
    }
}
