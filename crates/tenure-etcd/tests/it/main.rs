//! Tenure on a real etcd.
//!
//! `TENURE_TEST_ETCD_URL` names it. Where it is missing, that is said aloud and its tests pass without having been run;
//! with `CI=true` they fail. Tests that restart, wipe or lock a server start one of their own from the program `etcd`.

// Tests fail by panicking, and say aloud what could not be run.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stderr)]

mod auth;
mod cluster;
mod leaks;
mod lost_answers;
mod node;
mod pauses;
mod private;
mod proxy;
mod restart;
mod sandbox;
mod suite;
#[cfg(feature = "tls")]
mod tls;
mod ttl;
mod watch;
