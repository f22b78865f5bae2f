//! A lease store that records what it grants in another store.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use tenure_core::StoreError;
use tenure_core::contract::{Capabilities, LeaseStore, Presence, Vacancy};
use tenure_core::id::Unique;
use tenure_core::lease::{Acquire, Claim, Fence, Grant, LeaseName, LeaseRecord, Release, Renew, Renewal};
use tenure_core::time::{Clock, Monotonic};

use super::{Recorder, Recording};
use crate::clock::SteadyClock;

/// Forwards everything to another store, and records each grant. A claim that was not granted leaves no row.
#[derive(Debug)]
pub struct RecordingLeases {
    inner: Arc<dyn LeaseStore>,
    recorder: Recorder,
    recordings: Mutex<BTreeMap<Unique, Recorded>>,
}

/// A grant that is recorded, and until when it lasts at the most without another renewal.
#[derive(Debug)]
struct Recorded {
    recording: Recording,
    lasts_until: Arc<Mutex<Monotonic>>,
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
        self.recordings().get(&grant.claim).and_then(|recorded| recorded.recording.fence())
    }

    /// Records a grant that answers an attempt which started at `started`.
    fn granted(&self, grant: &Grant, started: Monotonic) {
        let lasts_until = Arc::new(Mutex::new(started.after(grant.ttl)));
        let last = Arc::clone(&lasts_until);
        let alive = move || SteadyClock.now() < *last.lock().unwrap_or_else(PoisonError::into_inner);
        let backend = self.inner.capabilities().store;
        let recorded =
            || Recorded { recording: self.recorder.taken_while(&grant.name, &backend, alive), lasts_until };
        self.recordings().entry(grant.claim).or_insert_with(recorded);
    }

    fn extended(&self, grant: &Grant, started: Monotonic) {
        if let Some(recorded) = self.recordings().get(&grant.claim) {
            *recorded.lasts_until.lock().unwrap_or_else(PoisonError::into_inner) = started.after(grant.ttl);
        }
    }

    fn recordings(&self) -> MutexGuard<'_, BTreeMap<Unique, Recorded>> {
        self.recordings.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[async_trait]
impl LeaseStore for RecordingLeases {
    async fn try_acquire(&self, claim: &Claim) -> Result<Acquire, StoreError> {
        let started = SteadyClock.now();
        let answer = self.inner.try_acquire(claim).await?;
        if let Acquire::Granted(grant) = &answer {
            self.granted(grant, started);
        }
        Ok(answer)
    }

    async fn renew(&self, grant: &Grant, renewal: &Renewal) -> Result<Renew, StoreError> {
        let started = SteadyClock.now();
        let answer = self.inner.renew(grant, renewal).await?;
        match answer {
            Renew::Extended => self.extended(grant, started),
            Renew::Lost(_) => drop(self.recordings().remove(&grant.claim)),
        }
        Ok(answer)
    }

    async fn release(&self, grant: &Grant) -> Result<Release, StoreError> {
        let answer = self.inner.release(grant).await;
        let recorded = self.recordings().remove(&grant.claim);
        if let Some(recorded) = recorded {
            recorded.recording.released().await;
        }
        answer
    }

    async fn observe(&self, name: &LeaseName) -> Result<Option<LeaseRecord>, StoreError> {
        self.inner.observe(name).await
    }

    async fn forgo(&self, name: &LeaseName) -> Result<(), StoreError> {
        self.inner.forgo(name).await
    }

    fn presence(&self) -> Option<&dyn Presence> {
        self.inner.presence()
    }

    fn vacancy(&self) -> Option<&dyn Vacancy> {
        self.inner.vacancy()
    }

    fn epoch(&self, grant: &Grant) -> Option<String> {
        self.inner.epoch(grant)
    }

    fn one_count(&self) -> bool {
        self.inner.one_count()
    }

    fn capabilities(&self) -> Capabilities {
        self.inner.capabilities()
    }
}
