//! The same by JSON, for programs.
//!
//! Shapes are those of the command line's `--json` (`tenure_core::show`); lists come in an envelope that says from where to go on.

mod audit;
mod cluster;
pub(crate) mod error;
mod events;
mod jobs;
mod leases;
pub(crate) mod openapi;
mod outbox;
mod status;

use axum::body::Body;
use axum::http::HeaderValue;
use axum::http::header::CONTENT_TYPE;
use axum::response::Response;
use serde::Serialize;
use serde_json::{Value, json};

use crate::asked::{Operate, View};
use crate::auth::Action;
use crate::fields::{
    ACTION, ACTOR, AFTER, BEFORE, CAUSE, CAUSE_AFTER, CORRELATION, FROM, ID, LIMIT, NAME, NODE,
    POSITION_AFTER, PREFIX, SOURCE, STATE, SUBJECT, SUBSCRIPTION, TOPIC, TYPE, UNTIL,
};
use crate::problem::Problem;
use crate::routes::{Answer, Route, Shown, With};

/// The rows of the table.
#[rustfmt::skip]
pub(crate) const ROUTES: &[Route] = &[
    Route::json("/api/v1/openapi.json", "this API, as OpenAPI 3.1", &With(View, openapi::document)),
    Route::json("/api/v1/status", "how things stand, in bounded numbers", &With(View, status::status))
        .answers(Shown::One("BoundedStatus")),
    Route::json("/api/v1/health", "the whole judgement of this process and its store", &With(View, status::health)),
    Route::json("/api/v1/outbox/stats", "the outbox in bounded numbers", &With(View, outbox::stats)).answers(Shown::One("Pulse")),
    Route::json("/api/v1/outbox/messages", "messages, the newest first", &With(View, outbox::messages))
        .params(&[STATE, TOPIC, SOURCE, TYPE, ID, FROM, UNTIL, CAUSE, BEFORE, LIMIT]).answers(Shown::List("Message")),
    Route::json("/api/v1/outbox/message", "one message with its attempts; its payload for those who may see it", &With(View, outbox::message))
        .params(&[ID.needed()]).answers(Shown::One("MessageDetails")),
    Route::json("/api/v1/outbox/dead", "dead messages by cause, in the order of the numbers of causes", &With(View, outbox::causes))
        .params(&[CAUSE_AFTER, LIMIT]).answers(Shown::List("Cause")),
    Route::json_change("/api/v1/outbox/retry", "makes dead messages pending again", &With(Operate, outbox::retry))
        .action(Action::RetryMessages).params(outbox::CHANGE).answers(outbox::CHANGED),
    Route::json_change("/api/v1/outbox/discard", "decides that dead messages are not sent", &With(Operate, outbox::discard))
        .action(Action::DiscardMessages).params(outbox::CHANGE).answers(outbox::CHANGED),
    Route::json("/api/v1/jobs", "bulk changes under way and done", &With(View, jobs::list)).answers(Shown::List("Job")),
    Route::json("/api/v1/job", "one bulk change", &With(View, jobs::one)).params(&[jobs::ID]).answers(Shown::One("Job")),
    Route::json_change("/api/v1/jobs/stop", "stops a bulk change of this process", &With(Operate, jobs::stop))
        .action(Action::StopJob).params(&[jobs::ID]).answers(Shown::One("Job")),
    Route::json("/api/v1/leases", "leases, by name", &With(View, leases::list)).params(&[PREFIX, AFTER, LIMIT]).answers(Shown::List("Lease")),
    Route::json("/api/v1/leases/history", "changes of holder, the newest first", &With(View, leases::history))
        .params(&[NAME, BEFORE, LIMIT]).answers(Shown::List("LeaseChange")),
    Route::json_change("/api/v1/leases/release", "has the holder of a lease out of office", &With(Operate, leases::release))
        .action(Action::RevokeLease).params(leases::RELEASE),
    Route::json("/api/v1/nodes", "the nodes of the cluster", &With(View, cluster::nodes)).answers(Shown::List("Node")),
    Route::json("/api/v1/daemons", "daemons, by name", &With(View, cluster::daemons))
        .params(&[NODE, PREFIX, AFTER, LIMIT]).answers(Shown::List("Daemon")),
    Route::json_change("/api/v1/daemons/steer", "pauses, resumes, moves or unpins a daemon", &With(Operate, cluster::steer))
        .action(Action::SteerDaemon).params(cluster::STEER).answers(Shown::One("Daemon")),
    Route::json("/api/v1/runners", "the loops of all processes that report", &With(View, cluster::runners)).answers(Shown::List("Runner")),
    Route::json("/api/v1/streams", "streams, by name", &With(View, events::streams)).params(&[PREFIX, AFTER, LIMIT]).answers(Shown::List("Stream")),
    Route::json("/api/v1/streams/events", "the events of a stream", &With(View, events::stream))
        .params(events::STREAM_EVENTS).answers(Shown::List("Event")),
    Route::json("/api/v1/stories", "the events that share a correlation, with the messages that they sent", &With(View, events::story))
        .params(&[CORRELATION.needed(), POSITION_AFTER, LIMIT]).answers(Shown::List("Event")),
    Route::json("/api/v1/subscriptions", "subscriptions, by name", &With(View, events::subscriptions))
        .params(&[AFTER, LIMIT]).answers(Shown::List("Subscription")),
    Route::json("/api/v1/subscriptions/parked", "the events that a subscription has put aside", &With(View, events::parked))
        .params(&[SUBSCRIPTION.needed(), POSITION_AFTER, LIMIT]).answers(Shown::List("Parked")),
    Route::json_change("/api/v1/subscriptions/rewind", "moves the checkpoint of a subscription", &With(Operate, events::rewind))
        .action(Action::Rewind).params(events::REWIND),
    Route::json("/api/v1/audit", "what operators did, the newest first", &With(View, audit::lines))
        .params(&[ACTOR, ACTION, SUBJECT, BEFORE, LIMIT]).answers(Shown::List("AuditLine")),
];

/// An answer.
pub(crate) fn told(value: &impl Serialize) -> Answer {
    let text = serde_json::to_string(value).map_err(|_| Problem::Broken)?;
    let mut response = Response::new(Body::from(text));
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    Ok(response)
}

/// A list, and from where to go on; `None` when there is no more.
pub(crate) fn list(items: Vec<impl Serialize>, next: Option<impl ToString>) -> Answer {
    told(&envelope(items, next))
}

fn envelope(items: Vec<impl Serialize>, next: Option<impl ToString>) -> Value {
    json!({ "items": items, "next": next.map(|next| next.to_string()) })
}

/// Takes off the one row that tells whether there are more; true when it was there.
fn cut<T>(rows: &mut Vec<T>, limit: u32) -> bool {
    let more = rows.len() > limit as usize;
    rows.truncate(limit as usize);
    more
}
