//! A lease store that records what it grants in another store.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use tenure_core::StoreError;
use tenure_core::contract::{Capabilities, LeaseStore, Presence};
use tenure_core::id::Unique;
use tenure_core::lease::{Acquire, Claim, Fence, Grant, LeaseName, LeaseRecord, Release, Renew, Renewal};

use super::{Recorder, Recording};

/// Forwards everything to another store, and records each grant. A claim that was not granted leaves no row.
#[derive(Debug)]
pub struct RecordingLeases {
    inner: Arc<dyn LeaseStore>,
    recorder: Recorder,
    recordings: Mutex<BTreeMap<Unique, Recording>>,
}

impl RecordingLeases {
    /// Puts `recorder` around `inner`.
    pub fn new(inner: Arc<dyn LeaseStore>, recorder: Recorder) -> Self {
        Self { inner, recorder, recordings: Mutex::default() }
    }

    /// The fence under which the recording store knows a grant of the inner one; `None` until it is written there.
    ///
    /// This is the fence for writes to the recording store: terms of another store mean nothing to it.
    pub fn fence(&self, grant: &Grant) -> Option<Fence> {
        self.recordings().get(&grant.claim).and_then(Recording::fence)
    }

    fn recordings(&self) -> MutexGuard<'_, BTreeMap<Unique, Recording>> {
        self.recordings.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[async_trait]
impl LeaseStore for RecordingLeases {
    async fn try_acquire(&self, claim: &Claim) -> Result<Acquire, StoreError> {
        let answer = self.inner.try_acquire(claim).await?;
        if let Acquire::Granted(grant) = &answer {
            let backend = self.inner.capabilities().store;
            let recording = || self.recorder.taken(&grant.name, &backend);
            self.recordings().entry(grant.claim).or_insert_with(recording);
        }
        Ok(answer)
    }

    async fn renew(&self, grant: &Grant, renewal: &Renewal) -> Result<Renew, StoreError> {
        let answer = self.inner.renew(grant, renewal).await?;
        if let Renew::Lost(_) = answer {
            drop(self.recordings().remove(&grant.claim));
        }
        Ok(answer)
    }

    async fn release(&self, grant: &Grant) -> Result<Release, StoreError> {
        let answer = self.inner.release(grant).await;
        let recording = self.recordings().remove(&grant.claim);
        if let Some(recording) = recording {
            recording.released().await;
        }
        answer
    }

    async fn observe(&self, name: &LeaseName) -> Result<Option<LeaseRecord>, StoreError> {
        self.inner.observe(name).await
    }

    fn presence(&self) -> Option<&dyn Presence> {
        self.inner.presence()
    }

    fn capabilities(&self) -> Capabilities {
        self.inner.capabilities()
    }
}
