//! Subscriptions: how far each has come, what it has put aside, and moving it.

use std::sync::Arc;

use maud::{Markup, html};
use tenure_core::event::Position;
use tenure_core::observe::RunnerKind;
use tenure_core::outbox::Count;
use tenure_core::subscription::{Parked, Progress, SubscriptionName};
use tenure_core::time::StoreTime;

use super::cluster::state;
use super::layout::{self, Page, Place};
use crate::act;
use crate::asked::{Allowed, Asked, View};
use crate::auth::Action;
use crate::fields;
use crate::params::Param;
use crate::problem::Problem;
use crate::routes::Answer;
use crate::sampler::Snapshot;
use crate::view::form::{form, hidden};
use crate::view::number::{self, grouped};
use crate::view::pager::{href, pager};
use crate::view::state::{Tone, pill};
use crate::view::table::{Column, facts, table};
use crate::view::text::{cell, code, cut};
use crate::view::time::{ago, span};

const DONE: Param = Param::word("done", &["rewound"], "what was just done");

/// All subscriptions that ever moved.
pub(crate) async fn list(allowed: Allowed<View>) -> Answer {
    let snapshot = allowed.desk.sampler.snapshot(allowed.desk.limits.refresh, super::SHORT).await;
    let after = fields::name(&fields::AFTER, allowed.query.text(&fields::AFTER)?, SubscriptionName::new)?;
    let limit = allowed.desk.limits.page;
    let store = Arc::clone(&allowed.desk.stores.checkpoints);
    let found = allowed
        .desk
        .ask("subscriptions", async move { store.subscriptions(after.as_ref(), limit).await })
        .await?;
    let next = (found.len() >= limit as usize)
        .then(|| found.last().map(|progress| progress.name.to_string()))
        .flatten();
    let now = layout::now(&allowed);
    let head = head(&snapshot);
    let columns = [
        Column::name("Subscription"),
        Column::number("Position"),
        Column::number("Behind"),
        Column::short("Moved"),
        Column::short("Put aside"),
        Column::text("Reader"),
    ];
    let rows: Vec<Vec<Markup>> = found.iter().map(|progress| {
        let behind = head.map(|head| head.0.saturating_sub(progress.position.0).max(0).unsigned_abs());
        vec![
            html! { a href=(href(&allowed, "/subscription", &[("name", progress.name.as_str())])) { (cell(progress.name.as_str())) } },
            html! { (progress.position) },
            html! { @match behind { Some(0) => { "0" } Some(behind) => { "at most " (grouped(behind)) } None => { "?" } } },
            ago(progress.moved_at, now),
            html! { @if progress.parked.number > 0 { (pill(Tone::Warn, &number::of(progress.parked, "event", "events"))) } @else { "none" } },
            reader(&snapshot, progress.name.as_str()),
        ]
    }).collect();
    let main = html! {
        (layout::head(&html! { "Subscriptions" }, &html! { @if let Some(head) = head { "the last event stands at position " (head) } }))
        @if let Some(stall) = snapshot.facts.as_ref().and_then(|known| known.slow.stall.as_ref()) {
            div class="notice warn" { "Readers wait at position " b { (stall.at) } @if let Some(lasts) = stall.lasts { ", for " (span(lasts)) } ": " (cut(&stall.reason, 300)) }
        }
        section class="card" {
            (table("subscriptions", &columns, &rows, "No subscription has ever moved."))
            (pager(&allowed, "/subscriptions", &[], "after", next.as_deref()))
        }
    };
    Ok(layout::page(&allowed, Page::new(Place::Subscriptions, "Subscriptions"), &main))
}

fn head(snapshot: &Snapshot) -> Option<Position> {
    snapshot.facts.as_ref().map(|known| known.slow.head)
}

/// What the loops that read for a subscription say of themselves.
fn reader(snapshot: &Snapshot, name: &str) -> Markup {
    let rows = snapshot.facts.iter().flat_map(|known| known.runners.rows.iter().map(move |row| (known, row)));
    let mine: Vec<_> = rows
        .filter(|(_, row)| row.report.kind == RunnerKind::Subscription && row.report.name == name)
        .take(5)
        .collect();
    html! {
        @for (known, row) in &mine {
            div {
                (state(known, row)) " on " (cell(row.node.name.as_str()))
                @if let Some(trouble) = &row.report.trouble { span class="why" { (cut(trouble, 160)) } }
            }
        }
        @if mine.is_empty() { span class="soft" { "none reports" } }
    }
}

