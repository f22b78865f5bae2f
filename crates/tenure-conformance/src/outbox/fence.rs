//! Fences: a relay that is out of office changes nothing, and leaves no trace.

use std::time::Duration;

use tenure_core::lease::{Fence, Grant, Term};
use tenure_core::outbox::{NewMessage, Recorded, Retention, State};

use super::backend::OutboxBackend;
use super::desk::{Desk, again, dead, done, message, of};
use crate::backend::Need;
use crate::lease::player::{LONG, Player, fresh, outlive};
use crate::suite::skip;

/// A record under a grant that holds is written, with its term.
pub async fn s41_a_relay_in_office_records_with_its_term(backend: &dyn OutboxBackend) {
    let (desk, ann) = (Desk::open(backend).await, Player::enter(backend, "ann").await);
    let name = fresh("relay");
    let first = ann.takes(&name, LONG).await;
    ann.releases(&first).await;
    let grant = ann.takes(&name, LONG).await;
    let sent = [of("s", 1), message(2)];
    desk.sends(&sent).await;
    let rows = [desk.row(&sent[0]).await, desk.row(&sent[1]).await];
    let answer = desk.records_under(Some(&grant.fence()), &[done(&rows[0]), done(&rows[1])]).await;
    let Recorded::Applied(applied) = answer else { panic!("a grant that holds is not fenced") };
    assert_eq!(applied.len(), 2);
    let attempts = desk.attempts(&sent[0]).await;
    assert_eq!(attempts[0].term, Some(grant.term.get()));
}

/// A record of nothing tells whether a fence would be accepted: a relay asks so before it delivers anything, for its lease
/// may be kept in another store.
pub async fn s41_a_record_of_nothing_tells_whether_one_is_in_office(backend: &dyn OutboxBackend) {
    let (desk, ann) = (Desk::open(backend).await, Player::enter(backend, "ann").await);
    let grant = ann.takes(&fresh("asking-relay"), LONG).await;
    assert_eq!(desk.records_under(Some(&grant.fence()), &[]).await, Recorded::Applied(Vec::new()));
    let unknown = Fence { lease: fresh("of-another-store"), term: grant.term };
    assert_eq!(desk.records_under(Some(&unknown), &[]).await, Recorded::Fenced);
    ann.releases(&grant).await;
    assert_eq!(desk.records_under(Some(&grant.fence()), &[]).await, Recorded::Fenced);
}

/// Lost in the middle of a batch: the successor has the lease by another term.
pub async fn s41_a_deposed_relay_changes_nothing(backend: &dyn OutboxBackend) {
    let (ann, bob) = (Player::enter(backend, "ann").await, Player::enter(backend, "bob").await);
    let name = fresh("deposed-relay");
    let old = ann.takes(&name, backend.short_ttl()).await;
    outlive(backend, &bob, &name).await;
    let new = bob.takes(&name, LONG).await;
    refused(backend, &old.fence()).await;
    accepted(backend, &new).await;
}

/// Nobody has taken it, but its time is over.
pub async fn s41_an_expired_relay_changes_nothing(backend: &dyn OutboxBackend) {
    let ann = Player::enter(backend, "ann").await;
    let name = fresh("expired-relay");
    let grant = ann.takes(&name, backend.short_ttl()).await;
    outlive(backend, &ann, &name).await;
    refused(backend, &grant.fence()).await;
}

/// It gave its lease back.
pub async fn s41_a_relay_that_released_changes_nothing(backend: &dyn OutboxBackend) {
    let ann = Player::enter(backend, "ann").await;
    let grant = ann.takes(&fresh("released-relay"), LONG).await;
    ann.releases(&grant).await;
    refused(backend, &grant.fence()).await;
}

