//! The suite that every Tenure backend must pass.
//!
//! An author of a backend implements [`Backend`] for a test and writes one line, in a module of its own for every way
//! of connecting:
//!
//! ```text
//! mod direct {
//!     tenure_conformance::lease_suite!(async { MyBackend::start().await });
//! }
//! ```
//!
//! Each case becomes a test of its own, named after the property it proves and the number of the failure scenario it
//! comes from. A case that needs something the backend does not have says so and passes; what a backend
//! [promises](Backend::promises) must not be missing. The story of a whole backend is told in
//! `docs/writing-a-backend.md`.
//!
//! | module | what it holds |
//! |---|---|
//! | [`backend`] | what the suite needs of a backend under test |
//! | [`cluster`] | the cases about nodes, daemons and their leader, by theme, and their list |
//! | [`events`] | the cases about events and checkpoints, by theme, and their list |
//! | [`lease`] | the cases about leases, by theme, and their list |
//! | [`outbox`] | the cases about outbox and inbox, by theme, and their list |
//! | [`suite`] | how a case is run |

// A suite fails by panicking.
#![allow(clippy::panic, clippy::unwrap_used, clippy::expect_used)]

pub mod backend;
pub mod cluster;
pub mod events;
pub mod lease;
pub mod outbox;
pub mod suite;

pub use backend::{Backend, Need};
pub use cluster::ClusterBackend;
pub use events::EventBackend;
pub use outbox::OutboxBackend;
pub use suite::servers_may_be_missing;

/// Makes one test of every lease case.
///
/// The argument is a future that yields a backend under test: a [`Backend`], an `Arc<dyn Backend>`, or an `Option` of
/// either, where `None` says that the server is not to be had here. That is said aloud and passes, unless `CI=true`
/// (see [`servers_may_be_missing`]).
///
/// The calling crate needs no dependency but this one: every test brings its own runtime.
#[macro_export]
macro_rules! lease_suite {
    ($backend:expr) => {
        $crate::__lease_cases! { tests $backend }
    };
}

/// Makes one test of every outbox case.
///
/// The argument is a future that yields an [`OutboxBackend`], or an `Option` of one, as for [`lease_suite!`].
#[macro_export]
macro_rules! outbox_suite {
    ($backend:expr) => {
        $crate::__outbox_cases! { tests $backend }
    };
}

/// Makes one test of every event case.
///
/// The argument is a future that yields an [`EventBackend`], or an `Option` of one, as for [`lease_suite!`].
#[macro_export]
macro_rules! event_suite {
    ($backend:expr) => {
        $crate::__event_cases! { tests $backend }
    };
}

/// Makes one test of every cluster case.
///
/// The argument is a future that yields a [`ClusterBackend`], or an `Option` of one, as for [`lease_suite!`].
#[macro_export]
macro_rules! cluster_suite {
    ($backend:expr) => {
        $crate::__cluster_cases! { tests $backend }
    };
}