/// One subscription.
pub(crate) async fn page(allowed: Allowed<View>) -> Answer {
    let snapshot = allowed.desk.sampler.snapshot(allowed.desk.limits.refresh, super::SHORT).await;
    let text = allowed.query.need(&fields::NAME)?;
    let done = allowed.query.word(&DONE)?;
    let name =
        SubscriptionName::new(text.as_str()).map_err(|error| Problem::invalid("name", error.to_string()))?;
    let after = allowed
        .query
        .number(&fields::POSITION_AFTER)?
        .map(|at| Position(i64::try_from(at).unwrap_or(i64::MAX)));
    let limit = allowed.desk.limits.page;
    let store = Arc::clone(&allowed.desk.stores.checkpoints);
    let wanted = name.clone();
    let checkpoint = act::subscription(&allowed, &name).await?;
    let call = async move { store.parked(&wanted, after, limit).await };
    let parked = allowed.desk.ask("a subscription", call).await?;
    let next = (parked.len() >= limit as usize)
        .then(|| parked.last().map(|one| one.aside.position.to_string()))
        .flatten();
    let moved = snapshot
        .facts
        .as_ref()
        .and_then(|known| known.slow.subscriptions.iter().find(|progress| progress.name == name).cloned());
    let now = layout::now(&allowed);
    let behind =
        head(&snapshot).map(|head| head.0.saturating_sub(checkpoint.position.0).max(0).unsigned_abs());
    let main = html! {
        (layout::head(&html! { "Subscription " (code(&text)) }, &html! {}))
        @if done.is_some() { (layout::notice(Tone::Good, "It goes on from there: what follows is handled again.")) }
        section class="card" {
            (facts(&[
                ("Position", html! { (checkpoint.position) }),
                ("Behind", html! { @if let Some(behind) = behind { "at most " (grouped(behind)) " events" } }),
                ("Moved", html! { @if let Some(Progress { moved_at, .. }) = &moved { (ago(*moved_at, now)) } }),
                ("Moved by operators", html! { (number::of(Count::exactly(checkpoint.rewinds), "time", "times")) }),
                ("Reader", reader(&snapshot, &text)),
            ]))
            (rewind(&allowed, &text))
        }
        section class="card" {
            h2 { "Put aside" }
            (aside(&allowed, &parked, now))
            (pager(&allowed, "/subscription", &[("name", &text)], "after", next.as_deref()))
        }
    };
    Ok(layout::page(&allowed, Page::new(Place::Subscriptions, "Subscription"), &main))
}

fn aside(asked: &Asked, parked: &[Parked], now: StoreTime) -> Markup {
    let columns = [
        Column::number("Position"),
        Column::text("Event"),
        Column::text("Type"),
        Column::short("When"),
        Column::number("Attempts"),
        Column::text("Why"),
    ];
    let rows: Vec<Vec<Markup>> = parked.iter().map(|one| {
        let event = &one.aside;
        vec![
            html! { (event.position) },
            html! { @if let Some(stream) = &event.stream { a href=(href(asked, "/event", &[("stream", stream.as_str()), ("version", &event.version.to_string())])) { (cell(stream.as_str())) ", " (event.version) } } @else { span class="soft" { "cannot be read" } } },
            cell(&event.kind),
            ago(one.parked_at, now),
            html! { (event.attempts) },
            cut(&event.reason, 300),
        ]
    }).collect();
    table("events put aside", &columns, &rows, "None.")
}

fn rewind(asked: &Asked, name: &str) -> Markup {
    html! {
        @if asked.may_do(Action::Rewind) {
            details {
                summary { "Move it to another position" }
                p class="soft" { "Back: what follows is handled again. Forward: what lies between is never handled; it cannot go beyond the end of the log. Write the name once more to confirm." }
                (form(asked, "/act/rewind", Some("Move the subscription?"), &html! {
                    (hidden("subscription", name))
                    label { "Go on after position" input type="number" name="position" min="0" required; }
                    label { "Its name again" input name="sure" autocomplete="off" required; }
                    button class="danger" { "Move" }
                }))
            }
        }
    }
}
