//! Commands for other entities, on their way through the outbox.

use std::time::Duration;

use super::{Aggregate, Process};
use crate::event::{DecodeError, Encoded, StreamName, Types, Version, encode};
use crate::outbox::{NewMessage, deterministic_id};

/// The header that names the entity a command is for.
pub const HEADER_TO: &str = "tenure-to";
/// The header with the schema's version of a command, where it is not 1.
pub const HEADER_SCHEMA: &str = "tenure-schema";
/// The header with what all events and messages of one story share.
pub const HEADER_CORRELATION: &str = "tenure-correlation";
/// The header with what a message follows from.
pub const HEADER_CAUSATION: &str = "tenure-causation";

/// The event that a [`HEADER_CAUSATION`] names: its stream and version. `None` for anything else.
pub fn causing_event(causation: &str) -> Option<(StreamName, Version)> {
    let (stream, version) = causation.rsplit_once('@')?;
    let digits = version.bytes().all(|byte| byte.is_ascii_digit());
    let version = version.parse().ok().filter(|version: &i64| digits && *version > 0)?;
    Some((StreamName::new(stream).ok()?, Version(version)))
}

/// A command for an entity, as a process sends it.
#[derive(Debug, Clone)]
pub struct Dispatch {
    kind: String,
    to: String,
    command: Result<(Encoded, u32), DecodeError>,
    delay: Duration,
}

impl Dispatch {
    /// A command for an aggregate.
    pub fn to_aggregate<A: Aggregate>(id: impl Into<String>, command: &A::Command) -> Self {
        Self::new(A::KIND, id.into(), command, &A::commands())
    }

    /// A command for a process; for the process itself it is a timeout, once it has a delay.
    pub fn to_process<P: Process>(id: impl Into<String>, command: &P::Command) -> Self {
        Self::new(P::KIND, id.into(), command, &P::commands())
    }

    fn new<C: serde::Serialize>(kind: &str, to: String, command: &C, types: &Types<C>) -> Self {
        let command = encode(command).map(|encoded| {
            let schema = types.schema_of(&encoded.kind);
            (encoded, schema)
        });
        Self { kind: kind.to_owned(), to, command, delay: Duration::ZERO }
    }

    /// Holds it back. What is sent after it does not wait for it.
    #[must_use]
    pub fn after(mut self, delay: Duration) -> Self {
        self.delay = delay;
        self
    }

    /// The kind of the entity that it is for.
    pub fn kind(&self) -> &str {
        &self.kind
    }

    /// The entity that it is for.
    pub fn to(&self) -> &str {
        &self.to
    }

    /// The command as it is sent; an error when it is no variant of an enum.
    pub fn command(&self) -> Result<&Encoded, DecodeError> {
        self.command.as_ref().map(|(encoded, _)| encoded).map_err(Clone::clone)
    }

    /// How long it is held back.
    pub fn delay(&self) -> Duration {
        self.delay
    }

    /// The message of the `index`th dispatch at one version of a stream.
    pub(super) fn message(
        &self,
        stream: &StreamName,
        version: Version,
        index: usize,
        correlation: Option<&str>,
    ) -> Result<NewMessage, DecodeError> {
        let (command, schema) = self.command.as_ref().map_err(Clone::clone)?;
        let index = i32::try_from(index).unwrap_or(i32::MAX);
        let message = NewMessage::json(&self.kind, &command.kind, &command.payload);
        let mut message = if self.delay.is_zero() {
            message.from_version(stream.as_str(), version.0, index)
        } else {
            // Outside of the order: what follows must not wait for a timeout.
            message.with_id(deterministic_id(stream.as_str(), version.0, index)).delayed(self.delay)
        };
        message = message
            .with_header(HEADER_TO, &self.to)
            .with_header(HEADER_CAUSATION, format!("{stream}@{version}"));
        if *schema != 1 {
            message = message.with_header(HEADER_SCHEMA, schema.to_string());
        }
        if let Some(correlation) = correlation {
            message = message.with_header(HEADER_CORRELATION, correlation);
        }
        Ok(message)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_causation_names_an_event_or_nothing() {
        let event = |stream: &str, version| Some((StreamName::new(stream).unwrap(), Version(version)));
        assert_eq!(causing_event("loan-7@3"), event("loan-7", 3));
        assert_eq!(causing_event("a@b@3"), event("a@b", 3));
        for (none, long) in
            [("", ""), ("loan-7", ""), ("@3", ""), ("loan-7@", ""), ("loan-7@0", ""), ("loan-7@-1", "")]
                .into_iter()
                .chain([
                    ("loan-7@+1", ""),
                    ("loan-7@1 ", ""),
                    ("loan-7@9223372036854775808", ""),
                    ("a\0b@1", ""),
                ])
                .chain([("loan-7@١", ""), ("@1", &*"x".repeat(10_000))])
        {
            assert_eq!(causing_event(&format!("{long}{none}")), None, "{none}");
        }
    }
}
