//! Tenure on Kafka: leases by a consumer group, and a sink.
//!
//! | file | what it holds |
//! |---|---|
//! | `options` | [`KafkaOptions`]: how to reach the brokers |
//! | `url` | what a `kafka://` URL says |
//! | `sink` | [`KafkaSink`]: the outbox's messages as records |

mod options;
mod sink;
mod url;

pub use options::{KafkaOptions, SaslMechanism};
#[cfg(feature = "bench")]
pub use sink::Plain;
pub use sink::{DEFAULT_TIMEOUT, KafkaSink};
