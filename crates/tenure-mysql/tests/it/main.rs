//! Tenure on real servers: MariaDB, and Oracle's MySQL.
//!
//! `TENURE_TEST_MARIADB_URL` and `TENURE_TEST_MYSQL_URL` name them. Where one is missing, that is said aloud and its tests
//! pass without having been run; with `CI=true` they fail.

// Tests fail by panicking, and say aloud what could not be run.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stderr)]

mod bed;
mod charset;
mod checkpoints;
mod cluster;
mod cluster_bed;
mod cluster_locks;
mod cluster_suite;
mod connections;
mod event_group_faults;
mod event_groups;
mod event_races;
mod event_suite;
mod events;
mod evidence;
mod fences;
mod horizon;
mod large;
mod links;
mod migration_faults;
mod operator_plans;
mod operators;
mod outbox;
mod outbox_adopt;
mod outbox_alone;
mod outbox_locks;
mod outbox_plans;
mod outbox_suite;
mod proxy;
mod sandbox;
mod schema;
mod secrets;
mod sessions;
mod suite;
mod tls;
