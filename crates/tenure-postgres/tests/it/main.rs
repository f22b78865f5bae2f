//! Tenure on real servers: Postgres itself, and Postgres behind PgBouncer in transaction mode.
//!
//! `TENURE_TEST_POSTGRES_URL` and `TENURE_TEST_PGBOUNCER_URL` name them (both lead to one database). Where one is
//! missing, that is said aloud and its tests pass without having been run; with `CI=true` they fail.

// Tests fail by panicking, and say aloud what could not be run.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stderr)]

mod bounds;
mod checkpoints;
mod cluster;
mod cluster_bed;
mod cluster_suite;
mod connections;
mod event_races;
mod event_suite;
mod events;
mod evidence;
mod fences;
mod horizon;
mod links;
mod outbox;
mod outbox_suite;
mod sandbox;
mod schema;
mod secrets;
mod sessions;
mod suite;
mod tls;
mod wakeups;
