//! Dead messages by cause, and what can be done with a whole group of them.

use std::sync::Arc;

use maud::{Markup, html};
use tenure_core::outbox::{CauseId, Count, DeadWalk, Filter, Grave, Selection, State};

use super::layout::{self, Page, Place};
use super::outbox::messages;
use crate::act::Change;
use crate::asked::{Allowed, Asked, View};
use crate::auth::Action;
use crate::fields;
use crate::problem::Problem;
use crate::routes::Answer;
use crate::shown;
use crate::view::form::{form, hidden};
use crate::view::number;
use crate::view::pager::{href, pager};
use crate::view::state::{Tone, pill};
use crate::view::table::{Column, table};
use crate::view::text::{cell, code, cut};
use crate::view::time::ago;

/// Causes on a page, and how far each is counted: so much of an index is read at most.
const CAUSES: u32 = 50;
const COUNT: u32 = 1_000;

/// All causes.
pub(crate) async fn page(allowed: Allowed<View>) -> Answer {
    let _ = allowed.desk.sampler.snapshot(allowed.desk.limits.refresh, super::SHORT).await;
    let after = fields::cause(&allowed.query, &fields::CAUSE_AFTER)?;
    let outbox = Arc::clone(&allowed.desk.stores.outbox);
    let found =
        allowed.desk.ask("dead messages", async move { outbox.graves(after, CAUSES, COUNT).await }).await?;
    let mut graves = found.graves;
    for grave in &mut graves {
        shown::discreet_messages(&allowed, [&mut grave.newest, &mut grave.oldest]);
    }
    graves.sort_by_key(|grave| std::cmp::Reverse((grave.messages.number, grave.newest.row)));
    let next = found.more_after.map(|cause| cause.to_string());
    let main = html! {
        (layout::head(&html! { "Dead messages" }, &html! { "given up, and waiting for a decision; by what they have in common" }))
        section class="card" {
            (causes(&allowed, &graves))
            @if next.is_some() { p class="soft" { "There are more causes; each page shows its own by number." } }
            (pager(&allowed, "/dead", &[], "after", next.as_deref()))
        }
        @if !graves.is_empty() && (allowed.may_do(Action::RetryMessages) || allowed.may_do(Action::DiscardMessages)) {
            section class="card" {
                h2 { "All dead messages" }
                p class="soft" { "First you are told how many there are; nothing is changed by that." }
                div class="actions" { (choose(&allowed, Change::Retry, &hidden("all", "yes"), "Retry all…")) (choose(&allowed, Change::Discard, &hidden("all", "yes"), "Discard all…")) }
            }
        }
    };
    Ok(layout::page(&allowed, Page::new(Place::Dead, "Dead messages"), &main))
}

/// Causes as a table.
fn causes(asked: &Asked, graves: &[Grave]) -> Markup {
    let now = layout::now(asked);
    let columns = [
        Column::number("Messages"),
        Column::text("Why they died"),
        Column::text("Such as"),
        Column::short("Last"),
        Column::short("First"),
        Column::short("Mend"),
    ];
    let rows: Vec<Vec<Markup>> = graves
        .iter()
        .map(|grave| {
            let link = href(asked, "/dead/cause", &[("cause", &grave.cause.to_string())]);
            let died = |message: &tenure_core::outbox::Summary| {
                ago(message.finished_at.unwrap_or(message.created_at), now)
            };
            vec![
                html! { b { (number::count(grave.messages)) } },
                html! { a href=(link) { (cut(reason(grave), 240)) } },
                html! { (cell(&grave.newest.topic)) span class="why" { (cell(&grave.newest.kind)) } },
                died(&grave.newest),
                died(&grave.oldest),
                html! { a class="button" href=(link) { "Look" } },
            ]
        })
        .collect();
    table("causes", &columns, &rows, "No message is dead.")
}

fn reason(grave: &Grave) -> &str {
    match &grave.newest.last_error {
        Some(error) => error,
        None if grave.cause == CauseId::UNKNOWN => "died before causes were written down",
        None => "no reason was written down",
    }
}

/// The messages of one cause.
pub(crate) async fn cause(allowed: Allowed<View>) -> Answer {
    let _ = allowed.desk.sampler.snapshot(allowed.desk.limits.refresh, super::SHORT).await;
    let missing = || Problem::invalid("cause", "is missing");
    let cause = fields::cause(&allowed.query, &fields::CAUSE)?.ok_or_else(missing)?;
    let filter = Filter { state: Some(State::Dead), cause: Some(cause), ..Filter::default() };
    let selection = Selection {
        filter: filter.clone(),
        before: fields::before(&allowed.query)?,
        limit: allowed.desk.limits.page,
        steps: 0,
    };
    let outbox = Arc::clone(&allowed.desk.stores.outbox);
    let walk = DeadWalk::of(filter, COUNT);
    let call = async move { Ok((outbox.list(&selection).await?, outbox.count_dead(&walk).await?.count())) };
    let (mut listing, count) = allowed.desk.ask("dead messages", call).await?;
    shown::discreet_messages(&allowed, &mut listing.messages);
    let now = layout::now(&allowed);
    let text = cause.to_string();
    let why = listing.messages.first().and_then(|message| message.last_error.clone());
    let next = listing.more_before.map(|row| row.0.to_string());
    let fields = hidden("cause", &text);
    let main = html! {
        (layout::head(&html! { "Dead of one cause" }, &html! { "cause " (code(&text)) }))
        section class="card" {
            p { (pill(if count.number > 0 { Tone::Bad } else { Tone::Good }, &number::of(count, "message", "messages"))) }
            @if let Some(why) = &why { p { "The newest died of: " b { (cut(why, 600)) } } }
            @if count == Count::exactly(0) { p class="soft" { "None is left: they were retried, discarded, or never there." } }
            @else {
                div class="actions" { (choose(&allowed, Change::Retry, &fields, "Retry this group…")) (choose(&allowed, Change::Discard, &fields, "Discard this group…")) }
                @if allowed.may_do(Action::RetryMessages) { p class="soft" { "First you are told how many there are; nothing is changed by that." } }
            }
        }
        section class="card" {
            h2 { "Messages" }
            (messages(&allowed, &listing.messages, now, "None."))
            (pager(&allowed, "/dead/cause", &[("cause", &text)], "before", next.as_deref()))
        }
    };
    Ok(layout::page(&allowed, Page::new(Place::Dead, "Dead of one cause"), &main))
}

/// A button that leads to a dry run; none for someone who may not.
fn choose(asked: &Asked, change: Change, fields: &Markup, word: &str) -> Markup {
    let (path, action, class) = match change {
        Change::Retry => ("/act/retry-all", Action::RetryMessages, "main"),
        Change::Discard => ("/act/discard-all", Action::DiscardMessages, "danger"),
    };
    html! {
        @if asked.may_do(action) {
            (form(asked, path, None, &html! { (fields) (hidden("dry_run", "yes")) button class=(class) { (word) } }))
        }
    }
}
