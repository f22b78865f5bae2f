//! What does not get on and why, the worst first.

use std::time::Duration;

use maud::{Markup, html};
use tenure_core::show::reason;
use tenure_core::time::StoreTime;

use super::heard::{Heard, heard};
use crate::asked::Asked;
use crate::sampler::{DAEMONS_LOOKED_AT, Facts};
use crate::shown;
use crate::view::number;
use crate::view::pager::href;
use crate::view::state::{Tone, pill};
use crate::view::text::{cell, cut};
use crate::view::time::{ago, span};

/// How many of each kind of trouble are told here.
const TOLD: usize = 5;
/// A reader that is behind and has not moved for so long is told as stuck.
const READER_STILL: Duration = Duration::from_secs(60);

/// What does not get on, and why; each with the way to where it can be mended.
pub(crate) fn stuck(asked: &Asked, facts: &Facts, now: StoreTime) -> Markup {
    let slow = &facts.slow;
    let behind = |progress: &&tenure_core::subscription::Progress| {
        slow.head > progress.position && progress.moved_at.until(now) > READER_STILL
    };
    // A process that has ended is in no trouble any more, whatever it said last.
    let is_heard = |row: &&tenure_core::observe::RunnerRow| heard(facts, row) == Heard::Lately;
    let mut rows: Vec<(Tone, Markup, String, &str)> = Vec::new();
    for grave in slow.graves.iter().take(TOLD) {
        let what = html! {
            b { (number::of(grave.messages, "dead message", "dead messages")) } ", the last " (ago(grave.newest.finished_at.unwrap_or(grave.newest.created_at), now))
            span class="why" { (cut(grave.newest.last_error.as_deref().map_or("no reason was written down", |reason| shown::reason(asked, reason)), 160)) }
        };
        rows.push((
            Tone::Bad,
            what,
            href(asked, "/dead/cause", &[("cause", &grave.cause.to_string())]),
            "Look and mend",
        ));
    }
    if slow.graves.len() > TOLD || slow.more_causes {
        rows.push((Tone::Bad, html! { "There are more causes." }, asked.link("/dead"), "All causes"));
    }
    if facts.pulse.halted_sources.number > 0 {
        let what = html! { b { (number::of(facts.pulse.halted_sources, "source stands still", "sources stand still")) } " behind a dead message: what follows it waits" };
        rows.push((Tone::Bad, what, href(asked, "/outbox", &[("state", "dead")]), "Look"));
    }
    if let Some(stall) = &slow.stall {
        let what = html! { "Readers of events wait at position " b { (stall.at) } @if let Some(lasts) = stall.lasts { ", for " (span(lasts)) } span class="why" { (cut(&stall.reason, 200)) } };
        rows.push((Tone::Warn, what, asked.link("/subscriptions"), "Look"));
    }
    for progress in slow.subscriptions.iter().filter(behind).take(TOLD) {
        let what = html! { "Subscription " b { (cell(progress.name.as_str())) } " is at most " (number::grouped((slow.head.0 - progress.position.0).unsigned_abs())) " events behind and moved " (ago(progress.moved_at, now)) };
        rows.push((
            Tone::Warn,
            what,
            href(asked, "/subscription", &[("name", progress.name.as_str())]),
            "Look",
        ));
    }
    for progress in slow.subscriptions.iter().filter(|progress| progress.parked.number > 0).take(TOLD) {
        let what = html! { "Subscription " b { (cell(progress.name.as_str())) } " has put " (number::of(progress.parked, "event", "events")) " aside" };
        rows.push((
            Tone::Warn,
            what,
            href(asked, "/subscription", &[("name", progress.name.as_str())]),
            "Look",
        ));
    }
    for daemon in slow.nowhere.iter().take(TOLD) {
        let what = html! { "Daemon " b { (cell(daemon.name().as_str())) } " runs nowhere" span class="why" { (cut(&reason(daemon, &facts.look), 160)) } };
        rows.push((Tone::Warn, what, href(asked, "/daemons", &[("prefix", daemon.name().as_str())]), "Look"));
    }
    for (row, trouble) in facts
        .runners
        .rows
        .iter()
        .filter(is_heard)
        .filter_map(|row| Some((row, row.report.trouble.as_deref()?)))
        .take(TOLD)
    {
        let what = html! { (row.report.kind) " " b { (cell(&row.report.name)) } " on " (cell(row.node.name.as_str())) " is in trouble" span class="why" { (cut(trouble, 160)) } };
        rows.push((Tone::Warn, what, asked.link("/cluster"), "Look"));
    }
    html! {
        section class="card" {
            h2 { "Stuck" }
            @if rows.is_empty() { p class="none" { "Nothing is stuck: no dead message, no event put aside, no loop in trouble." } }
            ul class="items" {
                @for (tone, what, link, word) in &rows {
                    li {
                        (pill(*tone, if *tone == Tone::Bad { "stuck" } else { "look" }))
                        span { (what) }
                        a href=(link) { (word) }
                    }
                }
            }
            @if slow.more_daemons { p class="soft" { "The first " (DAEMONS_LOOKED_AT) " daemons were looked at." } }
        }
    }
}
