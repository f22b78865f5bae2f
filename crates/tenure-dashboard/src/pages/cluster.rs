//! This node and the others: who leads, who runs what, which leases are held, and what the loops of all processes say.

use maud::{Markup, html};
use tenure_core::cluster::{LEADER_LEASE, NODE_LEASE_PREFIX, Standing};
use tenure_core::lease::LeaseRecord;
use tenure_core::observe::{RunnerKind, RunnerRow};
use tenure_core::show::lease_state;
use tenure_core::time::StoreTime;

use super::heard::{Heard, heard};
use super::history::history;
use super::layout::{self, Page, Place, lease_link};
use crate::asked::{Allowed, Asked, View};
use crate::jobs::id_of;
use crate::routes::Answer;
use crate::sampler::{Facts, Snapshot};
use crate::view::number::grouped;
use crate::view::pager::href;
use crate::view::state::{Tone, pill};
use crate::view::table::{Column, facts, table};
use crate::view::text::{cell, code, cut};
use crate::view::time::{ago, distance, since, span};

/// How many of each are shown here; the rest is on pages of its own.
const SHOWN: usize = 50;

/// The page.
pub(crate) async fn page(allowed: Allowed<View>) -> Answer {
    let snapshot =
        allowed.desk.sampler.snapshot(allowed.desk.limits.refresh, allowed.desk.limits.patience).await;
    let main = html! {
        (layout::head(&html! { "Cluster" }, &html! { "nodes, offices, and the loops of all processes" }))
        div id="part-cluster" data-part="" { (part(&allowed, &snapshot)) }
    };
    Ok(layout::page(&allowed, Page::new(Place::Cluster, "Cluster").live("cluster").reloading(10), &main))
}

/// What is kept fresh.
pub(crate) fn part(asked: &Asked, snapshot: &Snapshot) -> Markup {
    let now = layout::now(asked);
    html! {
        div class="grid" {
            (this_node(asked, snapshot))
            section class="card" {
                h2 { "Leader" }
                @match &snapshot.facts { Some(known) => { (leader(asked, known, now)) } None => { p class="none" { "Not known." } } }
            }
        }
        @if let Some(known) = &snapshot.facts {
            section class="card" { h2 { "Nodes" } (nodes(asked, known, now)) }
            section class="card" {
                h2 { "Leases" }
                (leases(asked, &known.leases[..known.leases.len().min(SHOWN)], known.leases_at))
                p class="more" { a href=(asked.link("/leases")) { "All leases" } " · " a href=(asked.link("/daemons")) { "Daemons, with the reasons for their places" } }
            }
            section class="card" { h2 { "Loops of all processes" } (runners(asked, known)) }
            section class="card" { h2 { "Last changes of office" } (history(asked, &known.changes, now, SHOWN)) }
        }
    }
}

fn this_node(asked: &Asked, snapshot: &Snapshot) -> Markup {
    let capabilities = &asked.desk.stores.capabilities;
    let known = snapshot.facts.as_ref();
    let node = asked.desk.this_node.as_ref();
    let begun = node.zip(known).and_then(|(node, known)| {
        let mine = known.runners.rows.iter().filter(|row| row.node.incarnation == node.incarnation);
        mine.map(|row| row.started_at).min()
    });
    let yes = |good: bool| if good { "yes" } else { "no" };
    let of = |show: &dyn Fn(&tenure_core::id::Node) -> Markup| node.map_or_else(|| html! {}, show);
    html! {
        section class="card" {
            h2 { "This process" }
            @if node.is_none() { p class="soft" { "This dashboard is no node: it only looks at the store." } }
            (facts(&[
                ("Node", of(&|node| html! { b { (cell(node.name.as_str())) } " " span class="tag" { "this node" } })),
                ("Machine", of(&|node| html! { (cell(&node.machine)) ", process " (node.pid) })),
                ("Incarnation", of(&|node| code(&node.incarnation.to_string()))),
                ("Runs", html! { @if let (Some(at), Some(known)) = (begun, known) { (since(at, known.runners.now)) } }),
                ("Version", html! { (env!("CARGO_PKG_VERSION")) }),
                ("Store", cell(&capabilities.store)),
                ("Sees crashes", html! { (yes(capabilities.presence)) }),
                ("Has fences", html! { (yes(capabilities.fence_in_transaction)) @if capabilities.fence_in_transaction { ", in transactions" } }),
                ("Notes", html! { @for note in capabilities.notes.iter().take(10) { div class="soft" { (cut(note, 300)) } } }),
            ]))
        }
    }
}

