//! Leases page by page, and one of them with its history.

use std::sync::Arc;

use maud::{Markup, html};
use tenure_core::cluster::{DaemonName, LEADER_LEASE};
use tenure_core::lease::{HistoryId, LeaseName, LeasePageOf, LeaseRecord};
use tenure_core::show::lease_state;
use tenure_core::time::StoreTime;

use super::cluster::{leases, mine};
use super::layout::{self, Page, Place};
use super::overview::history;
use crate::asked::{Allowed, Asked, View};
use crate::auth::Action;
use crate::fields;
use crate::params::Param;
use crate::problem::Problem;
use crate::routes::Answer;
use crate::view::form::{form, hidden};
use crate::view::pager::pager;
use crate::view::state::{Tone, pill};
use crate::view::table::facts;
use crate::view::text::{cell, code};
use crate::view::time::{ago, clock, distance, since};

/// What was just done; only these words can stand in the address.
const DONE: Param = Param::word("done", &["asked", "forced", "not-held"], "what was just done");

/// Leases by name.
pub(crate) async fn list(allowed: Allowed<View>) -> Answer {
    let _ = allowed.desk.sampler.snapshot(allowed.desk.limits.refresh, super::SHORT).await;
    let prefix = allowed.query.text(&fields::PREFIX)?;
    let after = fields::name(&fields::AFTER, allowed.query.text(&fields::AFTER)?, LeaseName::new)?;
    let limit = allowed.desk.limits.page;
    let page = LeasePageOf { after, prefix: prefix.clone(), limit };
    let store = Arc::clone(&allowed.desk.stores.leases);
    let (found, at) = allowed.desk.ask("leases", async move { store.list(&page).await }).await?;
    let next =
        (found.len() >= limit as usize).then(|| found.last().map(|lease| lease.name.to_string())).flatten();
    let prefix = prefix.unwrap_or_default();
    let main = html! {
        (layout::head(&html! { "Leases" }, &html! { "by name" }))
        section class="card" {
            form class="search" method="get" action=(allowed.link("/leases")) role="search" {
                label { "Beginning with" input name="prefix" value=(prefix) autocomplete="off" data-search=""; }
                div { button class="main" { "Search" } }
            }
        }
        section class="card" {
            (leases(&allowed, &found, at))
            (pager(&allowed, "/leases", &[("prefix", &prefix)], "after", next.as_deref()))
        }
    };
    Ok(layout::page(&allowed, Page::new(Place::Cluster, "Leases"), &main))
}

/// One lease.
pub(crate) async fn page(allowed: Allowed<View>) -> Answer {
    let _ = allowed.desk.sampler.snapshot(allowed.desk.limits.refresh, super::SHORT).await;
    let name = allowed.query.need(&fields::NAME)?;
    let done = allowed.query.word(&DONE)?;
    let lease = LeaseName::new(name.as_str()).map_err(|error| Problem::invalid("name", error.to_string()))?;
    let before = fields::before(&allowed.query)?.map(|row| HistoryId(row.0));
    let limit = allowed.desk.limits.page;
    let store = Arc::clone(&allowed.desk.stores.leases);
    let asked_for = lease.clone();
    let call = async move {
        // The name itself is the first that begins with it.
        let page = LeasePageOf { after: None, prefix: Some(asked_for.as_str().to_owned()), limit: 1 };
        let (found, at) = store.list(&page).await?;
        let changes = store.history(Some(&asked_for), before, limit).await?;
        Ok((found.into_iter().find(|record| record.name == asked_for), at, changes))
    };
    let (record, at, changes) = allowed.desk.ask("a lease", call).await?;
    if record.is_none() && changes.is_empty() && before.is_none() {
        return Err(Problem::NotFound("there is no such lease".into()));
    }
    let next =
        (changes.len() >= limit as usize).then(|| changes.last().and_then(|change| change.id)).flatten();
    let next = next.map(|id| id.0.to_string());
    let main = html! {
        (layout::head(&html! { "Lease " (code(&name)) }, &html! { @if let Some(record) = &record { (pill(if record.is_held(at) { Tone::Good } else { Tone::Plain }, lease_state(record, at))) } }))
        @match done {
            Some("asked") => { (layout::notice(Tone::Good, "The holder is asked to give it back: it is told at its next renewal, and its fenced writes are refused from now on.")) }
            Some("forced") => { (layout::notice(Tone::Warn, "The lease is free. The former holder may still believe in it for a while; its fenced writes are refused.")) }
            Some("not-held") => { (layout::notice(Tone::Warn, "Nothing was changed: nobody holds it.")) }
            _ => {}
        }
        @if let Some(record) = &record { (about(&allowed, record, at)) }
        section class="card" {
            h2 { "History" }
            (history(&allowed, &changes, at, limit as usize))
            (pager(&allowed, "/lease", &[("name", &name)], "before", next.as_deref()))
        }
    };
    Ok(layout::page(&allowed, Page::new(Place::Cluster, "Lease"), &main))
}

fn about(asked: &Asked, lease: &LeaseRecord, at: StoreTime) -> Markup {
    html! {
        section class="card" {
            (facts(&[
                ("Holder", html! { b { (cell(lease.node.name.as_str())) } (mine(asked, lease)) " on " (cell(&lease.node.machine)) ", process " (lease.node.pid) }),
                ("Term", html! { (lease.term) }),
                ("Acquired", html! { (clock(lease.acquired_at)) ", " (ago(lease.acquired_at, at)) }),
                ("Held", html! { @if lease.is_held(at) { (since(lease.acquired_at, at)) } }),
                ("Renewed", ago(lease.renewed_at, at)),
                ("Expires", html! { @if lease.released_at.is_none() { (distance(lease.expires_at, at)) } }),
                ("Released", html! { @if let Some(when) = lease.released_at { (ago(when, at)) } }),
                ("Revoked", html! { @if let Some(when) = lease.revoked_at { (ago(when, at)) } }),
                ("Kind", html! { @if let Some(kind) = &lease.kind { (cell(kind)) } }),
                ("Granted by", cell(&lease.backend)),
                ("Incarnation", code(&lease.node.incarnation.to_string())),
            ]))
            @if lease.is_held(at) { (release(asked, lease)) }
        }
    }
}

fn release(asked: &Asked, lease: &LeaseRecord) -> Markup {
    let name = lease.name.as_str();
    if !asked.may_do(Action::RevokeLease) {
        return html! {};
    }
    if DaemonName::of_lease(&lease.name).is_some() {
        return html! { p class="soft" { "The cluster grants this lease: pause or move the daemon instead." } };
    }
    let word =
        if name == LEADER_LEASE { "Ask the leader to resign" } else { "Ask the holder to give it back" };
    html! {
        div class="actions" { (form(asked, "/act/lease-release", None, &html! { (hidden("name", name)) button { (word) } })) }
        @if asked.may_do(Action::ForceLease) {
            details {
                summary { "By force" }
                p class="soft" { "For a holder that does not answer. The lease is free at once, while the holder may still believe in it: what it does without a fence, two may do at once." }
                (form(asked, "/act/lease-release", Some("Take the lease by force?"), &html! {
                    (hidden("name", name)) (hidden("force", "yes"))
                    label class="check" { input type="checkbox" name="sure" value="yes" required; "I know that two may act at once" }
                    button class="danger" { "Take it by force" }
                }))
            }
        }
    }
}
