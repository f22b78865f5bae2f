//! Races: of many who want a lease at the same moment, one gets it.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tenure_core::id::Unique;
use tenure_core::lease::{Acquire, Claim, Evidence, Grant, LeaseName, Release, Renew, Term};
use tokio::sync::Barrier;

use super::player::{LONG, Player, announcing, fresh, outlive, renewal, unique};
use crate::backend::Backend;

/// How many nodes race.
const RACERS: usize = 8;
/// How often they do.
const ROUNDS: usize = 8;
/// How many grants make a storm.
const STORM_GRANTS: usize = 80;

/// The row does not exist yet: this is where an "insert, or else update" whose affected rows are misread goes wrong.
pub async fn s10_of_many_racing_for_a_new_lease_one_is_granted(backend: &dyn Backend) {
    let racers = enter_many(backend).await;
    for _ in 0..ROUNDS {
        let winner = race(&racers, &fresh("race-new"), None).await;
        assert!(backend.begins_with(winner.term), "{}", winner.term);
    }
}

/// The row is there and free: a read, then a write that does not compare, would let several in.
pub async fn s10_of_many_racing_for_a_released_lease_one_is_granted(backend: &dyn Backend) {
    let racers = enter_many(backend).await;
    let name = fresh("race-released");
    let mut last = racers[0].takes(&name, LONG).await;
    for _ in 0..ROUNDS {
        assert_eq!(racers[0].releases(&last).await, Release::Released);
        let winner = race(&racers, &name, None).await;
        assert!(winner.term > last.term, "{} after {}", winner.term, last.term);
        last = winner;
    }
}

/// The row names a holder whose ttl has ended.
pub async fn s10_of_many_racing_for_an_expired_lease_one_is_granted(backend: &dyn Backend) {
    let racers = enter_many(backend).await;
    let name = fresh("race-expired");
    let old = racers[0].takes(&name, backend.short_ttl()).await;
    for racer in &racers {
        racer.row(&name).await;
    }
    outlive(backend, &racers[0], &name).await;
    let winner = race(&racers, &name, None).await;
    assert!(winner.term > old.term);
}

/// All saw the same session end: the first to use the evidence uses it up.
pub async fn s10_of_many_racing_with_the_same_evidence_one_is_granted(backend: &dyn Backend) {
    let racers = enter_many(backend).await;
    let (ann, name, session) = (Player::enter(backend, "ann").await, fresh("race-evidence"), unique());
    let old = ann.takes(&name, LONG).await;
    assert_eq!(ann.renews(&old, &announcing(1, session)).await, Renew::Extended);
    let winner = race(&racers, &name, Some(Evidence { term: old.term, session })).await;
    assert!(winner.term > old.term);
}

/// Everything at once on one lease: claims, renewals, releases, grants that are forgotten.
pub async fn s10_in_a_storm_no_term_is_given_twice(backend: &dyn Backend) {
    let (name, total) = (fresh("storm"), Arc::new(AtomicUsize::new(0)));
    let mut running = Vec::new();
    for player in enter_many(backend).await {
        running.push(tokio::spawn(storm(player, name.clone(), backend.short_ttl(), Arc::clone(&total))));
    }
    while running.iter().any(|task| !task.is_finished()) {
        backend.pass(Duration::from_millis(5)).await;
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    let mut given = BTreeMap::<Term, Unique>::new();
    for task in running {
        for grant in task.await.expect("a player ends") {
            let earlier = given.insert(grant.term, grant.claim);
            assert_eq!(earlier, None, "term {} was given to two claims", grant.term);
        }
    }
}

/// What one node does in a storm, and the grants that it got.
async fn storm(player: Player, name: LeaseName, ttl: Duration, total: Arc<AtomicUsize>) -> Vec<Grant> {
    let mut grants: Vec<Grant> = Vec::new();
    while total.load(Ordering::SeqCst) < STORM_GRANTS {
        match player.tries(&player.claim(&name, ttl)).await {
            Acquire::Held(_) => tokio::time::sleep(Duration::from_millis(fastrand::u64(1..8))).await,
            Acquire::Granted(grant) => {
                total.fetch_add(1, Ordering::SeqCst);
                assert!(
                    grants.last().is_none_or(|last| last.term < grant.term),
                    "{grant:?} after {grants:?}"
                );
                if fastrand::bool() {
                    player.renews(&grant, &renewal(1)).await;
                }
                // One in thirty-two is forgotten, and ends by its ttl.
                if fastrand::u8(..32) != 0 {
                    player.releases(&grant).await;
                }
                grants.push(grant);
                // A store that answers without waiting would let one node have its way.
                tokio::task::yield_now().await;
            }
        }
    }
    grants
}

async fn enter_many(backend: &dyn Backend) -> Vec<Player> {
    let mut racers = Vec::new();
    for number in 0..RACERS {
        racers.push(Player::enter(backend, &format!("racer-{number}")).await);
    }
    racers
}

/// Lets all claim at once, and returns the one grant there must be.
async fn race(racers: &[Player], name: &LeaseName, evidence: Option<Evidence>) -> Grant {
    let start = Arc::new(Barrier::new(racers.len()));
    let mut running = Vec::new();
    for racer in racers {
        let racer = racer.clone();
        let (start, claim) = (Arc::clone(&start), Claim { evidence, ..racer.claim(name, LONG) });
        running.push(tokio::spawn(async move {
            start.wait().await;
            racer.tries(&claim).await
        }));
    }
    let (mut granted, mut held) = (Vec::new(), Vec::new());
    for answer in running {
        match answer.await.expect("a racer ends") {
            Acquire::Granted(grant) => granted.push(grant),
            Acquire::Held(holder) => held.push(holder),
        }
    }
    assert_eq!(granted.len(), 1, "exactly one of {} claims is granted, not {granted:?}", racers.len());
    let winner = granted.remove(0);
    for holder in held {
        assert_eq!((holder.term, holder.node), (winner.term, winner.node.clone()), "losers are told who won");
    }
    winner
}