fn leader(asked: &Asked, known: &Facts, now: StoreTime) -> Markup {
    match (known.look.leads(), &known.look.leader) {
        (Some((node, term)), Some(lease)) => html! {
            p { b { (cell(node.as_str())) } (mine(asked, lease)) " leads, " (since(lease.acquired_at, now)) }
            (facts(&[
                ("Term", html! { (term) }),
                ("Machine", html! { (cell(&lease.node.machine)) ", process " (lease.node.pid) }),
                ("Renewed", ago(lease.renewed_at, now)),
                ("Else free", distance(lease.expires_at, now)),
                ("", html! { (lease_link(asked, LEADER_LEASE)) }),
            ]))
        },
        (_, Some(lease)) => html! {
            p { (pill(Tone::Bad, "nobody leads")) }
            p { "Last was " b { (cell(lease.node.name.as_str())) } ", term " (lease.term) ", until " (ago(lease.released_at.unwrap_or(lease.expires_at).min(now), now)) ". " (lease_link(asked, LEADER_LEASE)) }
        },
        _ => {
            html! { p class="none" { "Nobody has ever led: no node is there that may. Relays need no leader." } }
        }
    }
}

fn nodes(asked: &Asked, known: &Facts, now: StoreTime) -> Markup {
    let columns = [
        Column::short("State"),
        Column::name("Node"),
        Column::text("Machine"),
        Column::short("Seen"),
        Column::short("Joined"),
        Column::text("Version"),
        Column::text("Labels"),
        Column::short("Daemons"),
    ];
    let is_here = |standing: &Standing| {
        asked.desk.this_node.as_ref().is_some_and(|node| node.incarnation == standing.member.node.incarnation)
    };
    let rows: Vec<Vec<Markup>> = known.look.nodes.iter().take(SHOWN).map(|standing| {
        let member = &standing.member;
        let name = member.node.name.as_str();
        let state = match (standing.is_alive(known.look.now), member.leaving) {
            (true, false) => pill(Tone::Good, "up"),
            (true, true) => pill(Tone::Info, "leaving"),
            (false, _) => pill(Tone::Bad, "gone"),
        };
        let labels: Vec<String> = member.labels.0.iter().take(10).map(|(key, value)| format!("{key}={value}")).collect();
        let leads = known.look.leads().is_some_and(|(leader, _)| *leader == member.node.name);
        vec![
            state,
            html! { b { (cell(name)) } @if leads { " " span class="tag" { "leads" } } @if is_here(standing) { " " span class="tag" { "this node" } } },
            html! { (cell(&member.node.machine)) span class="why" { "process " (member.node.pid) } },
            html! { @if let Some(lease) = &standing.lease { (ago(lease.renewed_at, now)) } },
            ago(member.joined_at, now),
            cell(&member.version),
            cell(&labels.join(", ")),
            html! { a href=(href(asked, "/daemons", &[("node", name)])) { "its daemons" } },
        ]
    }).collect();
    html! {
        (table("nodes", &columns, &rows, "No node of a cluster is there. Relays and leases work without."))
        @if known.look.nodes.len() > SHOWN { p class="soft" { "and " (known.look.nodes.len() - SHOWN) " more" } }
    }
}

/// Leases as a table.
pub(crate) fn leases(asked: &Asked, leases: &[LeaseRecord], at: StoreTime) -> Markup {
    let columns = [
        Column::short("State"),
        Column::name("Lease"),
        Column::text("Holder"),
        Column::number("Term"),
        Column::short("Since"),
        Column::short("Renewed"),
        Column::text("Kind"),
        Column::text("Granted by"),
    ];
    let rows: Vec<Vec<Markup>> = leases.iter().map(|lease| {
        let word = lease_state(lease, at);
        let tone = if lease.is_held(at) { Tone::Good } else { Tone::Plain };
        let tone = if lease.is_held(at) && lease.revoked_at.is_some() { Tone::Warn } else { tone };
        vec![
            pill(tone, word),
            lease_link(asked, lease.name.as_str()),
            html! { (cell(lease.node.name.as_str())) (mine(asked, lease)) span class="why" { (cell(&lease.node.machine)) "/" (lease.node.pid) } },
            html! { (lease.term) },
            ago(lease.acquired_at, at),
            ago(lease.renewed_at, at),
            html! { @if let Some(kind) = &lease.kind { (cell(kind)) } @else if lease.name.as_str().starts_with(NODE_LEASE_PREFIX) { "node" } @else if lease.name.as_str() == LEADER_LEASE { "leader" } },
            html! { (cell(&lease.backend)) @if let Some(origin) = &lease.origin { span class="why" { (cell(&origin_text(origin))) } } },
        ]
    }).collect();
    table("leases", &columns, &rows, "No lease was ever granted here.")
}