/// An operator wants it out of office: by asking, and by force.
pub async fn s41_a_revoked_relay_changes_nothing(backend: &dyn OutboxBackend) {
    let Some(admin) = backend.admin().await else { return skip(backend, Need::Admin) };
    let ann = Player::enter(backend, "ann").await;
    for force in [false, true] {
        let name = fresh("revoked-relay");
        let grant = ann.takes(&name, LONG).await;
        admin.revoke(&name, "conformance", force).await.expect("revoked");
        refused(backend, &grant.fence()).await;
    }
}

/// A lease that never was, a term that was never granted, and the term of another lease.
pub async fn s41_a_fence_that_was_never_granted_changes_nothing(backend: &dyn OutboxBackend) {
    let ann = Player::enter(backend, "ann").await;
    refused(backend, &Fence { lease: fresh("no-relay"), term: Term::FIRST }).await;
    let grant = ann.takes(&fresh("future-relay"), LONG).await;
    refused(backend, &Fence { term: grant.term.next().expect("a term"), ..grant.fence() }).await;
    let second = ann.takes(&fresh("other-relay"), LONG).await;
    ann.releases(&second).await;
    let second = ann.takes(&second.name, LONG).await;
    refused(backend, &Fence { lease: grant.name.clone(), term: second.term }).await;
}

/// A sweeper that is out of office deletes nothing.
pub async fn s50_a_deposed_sweeper_deletes_nothing(backend: &dyn OutboxBackend) {
    let (desk, ann) = (Desk::open(backend).await, Player::enter(backend, "ann").await);
    let grant = ann.takes(&fresh("sweeper"), LONG).await;
    let message = message(1);
    desk.delivers(&message).await;
    let retention = Retention { dispatched: Some(Duration::ZERO), ..Retention::default() };
    ann.releases(&grant).await;
    let swept = desk.store.sweep(Some(&grant.fence()), &retention, None).await.expect("an answer");
    assert!(swept.fenced && swept.dispatched == 0);
    assert_eq!(desk.state(&message).await, State::Dispatched);
    let grant = ann.takes(&grant.name, LONG).await;
    let swept = desk.store.sweep(Some(&grant.fence()), &retention, None).await.expect("an answer");
    assert!(!swept.fenced && swept.dispatched == 1);
}

async fn rows(desk: &Desk<'_>, sent: &[NewMessage; 3]) -> [tenure_core::outbox::Stored; 3] {
    [desk.row(&sent[0]).await, desk.row(&sent[1]).await, desk.row(&sent[2]).await]
}

/// Nothing of a batch is written, and nothing is left of it.
async fn refused(backend: &dyn OutboxBackend, fence: &Fence) {
    let desk = Desk::open(backend).await;
    let sent = [of("r", 1), message(2), message(3)];
    desk.sends(&sent).await;
    let [a, b, c] = rows(&desk, &sent).await;
    let (kept, due) = (backend.attempt_rows().await, desk.due().await);
    let outcomes = [done(&a), again(&b, LONG), dead(&c, true)];
    let answer = desk.records_under(Some(fence), &outcomes).await;
    assert_eq!(answer, Recorded::Fenced, "a batch under {fence} must be refused");
    // The batch that is all success has a way of its own in some stores.
    let answer = desk.records_under(Some(fence), &[done(&a), done(&b)]).await;
    assert_eq!(answer, Recorded::Fenced, "successes under {fence} must be refused");
    assert_eq!(rows(&desk, &sent).await, [a, b, c]);
    assert_eq!((backend.attempt_rows().await, desk.due().await), (kept, due), "and leave no trace");
    for message in &sent {
        assert_eq!(desk.state(message).await, State::Pending);
    }
}

async fn accepted(backend: &dyn OutboxBackend, grant: &Grant) {
    let desk = Desk::open(backend).await;
    let message = message(1);
    desk.sends(std::slice::from_ref(&message)).await;
    let row = desk.row(&message).await;
    let answer = desk.records_under(Some(&grant.fence()), &[done(&row)]).await;
    assert_eq!(answer, Recorded::Applied(vec![row.id]));
}
