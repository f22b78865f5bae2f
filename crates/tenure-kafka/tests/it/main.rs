//! Tests on a real Kafka where there is one, and on librdkafka's mock of a cluster.

// Helpers outside of test functions may fail a test too.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod sink;
