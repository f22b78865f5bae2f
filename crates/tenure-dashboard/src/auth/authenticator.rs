//! Operators, and code of a user's own that knows them.

use std::collections::BTreeSet;
use std::fmt;
use std::time::SystemTime;

use async_trait::async_trait;
use axum::http::request::Parts;

use super::{Action, Permissions};

/// A person who is let in.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Operator {
    /// What he is called; stands in every line of audit.
    pub name: String,
    /// What he may do.
    pub permissions: Permissions,
    /// When that ends.
    pub expires_at: Option<SystemTime>,
    /// What he may not do, of what his permissions allow.
    pub denied: BTreeSet<Action>,
}

impl Operator {
    /// An operator by name.
    pub fn new(name: impl Into<String>, permissions: Permissions) -> Self {
        Self { name: name.into(), permissions, expires_at: None, denied: BTreeSet::new() }
    }

    /// Until when.
    #[must_use]
    pub const fn until(mut self, moment: SystemTime) -> Self {
        self.expires_at = Some(moment);
        self
    }

    /// Not that.
    #[must_use]
    pub fn but_not(mut self, action: Action) -> Self {
        self.denied.insert(action);
        self
    }
}

/// By name and rights.
impl fmt::Debug for Operator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Operator({:?} {})", self.name, self.permissions)
    }
}

/// Nobody is let in by a request.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Refused {
    /// It says nothing of who asks.
    Unknown,
    /// What it says is wrong or has ended; the reason is shown to the one who asked.
    Wrong(String),
}

/// Code of a user's own that knows operators, by a session of the application, say.
///
/// It is asked for every request, before anything else is done, so it should answer quickly. Requests that change things are
/// checked for where they come from beside, and carry the token of a form, signed for the operator's name.
#[async_trait]
pub trait Authenticator: Send + Sync {
    /// Who asks.
    async fn operator(&self, head: &Parts) -> Result<Operator, Refused>;
}
