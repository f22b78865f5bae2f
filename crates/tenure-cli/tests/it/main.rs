//! The binary `tenure` as its users meet it: real processes, real signals, real databases.
//!
//! A test is a function of a store; `tests_on!` makes it a test on each store that it is for. Processes are found and
//! looked at through `/proc`, so these tests are for Linux.

// Helpers of tests fail by panicking, and say aloud what they leave out.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stderr)]

mod harness;

mod bad_input;
mod bench;
mod browser;
mod chaos;
mod cluster;
mod cluster_chaos;
mod cluster_operator;
mod dashboard;
mod demo;
mod elsewhere;
#[cfg(any(feature = "etcd", feature = "kafka", feature = "kubernetes"))]
mod elsewhere_places;
mod environment;
mod exit;
mod freeze;
mod fuzz;
mod guard;
mod help;
mod idle;
mod json_shapes;
mod kill;
mod looking;
mod migrate;
mod names;
mod on_lost;
mod operator;
mod otlp;
mod outage;
mod outbox;
mod signals;
mod stuck;
mod telemetry_files;
mod terminal;
mod triage;
mod turns;
