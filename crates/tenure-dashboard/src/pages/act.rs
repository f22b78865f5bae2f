//! Forms that change something. Each answers with a redirect to a page that shows what became of it, so that loading that
//! page again changes nothing.

use std::sync::Arc;

use tenure_core::cluster::{DaemonName, Steering};
use tenure_core::event::Position;
use tenure_core::id::NodeName;
use tenure_core::lease::LeaseName;
use tenure_core::moment;
use tenure_core::outbox::{DeadWalk, Filter, Selection};
use tenure_core::subscription::SubscriptionName;

use super::layout::{self, Page, Place};
use super::{job, message};
use crate::act::{self, Change};
use crate::asked::{Allowed, Operate};
use crate::fields;
use crate::gate::redirect;
use crate::jobs::{self, LIMIT_MAX, Order, RATE, RATE_MAX};
use crate::params::Param;
use crate::problem::Problem;
use crate::routes::Answer;
use crate::shown;
use crate::view::form::hidden;
use crate::view::pager::href;

/// Messages that a dry run shows.
const SHOWN: u32 = 20;

const ALL: Param = Param::yes("all", "all dead messages are meant");
const DRY_RUN: Param = Param::yes("dry_run", "only tell how many messages would be changed");
const LIMIT: Param = Param::number("limit", 1, LIMIT_MAX as u64, "how many messages at most");
const PER_SECOND: Param = Param::number("rate", 1, RATE_MAX, "how many messages a second");
const FORCE: Param = Param::yes("force", "the lease is free at once");
const SURE: Param = Param::yes("sure", "whoever asks knows what force does");
const SURE_OF_IT: Param = Param::yes("sure", "whoever asks has seen what it would do");
const NAMED: Param = Param::text("sure", 500, "the name once more");
const POSITION: Param = Param::number("position", 0, i64::MAX as u64, "where to go on from");
const STEER: Param = Param::word("action", &["pause", "resume", "move", "unpin"], "what is to become of it");
const TO: Param = Param::text("to", 200, "the node to move it to");

/// The fields of the forms, by their routes.
pub(crate) const ONE: &[Param] = &[fields::ID];
pub(crate) const ONE_FOR_GOOD: &[Param] = &[fields::ID, SURE_OF_IT];
pub(crate) const GROUP: &[Param] = &[
    fields::STATE,
    fields::TOPIC,
    fields::SOURCE,
    fields::TYPE,
    fields::ID,
    fields::FROM,
    fields::UNTIL,
    fields::CAUSE,
    ALL,
    DRY_RUN,
    LIMIT,
    PER_SECOND,
];
pub(crate) const JOB: &[Param] = &[job::ID];
pub(crate) const LEASE: &[Param] = &[fields::NAME, FORCE, SURE];
pub(crate) const DAEMON: &[Param] = &[fields::NAME, STEER, TO];
pub(crate) const REWIND: &[Param] = &[fields::SUBSCRIPTION, POSITION, NAMED];

/// Retries one message.
pub(crate) async fn retry(allowed: Allowed<Operate>) -> Answer {
    one(&allowed, Change::Retry, "retried").await
}

/// Discards one message: first a page asks, which works without scripts too, for this cannot be taken back.
pub(crate) async fn discard(allowed: Allowed<Operate>) -> Answer {
    if allowed.body.yes(&SURE_OF_IT)? {
        return one(&allowed, Change::Discard, "discarded").await;
    }
    let id = allowed.body.need(&fields::ID)?;
    let details = shown::message(&allowed, None, &id, 0).await?;
    let details = details.ok_or_else(|| Problem::NotFound("there is no message with this id".into()))?;
    let main = message::confirm(&allowed, &details);
    Ok(layout::page(&allowed, Page::new(Place::Outbox, "Discard a message"), &main))
}

async fn one(allowed: &Allowed<Operate>, change: Change, word: &str) -> Answer {
    let id = allowed.body.need(&fields::ID)?;
    let filter = Filter { id: Some(id.clone()), ..Filter::default() };
    let changed = act::change(allowed, change, DeadWalk::of(filter, 1)).await?;
    // Of two operators who ask at once one changes it; the other is shown who was first.
    let done = if changed.ids.is_empty() { "not-dead" } else { word };
    Ok(redirect(&href(allowed, "/message", &[("id", &id), ("done", done)])))
}

/// Retries a group: first a dry run, then a job.
pub(crate) async fn retry_all(allowed: Allowed<Operate>) -> Answer {
    group(&allowed, Change::Retry).await
}

/// Discards a group: first a dry run, then a job.
pub(crate) async fn discard_all(allowed: Allowed<Operate>) -> Answer {
    group(&allowed, Change::Discard).await
}

