//! The leases of one node on one store.

use std::sync::Arc;

use tenure_core::contract::{Capabilities, LeaseStore};
use tenure_core::id::Node;
use tenure_core::lease::{LeaseName, LeaseSettings};
use tenure_core::registry::Classifier;
use tenure_core::time::Clock;

use super::Lease;
use super::handle::Handle;
use super::terms::TermMemory;
use crate::clock::SteadyClock;
use crate::error::LeaseError;
use crate::presence::NodePresence;

/// The leases of one node on one store.
#[derive(Debug, Clone)]
pub struct Leases {
    shared: Arc<Shared>,
}

/// What all leases of a node on a store share.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) store: Arc<dyn LeaseStore>,
    pub(super) node: Node,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) classifier: Classifier,
    pub(super) presence: NodePresence,
    pub(super) terms: TermMemory,
}

impl Leases {
    /// The leases of `node` on `store`. Nothing is opened or asked yet.
    pub fn new(store: Arc<dyn LeaseStore>, node: Node) -> Self {
        Self::with_classifier(store, node, Classifier::default())
    }

    /// As [`Leases::new`], with a scheme of one's own to tell the kind of work from a lease's name.
    pub fn with_classifier(store: Arc<dyn LeaseStore>, node: Node, classifier: Classifier) -> Self {
        let clock = SteadyClock::shared();
        let presence = NodePresence::new(store.clone(), clock.clone());
        Self {
            shared: Arc::new(Shared {
                store,
                node,
                clock,
                classifier,
                presence,
                terms: TermMemory::default(),
            }),
        }
    }

    /// A handle on one lease. Two handles exclude each other, also within one process.
    pub fn lease(&self, name: impl Into<String>, settings: LeaseSettings) -> Result<Lease, LeaseError> {
        let name = LeaseName::new(name)?;
        settings.validate()?;
        Ok(Lease { handle: Arc::new(Handle::new(self.shared.clone(), name, settings)) })
    }

    /// This process as the store sees it.
    pub fn node(&self) -> &Node {
        &self.shared.node
    }

    /// What the store can do here and now.
    pub fn capabilities(&self) -> Capabilities {
        self.shared.store.capabilities()
    }
}
