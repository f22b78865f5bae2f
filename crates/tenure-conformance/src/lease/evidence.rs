//! Evidence: what the row says of a holder's presence, and who may conclude from it that the holder is gone.
//!
//! These cases play with rows only; sessions that really end are in `presence`.

use tenure_core::id::Unique;
use tenure_core::lease::{Claim, Evidence, Grant, LeaseName, Release, Renew, Renewal};

use super::player::{LONG, Player, announcing, fresh, renewal, unique};
use crate::backend::Backend;

/// Contenders must know which session to watch, and how long to wait after its end.
pub async fn an_announced_presence_is_seen_by_contenders(backend: &dyn Backend) {
    let Scene { ann, bob, name, grant } = scene(backend).await;
    assert_eq!(bob.finds_held(&name).await.presence, None, "nothing is announced by a grant itself");
    let announcement = announcing(1, unique());
    assert_eq!(ann.renews(&grant, &announcement).await, Renew::Extended);
    assert_eq!(bob.finds_held(&name).await.presence, announcement.presence);
    assert_eq!(ann.renews(&grant, &renewal(2)).await, Renew::Extended);
    assert_eq!(bob.finds_held(&name).await.presence, None, "a renewal without presence withdraws it");
}

/// Exactly the announced session of exactly the present term deposes the holder.
pub async fn evidence_of_the_announced_session_gets_the_lease(backend: &dyn Backend) {
    let Scene { ann, bob, name, grant } = scene(backend).await;
    let session = unique();
    announce(&ann, &grant, &announcing(1, session)).await;
    let new = bob.deposes(&name, Evidence { term: grant.term, session }).await;
    assert!(new.term > grant.term);
    assert_eq!(bob.row(&name).await.presence, None, "the old presence does not pass to the new holder");
    assert!(matches!(ann.renews(&grant, &announcing(2, session)).await, Renew::Lost(_)));
    assert_eq!(ann.releases(&grant).await, Release::NotHeld);
}

/// Evidence about another session of the same term proves nothing.
pub async fn evidence_of_another_session_is_refused(backend: &dyn Backend) {
    let Scene { ann, bob, name, grant } = scene(backend).await;
    announce(&ann, &grant, &announcing(1, unique())).await;
    is_refused(&bob, &name, Evidence { term: grant.term, session: unique() }).await;
}

/// Evidence about another term proves nothing, even if the session is the same.
pub async fn evidence_of_another_term_is_refused(backend: &dyn Backend) {
    let Scene { ann, bob, name, grant: first } = scene(backend).await;
    let session = unique();
    announce(&ann, &first, &announcing(1, session)).await;
    ann.releases(&first).await;
    let second = ann.takes(&name, LONG).await;
    announce(&ann, &second, &announcing(1, session)).await;
    is_refused(&bob, &name, Evidence { term: first.term, session }).await;
    is_refused(&bob, &name, Evidence { term: second.term.next().expect("a term"), session }).await;
}

/// The holder noticed first that its session was broken, and went back to living by its ttl.
pub async fn evidence_against_a_withdrawn_presence_is_refused(backend: &dyn Backend) {
    let Scene { ann, bob, name, grant } = scene(backend).await;
    let session = unique();
    announce(&ann, &grant, &announcing(1, session)).await;
    announce(&ann, &grant, &renewal(2)).await;
    is_refused(&bob, &name, Evidence { term: grant.term, session }).await;
}

/// Nothing was ever announced: then there is nothing whose end could be evidence.
pub async fn evidence_against_a_holder_without_presence_is_refused(backend: &dyn Backend) {
    let Scene { bob, name, grant, .. } = scene(backend).await;
    is_refused(&bob, &name, Evidence { term: grant.term, session: unique() }).await;
    is_refused(&bob, &name, Evidence { term: grant.term, session: Unique::from_u128(0) }).await;
}

/// The holder lost its session, withdrew it, and announced a new one: the end of the old one proves nothing any more.
pub async fn evidence_of_a_session_before_the_announced_one_is_refused(backend: &dyn Backend) {
    let Scene { ann, bob, name, grant } = scene(backend).await;
    let (old, new) = (unique(), unique());
    announce(&ann, &grant, &announcing(1, old)).await;
    announce(&ann, &grant, &renewal(2)).await;
    announce(&ann, &grant, &announcing(3, new)).await;
    is_refused(&bob, &name, Evidence { term: grant.term, session: old }).await;
    bob.deposes(&name, Evidence { term: grant.term, session: new }).await;
}

/// Evidence is used up with the takeover it served.
pub async fn evidence_works_once(backend: &dyn Backend) {
    let Scene { ann, bob, name, grant } = scene(backend).await;
    let session = unique();
    announce(&ann, &grant, &announcing(1, session)).await;
    let evidence = Evidence { term: grant.term, session };
    let new = bob.deposes(&name, evidence).await;
    announce(&bob, &new, &announcing(1, unique())).await;
    is_refused(&Player::enter(backend, "cay").await, &name, evidence).await;
}

struct Scene {
    ann: Player,
    bob: Player,
    name: LeaseName,
    /// What `ann` holds.
    grant: Grant,
}

async fn scene(backend: &dyn Backend) -> Scene {
    let (ann, bob) = (Player::enter(backend, "ann").await, Player::enter(backend, "bob").await);
    let name = fresh("evidence");
    let grant = ann.takes(&name, LONG).await;
    Scene { ann, bob, name, grant }
}

async fn announce(holder: &Player, grant: &Grant, renewal: &Renewal) {
    assert_eq!(holder.renews(grant, renewal).await, Renew::Extended);
}

async fn is_refused(player: &Player, name: &LeaseName, evidence: Evidence) {
    let before = player.row(name).await;
    player.finds_held_by(&Claim { evidence: Some(evidence), ..player.claim(name, LONG) }).await;
    assert_eq!(player.row(name).await, before, "{evidence:?} proves nothing and changes nothing");
}
