//! The exclusive node and the sink, on the client's own mock of a cluster and, where `TENURE_TEST_KAFKA_URL` names one, on a real one.
//!
//! A real one can be had almost everywhere, and not everywhere: where it is missing, that is said aloud, and its tests pass
//! without having been run. Its brokers must allow short sessions (`group.min.session.timeout.ms=500`). With
//! `TENURE_TEST_ROUNDS=10` hand-overs are measured in so many rounds, and a kill with the default session.

// Tests fail by panicking, and say aloud what could not be run.
#![allow(clippy::panic, clippy::unwrap_used, clippy::expect_used)]

mod conformance;
mod faults;
mod handover;
mod office;
mod place;
mod processes;
mod sink;
mod topic;
