//! The suite that every Tenure backend must pass.
//!
//! An author of a backend implements [`Backend`] for a test and writes one line:
//!
//! ```ignore
//! tenure_conformance::lease_suite!(async { MyBackend::start().await });
//! ```
//!
//! Each case becomes a test of its own, named after the property it proves and the number of the failure scenario it
//! comes from. A case that needs a capability the backend does not have says so and passes.

// A suite fails by panicking, and says aloud what it could not run.
#![allow(clippy::panic, clippy::unwrap_used, clippy::expect_used, clippy::print_stderr)]

pub mod backend;
pub mod lease;

pub use backend::Backend;
