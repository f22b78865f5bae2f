//! Tenure on MySQL 8 and MariaDB 10.11.
//!
//! A lease is a row; its expiry is judged by the server's clock alone; a fence is checked in the user's own transaction. A
//! holder's death is noticed within milliseconds by the end of its session, where `GET_LOCK` works.
//!
//! ```no_run
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! use tenure_mysql::{MySqlOptions, MySqlStore};
//!
//! let options = MySqlOptions::from_url("mysql://app:secret@db.example/app?ssl-mode=VERIFY_IDENTITY")?;
//! let store = MySqlStore::connect(options).await?;
//! # Ok(())
//! # }
//! ```
//!
//! The contracts themselves stand in `tenure-sql`, once for every store of this kind. Here is what is MySQL's own: the
//! folder `sql/`, and a driver.
//!
//! | file | what it holds |
//! |---|---|
//! | `options` | [`MySqlOptions`] and the URL |
//! | `store`, `connect`, `pool` | the handle, its connections |
//! | `session`, `joined` | statements on a connection of ours, and in a transaction of the user's own |
//! | `as_one` | how several are one there |
//! | `presence`, `locks`, `wait` | sessions: a holder's presence, [`MySqlLocks`], and waits for either |
//! | `probe`, `names` | whether sessions are real, and what their locks are called |
//! | `fence` | [`Fencing`]: the check in the user's transaction |
//! | `outbox`, `inbox` | [`Outbox`], [`Inbox`]: messages in the user's transaction |
//! | `events` | [`Events`] and [`Checkpoints`] in the user's transaction |
//! | `literal`, `rows`, `error` | between our types and the driver's |
//! | `statements` | the folder `sql/` |

mod as_one;
mod connect;
mod error;
mod events;
mod fence;
mod inbox;
mod joined;
mod literal;
mod locks;
mod names;
mod options;
mod outbox;
mod pool;
mod presence;
mod probe;
mod rows;
mod session;
mod statements;
mod store;
mod wait;

pub use events::{Checkpoints, Events};
pub use fence::Fencing;
pub use inbox::Inbox;
pub use locks::MySqlLocks;
pub use options::{MySqlOptions, TlsMode};
pub use outbox::Outbox;
pub use statements::migrations;
pub use store::MySqlStore;
