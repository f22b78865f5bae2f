//! Streams by name, the events of one, and one event.

use std::sync::Arc;

use maud::{Markup, html};
use tenure_core::event::{Direction, Recorded, StreamName, StreamRead, Version};
use tenure_core::time::StoreTime;

use super::layout::{self, Page, Place, message_link};
use crate::asked::{Allowed, Asked, View};
use crate::params::Param;
use crate::problem::Problem;
use crate::routes::Answer;
use crate::sent::{self, Sent};
use crate::view::pager::{href, pager};
use crate::view::payload;
use crate::view::state;
use crate::view::table::{Column, facts, table};
use crate::view::text::{cell, code, cut};
use crate::view::time::{ago, clock};
use crate::{fields, shown};

const FROM: Param = Param::number("from", 1, i64::MAX as u64, "the version to begin with");
const BACK: Param = Param::yes("back", "the newest first");
pub(crate) const VERSION: Param = Param::number("version", 1, i64::MAX as u64, "the version of an event");

/// Streams by name.
pub(crate) async fn list(allowed: Allowed<View>) -> Answer {
    let _ = allowed.desk.sampler.snapshot(allowed.desk.limits.refresh, super::SHORT).await;
    let prefix = allowed.query.text(&fields::PREFIX)?.unwrap_or_default();
    let after = fields::name(&fields::AFTER, allowed.query.text(&fields::AFTER)?, StreamName::new)?;
    let limit = allowed.desk.limits.page;
    let (stories, begin) = (Arc::clone(&allowed.desk.stores.stories), prefix.clone());
    let found = allowed
        .desk
        .ask("streams", async move { stories.streams(&begin, after.as_ref(), limit).await })
        .await?;
    let next =
        (found.len() >= limit as usize).then(|| found.last().map(|line| line.stream.to_string())).flatten();
    let columns = [Column::name("Stream"), Column::number("Events"), Column::text("Snapshot")];
    let rows: Vec<Vec<Markup>> = found.iter().map(|line| vec![
        html! { a href=(href(&allowed, "/stream", &[("name", line.stream.as_str()), ("back", "yes")])) { (cell(line.stream.as_str())) } },
        html! { (line.version) },
        html! { @if let Some(version) = line.snapshot { "of version " (version) } },
    ]).collect();
    let main = html! {
        (layout::head(&html! { "Streams" }, &html! { "by name" }))
        section class="card" {
            form class="search" method="get" action=(allowed.link("/streams")) role="search" {
                label { "Beginning with" input name="prefix" value=(prefix) autocomplete="off" data-search=""; }
                div { button class="main" { "Search" } }
            }
            form class="search" method="get" action=(allowed.link("/story")) {
                label { "Or the story of a correlation" input name="correlation" autocomplete="off" required; }
                div { button { "Follow" } }
            }
        }
        section class="card" {
            (table("streams", &columns, &rows, "There is no such stream."))
            (pager(&allowed, "/streams", &[("prefix", &prefix)], "after", next.as_deref()))
        }
    };
    Ok(layout::page(&allowed, Page::new(Place::Streams, "Streams"), &main))
}

/// The events of one stream.
pub(crate) async fn stream(allowed: Allowed<View>) -> Answer {
    let _ = allowed.desk.sampler.snapshot(allowed.desk.limits.refresh, super::SHORT).await;
    let name = allowed.query.need(&fields::NAME)?;
    let stream =
        StreamName::new(name.as_str()).map_err(|error| Problem::invalid("name", error.to_string()))?;
    let back = allowed.query.yes(&BACK)?;
    let from =
        allowed.query.number(&FROM)?.map(|version| Version(i64::try_from(version).unwrap_or(i64::MAX)));
    let limit = allowed.desk.limits.page;
    let direction = if back { Direction::Backward } else { Direction::Forward };
    let read = StreamRead { stream, direction, from, limit };
    let events = Arc::clone(&allowed.desk.stores.events);
    let page = allowed.desk.ask("a stream", async move { events.read_stream(&read).await }).await?;
    let next = match (page.events.last(), back) {
        (Some(last), true) if last.version.0 > 1 => Some(last.version.0 - 1),
        (Some(last), false) if last.version < page.version => Some(last.version.0 + 1),
        _ => None,
    };
    let next = next.map(|version| version.to_string());
    let other = href(&allowed, "/stream", &[("name", &name), ("back", if back { "" } else { "yes" })]);
    let main = html! {
        (layout::head(&html! { "Stream " (code(&name)) }, &html! { (page.version) " events · " a href=(other) { @if back { "the oldest first" } @else { "the newest first" } } }))
        section class="card" {
            (events_table(&allowed, &page.events, layout::now(&allowed), "It has no events here."))
            (pager(&allowed, "/stream", &[("name", &name), ("back", if back { "yes" } else { "" })], "from", next.as_deref()))
        }
    };
    Ok(layout::page(&allowed, Page::new(Place::Streams, "Stream"), &main))
}

