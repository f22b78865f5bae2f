//! History: every change of holder, with its cause, in order, for ever.

use std::sync::Arc;
use std::time::Duration;

use tenure_core::contract::LeaseAdmin;
use tenure_core::lease::{Cause, Change, Evidence, HistoryId, LeaseName, LeasePageOf, Renew};

use super::player::{LONG, Player, announcing, fresh, named, outlive, renewal, unique};
use crate::backend::{Backend, Need};
use crate::suite::skip;

/// The whole life of a lease: each way in and each way out.
pub async fn history_tells_every_change_of_holder_and_its_cause(backend: &dyn Backend) {
    let Some(admin) = backend.admin().await else { return skip(backend, Need::Admin) };
    let (ann, bob) = (Player::enter(backend, "ann").await, Player::enter(backend, "bob").await);
    let (name, session) = (fresh("life"), unique());
    let first = ann.takes(&name, LONG).await;
    ann.releases(&first).await;
    let second = bob.takes(&name, backend.short_ttl()).await;
    outlive(backend, &ann, &name).await;
    let third = ann.takes(&name, LONG).await;
    assert_eq!(ann.renews(&third, &announcing(1, session)).await, Renew::Extended);
    let fourth = bob.deposes(&name, Evidence { term: third.term, session }).await;
    admin.revoke(&name, "operator", false).await.expect("revoked");
    bob.releases(&fourth).await;
    let fifth = ann.takes(&name, LONG).await;
    admin.revoke(&name, "operator", true).await.expect("forced");

    let changes = oldest_first(&admin, &name).await;
    let told: Vec<_> = changes.iter().map(|change| (change.term, change.cause, &change.node)).collect();
    let expected = [
        (first.term, Cause::Acquired, &ann.node),
        (first.term, Cause::Released, &ann.node),
        (second.term, Cause::Acquired, &bob.node),
        (second.term, Cause::Expired, &bob.node),
        (third.term, Cause::Acquired, &ann.node),
        (third.term, Cause::Crashed, &ann.node),
        (fourth.term, Cause::Acquired, &bob.node),
        (fourth.term, Cause::Resigned, &bob.node),
        (fifth.term, Cause::Acquired, &ann.node),
        (fifth.term, Cause::Fenced, &ann.node),
    ];
    assert_eq!(told, expected);
    assert!(changes.is_sorted_by_key(|change| change.at), "time goes on: {changes:?}");
    assert_eq!(changes[0].at, first.acquired_at);
}

/// Renewals, repeated claims and claims that lose change no holder.
pub async fn what_changes_no_holder_writes_no_history(backend: &dyn Backend) {
    let Some(admin) = backend.admin().await else { return skip(backend, Need::Admin) };
    let (ann, bob) = (Player::enter(backend, "ann").await, Player::enter(backend, "bob").await);
    let name = fresh("quiet");
    let claim = ann.claim(&name, LONG);
    let grant = ann.takes_by(&claim).await;
    ann.takes_by(&claim).await;
    assert_eq!(ann.renews(&grant, &renewal(1)).await, Renew::Extended);
    bob.finds_held(&name).await;
    let causes = |changes: Vec<Change>| changes.into_iter().map(|change| change.cause).collect::<Vec<_>>();
    assert_eq!(causes(oldest_first(&admin, &name).await), [Cause::Acquired]);
    ann.releases(&grant).await;
    ann.releases(&grant).await;
    assert_eq!(causes(oldest_first(&admin, &name).await), [Cause::Acquired, Cause::Released]);
}

/// Newest first, not more than asked for, of one lease or of all.
pub async fn history_is_limited_and_newest_first(backend: &dyn Backend) {
    let Some(admin) = backend.admin().await else { return skip(backend, Need::Admin) };
    let ann = Player::enter(backend, "ann").await;
    let (name, other) = (fresh("newest"), fresh("newest-other"));
    for name in [&name, &other, &name, &name] {
        let grant = ann.takes(name, LONG).await;
        ann.releases(&grant).await;
    }
    let changes = admin.history(Some(&name), None, 3).await.expect("a history");
    let told: Vec<_> = changes.iter().map(|change| (change.term.get(), change.cause)).collect();
    assert_eq!(told, [(3, Cause::Released), (3, Cause::Acquired), (2, Cause::Released)]);
    assert!(changes.iter().all(|change| change.name == name), "only of the lease that was asked for");
    let all = admin.history(None, None, 10_000).await.expect("a history");
    for name in [&name, &other] {
        assert!(all.iter().any(|change| change.name == *name), "the history of all leases has {name}");
    }
    assert_eq!(admin.history(None, None, 1).await.expect("a history").len(), 1);
    assert!(admin.history(Some(&fresh("never")), None, 10).await.expect("a history").is_empty());
}

/// The history is there for whoever comes later, even when someone deletes the row.
pub async fn history_survives_its_row(backend: &dyn Backend) {
    if backend.admin().await.is_none() {
        return skip(backend, Need::Admin);
    }
    let ann = Player::enter(backend, "ann").await;
    let name = fresh("survives");
    let grant = ann.takes(&name, LONG).await;
    ann.releases(&grant).await;
    if !backend.delete_row(&name).await {
        return skip(backend, Need::DeleteRow);
    }
    let later = backend.admin().await.expect("an operator's view, as before");
    assert_eq!(oldest_first(&later, &name).await.len(), 2);
    ann.takes(&name, LONG).await;
    assert_eq!(oldest_first(&later, &name).await.len(), 3);
}

