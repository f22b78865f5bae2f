//! The outbox in a SQLite file.
//!
//! ```text
//!   outbox           the message; its row never changes
//!   outbox_pending   one narrow row for each that is not finished, put there by a trigger
//!   outbox_attempts  every attempt
//!   outbox_dead      what was given up or discarded
//! ```
//!
//! A dead message that halts its source keeps its pending row, which is never due, and so holds its source.

mod admin;
mod dead;
mod enqueue;
#[cfg(feature = "sqlx")]
mod enqueue_sqlx;
mod list;
mod look;
mod part;
mod record;
pub(crate) mod statements;
mod stats;
mod store;
mod sweep;
mod text;

pub use enqueue::Outbox;
pub(crate) use enqueue::{Unsent, insert_all};
#[cfg(feature = "sqlx")]
pub(crate) use enqueue_sqlx::run;
pub(crate) use record::in_office;
