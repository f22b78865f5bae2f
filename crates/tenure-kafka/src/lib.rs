//! Tenure on Kafka: leases by a consumer group, and a sink.
//!
//! | file | what it holds |
//! |---|---|
//! | `options` | [`KafkaOptions`]: how to reach the brokers |
//! | `url` | what a `kafka://` URL says |

mod options;
mod url;

pub use options::{KafkaOptions, SaslMechanism};
