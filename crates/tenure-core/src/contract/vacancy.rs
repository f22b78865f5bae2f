//! A hint that a lease may be free, from stores that can tell of a change.

use std::time::Duration;

use async_trait::async_trait;

use super::Watch;
use crate::error::StoreError;
use crate::lease::{LeaseName, Term};

/// The capability of a store to tell at once that a grant is over: a watch on a key, an object or a topic.
///
/// It proves nothing, and only makes a contender claim sooner: with every hint lost it looks every
/// [`poll`](crate::lease::LeaseSettings). A store with [`Presence`](super::Presence) needs none.
#[async_trait]
pub trait Vacancy: Send + Sync {
    /// Waits for the grant with this term to be over, at most for `patience`. Answers at once where it is over already.
    ///
    /// Dropping the future ends the watch and leaves nothing behind.
    async fn watch(&self, name: &LeaseName, term: Term, patience: Duration) -> Result<Watch, StoreError>;
}
