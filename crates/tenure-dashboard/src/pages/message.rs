//! One message: what it is, every attempt, what it says, and what can be done about it.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::http::HeaderValue;
use axum::http::header::{CONTENT_DISPOSITION, CONTENT_TYPE};
use axum::response::Response;
use maud::{Markup, html};
use tenure_core::entity::{HEADER_CAUSATION, HEADER_CORRELATION, causing_event};
use tenure_core::observe::{AuditLine, AuditSelection};
use tenure_core::outbox::{Attempt, Details, State};
use tenure_core::time::StoreTime;

use super::layout::{self, Page, Place};
use crate::asked::{Allowed, Asked, SeePayload, View};
use crate::auth::Action;
use crate::limits::DOWNLOAD_MAX_BYTES;
use crate::params::Param;
use crate::problem::{Problem, Trouble};
use crate::routes::Answer;
use crate::view::chart::bar;
use crate::view::form::{form, hidden};
use crate::view::number;
use crate::view::pager::href;
use crate::view::payload;
use crate::view::state::{self, Tone, outcome, pill};
use crate::view::table::{Column, facts, table};
use crate::view::text::{cell, code, cut};
use crate::view::time::{ago, clock, distance, span};
use crate::{fields, shown};

/// The last attempts that are listed.
const ATTEMPTS: usize = 200;
/// Headers by which a message tells which story it belongs to.
const CORRELATIONS: [&str; 4] = [HEADER_CORRELATION, "correlation", "correlation-id", "correlation_id"];

/// What was just done; only these words can stand in the address.
pub(crate) const DONE: Param =
    Param::word("done", &["retried", "discarded", "not-dead"], "what was just done");

/// The page.
pub(crate) async fn page(allowed: Allowed<View>) -> Answer {
    let _ = allowed.desk.sampler.snapshot(allowed.desk.limits.refresh, super::SHORT).await;
    let id = allowed.query.need(&fields::ID)?;
    let done = allowed.query.word(&DONE)?;
    let seeing = allowed.seeing();
    let found = shown::message(&allowed, seeing, &id, allowed.desk.limits.payload_bytes).await?;
    let details = found.ok_or_else(|| Problem::NotFound("there is no message with this id".into()))?;
    let audit = deeds(&allowed, &details.summary.id).await;
    let now = layout::now(&allowed);
    // What is on its way is looked at again until it has arrived somewhere.
    let moves = details.summary.state == State::Pending;
    let content = html! {
        (layout::head(&html! { "Message " (code(&details.summary.id)) }, &state::message(&details.summary)))
        (done_notice(done, &details))
        div class="grid" {
            (about(&allowed, &details, now))
            (content_of(&allowed, &details))
        }
        (timeline(&details, now))
        (deeds_shown(&audit, now))
    };
    let main = html! { div id="part-message" data-part="" data-refresh=[moves.then_some("2")] { (content) } };
    let page = Page::new(Place::Outbox, "Message");
    Ok(layout::page(&allowed, if moves { page.reloading(5) } else { page }, &main))
}

/// The payload as a file.
pub(crate) async fn payload(allowed: Allowed<SeePayload>) -> Answer {
    let id = allowed.query.need(&fields::ID)?;
    let found = shown::message(&allowed, allowed.seeing(), &id, DOWNLOAD_MAX_BYTES).await?;
    let details = found.ok_or_else(|| Problem::NotFound("there is no message with this id".into()))?;
    if details.payload_bytes > DOWNLOAD_MAX_BYTES as u64 {
        return Err(Problem::Conflict(format!(
            "the payload has {}, more than can be downloaded here",
            number::bytes(details.payload_bytes)
        )));
    }
    let bytes = details.payload.ok_or_else(|| Problem::NotFound("there is no payload to be had".into()))?;
    let mut response = Response::new(Body::from(bytes));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/octet-stream"));
    // The name is ours: one made of the message's id could end the header.
    headers.insert(CONTENT_DISPOSITION, HeaderValue::from_static("attachment; filename=\"payload.bin\""));
    Ok(response)
}

fn done_notice(done: Option<&str>, details: &Details) -> Markup {
    let state = details.summary.state;
    match (done, state) {
        (Some("retried"), State::Pending) => {
            layout::notice(Tone::Good, "It is pending again and due at once. This page follows it.")
        }
        (Some("retried"), State::Dispatched) => {
            layout::notice(Tone::Good, "It was retried, and has been delivered.")
        }
        (Some("retried"), State::Dead) => {
            layout::notice(Tone::Bad, "It was retried, and has died again: see the last attempt.")
        }
        (Some("discarded"), _) => layout::notice(Tone::Good, "It is discarded and will not be sent."),
        (Some("not-dead"), _) => layout::notice(
            Tone::Warn,
            "Nothing was changed: it was not dead any more. Below is who was first.",
        ),
        _ => html! {},
    }
}

