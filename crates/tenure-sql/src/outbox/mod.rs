//! The outbox and the inbox.
//!
//! | file | what it holds |
//! |---|---|
//! | `enqueue`, `alone` | [`Outbox`]: messages in the user's own transaction, and one of them |
//! | `store` | the contract of a relay: each call one unit of work |
//! | `look`, `discover`, `unordered` | what is pending, and how sources are found |
//! | `arrivals` | what has just come: the list, and how it is laid into lanes |
//! | `beside` | what stands in lanes while the list is counted |
//! | `adopt` | what other programs have inserted; who excludes whom |
//! | `record` | what came of attempts |
//! | `sweep` | retention |
//! | `admin`, `list`, `dead`, `pulse` | what an operator sees and does |
//! | `inbox` | [`Inbox`]: which messages took effect |
//! | `cells` | rows as they come, value by value |
//! | `unit` | what stops a unit of work |

mod admin;
mod adopt;
mod alone;
mod arrivals;
mod beside;
mod cells;
mod dead;
mod discover;
mod enqueue;
mod inbox;
mod list;
mod look;
mod orphans;
mod pulse;
mod record;
mod store;
mod sweep;
mod unit;
mod unordered;

pub(crate) use beside::Beside;
pub use enqueue::Outbox;
pub(crate) use enqueue::Queues;
pub use inbox::Inbox;
