//! How things stand, on one screen: whether messages flow, who is in office and since when, what is stuck and why.

use std::time::Duration;

use maud::{Markup, html};
use tenure_core::lease::Change;
use tenure_core::show::reason;
use tenure_core::time::StoreTime;

use super::layout::{self, Page, Place, lease_link};
use super::sentence::{self, is_relay_lease, relays};
use crate::asked::{Allowed, Asked, View};
use crate::routes::Answer;
use crate::sampler::{DAEMONS_LOOKED_AT, Facts, Snapshot};
use crate::series::Series;
use crate::view::chart::{Line, chart};
use crate::view::number::{self, rate};
use crate::view::pager::href;
use crate::view::state::{Tone, pill};
use crate::view::table::{Column, table};
use crate::view::text::{cell, cut};
use crate::view::time::{ago, since, span};

/// How many of each kind of trouble are told here.
const TOLD: usize = 5;
/// A reader that is behind and has not moved for so long is told as stuck.
const READER_STILL: Duration = Duration::from_secs(60);

/// The page.
pub(crate) async fn page(allowed: Allowed<View>) -> Answer {
    let snapshot =
        allowed.desk.sampler.snapshot(allowed.desk.limits.refresh, allowed.desk.limits.patience).await;
    let main = html! { div id="part-overview" data-part="" { (part(&allowed, &snapshot)) } };
    Ok(layout::page(&allowed, Page::new(Place::Overview, "Overview").live("overview").reloading(10), &main))
}

/// What is kept fresh.
pub(crate) fn part(asked: &Asked, snapshot: &Snapshot) -> Markup {
    let verdict = sentence::of(snapshot, &asked.desk.thresholds);
    let now = layout::now(asked);
    html! {
        section class={ "sentence " (verdict.tone.class()) } aria-label="How things stand" {
            h1 { span class="sign" aria-hidden="true" { (verdict.tone.sign()) } span { (verdict.sentence) "." } }
            @if !verdict.reasons.is_empty() { ul { @for reason in &verdict.reasons { li { (cut(reason, 300)) } } } }
        }
        @if let Some(facts) = &snapshot.facts {
            (tiles(asked, facts))
            div class="grid" {
                (office(asked, facts, now))
                (stuck(asked, facts, now))
            }
            div class="grid" { (charts(&snapshot.series, facts)) }
            (changes(asked, &facts.changes, now))
        }
    }
}

/// The numbers.
pub(crate) fn tiles(asked: &Asked, facts: &Facts) -> Markup {
    let pulse = &facts.pulse;
    let rates = &facts.rates;
    let about = if rates.is_derived { "about " } else { "" };
    let lag = pulse.lag.map_or_else(
        || "none".to_owned(),
        |lag| format!("{}{}", if pulse.lag_is_least { "≥ " } else { "" }, span(lag)),
    );
    let link = |state: &str| href(asked, "/outbox", &[("state", state)]);
    html! {
        div class="tiles" {
            div class="tile" {
                div class="what" { "goes out" }
                div class="number" { @match rates.delivered { Some(out) => { (about) (rate(out)) } None => { "?" } } }
                div class="also" { @match rates.enqueued { Some(into) => { "about " (rate(into)) " come in" } None => { "measuring" } } }
            }
            a class="tile" href=(link("pending")) {
                div class="what" { "waits" }
                div class="number" { (number::count(pulse.pending)) }
                div class="also" { (number::count(pulse.retrying)) " failed before" }
            }
            div class={ "tile" @if pulse.lag.is_some_and(|lag| lag >= asked.desk.thresholds.lag_degraded) { " bad" } } {
                div class="what" { "oldest waits" }
                div class="number" { (lag) }
                div class="also" { "among those that could go" }
            }
            a class={ "tile" @if pulse.dead.number > 0 { " bad" } } href=(asked.link("/dead")) {
                div class="what" { "dead" }
                div class="number" { (number::count(pulse.dead)) }
                div class="also" { @if pulse.halted_sources.number > 0 { (number::of(pulse.halted_sources, "source halted", "sources halted")) } @else { "no source halted" } }
            }
        }
    }
}