fn origin_text(origin: &tenure_core::registry::Origin) -> String {
    serde_json::to_string(origin).unwrap_or_default()
}

/// The tag of what this process holds.
pub(crate) fn mine(asked: &Asked, lease: &LeaseRecord) -> Markup {
    let here = asked.desk.this_node.as_ref().is_some_and(|node| node.incarnation == lease.node.incarnation);
    html! { @if here { " " span class="tag" { "this node" } } }
}

fn runners(asked: &Asked, known: &Facts) -> Markup {
    let columns = [
        Column::text("Kind"),
        Column::name("Name"),
        Column::text("Node"),
        Column::text("State"),
        Column::short("Went round"),
        Column::short("Got on"),
        Column::text("Since it began"),
    ];
    let rows: Vec<Vec<Markup>> =
        known.runners.rows.iter().take(SHOWN * 2).map(|row| runner(asked, known, row)).collect();
    html! {
        (table("loops", &columns, &rows, "No process reports its loops here. The command tenure relay does; a program of one's own does when it asks for it."))
        @if known.runners.more || known.runners.rows.len() > SHOWN * 2 { p class="soft" { "There are more." } }
    }
}

fn runner(asked: &Asked, known: &Facts, row: &RunnerRow) -> Vec<Markup> {
    let report = &row.report;
    let now = known.runners.now;
    let here = asked.desk.this_node.as_ref().is_some_and(|node| node.incarnation == row.node.incarnation);
    let seen = row.seen_at.until(now);
    let ago_of = |span_ago: Option<std::time::Duration>| {
        html! {
            @match span_ago { Some(ago) => { (span(ago + seen)) " ago" } None => { span class="soft" { "not yet" } } }
        }
    };
    let counters: Vec<String> = report
        .counters
        .iter()
        .filter(|(_, number)| **number > 0)
        .take(6)
        .map(|(name, number)| format!("{} {name}", grouped(*number)))
        .collect();
    vec![
        html! { (report.kind) },
        html! {
            @if report.kind == RunnerKind::Job { b { a href=(href(asked, "/job", &[("id", id_of(row))])) { (cell(&report.name)) } } }
            @else { b { (cell(&report.name)) } }
        },
        html! { (cell(row.node.name.as_str())) @if here { " " span class="tag" { "this node" } } span class="why" { (cell(&row.node.machine)) "/" (row.node.pid) } },
        html! {
            (state(known, row))
            @if let Some(trouble) = &report.trouble { span class="why" { (cut(trouble, 200)) } }
        },
        ago_of(report.cycled_ago),
        ago_of(report.advanced_ago),
        html! { (cell(&counters.join(", "))) },
    ]
}

/// What a loop says of itself, as far as it can be believed: green is only what is heard of and borne out by the leases.
pub(crate) fn state(known: &Facts, row: &RunnerRow) -> Markup {
    let says: String = row.report.state.chars().take(60).collect();
    let now = known.runners.now;
    match heard(known, row) {
        Heard::Lately if row.report.trouble.is_some() => pill(Tone::Warn, &says),
        Heard::Lately if row.report.has_fallen() => pill(Tone::Bad, &says),
        Heard::Lately if says == "standing by" => pill(Tone::Plain, &says),
        Heard::Lately => pill(Tone::Good, &says),
        Heard::NotSince(at) => html! {
            (pill(Tone::Warn, "not heard of")) " since " (ago(at, now))
            span class="why" { "said last: " (says) }
        },
        Heard::OutOfOffice(lease) => html! {
            (pill(Tone::Plain, "not any more"))
            span class="why" {
                "said last: " (says) "; the lease "
                @if lease.is_held(known.leases_at) { "is held by " (cell(lease.node.name.as_str())) ", term " (lease.term) }
                @else { "is free" }
            }
        },
    }
}
