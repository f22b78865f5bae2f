//! Pages for people. They work without the script, hold no script or style, and show no list without a bound.

mod act;
mod assets;
mod audit;
mod charts;
pub(crate) mod cluster;
mod daemons;
mod dead;
mod elsewhere;
mod heard;
mod history;
mod job;
pub(crate) mod layout;
mod lease;
pub(crate) mod login;
mod message;
pub(crate) mod outbox;
pub(crate) mod overview;
pub(crate) mod sentence;
mod story;
mod streams;
mod stuck;
mod subscriptions;
pub(crate) mod trouble;

use std::time::Duration;

use crate::asked::{Operate, SeePayload, View};
use crate::auth::Action;
use crate::live;
use crate::routes::{Anyone, Route, With};

/// How long a page that is about something else waits for the numbers of its head: it is to be there within 300 ms also where
/// nobody has looked for a while, and without them it says so.
const SHORT: Duration = Duration::from_millis(150);

/// The rows of the table.
pub(crate) const ROUTES: &[Route] = &[
    Route::page("/", "how things stand", &With(View, overview::page)),
    Route::page("/outbox", "numbers of the outbox, and a search", &With(View, outbox::page)),
    Route::page("/message", "one message with every attempt", &With(View, message::page)),
    Route::file(
        "/message/payload",
        "the payload of a message as a file",
        &With(SeePayload, message::payload),
    ),
    Route::page("/dead", "dead messages by cause", &With(View, dead::page)),
    Route::page("/dead/cause", "the dead messages of one cause", &With(View, dead::cause)),
    Route::page("/jobs", "bulk changes under way and done", &With(View, job::list)),
    Route::page("/job", "one bulk change", &With(View, job::page)),
    Route::page("/cluster", "nodes, offices and loops", &With(View, cluster::page)),
    Route::page("/leases", "leases by name", &With(View, lease::list)),
    Route::page("/lease", "one lease with its history", &With(View, lease::page)),
    Route::page("/daemons", "daemons with the reasons for their places", &With(View, daemons::page)),
    Route::page("/streams", "streams by name", &With(View, streams::list)),
    Route::page("/stream", "the events of a stream", &With(View, streams::stream)),
    Route::page("/event", "one event", &With(View, streams::event)),
    Route::page("/story", "all events that share a correlation", &With(View, story::page)),
    Route::page("/subscriptions", "how far subscriptions have come", &With(View, subscriptions::list)),
    Route::page("/subscription", "one subscription with what it put aside", &With(View, subscriptions::page)),
    Route::page("/audit", "what operators did", &With(View, audit::page)),
    Route::file("/live", "parts of pages, as they change", &With(View, live::stream)),
    Route::file("/assets/*", "style sheet, script and icon", &Anyone(assets::file)),
    Route::form("/act/retry", "retries one dead message", &With(Operate, act::retry))
        .action(Action::RetryMessages)
        .params(act::ONE),
    Route::form("/act/discard", "discards one dead message, after a question", &With(Operate, act::discard))
        .action(Action::DiscardMessages)
        .params(act::ONE_FOR_GOOD),
    Route::form("/act/retry-all", "retries dead messages, after a dry run", &With(Operate, act::retry_all))
        .action(Action::RetryMessages)
        .params(act::GROUP),
    Route::form(
        "/act/discard-all",
        "discards dead messages, after a dry run",
        &With(Operate, act::discard_all),
    )
    .action(Action::DiscardMessages)
    .params(act::GROUP),
    Route::form("/act/job-stop", "stops a bulk change", &With(Operate, act::stop_job))
        .action(Action::StopJob)
        .params(act::JOB),
    Route::form(
        "/act/lease-release",
        "has the holder of a lease out of office",
        &With(Operate, act::release),
    )
    .action(Action::RevokeLease)
    .params(act::LEASE),
    Route::form("/act/daemon", "steers a daemon", &With(Operate, act::daemon))
        .action(Action::SteerDaemon)
        .params(act::DAEMON),
    Route::form("/act/rewind", "moves the checkpoint of a subscription", &With(Operate, act::rewind))
        .action(Action::Rewind)
        .params(act::REWIND),
];
