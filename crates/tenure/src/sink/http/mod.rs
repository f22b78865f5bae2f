//! Delivery by HTTP, as CloudEvents in binary mode.
//!
//! ```text
//!   Message ──▶ request ──▶ connect (pool, TLS, limits) ──▶ the receiver
//!   Verdict ◀── answer  ◀───────────────────────────────────────┘
//! ```

mod answer;
mod connect;
mod request;
mod signature;
mod target;

use std::error::Error;
use std::fmt;
use std::time::Duration;

use async_trait::async_trait;
use tenure_core::contract::Sink;
use tenure_core::outbox::{Message, Verdict};
use tokio::time::{Instant, timeout_at};

use self::answer::Reader;
pub(crate) use self::connect::{Client, client};
pub(crate) use self::target::Target;
use super::{EventSource, HttpOptions, SinkError};

pub use self::signature::{SIGNATURE_HEADER, verify_signature};

/// Posts each message to one URL, as a CloudEvent in binary mode: attributes as `ce-…` headers, the payload as the body.
///
/// # What the receiver gets
///
/// The attributes that [`EventSource`] lists, their values percent-encoded as CloudEvents has it (space, `"`, `%` and all
/// that is not visible ASCII); `content-type`; the trace context also as plain `traceparent` and `tracestate`; if
/// configured, `authorization: Bearer …` and a signature (see [`verify_signature`]). A row sets no other header. A row whose
/// content type is no header value, or begins with `application/cloudevents`, which would make the receiver take the
/// payload for the event, is poison.
///
/// # What its answer means
///
/// | answer | verdict |
/// |---|---|
/// | 2xx | accepted, whatever becomes of the body |
/// | 408, 425, 429, 5xx | transient; `Retry-After` is respected, as seconds or as a date |
/// | 400–499 otherwise | rejected: the message is dead at once |
/// | 3xx | transient: redirects are not followed, the configuration is to be corrected |
/// | anything else, or none | transient |
///
/// The reason is the status and the first 500 bytes of the body. Of a body at most 64 KiB are read, for at most a second;
/// if it is longer, the connection is closed.
///
/// # Where it goes
///
/// To the URL of the configuration, and nowhere else: no redirects, and no proxy from the environment. TLS trusts the
/// system's certificates and those of the options; HTTP/2 is used where the receiver offers it (ALPN). A URL that holds a
/// user or password is refused; the path and the query, which may hold a secret, are never shown.
pub struct Http {
    target: Target,
    source: EventSource,
    options: HttpOptions,
    client: Client,
    reader: Reader,
}

impl Http {
    /// A sink that posts to `url`. Connects when the first message is delivered.
    pub fn new(url: &str, source: EventSource, options: HttpOptions) -> Result<Self, SinkError> {
        options.validate()?;
        let target = Target::parse(url)?;
        let client = client(&target, &options)?;
        let reader = Reader::new(&target, &options);
        Ok(Self { target, source, options, client, reader })
    }

    fn no_answer(&self, what: impl fmt::Display) -> Verdict {
        let reason = format!("{}: {what}", self.target.name);
        Verdict::transient(self.reader.plain(&reason))
    }
}

impl fmt::Debug for Http {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Http")
            .field("name", &self.target.name)
            .field("source", &self.source)
            .field("options", &self.options)
            .finish_non_exhaustive()
    }
}

#[async_trait]
impl Sink for Http {
    fn name(&self) -> &str {
        &self.target.name
    }

    async fn deliver(&self, message: &Message) -> Verdict {
        let request = match request::build(&self.target, &self.source, &self.options, message) {
            Ok(request) => request,
            Err(reason) => return Verdict::Poison { reason },
        };
        let deadline = Instant::now() + self.options.timeout;
        match timeout_at(deadline, self.client.request(request)).await {
            Ok(Ok(response)) => self.reader.judge(response, deadline).await,
            Ok(Err(error)) => self.no_answer(Chain(&error)),
            Err(_) => self.no_answer(Late(self.options.timeout)),
        }
    }
}

struct Late(Duration);

impl fmt::Display for Late {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "no answer within {:?}", self.0)
    }
}

/// An error with what caused it.
pub(crate) struct Chain<'a>(pub(crate) &'a dyn Error);

impl fmt::Display for Chain<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)?;
        let mut cause = self.0.source();
        // A chain is short; the limit is for one that goes in a circle.
        for _ in 0..8 {
            let Some(error) = cause else { break };
            write!(f, ": {error}")?;
            cause = error.source();
        }
        Ok(())
    }
}
