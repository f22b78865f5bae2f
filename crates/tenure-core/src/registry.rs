//! What kind of work a lock's name stands for.
//!
//! The registry shows a person who holds what. A name such as `outbox-orders` tells what kind of work it guards; a
//! [`Classifier`] reads that out of the name, and users with another scheme bring their own.

use std::fmt;
use std::sync::Arc;

use serde::Serialize;

use crate::id::{Node, NodeName, Unique};
use crate::lease::{LeaseName, Loss, Term};

type Classify = dyn Fn(&str) -> Option<String> + Send + Sync;

/// Reads the kind of work out of a lock's name.
#[derive(Clone)]
pub struct Classifier(Arc<Classify>);

impl Classifier {
    /// A scheme of one's own.
    pub fn new(classify: impl Fn(&str) -> Option<String> + Send + Sync + 'static) -> Self {
        Self(Arc::new(classify))
    }

    /// The kind of `name`, if it has one.
    pub fn kind(&self, name: &str) -> Option<String> {
        (self.0)(name)
    }
}

/// By the name's first word: `outbox-…`, `subscription-…`, `event-route-…`, `singleton-…`, `shard-…`, `daemon-…`,
/// `node-…`, `election-…`;
/// `-`, `/`, `:` and `.` all end a word.
impl Default for Classifier {
    fn default() -> Self {
        const KINDS: [(&str, &str); 9] = [
            ("outbox", "outbox"),
            ("subscription", "subscription"),
            ("event-route", "subscription"),
            ("singleton", "singleton"),
            ("shard", "shard"),
            ("daemon", "daemon"),
            ("node", "node"),
            ("election", "election"),
            ("leader", "election"),
        ];
        Self::new(|name| {
            let bare = name.strip_prefix("tenure-").or_else(|| name.strip_prefix("tenure/")).unwrap_or(name);
            let (_, kind) = KINDS.iter().find(|(word, _)| {
                bare.strip_prefix(word)
                    .is_some_and(|rest| rest.is_empty() || rest.starts_with(['-', '/', ':', '.']))
            })?;
            Some((*kind).to_owned())
        })
    }
}

impl fmt::Debug for Classifier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Classifier")
    }
}

/// One holding of a lock that is granted elsewhere, as the registry writes it down.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// The lock's name.
    pub name: LeaseName,
    /// Who holds it.
    pub node: Node,
    /// Which holding this is: told apart from an earlier one of the same node.
    pub claim: Unique,
    /// What granted it: `session`, `kubernetes`, `etcd` …
    pub backend: String,
    /// What kind of work it guards.
    pub kind: Option<String>,
    /// What the place that granted it counted; `None` where it counts nothing, as a session lock.
    pub origin: Option<Origin>,
}

/// The number of a grant where it was made, which is not the store that it protects.
///
/// Numbers of one epoch can be compared: a holder that comes late has a lower one than the holder that is written down.
/// Numbers of different epochs say nothing of each other.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Origin {
    /// What the number is counted from: see [`LeaseStore::epoch`](crate::contract::LeaseStore::epoch).
    pub epoch: Option<String>,
    /// The number.
    pub term: Term,
}

/// `7`, or `7 of 3f2c…`.
impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.epoch {
            None => fmt::Display::fmt(&self.term, f),
            Some(epoch) => write!(f, "{} of {epoch}", self.term),
        }
    }
}

/// What the registry made of a recorded entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Recorded {
    /// Written, under this term of the recording store.
    At(Term),
    /// Written, under this term of the recording store, although it cannot be told whether the holding is later than the
    /// one before: whoever granted it counts from elsewhere now.
    Anew {
        /// The term.
        term: Term,
        /// What the holding before was granted as.
        before: Origin,
    },
    /// A later holding of the same epoch is written down, or was: this one came late, or whoever granted it has gone back.
    /// Nothing was written.
    Behind {
        /// What the later holding was granted as.
        recorded: Origin,
        /// Whose it is, or was.
        by: NodeName,
    },
    /// The name is held already, as a lease of this store itself, or granted by another place or by a count that cannot be
    /// compared: until that holding has ended nothing is written.
    NameTaken {
        /// Who holds it.
        by: NodeName,
        /// Who granted it: the `backend` of its row; `None` if that is the recording store itself.
        place: Option<String>,
    },
}

/// What the registry knows of a recorded holding.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Touched {
    /// It is the one that is written down, and counts as living.
    Living,
    /// It is over as far as this store is concerned: its fence is refused from now on.
    Over(Loss),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a6_kind_comes_from_the_first_word_of_the_name() {
        let classifier = Classifier::default();
        let kind = |name| classifier.kind(name);
        assert_eq!(kind("outbox"), Some("outbox".into()));
        assert_eq!(kind("tenure-outbox-orders"), Some("outbox".into()));
        assert_eq!(kind("event-route-Loan-Book"), Some("subscription".into()));
        assert_eq!(kind("subscription/book-catalog"), Some("subscription".into()));
        assert_eq!(kind("outboxes"), None);
        assert_eq!(kind("nightly"), None);
    }

    #[test]
    fn a6_the_classifier_can_be_replaced() {
        let mine = Classifier::new(|name| name.split_once('!').map(|(kind, _)| kind.to_owned()));
        assert_eq!(mine.kind("report!daily"), Some("report".into()));
        assert_eq!(mine.kind("outbox-x"), None);
    }
}
