//! Bulk changes that other processes run, as they tell of them. They are seen here and stopped there.

use axum::response::Response;
use maud::{Markup, html};
use tenure_core::observe::RunnerRow;
use tenure_core::time::StoreTime;

use super::layout::{self, Page, Place};
use crate::asked::Asked;
use crate::jobs::{elsewhere, id_of};
use crate::sampler::{Facts, Snapshot};
use crate::view::number::grouped;
use crate::view::pager::href;
use crate::view::state::{Tone, pill};
use crate::view::table::{Column, facts as listed, table};
use crate::view::text::{cell, code, cut};
use crate::view::time::{ago, since};

/// How many are shown; each process runs a few at most.
const SHOWN: usize = 50;

const STOPPED_THERE: &str = "A job is stopped where it runs: at the dashboard of that process. When the process ends, its jobs end too.";

/// All of them; nothing where there is none.
pub(super) fn card(asked: &Asked, facts: &Facts) -> Markup {
    let columns = [
        Column::short("State"),
        Column::name("Job"),
        Column::text("Node"),
        Column::number("Changed"),
        Column::short("Begun"),
        Column::short("Told"),
    ];
    let now = facts.runners.now;
    let rows: Vec<Vec<Markup>> = elsewhere(&asked.desk, facts)
        .take(SHOWN)
        .map(|row| {
            vec![
                state(row),
                html! { a href=(href(asked, "/job", &[("id", id_of(row))])) { (cut(&row.report.name, 160)) } },
                node(row),
                html! { (grouped(changed(row))) },
                ago(row.started_at, now),
                ago(row.seen_at, now),
            ]
        })
        .collect();
    html! {
        @if !rows.is_empty() {
            section class="card" {
                h2 { "On other nodes" }
                p class="soft" { (STOPPED_THERE) }
                (table("jobs-elsewhere", &columns, &rows, ""))
            }
        }
    }
}

/// One of them; none where nobody tells of it.
pub(super) fn page(asked: &Asked, snapshot: &Snapshot, id: &str) -> Option<Response> {
    let facts = snapshot.facts.as_ref()?;
    let row = elsewhere(&asked.desk, facts).find(|row| id_of(row) == id)?;
    let main = html! {
        div id="part-job" data-part="" data-refresh="2" {
            (layout::head(&html! { "Job " (code(id)) }, &state(row)))
            section class="card" { (about(row, facts.runners.now)) }
        }
    };
    Some(layout::page(asked, Page::new(Place::Jobs, "Job").reloading(5), &main))
}

fn about(row: &RunnerRow, now: StoreTime) -> Markup {
    html! {
        p { "It runs on " b { (cell(row.node.name.as_str())) } ". " (STOPPED_THERE) }
        (listed(&[
            ("What", cut(&row.report.name, 400)),
            ("Node", node(row)),
            ("Changed", html! { (grouped(changed(row))) " messages, when it told last" }),
            ("Begun", since(row.started_at, now)),
            ("Told last", ago(row.seen_at, now)),
            ("Trouble", html! { @if let Some(trouble) = &row.report.trouble { (cut(trouble, 400)) } }),
        ]))
    }
}

/// Those that run here and elsewhere, in a line each, for the page of the outbox.
pub(super) fn running(asked: &Asked, facts: &Facts) -> Markup {
    let here: Vec<_> = asked.desk.jobs.list().into_iter().filter(|job| job.runs()).collect();
    let there: Vec<&RunnerRow> = elsewhere(&asked.desk, facts).take(SHOWN).collect();
    html! {
        @if !here.is_empty() || !there.is_empty() {
            section class="card" aria-label="Bulk changes under way" {
                h2 { "Bulk changes under way" }
                ul {
                    @for job in &here {
                        li { a href=(href(asked, "/job", &[("id", &job.id)])) { (cut(&job.title(), 160)) } ": " (grouped(job.progress().changed)) " changed, here" }
                    }
                    @for row in &there {
                        li { a href=(href(asked, "/job", &[("id", id_of(row))])) { (cut(&row.report.name, 160)) } ": " (grouped(changed(row))) " changed, on " (cell(row.node.name.as_str())) }
                    }
                }
            }
        }
    }
}

fn state(row: &RunnerRow) -> Markup {
    let tone = if row.report.trouble.is_some() { Tone::Warn } else { Tone::Info };
    pill(tone, &row.report.state.chars().take(60).collect::<String>())
}

fn node(row: &RunnerRow) -> Markup {
    html! { b { (cell(row.node.name.as_str())) } span class="why" { (cell(&row.node.machine)) ", process " (row.node.pid) } }
}

fn changed(row: &RunnerRow) -> u64 {
    row.report.counters.get("changed").copied().unwrap_or_default()
}
