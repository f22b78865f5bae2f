//! The row: what a person sees of a lease, while it is held and after.

use tenure_core::id::Node;
use tenure_core::lease::{Claim, Renew};

use super::player::{LONG, Player, fresh, named, renewal, unique};
use crate::backend::{Backend, Need};
use crate::suite::skip;

/// A lease nobody ever held has no row.
pub async fn an_unknown_lease_has_no_row(backend: &dyn Backend) {
    let ann = Player::enter(backend, "ann").await;
    assert_eq!(ann.looks(&fresh("never")).await, None);
}

/// Node, machine, process, kind, what granted it, since when: all that a person needs to find the holder.
pub async fn a05_the_row_says_who_holds_the_lease_and_since_when(backend: &dyn Backend) {
    let mut ann = Player::enter(backend, "ann").await;
    ann.node = Node { machine: "rack-7".into(), pid: 4_000_000_000, ..ann.node };
    let name = fresh("who");
    let claim = Claim { kind: Some("outbox".into()), ..ann.claim(&name, LONG) };
    let grant = ann.takes_by(&claim).await;
    let row = Player::enter(backend, "bob").await.row(&name).await;
    assert_eq!((&row.name, row.term, &row.node, row.claim), (&name, grant.term, &ann.node, claim.id));
    assert_eq!(row.kind.as_deref(), Some("outbox"));
    assert!(!row.backend.is_empty(), "the row says what granted the lease");
    assert_eq!((row.acquired_at, row.renewed_at), (grant.acquired_at, grant.acquired_at));
    assert_eq!((row.renewals, row.released_at, row.revoked_at, row.presence), (0, None, None, None));
    assert_eq!(ann.renews(&grant, &renewal(5)).await, Renew::Extended);
    let renewed = ann.row(&name).await;
    assert_eq!((renewed.renewals, renewed.kind, renewed.node), (5, row.kind, row.node));
}

/// A release stamps the row and deletes nothing: it is the memory of the last term.
pub async fn a08_a_release_stamps_the_row_and_keeps_it(backend: &dyn Backend) {
    let (ann, bob) = (Player::enter(backend, "ann").await, Player::enter(backend, "bob").await);
    let name = fresh("stamped");
    let grant = ann.takes(&name, LONG).await;
    let held = ann.row(&name).await;
    ann.releases(&grant).await;
    let row = bob.row(&name).await;
    let released_at = row.released_at.expect("the row is stamped");
    assert!(released_at >= held.acquired_at && released_at <= held.expires_at);
    assert_eq!((row.term, &row.node, row.acquired_at), (grant.term, &ann.node, grant.acquired_at));
    let next = bob.takes(&name, LONG).await;
    let row = bob.row(&name).await;
    assert_eq!(
        (row.term, &row.node, row.released_at),
        (next.term, &bob.node, None),
        "the next holder's row is clean"
    );
}

/// Who did not get the lease left no trace in its row.
pub async fn a10_losing_leaves_no_row(backend: &dyn Backend) {
    let (ann, bob) = (Player::enter(backend, "ann").await, Player::enter(backend, "bob").await);
    let name = fresh("loser");
    ann.takes(&name, LONG).await;
    let before = ann.row(&name).await;
    for _ in 0..3 {
        bob.finds_held(&name).await;
    }
    assert_eq!(ann.row(&name).await, before, "losing changes nothing");
    let Some(admin) = backend.admin().await else { return skip(backend, Need::Admin) };
    let history = admin.history(Some(&name), None, 10).await.expect("a history");
    assert!(history.iter().all(|change| change.node == ann.node), "{history:?}");
}

/// The list for a person: every lease of every node, in order of names, not more than was asked for.
pub async fn the_list_is_in_order_of_names_and_limited(backend: &dyn Backend) {
    let Some(admin) = backend.admin().await else { return skip(backend, Need::Admin) };
    let (ann, bob) = (Player::enter(backend, "ann").await, Player::enter(backend, "bob").await);
    // A space comes before everything else that a name may begin with: these are at the front of any list.
    let tag = unique();
    let names = ["B", "a", "b", "é"].map(|last| named(&format!(" list-{tag}-{last}")));
    for (name, player) in names.iter().zip([&ann, &bob, &ann, &bob]).rev() {
        player.takes(name, LONG).await;
    }
    let (rows, now) = admin.list(&tenure_core::lease::LeasePageOf::first(100_000)).await.expect("a list");
    assert!(rows.is_sorted_by(|a, b| a.name < b.name), "rows come in order of the bytes of their names");
    let ours: Vec<_> = rows.iter().filter(|row| names.contains(&row.name)).collect();
    assert_eq!(ours.iter().map(|row| &row.name).collect::<Vec<_>>(), names.iter().collect::<Vec<_>>());
    assert_eq!((&ours[0].node, &ours[1].node), (&ann.node, &bob.node));
    assert!(ours.iter().all(|row| row.acquired_at <= now && row.is_held(now)), "the time is the store's");
    assert_eq!(*ours[0], ann.row(&names[0]).await);
    assert_eq!(admin.list(&tenure_core::lease::LeasePageOf::first(2)).await.expect("a list").0.len(), 2);
}
