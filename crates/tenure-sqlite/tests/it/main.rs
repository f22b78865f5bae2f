//! The store on real files, and in real processes: the test binary starts itself again to have a second one.

// Helpers of tests fail by panicking.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stderr)]

mod append;
mod append_in;
#[cfg(feature = "sqlx")]
mod append_sqlx;
mod backend;
mod bounds;
mod checkpoints;
mod child;
mod clock;
mod cluster;
mod cluster_bed;
mod cluster_conformance;
mod enqueue;
mod event_conformance;
mod event_read;
mod events;
mod fence;
mod idle;
mod inbox;
mod look;
mod opening;
mod operators;
mod outbox;
mod outbox_conformance;
mod presence;
mod processes;
mod record;
mod relays;
mod replaced;
mod retention;
mod rows;
mod schema;
mod wakeup;

/// Catalogue 5.1: what every backend must pass.
mod conformance {
    tenure_conformance::lease_suite!(async { crate::backend::SqliteFile::start().await });
}
