//! What a backend implements. Contracts are object-safe: a round trip costs far more than a boxed future.
//!
//! [`LeaseStore`] is the narrow waist: four methods. The rest are capabilities that a backend may have.

mod admin;
mod audit;
mod capabilities;
mod cluster;
mod events;
mod lease_store;
mod operator;
mod outbox;
mod presence;
mod registry;
mod runners;
mod schema;
mod session_locks;
mod sink;
mod stories;
mod vacancy;

pub use admin::LeaseAdmin;
pub use audit::AuditLog;
pub use capabilities::Capabilities;
pub use cluster::ClusterStore;
pub use events::{AppendError, CheckpointStore, EventStore};
pub use lease_store::LeaseStore;
pub use operator::OperatorStores;
pub use outbox::{EnqueueError, OutboxAdmin, OutboxStore, Wakeup};
pub use presence::{Presence, PresenceSession, Raise, Watch};
pub use registry::LeaseRegistry;
pub use runners::RunnerStore;
pub use schema::{Migrated, Missing, Schema};
pub use session_locks::{SessionLock, SessionLocks};
pub use sink::Sink;
pub use stories::Stories;
pub use vacancy::Vacancy;
