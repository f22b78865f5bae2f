//! Tenure on Postgres: direct, or through a transaction pooler.
//!
//! A lease is a row; its expiry is judged by the server's clock alone; a fence is checked in the user's own transaction.
//! Where sessions are real, a holder's death is noticed within milliseconds by the end of its session ([presence]).
//! Behind a transaction pooler (PgBouncer, pgcat …) everything but presence and session locks works all the same, and
//! the ttl decides. Which of the two holds is found out at start by a probe, and said.
//!
//! ```no_run
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! use tenure_core::contract::Schema;
//! use tenure_postgres::{PostgresOptions, PostgresStore};
//!
//! let options = PostgresOptions::from_url("postgres://app:secret@db.example/app?sslmode=verify-full")?;
//! let store = PostgresStore::connect(options).await?;
//! store.migrate().await?;
//! # Ok(())
//! # }
//! ```
//!
//! | file | what it holds |
//! |---|---|
//! | `options`, `password` | [`PostgresOptions`], the URL, and where a password is found that is not in it |
//! | `store`, `connect`, `tls`, `probe` | the handle, its connections, and what stands between them and the server |
//! | `statements`, `transaction`, `writing` | the only place that builds SQL, and the two ways to run it |
//! | `leases`, `admin`, `registry`, `schema` | the contracts over rows |
//! | `presence`, `locks`, `wait` | the contracts over sessions |
//! | `fence` | [`Fencing`]: the check in the user's transaction |
//! | `outbox/` | [`Outbox`] and [`Inbox`] in the user's transaction, and the contracts of relay and operator |
//! | `events/` | [`Events`] and [`Checkpoints`] in the user's transaction, and the contracts of readers |
//! | `cluster/` | nodes and daemons: what is read, and how an order is carried out |
//! | `wakeup` | what wakes a relay, a reader or a node that sleeps |
//! | `rows`, `wire`, `error` | from the driver's types to ours |
//!
//! [presence]: tenure_core::contract::Presence

mod admin;
mod audit;
mod cluster;
mod connect;
mod error;
mod events;
mod fence;
mod leases;
mod locks;
mod options;
mod outbox;
mod password;
mod presence;
mod probe;
mod registry;
mod rows;
mod runners;
mod schema;
mod statements;
mod store;
mod stories;
mod tls;
mod transaction;
mod wait;
mod wakeup;
mod wire;
mod writing;

pub use events::{APPEND_IDLE_MAX, Checkpoints, Events};
pub use fence::Fencing;
pub use locks::PostgresLocks;
pub use options::{PostgresOptions, Sessions, TlsMode};
pub use outbox::{Inbox, Outbox};
pub use schema::migrations;
pub use store::PostgresStore;
