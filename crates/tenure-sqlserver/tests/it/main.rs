//! Tenure on SQL Server: on a real one, and on what is none.
//!
//! `TENURE_TEST_SQLSERVER_URL` names a server. Where it is missing, that is said aloud and its tests pass without having been
//! run, also with `CI=true`: this server cannot be had everywhere.

// Tests fail by panicking, and say aloud what could not be run.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stderr)]

mod cluster_suite;
mod event_suite;
mod links;
mod names;
mod outbox_suite;
mod sandbox;
mod suite;
