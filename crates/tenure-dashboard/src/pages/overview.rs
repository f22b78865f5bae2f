//! How things stand, on one screen: whether messages flow, who is in office and since when, what is stuck and why.

use maud::{Markup, html};
use tenure_core::time::StoreTime;

use super::charts::charts;
use super::heard::{Office, relays, relays_in_office};
use super::history;
use super::layout::{self, Page, Place, lease_link};
use super::{sentence, stuck::stuck};
use crate::asked::{Allowed, Asked, View};
use crate::routes::Answer;
use crate::sampler::{Facts, Snapshot};
use crate::view::number::{self, rate};
use crate::view::pager::href;
use crate::view::state::{Tone, pill};
use crate::view::text::{cell, cut};
use crate::view::time::{since, span};

/// How many of each are told here.
const TOLD: usize = 5;

/// The page.
pub(crate) async fn page(allowed: Allowed<View>) -> Answer {
    let snapshot =
        allowed.desk.sampler.snapshot(allowed.desk.limits.refresh, allowed.desk.limits.patience).await;
    let main = html! { div id="part-overview" data-part="" { (part(&allowed, &snapshot)) } };
    Ok(layout::page(&allowed, Page::new(Place::Overview, "Overview").live("overview").reloading(10), &main))
}

/// What is kept fresh.
pub(crate) fn part(asked: &Asked, snapshot: &Snapshot) -> Markup {
    let verdict = sentence::of(snapshot, &asked.desk);
    let now = layout::now(asked);
    html! {
        section class={ "sentence " (verdict.tone.class()) } aria-label="How things stand" {
            h1 { span class="sign" aria-hidden="true" { (verdict.tone.sign()) } span { (verdict.sentence) "." } }
            @if !verdict.reasons.is_empty() { ul { @for reason in &verdict.reasons { li { (cut(reason, 300)) } } } }
        }
        @if let Some(facts) = &snapshot.facts {
            (tiles(asked, facts))
            div class="grid" {
                div {
                    (office(asked, facts, now))
                    section class="card" { h2 { "Last changes of office" } (history::brief(asked, &facts.changes, now, TOLD)) }
                }
                (stuck(asked, facts, now))
            }
            div class="grid" { (charts(asked, &snapshot.series, facts)) }
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
    let offices = relays_in_office(facts);
    let relays = relays(facts);
    let standing_by = relays.iter().filter(|row| row.report.state == "standing by").count();
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
                    @for office in offices.iter().take(TOLD) {
                        @match office {
                            Office::Lease(lease) => {
                                div { b { (cell(lease.node.name.as_str())) } (mine(lease.node.name.as_str())) " holds " (lease_link(asked, lease.name.as_str())) ", term " (lease.term) ", " (since(lease.acquired_at, now)) }
                            }
                            Office::Says(row) => {
                                div { b { (cell(row.node.name.as_str())) } (mine(row.node.name.as_str())) ", " (row.report.kind) " " (cell(&row.report.name)) ": " (cell(&row.report.state)) ", " (since(row.started_at, now)) }
                            }
                        }
                    }
                    @if offices.len() > TOLD { div class="soft" { "and " (offices.len() - TOLD) " more" } }
                    @if offices.is_empty() {
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
