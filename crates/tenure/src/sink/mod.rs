//! Where a relay delivers to: functions of this process, an HTTP receiver, Kafka, a stream of NATS, or standard output.
//!
//! [`Handlers`] calls functions, `Http` posts, `Nats` publishes, `KafkaSink` (crate `tenure-kafka`) produces, [`Stdout`] writes lines; [`from_url`] chooses by a
//! URL from the configuration, never by a row. What leaves the process is a CloudEvent (version 1.0); which attributes
//! it has, and what becomes of a message's headers, stands at [`EventSource`].
//!
//! Every sink delivers at least once: an answer that got lost, or a relay that died before it could write the answer
//! down, brings the same message again, with the same id. The receiver's inbox makes its effect happen once.

mod handlers;
#[cfg(feature = "http")]
pub(crate) mod http;
mod lines;
#[cfg(feature = "nats")]
mod nats;
mod options;
#[cfg(any(feature = "http", feature = "nats"))]
mod shown;
#[cfg(any(feature = "http", feature = "nats"))]
mod tls;

use std::sync::Arc;

use tenure_core::contract::Sink;

pub use self::handlers::{HandlerFuture, Handlers, verdict};
#[cfg(feature = "http")]
pub use self::http::{Http, SIGNATURE_HEADER, verify_signature};
pub use self::lines::{Lines, Stdout};
#[cfg(feature = "nats")]
pub use self::nats::Nats;
pub use self::options::{HttpOptions, KafkaSinkOptions, NatsOptions, Secret};
pub use tenure_core::outbox::cloudevents::{BadEventSource, EventSource};

/// What the sinks of [`from_url`] are made with. Each takes what concerns it.
#[derive(Debug, Clone, Default)]
pub struct SinkOptions {
    /// The `source` of every event.
    pub event_source: EventSource,
    /// For `http:` and `https:`.
    pub http: HttpOptions,
    /// For `kafka:`.
    pub kafka: KafkaSinkOptions,
    /// For `nats:`.
    pub nats: NatsOptions,
}

/// A sink could not be made. The message never holds a secret, nor more of a URL than its scheme.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SinkError {
    /// The URL's scheme names no sink.
    #[error(
        "unknown scheme `{scheme}:` in the receiver's URL; known are http:, https:, kafka:, nats: and stdout:"
    )]
    UnknownScheme {
        /// The scheme that was given.
        scheme: String,
    },
    /// The text has no scheme, or none that is known.
    #[error("the receiver's URL has no known scheme; write for example https://host/path or stdout:")]
    NoScheme,
    /// This build leaves the sink out.
    #[error("this build has no support for {scheme}: (feature `{feature}` is off)")]
    LeftOut {
        /// The scheme that was given.
        scheme: &'static str,
        /// The feature that brings it.
        feature: &'static str,
    },
    /// The URL's scheme is known, but the rest of it cannot be used.
    #[error("the receiver's URL cannot be used: {message}")]
    BadUrl {
        /// Why.
        message: String,
    },
    /// An option cannot be used.
    #[error("{option}: {message}")]
    BadOption {
        /// Which.
        option: &'static str,
        /// Why.
        message: String,
    },
    /// A type has a handler already.
    #[error("there is a handler for type `{kind}` already; a type has one")]
    HandledTwice {
        /// The type.
        kind: String,
    },
}

/// Makes the sink that `url` names: `http://…`, `https://…`, `kafka://…`, `nats://…` or `stdout:`. Connects to nothing.
pub fn from_url(url: &str, options: SinkOptions) -> Result<Arc<dyn Sink>, SinkError> {
    let (scheme, rest) = url.split_once(':').ok_or(SinkError::NoScheme)?;
    match scheme.to_ascii_lowercase().as_str() {
        "stdout" if rest.is_empty() => Ok(Arc::new(Stdout::new(options.event_source))),
        "stdout" => Err(SinkError::BadUrl { message: "nothing may follow `stdout:`".into() }),
        #[cfg(feature = "http")]
        "http" | "https" => Ok(Arc::new(Http::new(url, options.event_source, options.http)?)),
        #[cfg(not(feature = "http"))]
        "http" => Err(SinkError::LeftOut { scheme: "http", feature: "http" }),
        #[cfg(not(feature = "http"))]
        "https" => Err(SinkError::LeftOut { scheme: "https", feature: "http" }),
        #[cfg(feature = "kafka")]
        "kafka" => {
            options.kafka.validate()?;
            let unusable = |error: tenure_core::StoreError| SinkError::BadUrl { message: error.to_string() };
            let sink = tenure_kafka::KafkaSink::from_url(url, options.event_source).map_err(unusable)?;
            Ok(Arc::new(sink.with_timeout(options.kafka.timeout)))
        }
        #[cfg(not(feature = "kafka"))]
        "kafka" => Err(SinkError::LeftOut { scheme: "kafka", feature: "kafka" }),
        #[cfg(feature = "nats")]
        "nats" => Ok(Arc::new(Nats::new(url, options.event_source, options.nats)?)),
        #[cfg(not(feature = "nats"))]
        "nats" => Err(SinkError::LeftOut { scheme: "nats", feature: "nats" }),
        other if rest.starts_with("//") => Err(unknown_scheme(other)),
        _ => Err(SinkError::NoScheme),
    }
}

/// Repeats only what can be nothing but a scheme: `user:password@host` has a user before its first colon, or a token.
fn unknown_scheme(text: &str) -> SinkError {
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "+.-".contains(c);
    let starts = text.starts_with(|c: char| c.is_ascii_lowercase());
    if !starts || text.len() > 20 || !text.chars().all(plain) {
        return SinkError::NoScheme;
    }
    SinkError::UnknownScheme { scheme: text.to_owned() }
}
