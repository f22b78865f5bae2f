//! The drivers over the in-memory store, with faults.

// Helpers outside of test functions may fail a test too.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod bank;
mod cluster;
mod depot;
mod entities;
#[cfg(feature = "etcd")]
mod etcd_failover;
mod faulty;
mod fenced;
mod fenced_suite;
mod health;
#[cfg(feature = "kafka")]
mod kafka;
mod lease;
mod locks;
mod mandate;
#[cfg(feature = "nats")]
mod nats;
#[cfg(feature = "otlp")]
mod otlp;
mod parts;
mod process;
mod record;
mod relay;
mod server;
mod sink;
#[cfg(feature = "http")]
mod sink_answers;
#[cfg(feature = "http")]
mod sink_http;
#[cfg(feature = "http")]
mod sink_secrets;
#[cfg(feature = "http")]
mod sink_server;
#[cfg(feature = "http")]
mod sink_tls;
mod subscription;
mod subscription_trouble;
mod suite;
mod telemetry;
mod testkit;
mod urls;
