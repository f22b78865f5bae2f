//! Leases that bite, and what stands on them.
//!
//! ```no_run
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! use tenure::{Acquired, LeaseSettings, Leases, local_node};
//!
//! let database = tenure::open("sqlite:app.db", tenure::OpenOptions::default()).await?;
//! database.schema().migrate().await?;
//! let leases = Leases::new(database.leases(), local_node(None)?);
//!
//! let nightly = leases.lease("nightly", LeaseSettings::default())?;
//! match nightly.acquire().await? {
//!     Acquired::Granted(fence) => println!("mine, under {fence}"),
//!     Acquired::Held(holder) => println!("held by {}", holder.node),
//! }
//! nightly.release().await?;
//! # Ok(()) }
//! ```
//!
//! Another database is another URL and the feature that goes with it:
//!
//! | URL | feature | what enqueues, appends, accepts and checks a fence in a transaction of your own |
//! |---|---|---|
//! | `sqlite:app.db` | `sqlite` (default) | `tenure::sqlite`, with rusqlite, or sqlx by the feature `sqlx` |
//! | `postgres://user@host/database` | `postgres` | `tenure::postgres`, with tokio-postgres, or sqlx by the feature `sqlx` |
//! | `mysql://user@host/database`, `mariadb://…` | `mysql` | `tenure::mysql`, with sqlx |
//! | `sqlserver://user@host/database`, `mssql://…` | `sqlserver` | `tenure::sqlserver`, with tiberius |
//!
//! **What this does not promise.** Holding a lease does not mean that nobody else acts: a paused process acts the moment
//! it wakes, before it can look at its clock. Whatever must not happen twice carries the [`Fence`] into the transaction
//! that does it, and lets the database refuse it there.

mod clock;
mod cluster;
mod entities;
mod error;
mod events;
mod exclusive;
mod fenced;
mod health;
mod heart;
mod hub;
mod lease;
mod locks;
mod mandate;
mod node;
mod open;
mod open_leases;
#[cfg(feature = "otlp")]
pub mod otlp;
mod presence;
mod record;
mod relay;
mod runners;
pub mod sink;
mod stop;
mod subscription;
mod sweeper;
pub mod telemetry;
#[cfg(feature = "testing")]
pub mod testing;
mod trace;

pub use serde_json as json;
pub use tenure_core as core;
pub use tenure_core::StoreError;
pub use tenure_core::cluster::{
    ClusterSettings, DaemonFilter, DaemonName, DaemonSpec, DaemonState, Group, Steering,
};
pub use tenure_core::health::{HealthReport, HealthThresholds, Level};
pub use tenure_core::id::{Node, NodeName};
pub use tenure_core::lease::{
    Fence, FenceError, Fenced, Holder, LeaseName, LeaseSettings, Loss, PresenceSettings, Release, Term,
};
pub use tenure_core::outbox::{
    Message, MessageId, NewMessage, OnDead, Part, PartError, RelaySettings, Retention, RetryPolicy, Verdict,
};
pub use tenure_core::registry::Classifier;
pub use tenure_core::subscription::{OnFailure, SubscriptionSettings};
pub use tenure_core::{entity, event};

#[cfg(feature = "etcd")]
pub use tenure_etcd as etcd;
#[cfg(feature = "kafka")]
pub use tenure_kafka as kafka;
#[cfg(feature = "kubernetes")]
pub use tenure_kubernetes as kubernetes;
#[cfg(feature = "mysql")]
pub use tenure_mysql as mysql;
#[cfg(feature = "postgres")]
pub use tenure_postgres as postgres;
#[cfg(feature = "sqlite")]
pub use tenure_sqlite as sqlite;
#[cfg(feature = "sqlserver")]
pub use tenure_sqlserver as sqlserver;

pub use clock::{SteadyClock, SteadyStoreClock};
pub use cluster::{
    Agent, AgentError, Cluster, ClusterBuilder, ClusterError, ClusterEvent, ClusterStatus, Duty, Leadership,
    Observer, OutboxParts, Shards, Singleton, SingletonSettings, agent, shard_of,
};
pub use entities::{Aggregates, Dispatcher, Entities, Processes, Reply, TellError};
pub use error::LeaseError;
pub use events::Events;
pub use exclusive::run_exclusively;
pub use fenced::FencedLeases;
pub use health::HealthMonitor;
pub use lease::{Acquired, Lease, Leases, OnLost, TrustWatch};
pub use locks::LeaseLocks;
pub use mandate::{InAir, Left, Mandate};
pub use node::{local_node, new_id};
pub use open::{Database, OpenError, OpenOptions, Purpose, Store, migrations, open};
pub use open_leases::{grants_leases_only, open_leases};
pub use record::{Recorder, RecorderOptions, Recording, RecordingLeases, RecordingLocks};
pub use relay::{Depot, Relay, RelayError, RelayStatus, Role};
pub use runners::{Beat, LoopWatch, Runners, runners};
pub use stop::Stop;
pub use subscription::{
    EventHandler, HandleError, Handling, Projection, Route, Routes, Subscription, SubscriptionError,
    SubscriptionState, SubscriptionStatus, Tap, TapSettings, handler, routes,
};
pub use sweeper::Sweeper;
pub use tenure_core::entity::EntitySettings;
