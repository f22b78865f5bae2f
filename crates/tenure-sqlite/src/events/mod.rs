//! Events and checkpoints in a SQLite file.
//!
//! ```text
//!   streams      one narrow row for each stream: its version
//!   events       what happened, by position; a row never changes
//!   snapshots    the last one of each stream
//!   checkpoints  how far each subscription has come
//!   parked       events that a subscription goes on without
//! ```
//!
//! SQLite has one writer at a time, so an append reads, has the core decide, and writes, and nobody comes between. For the
//! same reason positions rise in the order of commits: whoever has read up to the head has missed nothing below it, and
//! nothing ever holds readers up.

mod append;
#[cfg(feature = "sqlx")]
mod append_sqlx;
mod checkpoint_store;
mod checkpoints;
#[cfg(feature = "sqlx")]
mod checkpoints_sqlx;
mod decide;
mod group;
mod read;
mod snapshots;
pub(crate) mod statements;
mod store;

pub use append::Events;
pub use checkpoints::Checkpoints;
pub(crate) use group::Line;
pub(crate) use read::{story, streams};
