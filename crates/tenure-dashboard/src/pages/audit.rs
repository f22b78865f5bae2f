//! What operators did.

use std::sync::Arc;

use maud::{Markup, html};
use tenure_core::observe::{AuditId, AuditLine, AuditSelection};
use tenure_core::time::StoreTime;

use super::layout::{self, Page, Place};
use crate::asked::{Allowed, View};
use crate::fields;
use crate::routes::Answer;
use crate::shown;
use crate::view::pager::pager;
use crate::view::table::{Column, table};
use crate::view::text::{cell, cut};
use crate::view::time::{ago, clock};

/// The page.
pub(crate) async fn page(allowed: Allowed<View>) -> Answer {
    let _ = allowed.desk.sampler.snapshot(allowed.desk.limits.refresh, super::SHORT).await;
    let query = &allowed.query;
    let (actor, action, subject) =
        (query.text(&fields::ACTOR)?, query.text(&fields::ACTION)?, query.text(&fields::SUBJECT)?);
    let before = fields::before(query)?.map(|row| AuditId(row.0));
    let selection = AuditSelection {
        actor: actor.clone(),
        action: action.clone(),
        subject: subject.clone(),
        before,
        limit: allowed.desk.limits.page,
        steps: 0,
    };
    let audit = Arc::clone(&allowed.desk.stores.audit);
    let mut found = allowed.desk.ask("the audit table", async move { audit.audit(&selection).await }).await?;
    shown::discreet(&allowed, found.lines.iter_mut().map(|line| &mut line.detail));
    let given = [
        ("actor", actor.unwrap_or_default()),
        ("action", action.unwrap_or_default()),
        ("subject", subject.unwrap_or_default()),
    ];
    let field = |at: usize, label: &str, hint: &str| {
        let (name, value) = &given[at];
        html! { label { (label) input name=(name) value=(value) placeholder=(hint) autocomplete="off" data-search=[(at == 0).then_some("")]; } }
    };
    let pairs: Vec<(&str, &str)> = given.iter().map(|(name, value)| (*name, value.as_str())).collect();
    let next = found.more_before.map(|id| id.0.to_string());
    let none =
        if next.is_some() { "None so far: go on with the next page." } else { "There is no such line." };
    let main = html! {
        (layout::head(&html! { "Audit" }, &html! { "what operators did, the newest first" }))
        section class="card" {
            form class="search" method="get" action=(allowed.link("/audit")) role="search" {
                (field(0, "Who", "a name"))
                (field(1, "Did what", "exactly"))
                (field(2, "To what", "exactly"))
                div { button class="main" { "Search" } }
            }
        }
        section class="card" {
            @if found.lines.is_empty() { p class="none" { (none) } } @else { (lines(&found.lines, layout::now(&allowed))) }
            (pager(&allowed, "/audit", &pairs, "before", next.as_deref()))
        }
    };
    Ok(layout::page(&allowed, Page::new(Place::Audit, "Audit"), &main))
}

/// Lines as a table.
pub(crate) fn lines(lines: &[AuditLine], now: StoreTime) -> Markup {
    let columns = [
        Column::short("When"),
        Column::name("Who"),
        Column::name("Did what"),
        Column::text("To what"),
        Column::text("More"),
    ];
    let rows: Vec<Vec<Markup>> = lines
        .iter()
        .map(|line| {
            vec![
                html! { (ago(line.at, now)) span class="why" { (clock(line.at)) } },
                cell(&line.actor),
                cell(&line.action),
                cell(&line.subject),
                cut(&line.detail, 300),
            ]
        })
        .collect();
    table("what operators did", &columns, &rows, "Nothing yet.")
}