fn about(asked: &Asked, details: &Details, now: StoreTime) -> Markup {
    let message = &details.summary;
    let source = message.source.as_deref();
    let others = source.map(|source| href(asked, "/outbox", &[("source", source)]));
    html! {
        section class="card" {
            h2 { "What it is" }
            (facts(&[
                ("Topic", cell(&message.topic)),
                ("Type", cell(&message.kind)),
                ("Source", html! { @if let Some(source) = source { (cell(source)) ", no. " (message.sequence.version) @if message.sequence.index > 0 { "." (message.sequence.index) } " · " a href=[others] { "others of it" } } @else { span class="soft" { "none: it waits for no other" } } }),
                ("Enqueued", html! { (clock(message.created_at)) ", " (ago(message.created_at, now)) }),
                ("Due", html! { @if let Some(at) = message.due_at { (distance(at, now)) } @else if message.state == State::Pending { "not before a dead message of its source is decided about" } }),
                ("Ended", html! { @if let Some(at) = message.finished_at { (clock(at)) ", " (ago(at, now)) } }),
                ("Attempts", html! { (message.attempts) }),
                ("Last error", html! { @if let Some(error) = &message.last_error { (cut(error, 600)) } }),
                ("Halts", html! { @if message.halts { "its source stands still because of it" } }),
                ("Row", html! { (message.row.0) }),
            ]))
            (buttons(asked, details))
        }
    }
}

fn buttons(asked: &Asked, details: &Details) -> Markup {
    let id = hidden("id", &details.summary.id);
    html! {
        @if details.summary.state == State::Dead {
            div class="actions" {
                @if asked.may_do(Action::RetryMessages) {
                    (form(asked, "/act/retry", None, &html! { (id) button class="main" { "Retry" } }))
                }
                @if asked.may_do(Action::DiscardMessages) {
                    (form(asked, "/act/discard", None, &html! { (id) button class="danger" { "Discard…" } }))
                }
                @if !asked.may_do(Action::RetryMessages) { span class="soft" { "You may look at it, but not retry or discard it." } }
            }
        }
    }
}

/// The question before a discard. Nothing was changed so far.
pub(crate) fn confirm(asked: &Asked, details: &Details) -> Markup {
    let message = &details.summary;
    let back = href(asked, "/message", &[("id", &message.id)]);
    html! {
        (layout::head(&html! { "Discard this message?" }, &html! { "nothing was changed so far" }))
        section class="card" {
            (facts(&[
                ("Message", code(&message.id)),
                ("State", state::message(message)),
                ("Topic", cell(&message.topic)),
                ("Type", cell(&message.kind)),
                ("Last error", html! { @if let Some(error) = &message.last_error { (cut(error, 600)) } }),
            ]))
            @if message.state == State::Dead {
                p { "It will not be sent. It is kept, and can be looked at, until it is old enough to be swept." }
                (form(asked, "/act/discard", None, &html! {
                    (hidden("id", &message.id)) (hidden("sure", "yes"))
                    button class="danger" { "Discard" }
                    a class="button" href=(back) { "Leave it" }
                }))
            } @else { p { "Only a dead message can be discarded. " a href=(back) { "Back to it" } } }
        }
    }
}

