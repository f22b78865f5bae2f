//! Bulk changes: what one would do, those under way, and those that have ended.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use maud::{Markup, html};
use tenure_core::observe::{AuditLine, AuditSelection};
use tenure_core::outbox::{Counted, Filter, Summary};

use super::elsewhere;
use super::layout::{self, Page, Place};
use super::outbox::messages;
use crate::act::Change;
use crate::asked::{Allowed, Asked, View};
use crate::auth::{Action, moment};
use crate::jobs::{self, Job, LIMIT_MAX, Progress, RATE, RATE_MAX, Stand, words};
use crate::params::Param;
use crate::problem::Problem;
use crate::routes::Answer;
use crate::view::chart::bar;
use crate::view::form::{form, hidden};
use crate::view::number::{self, grouped};
use crate::view::pager::href;
use crate::view::state::{Tone, pill};
use crate::view::table::{Column, facts, table};
use crate::view::text::{cell, code, cut};
use crate::view::time::span;

pub(crate) const ID: Param = Param::text("id", 16, "the number of a job");

/// All jobs of this process, and what the audit table says of those of others.
pub(crate) async fn list(allowed: Allowed<View>) -> Answer {
    let snapshot = allowed.desk.sampler.snapshot(allowed.desk.limits.refresh, super::SHORT).await;
    let jobs = allowed.desk.jobs.list();
    let audit = Arc::clone(&allowed.desk.stores.audit);
    let call = async move {
        let mut lines = Vec::new();
        for action in ["job.retry.begin", "job.retry.end", "job.discard.begin", "job.discard.end"] {
            let selection = AuditSelection {
                action: Some(action.into()),
                limit: 10,
                steps: 2_000,
                ..AuditSelection::default()
            };
            lines.extend(audit.audit(&selection).await?.lines);
        }
        lines.sort_by_key(|line| std::cmp::Reverse(line.id));
        lines.truncate(20);
        Ok(lines)
    };
    let lines: Vec<AuditLine> = allowed.desk.ask("the audit table", call).await?;
    let runs = jobs.iter().any(|job| job.runs());
    let main = html! {
        div id="part-jobs" data-part="" data-refresh=[runs.then_some("2")] {
            (layout::head(&html! { "Jobs" }, &html! { "bulk changes of this process, the newest first" }))
            section class="card" { (listed(&allowed, &jobs)) }
            @if let Some(facts) = &snapshot.facts { (elsewhere::card(&allowed, facts)) }
            section class="card" {
                h2 { "Begun and ended on any node" }
                p class="soft" { "As the audit table has it. A line without an end is of a job that runs, or whose process ended before it." }
                (super::audit::lines(&lines, layout::now(&allowed)))
            }
        }
    };
    let page = Page::new(Place::Jobs, "Jobs");
    Ok(layout::page(&allowed, if runs { page.reloading(5) } else { page }, &main))
}

fn listed(asked: &Asked, jobs: &[Arc<Job>]) -> Markup {
    let columns = [
        Column::short("State"),
        Column::name("Job"),
        Column::text("What"),
        Column::number("Changed"),
        Column::text("By"),
    ];
    let rows: Vec<Vec<Markup>> = jobs
        .iter()
        .map(|job| {
            let progress = job.progress();
            vec![
                stand(&progress.stand),
                html! { a href=(href(asked, "/job", &[("id", &job.id)])) { code { (job.id) } } },
                html! { (jobs::word(job.order.change)) " " (cut(&words(&job.order.filter), 160)) },
                html! { (grouped(progress.changed)) @if let Some(total) = progress.total { " of about " (number::count(total)) } },
                cell(&job.order.by),
            ]
        })
        .collect();
    table(
        "jobs",
        &columns,
        &rows,
        "None since this process began. A group of dead messages is retried or discarded by one.",
    )
}

/// One job.
pub(crate) async fn page(allowed: Allowed<View>) -> Answer {
    let snapshot = allowed.desk.sampler.snapshot(allowed.desk.limits.refresh, super::SHORT).await;
    let id = allowed.query.need(&ID)?;
    let Some(job) = allowed.desk.jobs.get(&id) else {
        return elsewhere::page(&allowed, &snapshot, &id).ok_or_else(|| {
            Problem::NotFound(
                "there is no such job in this process, and none reports it: it may have ended long ago"
                    .into(),
            )
        });
    };
    let progress = job.progress();
    let runs = progress.stand == Stand::Running;
    let main = html! {
        div id="part-job" data-part="" data-refresh=[runs.then_some("1")] {
            (layout::head(&html! { "Job " (code(&job.id)) }, &stand(&progress.stand)))
            section class="card" { (about(&allowed, &job, &progress)) }
        }
    };
    let page = Page::new(Place::Jobs, "Job");
    Ok(layout::page(&allowed, if runs { page.reloading(3) } else { page }, &main))
}

