//! Messages.

use std::sync::Arc;

use axum::http::StatusCode;
use serde_json::json;
use tenure_core::outbox::{Acted, DeadWalk, GRAVES_MAX, LOOK_MAX, PULSE_MAX, RowId, Selection, State};
use tenure_core::show::{CauseShape, ChangedShape, DryRunShape, MessageDetails, MessageShape, PulseShape};

use super::{envelope, list, told};
use crate::act::{self, Change};
use crate::asked::{Allowed, Operate, View};
use crate::fields::{self, CAUSE, CAUSE_AFTER, FROM, ID, SOURCE, STATE, TOPIC, TYPE, UNTIL};
use crate::limits::{API_PAYLOAD_MAX_BYTES, CHANGE_MAX};
use crate::params::Param;
use crate::problem::Problem;
use crate::routes::{Answer, Shown};
use crate::{jobs, shown};

/// Each cause is counted so far.
const CAUSE_COUNT_MAX: u32 = 1_000;

const ALL: Param = Param::yes("all", "all dead messages are meant, where no filter is given");
const AT_MOST: Param = Param::number(
    "limit",
    1,
    jobs::LIMIT_MAX as u64,
    "how many messages at most; 500 unless told. More than 500 is a job",
);
const RATE: Param = Param::number("rate", 1, 1_000, "a job, with so many messages a second");
const AFTER: Param = Param::number(
    "after",
    0,
    i64::MAX as u64,
    "only those after this number: `next` of the answer before. A job begins at the beginning, and takes none",
);
const DRY_RUN: Param = Param::yes("dry_run", "only tell how many messages would be changed");

/// The parameters of a change.
pub(super) const CHANGE: &[Param] =
    &[STATE, TOPIC, SOURCE, TYPE, ID, FROM, UNTIL, CAUSE, ALL, AFTER, AT_MOST, RATE, DRY_RUN];
/// What a change answers.
pub(super) const CHANGED: Shown = Shown::AnyOf(&["Changed", "DryRun", "Job"]);

pub(super) async fn stats(allowed: Allowed<View>) -> Answer {
    let outbox = Arc::clone(&allowed.desk.stores.outbox);
    let pulse = allowed.desk.ask("numbers", async move { outbox.pulse(PULSE_MAX).await }).await?;
    told(&PulseShape::from(&pulse))
}

pub(super) async fn messages(allowed: Allowed<View>) -> Answer {
    let filter = fields::filter(&allowed.query, allowed.desk.now())?;
    if filter.cause.is_some() && filter.state != Some(State::Dead) {
        return Err(Problem::invalid("cause", "goes together with `state=dead` only"));
    }
    let limit = fields::limit(&allowed.query, allowed.desk.limits.page)?;
    let selection = Selection { filter, before: fields::before(&allowed.query)?, limit, steps: 0 };
    let outbox = Arc::clone(&allowed.desk.stores.outbox);
    let mut found = allowed.desk.ask("messages", async move { outbox.list(&selection).await }).await?;
    shown::discreet_messages(&allowed, &mut found.messages);
    let items: Vec<_> = found.messages.iter().map(MessageShape::from).collect();
    let mut value = envelope(items, found.more_before.map(|row| row.0));
    value["looked_back_to"] = found.looked_back_to.map(|at| at.to_string()).into();
    told(&value)
}

pub(super) async fn message(allowed: Allowed<View>) -> Answer {
    let id = allowed.query.need(&ID)?;
    let seeing = allowed.seeing();
    let details = shown::message(&allowed, seeing, &id, API_PAYLOAD_MAX_BYTES).await?;
    let details = details.ok_or_else(|| Problem::NotFound("there is no such message".into()))?;
    let shape = MessageDetails::of(&details, shown::bound(&allowed.desk, API_PAYLOAD_MAX_BYTES));
    match seeing {
        Some(_) => told(&shape),
        None => told(&shape.hidden()),
    }
}

pub(super) async fn causes(allowed: Allowed<View>) -> Answer {
    let after = fields::cause(&allowed.query, &CAUSE_AFTER)?;
    let limit = fields::limit(&allowed.query, 50)?.min(GRAVES_MAX);
    let outbox = Arc::clone(&allowed.desk.stores.outbox);
    let call = async move { outbox.graves(after, limit, CAUSE_COUNT_MAX).await };
    let mut found = allowed.desk.ask("causes", call).await?;
    for grave in &mut found.graves {
        shown::discreet_messages(&allowed, [&mut grave.newest, &mut grave.oldest]);
    }
    list(found.graves.iter().map(CauseShape::from).collect(), found.more_after)
}

pub(super) async fn retry(allowed: Allowed<Operate>) -> Answer {
    change(allowed, Change::Retry).await
}

pub(super) async fn discard(allowed: Allowed<Operate>) -> Answer {
    change(allowed, Change::Discard).await
}

async fn change(allowed: Allowed<Operate>, change: Change) -> Answer {
    let body = &allowed.body;
    let filter = fields::dead(body, allowed.desk.now(), body.yes(&ALL)?)?;
    let limit = body.number(&AT_MOST)?.and_then(|limit| u32::try_from(limit).ok()).unwrap_or(CHANGE_MAX);
    let rate = body.number(&RATE)?.and_then(|rate| u32::try_from(rate).ok());
    let after = body.number(&AFTER)?.and_then(|row| i64::try_from(row).ok()).map(RowId);
    if body.yes(&DRY_RUN)? {
        let named = filter.id.clone();
        let counted = act::count(&allowed, DeadWalk { after, ..DeadWalk::of(filter, limit) }).await?;
        if let (0, None, Some(id)) = (counted.number, counted.more_after, named) {
            return Err(act::why_not(&allowed, id).await?);
        }
        // Also when the limit has cut it: whoever plans by the number is to know that there are more.
        let or_more = counted.more_after.is_some();
        return told(&DryRunShape { dry_run: true, or_more, would_change: counted.number });
    }
    if limit > CHANGE_MAX || rate.is_some() {
        if after.is_some() {
            return Err(Problem::invalid(
                "after",
                "goes without `rate` and with a `limit` of at most 500: a job begins at the beginning",
            ));
        }
        let job = super::jobs::start(&allowed, change, filter, limit, rate).await?;
        let mut response = told(&json!(job))?;
        *response.status_mut() = StatusCode::ACCEPTED;
        return Ok(response);
    }
    // One call, which answers in time; from where to go on, `next` tells.
    let named = filter.id.clone();
    let walk = DeadWalk { after, steps: LOOK_MAX, ..DeadWalk::of(filter, limit) };
    let Acted { ids, more_after, .. } = act::change(&allowed, change, walk).await?;
    if let (true, None, Some(id)) = (ids.is_empty(), more_after, named) {
        return Err(act::why_not(&allowed, id).await?);
    }
    let next = more_after.map(|row| row.0);
    told(&ChangedShape { by: allowed.actor(), changed: ids.len(), ids, next, or_more: next.is_some() })
}