async fn group(allowed: &Allowed<Operate>, change: Change) -> Answer {
    let body = &allowed.body;
    let filter = fields::dead(body, allowed.desk.now(), body.yes(&ALL)?)?;
    let limit = body.number(&LIMIT)?.unwrap_or(LIMIT_MAX.into());
    if body.yes(&DRY_RUN)? {
        let count = act::count(allowed, DeadWalk::of(filter.clone(), LIMIT_MAX)).await?;
        let selection = Selection { filter: filter.clone(), before: None, limit: SHOWN, steps: 0 };
        let outbox = Arc::clone(&allowed.desk.stores.outbox);
        let mut first =
            allowed.desk.ask("dead messages", async move { outbox.list(&selection).await }).await?;
        shown::discreet_messages(allowed, &mut first.messages);
        let given = maud::html! {
            @if body.yes(&ALL)? { (hidden("all", "yes")) }
            @for (name, value) in meant(&filter) { (hidden(name, &value)) }
        };
        let main = job::confirm(allowed, change, &filter, &given, &count, &first.messages);
        return Ok(layout::page(allowed, Page::new(Place::Dead, "Dry run"), &main));
    }
    let rate = body.number(&PER_SECOND)?.unwrap_or(RATE);
    let until = allowed.operator().and_then(|operator| operator.expires_at);
    let order = Order {
        change,
        filter,
        limit,
        rate,
        by: allowed.actor(),
        operator: allowed.name().to_owned(),
        until,
    };
    let job = allowed.desk.jobs.start(&allowed.desk, order)?;
    Ok(redirect(&href(allowed, "/job", &[("id", &job.id)])))
}

/// A filter as fields of a form. Moments are written out: `-2h` would stand for others when the form is sent, and what is done is
/// what was shown.
fn meant(filter: &Filter) -> Vec<(&'static str, String)> {
    let Filter { state, topic, source, kind, id, from, until, cause } = filter.clone();
    let fields = [
        (fields::STATE.name, state.map(|state| state.as_str().to_owned())),
        (fields::TOPIC.name, topic),
        (fields::SOURCE.name, source),
        (fields::TYPE.name, kind),
        (fields::ID.name, id),
        (fields::FROM.name, from.map(moment::exact)),
        (fields::UNTIL.name, until.map(moment::exact)),
        (fields::CAUSE.name, cause.map(|cause| cause.to_string())),
    ];
    fields.into_iter().filter_map(|(name, value)| Some((name, value?))).collect()
}

/// Stops a job of this process.
pub(crate) async fn stop_job(allowed: Allowed<Operate>) -> Answer {
    let id = allowed.body.need(&job::ID)?;
    if jobs::stop(&allowed, &id).await.is_none() {
        return Err(match jobs::runs_elsewhere(&allowed.desk, &id).await {
            Some(where_it_runs) => Problem::Conflict(where_it_runs),
            None => Problem::NotFound("there is no such job in this process: it may run in another".into()),
        });
    }
    Ok(redirect(&href(&allowed, "/job", &[("id", &id)])))
}

/// Has the holder of a lease out of office.
pub(crate) async fn release(allowed: Allowed<Operate>) -> Answer {
    let name = allowed.body.need(&fields::NAME)?;
    let force = allowed.body.yes(&FORCE)?;
    if force && !allowed.body.yes(&SURE)? {
        return Err(Problem::invalid(
            "sure",
            "is to be ticked: by force two may believe that they hold the lease, for a while",
        ));
    }
    let lease = LeaseName::new(name.as_str()).map_err(|error| Problem::invalid("name", error.to_string()))?;
    let done = match act::release(&allowed, lease, force).await? {
        tenure_core::lease::Revoke::Asked { .. } => "asked",
        tenure_core::lease::Revoke::Forced { .. } => "forced",
        tenure_core::lease::Revoke::NotHeld => "not-held",
    };
    Ok(redirect(&href(&allowed, "/lease", &[("name", &name), ("done", done)])))
}

/// Pauses, resumes, moves or unpins a daemon.
pub(crate) async fn daemon(allowed: Allowed<Operate>) -> Answer {
    let name = allowed.body.need(&fields::NAME)?;
    let to = allowed.body.text(&TO)?;
    let daemon =
        DaemonName::new(name.as_str()).map_err(|error| Problem::invalid("name", error.to_string()))?;
    let steering = match allowed.body.word(&STEER)? {
        Some("pause") => Steering::Pause,
        Some("resume") => Steering::Resume,
        Some("unpin") => Steering::Unpin,
        Some("move") => {
            let to = to.ok_or_else(|| Problem::invalid("to", "is missing: the node to move it to"))?;
            Steering::Move {
                to: NodeName::new(to).map_err(|error| Problem::invalid("to", error.to_string()))?,
            }
        }
        _ => return Err(Problem::invalid("action", "is missing")),
    };
    act::steer(&allowed, daemon, steering).await?;
    Ok(redirect(&href(&allowed, "/daemons", &[("prefix", &name), ("done", "steered")])))
}

/// Moves the checkpoint of a subscription. Its name is to be written once more: what was handled is handled again.
pub(crate) async fn rewind(allowed: Allowed<Operate>) -> Answer {
    let name = allowed.body.need(&fields::SUBSCRIPTION)?;
    let missing = || Problem::invalid("position", "is missing");
    let to = allowed.body.number(&POSITION)?.ok_or_else(missing)?;
    if allowed.body.text(&NAMED)?.as_deref() != Some(name.as_str()) {
        return Err(Problem::invalid("sure", "is not the name of the subscription: nothing was changed"));
    }
    let subscription = SubscriptionName::new(name.as_str())
        .map_err(|error| Problem::invalid("subscription", error.to_string()))?;
    act::rewind(&allowed, subscription, Position(i64::try_from(to).unwrap_or(i64::MAX))).await?;
    Ok(redirect(&href(&allowed, "/subscription", &[("name", &name), ("done", "rewound")])))
}
