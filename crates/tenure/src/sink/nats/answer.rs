//! From the server's answer to a verdict.

use std::error::Error as _;
use std::time::Duration;

use async_nats::jetstream;
use async_nats::jetstream::ErrorCode;
use async_nats::jetstream::context::{PublishError, PublishErrorKind};
use tenure_core::outbox::Verdict;

/// Whether the client that said so will never publish again.
pub(super) fn is_end_of_client(error: &PublishError) -> bool {
    match error.kind() {
        PublishErrorKind::BrokenPipe => true,
        // The server's own errors, and an answer that cannot be read, came by a client that works.
        PublishErrorKind::Other => !error
            .source()
            .is_some_and(|source| source.is::<jetstream::Error>() || source.is::<serde_json::Error>()),
        _ => false,
    }
}

/// What a failed publication comes to. `complaint` is what the server said while it was under way.
pub(super) fn judge(
    error: &PublishError,
    subject: &str,
    patience: Duration,
    complaint: Option<&str>,
) -> Verdict {
    let said = complaint.map_or_else(String::new, |text| format!("; the server says: {text}"));
    let transient = |reason: String| Verdict::transient(reason + &said);
    match error.kind() {
        PublishErrorKind::MaxPayloadExceeded => {
            Verdict::Rejected { reason: format!("{error}; raise max_payload of the server, or send less") }
        }
        PublishErrorKind::StreamNotFound => transient(format!(
            "no stream takes the subject `{subject}`; add one that does (nats stream add), and see that JetStream is on"
        )),
        PublishErrorKind::TimedOut => transient(format!("no acknowledgement within {patience:?}")),
        _ => match error.source().and_then(|source| source.downcast_ref::<jetstream::Error>()) {
            Some(refusal)
                if refusal.error_code() == ErrorCode::STREAM_MESSAGE_EXCEEDS_MAXIMUM
                    || refusal.error_code() == ErrorCode::STREAM_HEADER_EXCEEDS_MAXIMUM =>
            {
                Verdict::Rejected { reason: format!("the stream takes no message so large: {refusal}") }
            }
            Some(refusal) => transient(format!("the stream does not take it: {refusal}")),
            None if error.source().is_some_and(|source| source.is::<serde_json::Error>()) => transient(
                format!("what answered at `{subject}` is no stream; is there a responder besides it?"),
            ),
            None => transient(error.to_string()),
        },
    }
}
