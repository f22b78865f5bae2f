//! Tenure on SQL Server 2019 and later.
//!
//! A lease is a row; its expiry is judged by the server's clock alone; a fence is checked in the user's own transaction. A
//! holder's death is noticed by the end of its session, by a lock that goes with it (`sp_getapplock`).
//!
//! ```no_run
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! use tenure_sqlserver::{SqlServerOptions, SqlServerStore};
//!
//! let options = SqlServerOptions::from_url("sqlserver://app:secret@db.example:1433/app")?;
//! let store = SqlServerStore::connect(options).await?;
//! # Ok(())
//! # }
//! ```
//!
//! The contracts themselves stand in `tenure-sql`, once for every store of this kind. Here is what is SQL Server's own: the
//! folder `sql/`, and a driver.
//!
//! | file | what it holds |
//! |---|---|
//! | `options` | [`SqlServerOptions`] and the URL |
//! | `store`, `connect`, `pool` | the handle, its connections |
//! | `batch`, `parameters`, `branches` | several statements as one text, what goes into it, and whose answer is whose |
//! | `session`, `joined` | statements on a connection of ours, and in a transaction of the user's own |
//! | `fence`, `outbox`, `inbox`, `events` | [`Fencing`], [`Outbox`], [`Inbox`], [`Events`], [`Checkpoints`]: in the user's transaction |
//! | `applock`, `wait`, `presence`, `locks` | locks of a session, flags on them, and [`SqlServerLocks`] |
//! | `rows`, `error` | between our types and the driver's |
//! | `statements` | the folder `sql/` |

mod applock;
mod batch;
mod branches;
mod connect;
mod error;
mod events;
mod fence;
#[cfg(test)]
mod grammar;
mod inbox;
mod joined;
mod locks;
mod options;
mod outbox;
mod parameters;
mod pool;
mod presence;
mod rows;
mod session;
mod statements;
mod store;
mod wait;

pub use events::{Checkpoints, Events};
pub use fence::Fencing;
pub use inbox::Inbox;
pub use locks::SqlServerLocks;
pub use options::{Encrypt, SqlServerOptions};
pub use outbox::Outbox;
pub use statements::migrations;
pub use store::SqlServerStore;
