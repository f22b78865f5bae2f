//! What of messages and events is shown to whom: for those who may see it, redacted, and cut to a length.

use std::sync::Arc;

use serde_json::Value;
use tenure_core::event::Recorded;
use tenure_core::outbox::{Body, Details, Summary};

use crate::asked::{Asked, Seeing};
use crate::dashboard::Desk;
use crate::limits::DOWNLOAD_MAX_BYTES;
use crate::mutation::Rule;
use crate::problem::Problem;
use crate::redact::Redact;

/// How many bytes of a payload may be shown, where `max` is the bound of the place.
pub(crate) fn bound(desk: &Desk, max: usize) -> usize {
    if desk.off(Rule::CutPayload) { usize::MAX } else { max }
}

/// One message. Its payload is read only for someone who may see it, and no more of it than is shown; where there is a
/// redaction, as much as it needs to see the whole.
pub(crate) async fn message(
    asked: &Asked,
    seeing: Option<Seeing>,
    id: &str,
    max: usize,
) -> Result<Option<Details>, Problem> {
    let desk = &asked.desk;
    let max = bound(desk, max);
    let read = match (seeing, &desk.redact) {
        (None, _) => 0,
        (Some(_), None) => max,
        (Some(_), Some(_)) => max.max(DOWNLOAD_MAX_BYTES),
    };
    let (outbox, id) = (Arc::clone(&desk.stores.outbox), id.to_owned());
    let found = desk.ask("a message", async move { outbox.show(&id, read).await }).await?;
    Ok(found.map(|mut details| {
        discreet_messages(asked, [&mut details.summary]);
        discreet(asked, details.attempts.iter_mut().filter_map(|attempt| attempt.error.as_mut()));
        if seeing.is_none() {
            details.payload = None;
            details.headers = None;
        } else if let Some(redact) = &desk.redact {
            redact_message(redact.as_ref(), &mut details);
        }
        if let Some(payload) = &mut details.payload {
            payload.truncate(max);
        }
        details
    }))
}

/// Why a message failed, for everyone: what a receiver answered, which likes to repeat what it was sent, is left out.
fn without_answer(reason: &str) -> &str {
    let answer = reason.match_indices("HTTP ").find_map(|(at, mark)| {
        let code = at + mark.len();
        let digits = reason.get(code..code + 3)?.bytes().all(|byte| byte.is_ascii_digit());
        (digits && reason.get(code + 3..)?.starts_with(':')).then_some(code + 3)
    });
    answer.map_or(reason, |end| &reason[..end])
}

/// A reason, as whoever asks may see it. Where payloads are redacted nobody sees what a receiver answered: it may repeat what was
/// taken out.
pub(crate) fn reason<'a>(asked: &Asked, reason: &'a str) -> &'a str {
    match asked.seeing().is_some() && asked.desk.redact.is_none() {
        true => reason,
        false => without_answer(reason),
    }
}

/// Leaves out of texts what only those may see who may see payloads.
pub(crate) fn discreet<'a>(asked: &Asked, texts: impl IntoIterator<Item = &'a mut String>) {
    for text in texts {
        text.truncate(reason(asked, text).len());
    }
}

/// The same for messages of a list.
pub(crate) fn discreet_messages<'a>(asked: &Asked, messages: impl IntoIterator<Item = &'a mut Summary>) {
    discreet(asked, messages.into_iter().filter_map(|message| message.last_error.as_mut()));
}

/// Takes out of a message what is not to be seen. What cannot be seen whole by the redaction is not shown at all.
fn redact_message(redact: &dyn Redact, details: &mut Details) {
    let whole = details.payload.as_ref().is_none_or(|payload| payload.len() as u64 == details.payload_bytes);
    match &mut details.payload {
        Some(payload) if whole => redact.payload(&details.summary.topic, &details.summary.kind, payload),
        _ => details.payload = None,
    }
    details.headers = details.headers.take().and_then(|text| redact_headers(redact, &text));
}

fn redact_headers(redact: &dyn Redact, text: &str) -> Option<String> {
    let Ok(Value::Object(mut headers)) = serde_json::from_str(text) else { return None };
    for (name, value) in &mut headers {
        let mut shown = match &*value {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        redact.header(name, &mut shown);
        *value = Value::String(shown);
    }
    serde_json::to_string(&headers).ok()
}

/// An event for someone who may see it, redacted.
pub(crate) fn redact_event(desk: &Desk, event: &mut Recorded) {
    let Some(redact) = &desk.redact else { return };
    let (is_text, mut bytes) = match &event.body {
        Body::Text(text) => (true, text.clone().into_bytes()),
        Body::Bytes(bytes) => (false, bytes.clone()),
    };
    redact.payload(event.stream.as_str(), &event.kind, &mut bytes);
    event.body = match is_text {
        true => Body::Text(String::from_utf8_lossy(&bytes).into_owned()),
        false => Body::Bytes(bytes),
    };
    for (name, value) in &mut event.metadata.headers {
        redact.header(name, value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_receiver_answered_is_left_out_and_the_rest_is_not() {
        for (reason, shown) in [
            ("HTTP 422: {\"iban\":\"DE89\"}", "HTTP 422"),
            ("HTTP 503", "HTTP 503"),
            ("retry of `HTTP 400: secret`", "retry of `HTTP 400"),
            ("http://127.0.0.1: connection refused", "http://127.0.0.1: connection refused"),
            ("HTTP é22: x", "HTTP é22: x"),
            ("the type is not known", "the type is not known"),
            ("", ""),
        ] {
            assert_eq!(without_answer(reason), shown, "{reason}");
        }
    }
}