/// Who is in office, and since when.
fn office(asked: &Asked, facts: &Facts, now: StoreTime) -> Markup {
    let here = asked.desk.this_node.as_ref();
    let mine = |name: &str| html! { @if here.is_some_and(|node| node.name.as_str() == name) { " " span class="tag" { "this node" } } };
    let uses_cluster = facts.look.leader.is_some() || !facts.look.nodes.is_empty();
    let offices: Vec<_> =
        facts.leases.iter().filter(|lease| is_relay_lease(lease) && lease.is_held(facts.leases_at)).collect();
    let relays = relays(facts);
    let standing_by = relays.iter().filter(|row| row.report.state == "standing by").count();
    let free: Vec<_> = relays
        .iter()
        .filter(|row| row.report.state == "at work" || row.report.state.starts_with("on "))
        .take(TOLD)
        .collect();
    let alive = facts.look.nodes.iter().filter(|standing| standing.is_alive(facts.look.now)).count();
    html! {
        section class="card" {
            h2 { "In office" }
            dl class="facts" {
                @if uses_cluster {
                    dt { "Leader" }
                    dd {
                        @match (facts.look.leads(), &facts.look.leader) {
                            (Some((node, term)), Some(lease)) => {
                                b { (cell(node.as_str())) } (mine(node.as_str())) ", term " (term) ", " (since(lease.acquired_at, now))
                            }
                            (_, Some(lease)) => {
                                (pill(Tone::Bad, "nobody leads")) " last was " b { (cell(lease.node.name.as_str())) } ", term " (lease.term)
                            }
                            _ => { (pill(Tone::Bad, "nobody leads")) " nobody ever did" }
                        }
                    }
                    dt { "Nodes" }
                    dd { (alive) " of " (facts.look.nodes.len()) " live" @if facts.slow.daemons > 0 { ", " (facts.slow.daemons) @if facts.slow.more_daemons { "+" } " daemons" } }
                }
                dt { "Relay" }
                dd {
                    @for lease in offices.iter().take(TOLD) {
                        div { b { (cell(lease.node.name.as_str())) } (mine(lease.node.name.as_str())) " holds " (lease_link(asked, lease.name.as_str())) ", term " (lease.term) ", " (since(lease.acquired_at, now)) }
                    }
                    @for row in &free {
                        div { b { (cell(row.node.name.as_str())) } (mine(row.node.name.as_str())) " is " (cell(&row.report.state)) ", " (since(row.started_at, now)) }
                    }
                    @if offices.is_empty() && free.is_empty() {
                        (pill(Tone::Warn, "nobody"))
                        @if relays.is_empty() { " no lease of a relay is held, and none reports" }
                    }
                    @if standing_by > 0 { div class="soft" { (standing_by) @if standing_by == 1 { " stands by" } @else { " stand by" } } }
                }
            }
            p class="more" { a href=(asked.link("/cluster")) { "Cluster, leases and history" } }
        }
    }
}

