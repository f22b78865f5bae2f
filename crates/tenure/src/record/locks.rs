//! A provider of locks that records what it grants.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use tenure_core::StoreError;
use tenure_core::contract::{SessionLock, SessionLocks};
use tenure_core::lease::{Fence, LeaseName};

use super::{Recorder, Recording};

/// Forwards everything to another provider, and records each lock that it grants. A lock that was not had leaves no row.
#[derive(Debug)]
pub struct RecordingLocks {
    inner: Arc<dyn SessionLocks>,
    recorder: Recorder,
}

impl RecordingLocks {
    /// Puts `recorder` around `inner`.
    pub fn new(inner: Arc<dyn SessionLocks>, recorder: Recorder) -> Self {
        Self { inner, recorder }
    }

    fn recorded(&self, lock: Option<Arc<dyn SessionLock>>) -> Option<Arc<dyn SessionLock>> {
        let inner = lock?;
        // Without holding on to it: the lock is given back when its user drops it.
        let held = Arc::downgrade(&inner);
        let alive = move || held.upgrade().is_some_and(|lock| lock.is_held());
        let recording = self.recorder.taken_while(inner.name(), self.inner.backend(), alive);
        Some(Arc::new(RecordedLock { inner, recording: Mutex::new(Some(recording)) }))
    }
}

#[async_trait]
impl SessionLocks for RecordingLocks {
    fn backend(&self) -> &'static str {
        self.inner.backend()
    }

    async fn try_lock(&self, name: &LeaseName) -> Result<Option<Arc<dyn SessionLock>>, StoreError> {
        Ok(self.recorded(self.inner.try_lock(name).await?))
    }

    async fn lock(
        &self,
        name: &LeaseName,
        patience: Duration,
    ) -> Result<Option<Arc<dyn SessionLock>>, StoreError> {
        Ok(self.recorded(self.inner.lock(name, patience).await?))
    }
}

/// A lock whose holding is recorded.
#[derive(Debug)]
struct RecordedLock {
    inner: Arc<dyn SessionLock>,
    recording: Mutex<Option<Recording>>,
}

#[async_trait]
impl SessionLock for RecordedLock {
    fn name(&self) -> &LeaseName {
        self.inner.name()
    }

    fn is_held(&self) -> bool {
        self.inner.is_held()
    }

    fn fence(&self) -> Option<Fence> {
        if !self.is_held() {
            return None;
        }
        let recording = self.recording.lock().unwrap_or_else(PoisonError::into_inner);
        recording.as_ref().and_then(Recording::fence).or_else(|| self.inner.fence())
    }

    async fn lost(&self) {
        self.inner.lost().await;
        // A lost lock is no longer touched, so that its row goes stale or is taken over.
        drop(self.recording.lock().unwrap_or_else(PoisonError::into_inner).take());
    }

    async fn unlock(&self) -> Result<(), StoreError> {
        let recording = self.recording.lock().unwrap_or_else(PoisonError::into_inner).take();
        let unlocked = self.inner.unlock().await;
        if let Some(recording) = recording {
            recording.released().await;
        }
        unlocked
    }
}