fn content_of(asked: &Asked, details: &Details) -> Markup {
    let headers = details.headers.as_deref().unwrap_or_default();
    let pairs: Vec<(String, String)> = match serde_json::from_str::<serde_json::Value>(headers) {
        Ok(serde_json::Value::Object(all)) => all
            .into_iter()
            .take(100)
            .map(|(name, value)| (name, value.as_str().map_or_else(|| value.to_string(), str::to_owned)))
            .collect(),
        _ => vec![],
    };
    let header = |wanted: &str| {
        pairs.iter().find(|(name, _)| name.eq_ignore_ascii_case(wanted)).map(|(_, value)| value.as_str())
    };
    // What cannot be asked for is not offered: the header may hold anything.
    let story = CORRELATIONS.into_iter().find_map(header).filter(|text| fields::CORRELATION.takes(text));
    let cause = header(HEADER_CAUSATION).and_then(causing_event);
    html! {
        section class="card" {
            h2 { "What it says" }
            @match asked.seeing() {
                None => { p class="soft" { "Payload and headers are hidden: this needs the permission " code { "payloads" } ". The payload has " (number::bytes(details.payload_bytes)) "." } }
                Some(seeing) => {
                    @if let Some(bytes) = &details.payload {
                        (payload::shown(asked, seeing, bytes, details.payload_bytes, details.is_text))
                    } @else if details.payload_bytes > 0 {
                        p class="soft" { "The payload has " (number::bytes(details.payload_bytes)) " and cannot be shown: it is too large to be redacted." }
                    } @else { p class="soft" { "There is no payload." } }
                    (facts(&[
                        ("Content type", html! { @if let Some(kind) = &details.content_type { (cell(kind)) } }),
                    ]))
                    @if !pairs.is_empty() {
                        h3 { "Headers" }
                        dl class="facts" { @for (name, value) in &pairs { dt { (cell(name)) } dd { (cut(value, 300)) } } }
                    } @else if !headers.is_empty() { h3 { "Headers" } p { (cut(headers, 1_000)) } }
                    p class="more" {
                        @if let Some((stream, version)) = &cause { a href=(href(asked, "/event", &[("stream", stream.as_str()), ("version", &version.to_string())])) { "The event that sent it" } " · " }
                        @if let Some(correlation) = story { a href=(href(asked, "/story", &[("correlation", correlation)])) { "Its story" } " · " }
                        @if details.payload.is_some() { a href=(href(asked, "/message/payload", &[("id", &details.summary.id)])) { "Download the payload" } }
                    }
                }
            }
        }
    }
}

/// Every attempt: when it was made, how long it took, how it ended, by whom.
fn timeline(details: &Details, now: StoreTime) -> Markup {
    let skipped = details.attempts.len().saturating_sub(ATTEMPTS);
    let attempts = &details.attempts[skipped..];
    let begin = attempts.first().map_or(now, started).min(details.summary.created_at);
    let end = attempts.last().map_or(now, |last| last.at);
    let whole = begin.until(end).as_secs_f64().max(0.001);
    let columns = [
        Column::number("No."),
        Column::short("When"),
        Column::text("Since it was enqueued"),
        Column::short("Took"),
        Column::short("How it ended"),
        Column::text("By"),
        Column::text("Why"),
    ];
    let rows: Vec<Vec<Markup>> = attempts
        .iter()
        .map(|attempt| {
            let (tone, word) = outcome(attempt.outcome);
            let took = Duration::from_micros(attempt.took_us);
            let from = begin.until(started(attempt)).as_secs_f64() / whole;
            let label = format!("after {}", span(begin.until(started(attempt))));
            vec![
                html! { (attempt.number) },
                ago(attempt.at, now),
                bar(tone.class(), from, took.as_secs_f64() / whole, &label),
                html! { (span(took)) },
                pill(tone, word),
                html! { (cell(&attempt.node)) @if let Some(term) = attempt.term { span class="why" { "term " (term) } } },
                html! { @if let Some(error) = &attempt.error { (cut(error, 400)) } },
            ]
        })
        .collect();
    html! {
        section class="card" {
            h2 { "Attempts" }
            @if skipped > 0 { p class="soft" { "The last " (ATTEMPTS) " of " (details.attempts.len()) "." } }
            (table("attempts", &columns, &rows, "None was made yet."))
        }
    }
}

fn started(attempt: &Attempt) -> StoreTime {
    let took = i64::try_from(attempt.took_us).unwrap_or(i64::MAX);
    StoreTime::from_micros(attempt.at.as_micros().saturating_sub(took))
}

/// What operators did with it.
async fn deeds(asked: &Asked, id: &str) -> Result<Vec<AuditLine>, Trouble> {
    let selection =
        AuditSelection { subject: Some(id.to_owned()), limit: 10, steps: 2_000, ..AuditSelection::default() };
    let audit = Arc::clone(&asked.desk.stores.audit);
    let mut page = asked.desk.ask("the audit table", async move { audit.audit(&selection).await }).await?;
    shown::discreet(asked, page.lines.iter_mut().map(|line| &mut line.detail));
    Ok(page.lines)
}

fn deeds_shown(lines: &Result<Vec<AuditLine>, Trouble>, now: StoreTime) -> Markup {
    html! {
        @if let Ok(lines) = lines {
            @if !lines.is_empty() {
                section class="card" {
                    h2 { "What operators did with it" }
                    (super::audit::lines(lines, now))
                }
            }
        }
    }
}
