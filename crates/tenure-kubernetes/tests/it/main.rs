//! Leases in Kubernetes, against a server of our own, or a real API by `TENURE_TEST_KUBERNETES_URL`.

// A test fails by panicking.
#![allow(clippy::panic, clippy::unwrap_used, clippy::expect_used, unreachable_pub)]

mod api;
mod bed;
mod clocks;
mod connect;
mod deleted;
mod faults;
mod foreign;
mod handover;
mod rights;
mod suite;
