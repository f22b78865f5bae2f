//! A backend of one's own: leases in a map, expiry by the clock of the machine that has the map.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::SystemTime;

use async_trait::async_trait;
use tenure_conformance::Backend;
use tenure_core::contract::LeaseStore;
use tenure_core::error::StoreError;
use tenure_core::lease::decide::{self, Decision, RenewAnswer, TermError};
use tenure_core::lease::{
    Acquire, Claim, Fence, FenceCheck, Grant, LeaseName, LeaseRecord, Release, Renew, Renewal,
};
use tenure_core::time::StoreTime;

#[derive(Debug, Clone, Default)]
struct MapStore(Arc<Mutex<BTreeMap<LeaseName, LeaseRecord>>>);

impl MapStore {
    /// One decision: read the row, decide, write what the decision says; all under one lock.
    fn change<O>(
        &self,
        name: &LeaseName,
        decide: impl FnOnce(Option<&LeaseRecord>, StoreTime) -> Result<Decision<O>, TermError>,
    ) -> Result<O, StoreError> {
        let mut rows = self.0.lock().expect("no decision panics");
        let since_1970 = SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default();
        let now = StoreTime::from_micros(since_1970.as_micros() as i64);
        let decision = decide(rows.get(name), now)
            .map_err(|error| StoreError::Corrupt { store: "map".into(), message: error.to_string() })?;
        if let Some(row) = decision.write {
            rows.insert(name.clone(), row);
        }
        Ok(decision.outcome)
    }
}

#[async_trait]
impl LeaseStore for MapStore {
    async fn try_acquire(&self, claim: &Claim) -> Result<Acquire, StoreError> {
        self.change(&claim.name, |row, now| decide::acquire(row, None, claim, "map", now))
    }

    async fn renew(&self, grant: &Grant, renewal: &Renewal) -> Result<Renew, StoreError> {
        match self.change(&grant.name, |row, now| Ok(decide::renew(row, grant, renewal, now)))? {
            RenewAnswer::Is(answer) => Ok(answer),
            RenewAnswer::OutOfOrder => {
                let message = "a later renewal was there first".into();
                Err(StoreError::Failed { store: "map".into(), message, source: None })
            }
        }
    }

    async fn release(&self, grant: &Grant) -> Result<Release, StoreError> {
        self.change(&grant.name, |row, now| Ok(decide::release(row, grant, now)))
    }

    async fn observe(&self, name: &LeaseName) -> Result<Option<LeaseRecord>, StoreError> {
        Ok(self.0.lock().expect("no decision panics").get(name).cloned())
    }
}

/// What the suite needs: a handle as another node would have it, and here also a fence to check.
#[async_trait]
impl Backend for MapStore {
    async fn store(&self) -> Arc<dyn LeaseStore> {
        Arc::new(self.clone())
    }

    async fn check_fence(&self, fence: &Fence) -> Option<FenceCheck> {
        let check = |row: Option<&LeaseRecord>, now| {
            Ok(Decision { outcome: decide::check(row, fence, now), write: None, history: Vec::new() })
        };
        self.change(&fence.lease, check).ok()
    }
}

tenure_conformance::lease_suite!(async { MapStore::default() });
