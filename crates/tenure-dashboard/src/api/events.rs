//! Streams, stories and subscriptions.

use std::sync::Arc;

use serde_json::json;
use tenure_core::event::{Direction, Position, Recorded, STREAMS_MAX, StreamName, StreamRead, Version};
use tenure_core::show::{EventShape, ParkedShape, StreamShape, SubscriptionShape};
use tenure_core::subscription::SubscriptionName;

use super::{list, told};
use crate::act;
use crate::asked::{Allowed, Asked, Operate, View};
use crate::fields::{self, AFTER, CORRELATION, LIMIT, POSITION_AFTER, PREFIX, STREAM, SUBSCRIPTION};
use crate::limits::API_PAYLOAD_MAX_BYTES;
use crate::params::Param;
use crate::problem::Problem;
use crate::routes::Answer;
use crate::sent::{self, Sent};
use crate::shown;

const VERSION: Param =
    Param::number("from", 1, i64::MAX as u64, "the first version: `next` of the answer before");
const BACK: Param = Param::yes("back", "from the last event back");
const POSITION: Param = Param::number(
    "position",
    0,
    i64::MAX as u64,
    "everything after it is read again; not beyond the end of the log",
)
.needed();
const SURE: Param = Param::text("sure", 500, "the name of the subscription once more").needed();
pub(super) const STREAM_EVENTS: &[Param] = &[STREAM.needed(), VERSION, BACK, LIMIT];
pub(super) const REWIND: &[Param] = &[SUBSCRIPTION.needed(), POSITION, SURE];

pub(super) async fn streams(allowed: Allowed<View>) -> Answer {
    let limit = fields::limit(&allowed.query, allowed.desk.limits.page)?.min(STREAMS_MAX - 1);
    let after = fields::name(&AFTER, allowed.query.text(&AFTER)?, StreamName::new)?;
    let prefix = allowed.query.text(&PREFIX)?.unwrap_or_default();
    let stories = Arc::clone(&allowed.desk.stores.stories);
    let call = async move { stories.streams(&prefix, after.as_ref(), limit + 1).await };
    let mut rows = allowed.desk.ask("streams", call).await?;
    let next = super::cut(&mut rows, limit).then(|| rows.last().map(|row| row.stream.to_string())).flatten();
    list(rows.iter().map(StreamShape::from).collect(), next)
}

pub(super) async fn stream(allowed: Allowed<View>) -> Answer {
    let limit = fields::limit(&allowed.query, allowed.desk.limits.page)?;
    let stream = stream_name(&allowed)?;
    let direction = if allowed.query.yes(&BACK)? { Direction::Backward } else { Direction::Forward };
    let from = allowed.query.number(&VERSION)?.and_then(|from| i64::try_from(from).ok()).map(Version);
    let read = StreamRead { stream, direction, from, limit };
    let events = Arc::clone(&allowed.desk.stores.events);
    let page = allowed.desk.ask("events", async move { events.read_stream(&read).await }).await?;
    let last = page.events.last().map(|event| event.version.0);
    let next = last.and_then(|last| match direction {
        Direction::Forward => (last < page.version.0).then(|| last + 1),
        Direction::Backward => (last > 1).then(|| last - 1),
    });
    list(shapes(&allowed, page.events), next)
}

pub(super) async fn story(allowed: Allowed<View>) -> Answer {
    let limit = fields::limit(&allowed.query, allowed.desk.limits.page)?;
    let correlation = allowed.query.need(&CORRELATION)?;
    let after = position(&allowed.query.number(&POSITION_AFTER)?);
    let stories = Arc::clone(&allowed.desk.stores.stories);
    let call = async move { stories.story(&correlation, after, limit).await };
    let rows = allowed.desk.ask("a story", call).await?;
    let next = rows.full(limit).map(|position| position.0);
    let sent = sent::by(&allowed, &rows.events).await?;
    let shapes = shapes(&allowed, rows.events).into_iter().zip(sent);
    let told = |(shape, sent): (EventShape, Sent)| shape.with_sent(&Vec::from_iter(sent.into_values()));
    list(shapes.map(told).collect(), next)
}

pub(super) async fn subscriptions(allowed: Allowed<View>) -> Answer {
    let limit = fields::limit(&allowed.query, allowed.desk.limits.page)?;
    let after = fields::name(&AFTER, allowed.query.text(&AFTER)?, SubscriptionName::new)?;
    let (checkpoints, events) =
        (Arc::clone(&allowed.desk.stores.checkpoints), Arc::clone(&allowed.desk.stores.events));
    let call = async move {
        let rows = checkpoints.subscriptions(after.as_ref(), limit + 1).await?;
        Ok((rows, events.read_all(Position::START, 1).await?.head))
    };
    let (mut rows, head) = allowed.desk.ask("subscriptions", call).await?;
    let next = super::cut(&mut rows, limit).then(|| rows.last().map(|row| row.name.to_string())).flatten();
    list(rows.iter().map(|row| SubscriptionShape::of(row, head)).collect(), next)
}

pub(super) async fn parked(allowed: Allowed<View>) -> Answer {
    let limit = fields::limit(&allowed.query, allowed.desk.limits.page)?;
    let name = fields::name(&SUBSCRIPTION, Some(allowed.query.need(&SUBSCRIPTION)?), SubscriptionName::new)?;
    let Some(name) = name else { return Err(Problem::invalid("subscription", "is missing")) };
    let after = allowed.query.number(&POSITION_AFTER)?.map(|after| position(&Some(after)));
    let checkpoints = Arc::clone(&allowed.desk.stores.checkpoints);
    let call = async move { checkpoints.parked(&name, after, limit + 1).await };
    let mut rows = allowed.desk.ask("parked events", call).await?;
    let next = super::cut(&mut rows, limit).then(|| rows.last().map(|row| row.aside.position.0)).flatten();
    list(rows.iter().map(ParkedShape::from).collect(), next)
}

pub(super) async fn rewind(allowed: Allowed<Operate>) -> Answer {
    let text = allowed.body.need(&SUBSCRIPTION)?;
    if allowed.body.need(&SURE)? != text {
        return Err(Problem::invalid("sure", "is to hold the name once more: events are handled again"));
    }
    let to = position(&allowed.body.number(&POSITION)?);
    let name = SubscriptionName::new(text)
        .map_err(|error| Problem::invalid("subscription", format!("is no name: {error}")))?;
    act::rewind(&allowed, name.clone(), to).await?;
    told(&json!({ "subscription": name.to_string(), "position": to.0, "by": allowed.actor() }))
}

fn stream_name(allowed: &Allowed<View>) -> Result<StreamName, Problem> {
    let text = allowed.query.need(&STREAM)?;
    StreamName::new(text).map_err(|error| Problem::invalid("stream", format!("is no name: {error}")))
}

fn position(number: &Option<u64>) -> Position {
    Position(number.and_then(|number| i64::try_from(number).ok()).unwrap_or(0))
}

/// Events for the one who asks: with their bodies, or without.
fn shapes(asked: &Asked, events: Vec<Recorded>) -> Vec<EventShape> {
    let max = shown::bound(&asked.desk, API_PAYLOAD_MAX_BYTES);
    let seeing = asked.seeing();
    let shape = |mut event: Recorded| {
        shown::redact_event(&asked.desk, &mut event);
        let shape = EventShape::of(&event, max);
        if seeing.is_some() { shape } else { shape.hidden() }
    };
    events.into_iter().map(shape).collect()
}
