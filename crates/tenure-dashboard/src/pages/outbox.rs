//! The outbox: its numbers, and a search that looks at so many rows and says how far it came.

use std::sync::Arc;

use maud::{Markup, html};
use tenure_core::outbox::{BISECT_MARGIN, Listing, Selection, Summary};
use tenure_core::time::StoreTime;

use super::layout::{self, Page, Place, message_link_short};
use super::{charts, elsewhere, overview};
use crate::asked::{Allowed, Asked, View};
use crate::fields;
use crate::problem::Problem;
use crate::routes::Answer;
use crate::sampler::Snapshot;
use crate::shown;
use crate::view::number::grouped;
use crate::view::pager::{href, pager};
use crate::view::state;
use crate::view::table::{Column, table};
use crate::view::text::{cell, cut};
use crate::view::time::{ago, clock, distance};

/// The page.
pub(crate) async fn page(allowed: Allowed<View>) -> Answer {
    let snapshot = allowed.desk.sampler.snapshot(allowed.desk.limits.refresh, super::SHORT).await;
    let outbox = Arc::clone(&allowed.desk.stores.outbox);
    let mut found = match selection(&allowed) {
        Ok(selection) => {
            let call = async move { outbox.list(&selection).await };
            allowed.desk.ask("a search", call).await.map_err(Problem::Store)
        }
        // Told beside the form, in which everything stays as it was written.
        Err(problem) => Err(problem),
    };
    if let Ok(listing) = &mut found {
        shown::discreet_messages(&allowed, &mut listing.messages);
    }
    let status = found.as_ref().err().map(Problem::status);
    let main = html! {
        (layout::head(&html! { "Outbox" }, &html! { "messages on their way, and where they have got to" }))
        div id="part-numbers" data-part="" { (numbers(&allowed, &snapshot)) }
        section class="card" {
            h2 { "Messages" }
            (search(&allowed)?)
            @match &found {
                Ok(listing) => { (listed(&allowed, listing)?) }
                Err(Problem::Store(trouble)) => { (layout::missing(&allowed, trouble)) }
                Err(problem) => { div class="notice bad" role="alert" { (problem.to_string()) ". Nothing was searched." } }
            }
        }
        (charts::day(&snapshot.series))
    };
    let mut response = layout::page(&allowed, Page::new(Place::Outbox, "Outbox").live("numbers"), &main);
    if let Some(status) = status {
        *response.status_mut() = status;
    }
    Ok(response)
}

fn selection(asked: &Asked) -> Result<Selection, Problem> {
    Ok(Selection {
        filter: fields::filter(&asked.query, asked.desk.now())?,
        before: fields::before(&asked.query)?,
        limit: asked.desk.limits.page,
        steps: 0,
    })
}

/// What is kept fresh.
pub(crate) fn numbers(asked: &Asked, snapshot: &Snapshot) -> Markup {
    html! {
        @if let Some(facts) = &snapshot.facts {
            (overview::tiles(asked, facts))
            (elsewhere::running(asked, facts))
            div class="grid" { (charts::charts(asked, &snapshot.series, facts)) }
        }
    }
}

/// What was asked for, to fill the form and the addresses of further pages.
fn asked_for(asked: &Asked) -> Result<Vec<(&'static str, String)>, Problem> {
    let params = [
        fields::STATE,
        fields::TOPIC,
        fields::SOURCE,
        fields::TYPE,
        fields::ID,
        fields::FROM,
        fields::UNTIL,
        fields::CAUSE,
    ];
    params
        .iter()
        .map(|param| Ok((param.name, asked.query.raw(param.name)?.unwrap_or_default().to_owned())))
        .collect()
}

