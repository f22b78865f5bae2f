//! Tenure leases on etcd 3.4 and newer.
//!
//! A grant is a key that is attached to an etcd lease, made by a transaction that finds no such key: while it is there,
//! the grant holds. Its create revision is the term. Beside it stands a key without a lease that remembers the last
//! grant, so that a person can see who held the lease after it ended, and a release can be told from an expiry.
//!
//! ```text
//!            claim: lease + transaction "no key there"          renewal: keep-alive + transaction "still my key"
//!   free ───────────────────────────────────────────▶ held ──────────────────────────────────────────────┐
//!    ▲                                                 │ ▲                                                 │
//!    │  release: transaction "my create revision", then revoke; or etcd ends the lease after its ttl       │
//!    └─────────────────────────────────────────────────┘ └─────────────────────────────────────────────────┘
//! ```
//!
//! etcd says itself that its locks do not make two holders impossible. The fence in the protected store does: record the
//! grant there (`tenure::RecordingLeases`), and write under the term that it gives.
//!
//! Nothing is kept alive in the background: each renewal is one call of the holder's heartbeat, so a holder that has
//! stopped beating loses its lease whatever its connection does. What one must know to run it is in `docs/etcd.md`.
//!
//! | module | what it holds |
//! |---|---|
//! | `options` | the URL, and what it may say |
//! | `link` | the members of the cluster, and which of them is asked |
//! | `call` | one call of the contract: its requests, and its deadline |
//! | `keys`, `row` | which keys there are, and what their values say |
//! | `look` | what the keys say at one revision |
//! | `acquire`, `renew`, `release`, `watch` | the contract's methods |
//! | `store` | the handle that people have |
//! | `thread` | where all of it runs |

mod acquire;
mod call;
mod error;
mod keys;
mod link;
mod look;
mod options;
mod release;
mod renew;
mod row;
mod store;
mod thread;
mod watch;

pub use options::{EtcdOptions, TlsFiles};
pub use store::EtcdStore;
