//! The store on real files, and in real processes: the test binary starts itself again to have a second one.

// Helpers of tests fail by panicking.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod backend;
mod child;
mod clock;
mod fence;
mod opening;
mod presence;
mod processes;
mod replaced;
mod rows;
mod schema;

/// Catalogue 5.1: what every backend must pass.
mod conformance {
    tenure_conformance::lease_suite!(async { crate::backend::SqliteFile::start().await });
}
