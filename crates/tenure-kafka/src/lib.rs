//! Tenure on Kafka: leases by a consumer group, and a sink.
//!
//! ```no_run
//! # fn example() -> Result<(), Box<dyn std::error::Error>> {
//! use tenure_kafka::KafkaLeases;
//!
//! let leases = KafkaLeases::from_url("kafka://b1.example:9092,b2.example:9092/__tenure_exclusive?session-timeout=30s")?;
//! # Ok(())
//! # }
//! ```
//!
//! | file | what it holds |
//! |---|---|
//! | `options` | [`KafkaOptions`]: how to reach the brokers |
//! | `url` | what a `kafka://` URL says |
//! | `lease` | [`KafkaLeases`]: the exclusive node |
//! | `clock`, `error` | the steady clock; from the client's errors to ours |
//! | `sink` | [`KafkaSink`]: the outbox's messages as records |

mod clock;
mod error;
mod lease;
mod options;
mod sink;
mod url;

pub use lease::{DEFAULT_GROUP, DEFAULT_TOPIC, KafkaLeaseOptions, KafkaLeases};
pub use options::{KafkaOptions, SaslMechanism};
#[cfg(feature = "bench")]
pub use sink::Plain;
pub use sink::{DEFAULT_TIMEOUT, KafkaSink};