/// Events as a table.
fn events_table(asked: &Asked, events: &[Recorded], now: StoreTime, none: &str) -> Markup {
    let columns = [
        Column::number("Version"),
        Column::name("Type"),
        Column::short("Recorded"),
        Column::number("Position"),
        Column::text("Story"),
        Column::text("Caused by"),
    ];
    let rows: Vec<Vec<Markup>> = events.iter().map(|event| vec![
        html! { (event.version) },
        html! { a href=(event_link(asked, event)) { (cell(&event.kind)) } },
        ago(event.recorded_at, now),
        html! { (event.position) },
        html! { @if let Some(correlation) = &event.metadata.correlation { a href=(href(asked, "/story", &[("correlation", correlation)])) { (cell(correlation)) } } },
        html! { @if let Some(causation) = &event.metadata.causation { (cell(causation)) } },
    ]).collect();
    table("events", &columns, &rows, none)
}

/// The address of an event.
pub(crate) fn event_link(asked: &Asked, event: &Recorded) -> String {
    href(asked, "/event", &[("stream", event.stream.as_str()), ("version", &event.version.to_string())])
}

/// One event.
pub(crate) async fn event(allowed: Allowed<View>) -> Answer {
    let _ = allowed.desk.sampler.snapshot(allowed.desk.limits.refresh, super::SHORT).await;
    let name = allowed.query.need(&fields::STREAM)?;
    let stream =
        StreamName::new(name.as_str()).map_err(|error| Problem::invalid("stream", error.to_string()))?;
    let version = allowed.query.number(&VERSION)?.ok_or_else(|| Problem::invalid("version", "is missing"))?;
    let version = Version(i64::try_from(version).unwrap_or(i64::MAX));
    let events = Arc::clone(&allowed.desk.stores.events);
    let read = StreamRead::forward(stream, version, 1);
    let page = allowed.desk.ask("an event", async move { events.read_stream(&read).await }).await?;
    let found = page.events.into_iter().find(|event| event.version == version);
    let mut event = found.ok_or_else(|| Problem::NotFound("there is no such event".into()))?;
    let sent = sent::by(&allowed, std::slice::from_ref(&event)).await?.pop().unwrap_or_default();
    let now = layout::now(&allowed);
    let seeing = allowed.seeing();
    if seeing.is_some() {
        shown::redact_event(&allowed.desk, &mut event);
    }
    let max = shown::bound(&allowed.desk, allowed.desk.limits.payload_bytes);
    let bytes = event.body.as_bytes();
    let main = html! {
        (layout::head(&html! { "Event " (cell(&event.kind)) }, &html! { a href=(href(&allowed, "/stream", &[("name", &name), ("from", &version.to_string())])) { (cell(&name)) } ", version " (version) }))
        div class="grid" {
            section class="card" {
                h2 { "What it is" }
                (facts(&[
                    ("Stream", cell(&name)),
                    ("Version", html! { (version) " of " (page.version) }),
                    ("Position", html! { (event.position) }),
                    ("Id", code(&event.id.to_string())),
                    ("Type", html! { (cell(&event.kind)) ", schema " (event.schema) }),
                    ("Recorded", html! { (clock(event.recorded_at)) ", " (ago(event.recorded_at, now)) }),
                    ("Story", html! { @if let Some(correlation) = &event.metadata.correlation { a href=(href(&allowed, "/story", &[("correlation", correlation)])) { (cell(correlation)) } } }),
                    ("Caused by", html! { @if let Some(causation) = &event.metadata.causation { (code(causation)) } }),
                    ("By message", html! { @if let Some(id) = &event.metadata.message_id { (message_link(&allowed, &id.to_string())) } }),
                ]))
            }
            section class="card" {
                h2 { "What it says" }
                @match seeing {
                    None => { p class="soft" { "Body and headers are hidden: this needs the permission " code { "payloads" } "." } }
                    Some(seeing) => {
                        (payload::shown(&allowed, seeing, &bytes[..bytes.len().min(max)], bytes.len() as u64, true))
                        @if !event.metadata.headers.is_empty() {
                            h3 { "Headers" }
                            dl class="facts" { @for (name, value) in event.metadata.headers.iter().take(100) { dt { (cell(name)) } dd { (cut(value, 300)) } } }
                        }
                    }
                }
            }
        }
        @if !sent.is_empty() {
            section class="card" {
                h2 { "Messages that it sent" }
                (sent_table(&allowed, &sent))
            }
        }
    };
    Ok(layout::page(&allowed, Page::new(Place::Streams, "Event"), &main))
}

fn sent_table(asked: &Asked, sent: &Sent) -> Markup {
    let columns =
        [Column::short("State"), Column::text("Message"), Column::text("Topic"), Column::text("Type")];
    let rows: Vec<Vec<Markup>> = sent
        .values()
        .map(|message| {
            vec![
                state::message(message),
                message_link(asked, &message.id),
                cell(&message.topic),
                cell(&message.kind),
            ]
        })
        .collect();
    table("messages", &columns, &rows, "")
}
