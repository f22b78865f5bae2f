//! The fence: the value a protected write carries, and the answer to it.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::{LeaseName, Loss, Term};
use crate::error::StoreError;

/// The right of one grant, as a value that a write can carry and a store can check.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Fence {
    /// The lease.
    pub lease: LeaseName,
    /// The number of the grant.
    pub term: Term,
}

/// `nightly#7`.
impl fmt::Display for Fence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}#{}", self.lease, self.term)
    }
}

/// The store's answer to a fence.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use = "a write must not go on when its fence was refused"]
pub enum FenceCheck {
    /// The grant holds, and goes on holding until the transaction that asked has ended.
    Holds,
    /// The grant is over; the write must not happen.
    Refused(Fenced),
}

impl FenceCheck {
    /// The check as a result, for use with `?`.
    pub fn into_result(self) -> Result<(), Fenced> {
        match self {
            Self::Holds => Ok(()),
            Self::Refused(fenced) => Err(fenced),
        }
    }
}

/// A write was refused because the grant it was made under is over.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the fence {fence} was refused: {loss}; stop working under it")]
pub struct Fenced {
    /// The fence that was refused.
    pub fence: Fence,
    /// Why the grant is over.
    pub loss: Loss,
}

/// A fence was not confirmed: the write must not happen.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FenceError {
    /// The grant is over.
    #[error(transparent)]
    Fenced(#[from] Fenced),
    /// The store gave no answer.
    #[error("the fence could not be checked: {0}")]
    Store(#[from] StoreError),
}
