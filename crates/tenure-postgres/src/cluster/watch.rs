//! What wakes a node: every change of the cluster is notified, so one session that listens is all it takes.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use async_trait::async_trait;
use tenure_core::StoreError;
use tenure_core::contract::Wakeup;
use tokio::sync::Notify;

use crate::connect::Link;
use crate::error::unreachable;
use crate::store::Shared;
use crate::wakeup::{Source, listen_on};

/// Wakes one node. The session ends with it.
#[derive(Debug)]
pub(super) struct PostgresEar {
    label: String,
    bell: Arc<Notify>,
    armed: AtomicBool,
    session: Link,
}

impl PostgresEar {
    pub(super) async fn open(shared: &Shared, source: Source<'_>) -> Result<Self, StoreError> {
        let bell = Arc::new(Notify::new());
        let (session, _) = listen_on(shared, source, &bell).await?;
        Ok(Self { label: shared.label.clone(), bell, armed: AtomicBool::new(false), session })
    }
}

#[async_trait]
impl Wakeup for PostgresEar {
    fn arm(&self, on: bool) {
        let was = self.armed.swap(on, Ordering::SeqCst);
        if on && !was {
            // It listens since it was opened: what asks for a hint takes effect at once.
            self.bell.notify_one();
        }
    }

    async fn hint(&self) -> Result<(), StoreError> {
        let mut ended = self.session.ended();
        loop {
            tokio::select! {
                biased;
                () = self.bell.notified() => {}
                _ = ended.changed() => {
                    return Err(unreachable(&self.label, "the session that wakes has ended"));
                }
            }
            if self.armed.load(Ordering::SeqCst) {
                return Ok(());
            }
        }
    }
}
