//! Presence: the open session by which a holder's death is noticed at once.
//!
//! One session per node. Each grant raises a flag on it; a flag falls when it is lowered and when its session ends. The
//! session serves nothing else, and nothing on it may block: a statement that runs there hides a death until it ends.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;

use crate::error::StoreError;
use crate::id::Unique;
use crate::lease::Flag;

/// The capability of a store to show that a session lives.
#[async_trait]
pub trait Presence: Send + Sync {
    /// Opens the session of this node. The store ends it after `idle_timeout` without a ping, where it can.
    ///
    /// `id` is new for every session.
    async fn open(&self, id: Unique, idle_timeout: Duration) -> Result<Arc<dyn PresenceSession>, StoreError>;

    /// Waits for a flag to fall, at most for `patience`.
    async fn watch(&self, flag: &Flag, patience: Duration) -> Result<Watch, StoreError>;
}

/// An open session.
#[async_trait]
pub trait PresenceSession: Send + Sync + fmt::Debug {
    /// The session's number.
    fn id(&self) -> Unique;

    /// Answers if the session lives. An error means that it is broken for good.
    async fn ping(&self) -> Result<(), StoreError>;

    /// Raises a flag on this session.
    async fn raise(&self, flag: &Flag) -> Result<Raise, StoreError>;

    /// Lowers a flag.
    async fn lower(&self, flag: &Flag) -> Result<(), StoreError>;

    /// Ends the session, and with it all its flags.
    async fn close(&self);
}

/// The answer to raising a flag.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Raise {
    /// It is up.
    Raised,
    /// Another flag has the same number; this grant lives by its ttl.
    Collided,
}

/// What came of watching a flag.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Watch {
    /// It is down.
    Fallen,
    /// It was still up when patience ended.
    StillUp,
}