/// What does not get on, and why; each with the way to where it can be mended.
fn stuck(asked: &Asked, facts: &Facts, now: StoreTime) -> Markup {
    let slow = &facts.slow;
    let behind = |progress: &&tenure_core::subscription::Progress| {
        slow.head > progress.position && progress.moved_at.until(now) > READER_STILL
    };
    let mut rows: Vec<(Tone, Markup, String, &str)> = Vec::new();
    for grave in slow.graves.iter().take(TOLD) {
        let what = html! {
            b { (number::of(grave.messages, "dead message", "dead messages")) } ", the last " (ago(grave.newest.finished_at.unwrap_or(grave.newest.created_at), now))
            span class="why" { (cut(grave.newest.last_error.as_deref().unwrap_or("no reason was written down"), 160)) }
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
    for (row, trouble) in
        facts.runners.rows.iter().filter_map(|row| Some((row, row.report.trouble.as_deref()?))).take(TOLD)
    {
        let what = html! { (row.report.kind) " " b { (cell(&row.report.name)) } " on " (cell(row.node.name.as_str())) " is in trouble" span class="why" { (cut(trouble, 160)) } };
        rows.push((Tone::Warn, what, asked.link("/cluster"), "Look"));
    }
    let columns = [Column::short("How bad"), Column::text("What"), Column::short("Where")];
    let cells: Vec<Vec<Markup>> = rows
        .iter()
        .map(|(tone, what, link, word)| {
            vec![
                pill(*tone, if *tone == Tone::Bad { "stuck" } else { "look" }),
                what.clone(),
                html! { a href=(link) { (word) } },
            ]
        })
        .collect();
    html! {
        section class="card" {
            h2 { "Stuck" }
            (table("what is stuck", &columns, &cells, "Nothing is stuck: no dead message, no event put aside, no loop in trouble."))
            @if slow.more_daemons { p class="soft" { "The first " (DAEMONS_LOOKED_AT) " daemons were looked at." } }
        }
    }
}

/// What went through, and how long the oldest waited.
pub(crate) fn charts(series: &Series, facts: &Facts) -> Markup {
    let mut through =
        vec![Line { name: "out", class: "line-1", values: series.fine(|sample| sample.delivered) }];
    through.push(Line { name: "in", class: "line-2", values: series.fine(|sample| sample.enqueued) });
    if facts.rates.failed.is_some() {
        through.push(Line { name: "failed", class: "line-3", values: series.fine(|sample| sample.failed) });
    }
    let lag = [Line { name: "oldest", class: "line-1", values: series.fine(|sample| sample.lag) }];
    let seconds = |value: f64| {
        if value <= 0.0 {
            "0 s".to_owned()
        } else {
            span(Duration::try_from_secs_f64(value).unwrap_or_default())
        }
    };
    html! {
        section class="card" { h2 { "Messages in a second" } (chart("messages in a second", "10 min ago", &through, rate)) }
        section class="card" { h2 { "How long the oldest waits" } (chart("how long the oldest waits", "10 min ago", &lag, seconds)) }
    }
}

/// What waited and what was dead, over a day: or since this process began to look.
pub(crate) fn day(series: &Series) -> Markup {
    let lines = [
        Line { name: "waiting", class: "line-1", values: series.coarse(|sample| sample.pending) },
        Line { name: "dead", class: "line-3", values: series.coarse(|sample| sample.dead) },
    ];
    let label = |value: f64| number::grouped(value.round() as u64);
    html! {
        section class="card" {
            h2 { "Waiting and dead" }
            (chart("waiting and dead", "24 h ago", &lines, label))
            p class="soft" { "Since this process began to be looked at. Longer memory is that of the metrics." }
        }
    }
}

/// The last changes of holder.
fn changes(asked: &Asked, changes: &[Change], now: StoreTime) -> Markup {
    html! {
        section class="card" {
            h2 { "Last changes of office" }
            (history(asked, changes, now, TOLD))
        }
    }
}

/// Changes of holder as a table.
pub(crate) fn history(asked: &Asked, changes: &[Change], now: StoreTime, limit: usize) -> Markup {
    let columns = [
        Column::short("When"),
        Column::name("Lease"),
        Column::number("Term"),
        Column::short("What"),
        Column::text("Node"),
    ];
    let rows: Vec<Vec<Markup>> = changes.iter().take(limit).map(|change| {
        let tone = match change.cause.as_str() {
            "acquired" => Tone::Good,
            "released" | "resigned" => Tone::Info,
            "crashed" | "expired" => Tone::Bad,
            _ => Tone::Warn,
        };
        vec![
            ago(change.at, now),
            lease_link(asked, change.name.as_str()),
            html! { (change.term) },
            pill(tone, change.cause.as_str()),
            html! { (cell(change.node.name.as_str())) " " span class="soft" { (cell(&format!("{}/{}", change.node.machine, change.node.pid))) } },
        ]
    }).collect();
    table("changes of holder", &columns, &rows, "No lease has changed its holder yet.")
}
