//! Named locks that live as long as a session.
//!
//! They are simple and quick, and they can be lost without the holder being told: a lock of this kind says nothing about
//! writes that are under way. Where that matters, use a lease and its fence.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;

use crate::error::StoreError;
use crate::lease::{Fence, LeaseName};

/// A provider of named locks.
#[async_trait]
pub trait SessionLocks: Send + Sync + fmt::Debug {
    /// What the registry calls this provider.
    fn backend(&self) -> &'static str;

    /// Takes the lock if it is free; `None` when someone has it.
    async fn try_lock(&self, name: &LeaseName) -> Result<Option<Arc<dyn SessionLock>>, StoreError>;

    /// Takes the lock, waiting for it at most for `patience`; `None` when someone still has it then.
    async fn lock(
        &self,
        name: &LeaseName,
        patience: Duration,
    ) -> Result<Option<Arc<dyn SessionLock>>, StoreError>;
}

/// A lock that is held. It is given back when the last reference is dropped, and when its session ends.
#[async_trait]
pub trait SessionLock: Send + Sync + fmt::Debug {
    /// The lock's name.
    fn name(&self) -> &LeaseName;

    /// Whether the lock is held as far as this process knows; no I/O.
    fn is_held(&self) -> bool;

    /// The value that writes to the store behind this lock may carry, where there is one. A bare session lock has none.
    fn fence(&self) -> Option<Fence> {
        None
    }

    /// Waits until the lock is lost or given back.
    async fn lost(&self);

    /// Gives the lock back, and waits until that is done.
    async fn unlock(&self) -> Result<(), StoreError>;
}
