//! Tenure on SQLite: one file, several processes on one machine.
//!
//! ```no_run
//! # async fn start() -> Result<(), tenure_core::StoreError> {
//! use tenure_core::contract::Schema;
//! use tenure_sqlite::{SqliteOptions, SqliteStore};
//!
//! let store = SqliteStore::connect(SqliteOptions::new("app.db")).await?;
//! store.migrate().await?;
//! # Ok(()) }
//! ```
//!
//! **What it does not promise.** All processes must run on one machine, with the file on a local disk: SQLite's log and
//! the locks of presence do not work over a network. A process that is frozen keeps its presence; its ttl decides.
//!
//! | file | what it holds |
//! |---|---|
//! | `options`, `store` | where the database is; the handle on it |
//! | `worker`, `database`, `writing` | the thread that owns the connection; the connection; one writing transaction |
//! | `files` | how a file that was removed or replaced under us is noticed |
//! | `clock` | why a step of the wall clock does not move the end of a lease |
//! | `renewal` | how a renewal is one statement while nobody but its holder touches the row |
//! | `leases`, `admin`, `registry`, `schema` | the contracts of the core, each a few jobs on the connection |
//! | `outbox`, `inbox` | messages in the user's own transactions, what the relay reads and records, what operators do |
//! | `events` | events, snapshots and checkpoints: appended and moved in the user's own transactions, or in the store's |
//! | `cluster` | nodes and daemons: what is read, and how an order is carried out |
//! | `reader` | a second connection that only reads, so that looks hold up no renewal |
//! | `wakeup`, `log_watch` | how a commit by any process wakes a relay, a reader or a node |
//! | `presence`, `flag_file` | how a death is noticed at once: locked files in `<database>-tenure/` |
//! | `fence` | checking a fence in the user's own transaction |
//! | `statements`, `rows`, `error`, `trace` | SQL, rows and failures; statements for those who want to see them |

mod access;
mod admin;
mod audit;
mod clock;
mod cluster;
mod database;
mod error;
mod events;
mod fence;
mod files;
mod flag_file;
mod inbox;
mod leases;
mod log_watch;
mod options;
mod outbox;
mod presence;
mod reader;
mod registry;
mod renewal;
mod rows;
mod runners;
mod schema;
mod statements;
mod store;
mod stories;
mod trace;
mod wakeup;
mod worker;
mod writing;

pub use clock::{Clocks, Reading, Steady, SystemClocks};
pub use events::{Checkpoints, Events};
pub use fence::{FenceParameters, Fencing};
pub use inbox::Inbox;
pub use options::SqliteOptions;
pub use outbox::Outbox;
pub use schema::migrations;
pub use store::SqliteStore;
