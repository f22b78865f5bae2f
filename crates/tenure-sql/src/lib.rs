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
//! | `limits` | how much one statement carries, and how far times go |
//! | `statements` | the names of all statements |
//! | `store`, `work` | the handle, and units of work on its sessions |
//! | `lease`, `admin`, `registry`, `fence`, `schema` | the contracts over leases |
//! | `batch` | many rows in few statements |
//! | `cluster/` | nodes, and where daemons are |
//! | `outbox/` | outbox and inbox |
//! | `events/` | events, snapshots, checkpoints |

mod admin;
mod batch;
mod cluster;
mod driver;
mod events;
mod fault;
mod fence;
mod lease;
pub mod limits;
mod outbox;
mod reader;
mod registry;
mod row;
mod schema;
mod statements;
mod store;
mod template;
mod value;
mod work;

pub use driver::{Answer, Call, Driver, Lent, Session, Turn};
pub use events::{Checkpoints, Events};
pub use fault::{Fault, FaultKind};
pub use fence::Fencing;
pub use outbox::{Inbox, Outbox};
pub use reader::{Before, Columns, Reader, counted, recorded};
pub use row::{Cell, Row};
pub use schema::{Migration, script};
pub use statements::{Statements, Texts};
pub use store::SqlStore;
pub use template::{Piece, pieces};
pub use value::{Value, micros, moment_text, trust_millis};