fn search(asked: &Asked) -> Result<Markup, Problem> {
    let given = asked_for(asked)?;
    let value = |name: &str| {
        given.iter().find(|(its, _)| *its == name).map(|(_, value)| value.as_str()).unwrap_or_default()
    };
    let field = |name: &str, label: &str, hint: &str| {
        html! { label { (label) input name=(name) value=(value(name)) placeholder=(hint) autocomplete="off" data-search=[(name == "id").then_some("")]; } }
    };
    let state = value("state");
    let tab = |its: &str| {
        let mut all: Vec<(&str, &str)> = given
            .iter()
            .filter(|(name, _)| *name != "state")
            .map(|(name, value)| (*name, value.as_str()))
            .collect();
        all.push(("state", its));
        href(asked, "/outbox", &all)
    };
    Ok(html! {
        div class="tabs" {
            a href=(tab("")) aria-current=[state.is_empty().then_some("true")] { "any state" }
            @for its in fields::STATES { a href=(tab(its)) aria-current=[(state == its).then_some("true")] { (its) } }
        }
        form class="search" method="get" action=(asked.link("/outbox")) role="search" {
            @if !state.is_empty() { input type="hidden" name="state" value=(state); }
            (field("id", "Id", "whole id"))
            (field("topic", "Topic", "exactly"))
            (field("source", "Source", "exactly"))
            (field("type", "Type", "exactly"))
            (field("from", "From", "2026-11-15 or -2h"))
            (field("until", "Until", "2026-11-16 or -5m"))
            div { button class="main" { "Search" } }
            p class="soft wide" { "Times are of UTC unless they name a zone: " code { "2026-11-15" } ", " code { "2026-11-15 09:30" } ", " code { "2026-11-15T09:30:00+01:00" } ", or back from now: " code { "-15m" } ", " code { "-2h" } ", " code { "-7d" } "." }
        }
    })
}

fn listed(asked: &Asked, listing: &Listing) -> Result<Markup, Problem> {
    let now = layout::now(asked);
    let given = asked_for(asked)?;
    let given: Vec<(&str, &str)> = given.iter().map(|(name, value)| (*name, value.as_str())).collect();
    let next = listing.more_before.map(|row| row.0.to_string());
    let is_whole = listing.messages.len() >= asked.desk.limits.page as usize;
    let none = if next.is_some() { "None so far." } else { "There is no such message." };
    let by_time = given.iter().any(|(name, value)| matches!(*name, "from" | "until") && !value.is_empty());
    Ok(html! {
        (messages(asked, &listing.messages, now, none))
        @if by_time {
            p class="soft" { "A search by time goes by the numbers of messages, which rise as time does, and looks at " (grouped(BISECT_MARGIN.unsigned_abs())) " more at both ends. Where another program has set " code { "created_at" } " by hand, messages may be missing here: search without a time, or by state." }
        }
        @if let (Some(back), false, Some(_)) = (listing.looked_back_to, is_whole, &next) {
            p class="soft" { "Looked through messages back to " (clock(back)) "; there are older ones: go on with the next page." }
        }
        (pager(asked, "/outbox", &given, "before", next.as_deref()))
    })
}

/// Messages as a table.
pub(crate) fn messages(asked: &Asked, messages: &[Summary], now: StoreTime, none: &str) -> Markup {
    let columns = [
        Column::short("State"),
        Column::short("Message"),
        Column::text("Topic, type"),
        Column::text("Source"),
        Column::short("Enqueued"),
        Column::number("Attempts"),
        Column::wide("Last"),
    ];
    let rows: Vec<Vec<Markup>> = messages
        .iter()
        .map(|message| {
            vec![
                html! { (state::message(message)) @if message.halts { div class="soft" { "halts its source" } } },
                message_link_short(asked, &message.id),
                html! { (cell(&message.topic)) span class="why" { (cell(&message.kind)) } },
                html! { @if let Some(source) = &message.source { (cell(source)) span class="why" { "no. " (message.sequence.version) } } },
                ago(message.created_at, now),
                html! { (message.attempts) },
                last(message, now),
            ]
        })
        .collect();
    table("messages", &columns, &rows, none)
}

fn last(message: &Summary, now: StoreTime) -> Markup {
    html! {
        @if let Some(at) = message.finished_at { (ago(at, now)) }
        @else if let Some(at) = message.due_at { "due " (distance(at, now)) }
        @if let Some(error) = &message.last_error { span class="why" { (cut(error, 120)) } }
    }
}
