//! Daemons: where each is and why, and steering them.

use std::sync::Arc;

use maud::{Markup, html};
use tenure_core::cluster::{ClusterLook, Daemon, DaemonFilter, DaemonName, DaemonState};
use tenure_core::id::NodeName;
use tenure_core::show::{is_orphaned, reason};
use tenure_core::time::StoreTime;

use super::layout::{self, Page, Place};
use crate::asked::{Allowed, Asked, View};
use crate::auth::Action;
use crate::fields;
use crate::params::Param;
use crate::routes::Answer;
use crate::view::form::{form, hidden};
use crate::view::pager::pager;
use crate::view::state::{Tone, pill};
use crate::view::table::{Column, table};
use crate::view::text::{cell, cut};
use crate::view::time::ago;

const DONE: Param = Param::word("done", &["steered"], "what was just done");
/// Nodes that can be chosen in a form.
const CHOICES: usize = 50;

/// The page.
pub(crate) async fn page(allowed: Allowed<View>) -> Answer {
    let _ = allowed.desk.sampler.snapshot(allowed.desk.limits.refresh, super::SHORT).await;
    let query = &allowed.query;
    let (node, prefix) = (query.text(&fields::NODE)?, query.text(&fields::PREFIX)?);
    let after = fields::name(&fields::AFTER, query.text(&fields::AFTER)?, DaemonName::new)?;
    let done = query.word(&DONE)?;
    let limit = allowed.desk.limits.page;
    let filter = DaemonFilter {
        node: fields::name(&fields::NODE, node.clone(), NodeName::new)?,
        prefix: prefix.clone(),
        after,
        limit,
    };
    let cluster = Arc::clone(&allowed.desk.stores.cluster);
    let call = async move { Ok((cluster.look().await?, cluster.daemons(&filter).await?)) };
    let (look, daemons) = allowed.desk.ask("daemons", call).await?;
    let next = (daemons.len() >= limit as usize)
        .then(|| daemons.last().map(|daemon| daemon.name().to_string()))
        .flatten();
    let (node, prefix) = (node.unwrap_or_default(), prefix.unwrap_or_default());
    let main = html! {
        (layout::head(&html! { "Daemons" }, &html! { "where each is, and why" }))
        @if done.is_some() { (layout::notice(Tone::Good, "The order is taken. The leader and the nodes follow it in a moment.")) }
        section class="card" {
            form class="search" method="get" action=(allowed.link("/daemons")) role="search" {
                label { "Beginning with" input name="prefix" value=(prefix) autocomplete="off" data-search=""; }
                label { "On node" input name="node" value=(node) autocomplete="off"; }
                div { button class="main" { "Search" } }
            }
        }
        section class="card" {
            (listed(&allowed, &daemons, &look))
            (pager(&allowed, "/daemons", &[("prefix", &prefix), ("node", &node)], "after", next.as_deref()))
        }
    };
    Ok(layout::page(&allowed, Page::new(Place::Cluster, "Daemons"), &main))
}

fn listed(asked: &Asked, daemons: &[Daemon], look: &ClusterLook) -> Markup {
    let columns = [
        Column::short("State"),
        Column::name("Daemon"),
        Column::text("Node"),
        Column::short("Since"),
        Column::text("Why"),
        Column::number("Moves"),
        Column::text("Steer"),
    ];
    let rows: Vec<Vec<Markup>> = daemons.iter().map(|daemon| row(asked, daemon, look, look.now)).collect();
    table("daemons", &columns, &rows, "There is no such daemon.")
}

fn row(asked: &Asked, daemon: &Daemon, look: &ClusterLook, now: StoreTime) -> Vec<Markup> {
    let tone = match (daemon.state, daemon.is_wanted()) {
        (DaemonState::Active, _) if !is_orphaned(daemon, look) => Tone::Good,
        (DaemonState::Assigning | DaemonState::Revoking, _) => Tone::Info,
        (_, false) => Tone::Plain,
        _ => Tone::Bad,
    };
    let word = if daemon.paused_by.is_some() && daemon.state == DaemonState::Unassigned {
        "paused"
    } else {
        daemon.state.as_str()
    };
    vec![
        pill(tone, word),
        html! { b { (cell(daemon.name().as_str())) } @if let Some(group) = &daemon.spec.group { span class="why" { "of " (cell(&group.name)) } } },
        html! {
            @if let Some(node) = daemon.node() { (cell(node.as_str())) }
            @if let Some(next) = &daemon.next { span class="why" { "goes to " (cell(next.as_str())) } }
            @if let Some(pinned) = &daemon.pinned_to { span class="why" { "wanted on " (cell(pinned.as_str())) } }
        },
        ago(daemon.since, now),
        html! {
            (cut(&reason(daemon, look), 240))
            @if daemon.failures > 0 { span class="why" { "failed " (daemon.failures) " times in a row" } }
            @for avoid in daemon.avoids.iter().filter(|avoid| avoid.until > now).take(5) { span class="why" { "avoids " (cell(avoid.node.as_str())) } }
        },
        html! { (daemon.moves) },
        steer(asked, daemon, look),
    ]
}

fn steer(asked: &Asked, daemon: &Daemon, look: &ClusterLook) -> Markup {
    if !asked.may_do(Action::SteerDaemon) {
        return html! {};
    }
    let name = hidden("name", daemon.name().as_str());
    let order = |word: &str, label: &str| {
        form(
            asked,
            "/act/daemon",
            None,
            &html! { (name) (hidden("action", word)) button class="quiet" { (label) } },
        )
    };
    html! {
        div class="actions" {
            @if daemon.paused_by.is_some() { (order("resume", "Resume")) } @else { (order("pause", "Pause")) }
            @if daemon.pinned_to.is_some() { (order("unpin", "Unpin")) }
        }
        details {
            summary { "Move" }
            (form(asked, "/act/daemon", None, &html! {
                (name) (hidden("action", "move"))
                select name="to" aria-label="to which node" { @for standing in look.nodes.iter().filter(|standing| standing.takes_daemons(look.now)).take(CHOICES) { option value=(standing.member.node.name.as_str()) { (cell(standing.member.node.name.as_str())) } } }
                button class="quiet" { "Move" }
            }))
        }
    }
}