fn about(asked: &Asked, job: &Job, progress: &Progress) -> Markup {
    let lasts = progress
        .ended
        .unwrap_or_else(|| asked.desk.now())
        .duration_since(job.begun)
        .unwrap_or(Duration::ZERO);
    // Counted when it began: what dies or is changed by others since then makes it differ.
    let whole = progress.total.map_or(job.order.limit, |total| total.number.max(progress.changed)).max(1);
    let part = progress.changed as f64 / whole as f64;
    let done = match job.order.change {
        Change::Retry => "pending again",
        Change::Discard => "discarded",
    };
    let when = |at: SystemTime| html! { (moment::write(at)) };
    html! {
        p {
            b { (grouped(progress.changed)) }
            @if let Some(total) = progress.total { " of about " (number::of(total, "message", "messages")) } @else { " messages" }
            " " (done) ", at most " (grouped(job.order.limit))
        }
        (bar("info", 0.0, part, "how much of it is done"))
        @if let Some(trouble) = &progress.trouble { div class="notice warn" { "The database gives no answer; " (cut(trouble, 300)) } }
        (facts(&[
            ("What", html! { (jobs::word(job.order.change)) " " (cut(&words(&job.order.filter), 400)) }),
            ("Looked at", html! { (grouped(progress.looked)) " dead messages, each once, in the order of their numbers" }),
            ("Rate", html! { "at most " (grouped(job.order.rate)) " a second" }),
            ("By", cell(&job.order.by)),
            ("Begun", when(job.begun)),
            ("Ended", html! { @if let Some(at) = progress.ended { (when(at)) ", after " (span(lasts)) } }),
            ("Why", cut(progress.stand.why(), 400)),
        ]))
        @if progress.stand == Stand::Running {
            div class="actions" {
                @if asked.may_do(Action::StopJob) { (form(asked, "/act/job-stop", None, &html! { (hidden("id", &job.id)) button class="danger" { "Stop" } })) }
                span class="soft" { "It ends after the call that is under way; what is changed stays changed." }
            }
        }
        @if let (Change::Retry, Some(cause)) = (job.order.change, job.order.filter.cause) {
            p class="more" { a href=(href(asked, "/dead/cause", &[("cause", &cause.to_string())])) { "Those of this cause that are dead now" } }
        }
    }
}

fn stand(stand: &Stand) -> Markup {
    let tone = match stand {
        Stand::Running => Tone::Info,
        Stand::Done(_) => Tone::Good,
        Stand::Stopped(_) => Tone::Warn,
        Stand::Failed(_) => Tone::Bad,
    };
    pill(tone, stand.word())
}

/// What a change would do, and the form that begins it. Nothing was changed so far.
pub(crate) fn confirm(
    asked: &Asked,
    change: Change,
    filter: &Filter,
    fields: &Markup,
    counted: &Counted,
    first: &[Summary],
) -> Markup {
    let (path, verb, question) = match change {
        Change::Retry => ("/act/retry-all", "Retry", None),
        Change::Discard => {
            ("/act/discard-all", "Discard", Some("Discard these messages? They will not be sent."))
        }
    };
    let count = counted.count();
    let many = number::of(count, "message", "messages");
    let looked = grouped(counted.looked.into());
    let class = if change == Change::Retry { "main" } else { "danger" };
    let limit = count.number.max(1).min(LIMIT_MAX.into());
    html! {
        (layout::head(&html! { (verb) " " (many) "?" }, &html! { "nothing was changed so far" }))
        section class="card" {
            p { "Meant are " b { (cut(&words(filter), 400)) } ": " (many) "." }
            @if count.or_more { p class="soft" { "Counted among the first " (looked) " dead messages; the job goes through all of them." } }
            @else { p class="soft" { "Looked at were " (looked) " dead messages." } }
            @if change == Change::Retry { p { "They become pending again, due at once and with a full budget of attempts; a receiver that cannot take them all at once is spared by the rate." } }
            @else { p { "They will not be sent. They are kept, and can be looked at, until they are old enough to be swept." } }
            @if count.number > 0 || count.or_more {
                (form(asked, path, question, &html! {
                    (fields)
                    label { "At most" input type="number" name="limit" min="1" max=(LIMIT_MAX) value=(if count.or_more { u64::from(LIMIT_MAX) } else { limit }); }
                    label { "A second" input type="number" name="rate" min="1" max=(RATE_MAX) value=(RATE); }
                    button class=(class) { (verb) " " (many) }
                    a class="button" href=(asked.link("/dead")) { "Leave it" }
                }))
            } @else { p { a href=(asked.link("/dead")) { "Back to dead messages" } } }
        }
        @if !first.is_empty() {
            section class="card" {
                h2 { "The newest of them" }
                (messages(asked, first, layout::now(asked), ""))
            }
        }
    }
}