/// Old lines are forgotten step by step; those of a lease's last term never, so that no term comes twice, even when someone
/// deletes the row.
pub async fn s15_history_forgets_what_is_old_but_never_the_last_term(backend: &dyn Backend) {
    let Some(admin) = backend.admin().await else { return skip(backend, Need::Admin) };
    let ann = Player::enter(backend, "ann").await;
    let (name, held) = (fresh("forgets"), fresh("held"));
    let holding = ann.takes(&held, LONG).await;
    let mut last = None;
    for _ in 0..3 {
        let grant = ann.takes(&name, LONG).await;
        ann.releases(&grant).await;
        last = Some(grant.term);
    }
    let forget = async |keep: Duration| {
        let (mut lines, mut after, mut steps) = (0, None, 0);
        loop {
            let step = admin.forget_history(keep, after, 2).await.expect("a step");
            assert!(step.lines <= 2, "no more than were looked at: {step:?}");
            assert!(step.resume.is_none() || step.resume > after, "it goes on: {step:?}");
            (lines, after, steps) = (lines + step.lines, step.resume, steps + 1);
            if after.is_none() || steps > 10_000 {
                return lines;
            }
        }
    };
    let told = async |name: &LeaseName| {
        let changes = oldest_first(&admin, name).await;
        changes.into_iter().map(|change| (Some(change.term), change.cause)).collect::<Vec<_>>()
    };
    let (keeps, forgets) = (forget(LONG).await, told(&name).await.len() == 6);
    assert_eq!((keeps, forgets), (0, true), "what is young stays");
    backend.pass(Duration::from_millis(20)).await;
    if forget(Duration::from_millis(1)).await == 0 {
        return skip(backend, Need::Forgetting);
    }
    assert_eq!(told(&name).await, [(last, Cause::Acquired), (last, Cause::Released)]);
    assert_eq!(
        told(&held).await,
        [(Some(holding.term), Cause::Acquired)],
        "the last term, also of who holds"
    );
    assert_eq!(forget(Duration::from_millis(1)).await, 0, "there is nothing left to forget");
    if !backend.delete_row(&name).await {
        return skip(backend, Need::DeleteRow);
    }
    let next = ann.takes(&name, LONG).await;
    assert!(Some(next.term) > last, "a term came twice: {next:?} after {last:?}");
}

/// The history of one lease as it happened.
pub(super) async fn oldest_first(admin: &Arc<dyn LeaseAdmin>, name: &LeaseName) -> Vec<Change> {
    let mut changes = admin.history(Some(name), None, 1_000).await.expect("a history");
    changes.reverse();
    changes
}

/// History and leases are read page by page, by name and by what a name begins with.
pub async fn leases_and_their_history_come_page_by_page(backend: &dyn Backend) {
    let Some(admin) = backend.admin().await else { return skip(backend, Need::Admin) };
    let player = Player::enter(backend, "pages").await;
    let stem = fresh("pages").to_string();
    let names: Vec<_> =
        ["", "%", "/a", "/a ", "/b", "/\u{e4}"].iter().map(|end| named(&format!("{stem}{end}"))).collect();
    for name in &names {
        let grant = player.takes(name, LONG).await;
        player.releases(&grant).await;
    }
    let acquired = player.row(&names[5]).await.acquired_at;
    let list = async |prefix: &str, after: Option<&LeaseName>, limit: u32| {
        let page = LeasePageOf { after: after.cloned(), prefix: Some(prefix.to_owned()), limit };
        let (rows, _) = admin.list(&page).await.expect("a list");
        rows.into_iter().map(|row| row.name).collect::<Vec<_>>()
    };
    assert_eq!(list(&stem, None, 100).await, names);
    assert_eq!(list(&format!("{stem}/"), None, 100).await, names[2..]);
    assert_eq!(list(&format!("{stem}%"), None, 100).await, names[1..2], "nothing in a prefix is a pattern");
    assert_eq!(list(&stem, Some(&names[1]), 2).await, names[2..4]);
    assert_eq!(list(&stem, Some(&names[5]), 10).await, []);
    let (rows, now) = admin
        .list(&LeasePageOf { after: Some(names[5].clone()), prefix: Some(stem), limit: 1 })
        .await
        .expect("a list");
    assert!(rows.is_empty() && now >= acquired, "the time is told also when there is no row");

    for _ in 0..3 {
        let grant = player.takes(&names[0], LONG).await;
        player.releases(&grant).await;
    }
    for name in [Some(&names[0]), None] {
        let whole = admin.history(name, None, 20).await.expect("a history");
        // From a known line on: others may write meanwhile.
        let first = whole[0].id.expect("a number");
        let (mut paged, mut before) = (Vec::new(), Some(HistoryId(first.0 + 1)));
        while paged.len() < whole.len() {
            let page = admin.history(name, before, 3).await.expect("a history");
            before = page.last().expect("there is more").id;
            assert!(before.is_some(), "a line that is written has a number");
            paged.extend(page);
        }
        paged.truncate(whole.len());
        assert_eq!(paged, whole);
    }
}
