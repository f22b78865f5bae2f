//! What Tenure's SQL stores have in common.
//!
//! Two things, and a store may use one of them or both:
//!
//! - **Row mapping** ([`Columns`], [`Reader`]): from the rows of any driver to the words of the core.
//! - **A store over a thin driver** ([`SqlStore`]): every contract, written once over [`Driver`] and [`Session`]. What differs
//!   between databases is a folder of SQL, whose names stand in one list ([`include_statements!`]); a name without a file
//!   does not compile.
//!
//! ```text
//!   SqlStore ── contracts, decisions of the core, one unit of work after another
//!      │  Statements: sql/NAME.sql of the database, with its tables filled in
//!   Driver ──── lends sessions of a pool, and knows presence and session locks
//!   Session ─── runs statements: on a connection of the pool, or in a transaction of the user's own
//! ```
//!
//! | file | what it holds |
//! |---|---|
//! | `reader/` | [`Columns`], [`Reader`]: rows to words |
//! | `value`, `row`, `template` | what goes into a statement, what comes out, and where parameters stand in its text |
//! | `driver`, `fault` | the contract of a driver, and what can go wrong on it |
//! | `ids` | ids for messages that were given none |
//! | `limits` | how much one statement carries, and how far times go |
//! | `statements` | the names of all statements |
//! | `store`, `work` | the handle, and units of work on its sessions |
//! | `lease`, `admin`, `registry`, `fence`, `schema` | the contracts over leases |
//! | `batch` | many rows in few statements |
//! | `cluster/` | nodes, and where daemons are |
//! | `outbox/` | outbox and inbox |
//! | `events/` | events, snapshots, checkpoints |

#[cfg(feature = "store")]
mod admin;
#[cfg(feature = "store")]
mod audit;
#[cfg(feature = "store")]
mod batch;
#[cfg(feature = "store")]
mod cluster;
#[cfg(feature = "store")]
mod driver;
#[cfg(feature = "store")]
mod events;
#[cfg(feature = "store")]
mod fault;
#[cfg(feature = "store")]
mod fence;
mod ids;
#[cfg(feature = "store")]
mod lease;
pub mod limits;
#[cfg(feature = "store")]
mod outbox;
#[cfg(feature = "store")]
mod prefix;
mod reader;
#[cfg(feature = "store")]
mod registry;
mod row;
#[cfg(feature = "store")]
mod runners;
#[cfg(feature = "store")]
mod schema;
mod span;
#[cfg(feature = "store")]
mod statements;
#[cfg(feature = "store")]
mod store;
#[cfg(feature = "store")]
mod stories;
#[cfg(feature = "store")]
mod template;
mod value;
#[cfg(feature = "store")]
mod work;

#[cfg(feature = "store")]
pub use driver::{Answer, Call, Driver, Lent, Session, Turn, Walked, last_rows};
#[cfg(feature = "store")]
pub use events::{Checkpoints, Events};
#[cfg(feature = "store")]
pub use fault::{Fault, FaultKind};
#[cfg(feature = "store")]
pub use fence::Fencing;
pub use ids::fresh_id;
#[cfg(feature = "store")]
pub use outbox::{Inbox, Outbox};
pub use reader::{AuditFound, Before, Columns, Found, Reader, RunnerColumns, counted, recorded};
pub use row::{Cell, Row};
#[cfg(feature = "store")]
pub use schema::{Migration, script};
pub use span::{enqueueing, enqueueing_now};
#[cfg(feature = "store")]
pub use statements::{Statements, Texts};
#[cfg(feature = "store")]
pub use store::SqlStore;
#[cfg(feature = "store")]
pub use template::{Piece, pieces};
pub use value::{Value, micros, moment_text, trust_millis};
