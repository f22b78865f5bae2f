//! The lease people use: acquire, keep, lose, give back.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use tenure::core::contract::{LeaseAdmin, LeaseStore};
use tenure::core::lease::{Cause, FenceCheck};
use tenure::{Acquired, Lease, LeaseError, LeaseName, LeaseSettings, Loss, Release, Stop};

use crate::faulty::{Faulty, quick};

/// What takes longer than this has not happened.
const PATIENCE: Duration = Duration::from_secs(10);

async fn within<T>(work: impl Future<Output = T>) -> T {
    tokio::time::timeout(PATIENCE, work).await.expect("did not happen in time")
}

async fn granted(lease: &Lease) -> u64 {
    match lease.acquire().await.unwrap() {
        Acquired::Granted(fence) => fence.term.get(),
        Acquired::Held(holder) => panic!("held by {}", holder.node),
    }
}

fn losses(lease: &Lease) -> Arc<Mutex<Vec<Loss>>> {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let sink = seen.clone();
    lease.on_lost(move |loss| sink.lock().unwrap().push(loss.clone()));
    seen
}

/// The handlers run right after the signal: waits until they have told of so many losses.
async fn told(lost: &Mutex<Vec<Loss>>, count: usize) -> Vec<Loss> {
    within(async {
        while lost.lock().unwrap().len() < count {
            tokio::task::yield_now().await;
        }
    })
    .await;
    lost.lock().unwrap().clone()
}

#[tokio::test]
async fn c1_acquire_check_fence_release() {
    let store = Faulty::new(true);
    let lease = store.node("a").lease("job", quick()).unwrap();
    assert!(!lease.check_alive() && lease.fence().is_none() && lease.lost().is_stopped());
    assert_eq!(granted(&lease).await, 1);
    assert!(lease.check_alive() && !lease.lost().is_stopped());
    let fence = lease.fence().unwrap();
    assert_eq!(store.inner.check(&fence), FenceCheck::Holds);
    assert_eq!(lease.release().await.unwrap(), Release::Released);
    assert!(!lease.check_alive() && lease.fence().is_none() && lease.lost().is_stopped());
    assert!(matches!(store.inner.check(&fence), FenceCheck::Refused(_)));
    assert_eq!(lease.release().await.unwrap(), Release::NotHeld);
    assert_eq!(granted(&lease).await, 2);
}

#[tokio::test]
async fn two_handles_in_one_process_exclude_each_other() {
    let store = Faulty::new(true);
    let leases = store.node("a");
    let (one, two) = (leases.lease("job", quick()).unwrap(), leases.lease("job", quick()).unwrap());
    granted(&one).await;
    assert!(matches!(two.acquire().await.unwrap(), Acquired::Held(_)));
    assert!(
        matches!(one.clone().acquire().await.unwrap(), Acquired::Granted(_)),
        "a clone is the same handle"
    );
}

#[tokio::test]
async fn a_held_lease_is_renewed_for_as_long_as_it_is_held() {
    let store = Faulty::new(true);
    let lease = store.node("a").lease("job", quick()).unwrap();
    let lost = losses(&lease);
    granted(&lease).await;
    // passes time: three times the ttl
    tokio::time::sleep(Duration::from_secs(3)).await;
    assert!(lease.check_alive());
    assert!(lost.lock().unwrap().is_empty());
    assert!(store.row("job").await.presence.is_some(), "its presence is announced");
}

/// Law 8: a handler that blocks the user's runtime must not cost the lease.
#[tokio::test(flavor = "current_thread")]
async fn a_blocked_runtime_does_not_stop_the_heartbeat() {
    let store = Faulty::new(true);
    let lease = store.node("a").lease("job", quick()).unwrap();
    granted(&lease).await;
    // passes time: blocks the only thread of this runtime for more than the ttl
    std::thread::sleep(Duration::from_millis(2500));
    assert!(lease.check_alive());
}

#[tokio::test]
async fn s07_a_store_that_comes_back_in_time_costs_nothing() {
    let store = Faulty::new(false);
    let lease = store.node("a").lease("job", quick()).unwrap();
    let lost = losses(&lease);
    granted(&lease).await;
    store.down.store(true, Ordering::SeqCst);
    // passes time: longer than a renewal interval, shorter than trust
    tokio::time::sleep(Duration::from_millis(450)).await;
    store.down.store(false, Ordering::SeqCst);
    // passes time: longer than the ttl
    tokio::time::sleep(Duration::from_millis(1500)).await;
    assert!(lease.check_alive() && lost.lock().unwrap().is_empty());
    assert_eq!(lease.fence().unwrap().term.get(), 1);
}

#[tokio::test]
async fn s08_without_renewals_it_stops_before_the_ttl_and_releases_only_when_told() {
    let store = Faulty::new(false);
    let lease = store.node("a").lease("job", quick()).unwrap();
    let lost = losses(&lease);
    let started = Instant::now();
    granted(&lease).await;
    store.down.store(true, Ordering::SeqCst);
    within(lease.lost().stopped()).await;
    assert!(started.elapsed() >= Duration::from_millis(600), "not before trust has ended");
    assert!(!lease.check_alive());
    assert_eq!(told(&lost, 1).await, [Loss::TrustEnded]);
    assert!(store.row("job").await.released_at.is_none(), "the work may still be winding up");
    store.down.store(false, Ordering::SeqCst);
    assert_eq!(lease.release().await.unwrap(), Release::Released);
    assert!(store.row("job").await.released_at.is_some());
}

#[tokio::test]
async fn s16_a_grant_whose_answer_was_lost_is_found_again() {
    let store = Faulty::new(true);
    let mut settings = quick();
    (settings.acquire_retries, settings.acquire_delay) = (3, Duration::from_millis(10));
    let lease = store.node("a").lease("job", settings).unwrap();
    store.lose_grants.store(2, Ordering::SeqCst);
    assert_eq!(granted(&lease).await, 1, "the same claim gets the same term");
}

#[tokio::test]
async fn s16_a_grant_in_doubt_is_given_back() {
    let store = Faulty::new(true);
    let lease = store.node("a").lease("job", quick()).unwrap();
    store.lose_grants.store(1, Ordering::SeqCst);
    assert!(matches!(lease.acquire().await, Err(LeaseError::Store(_))));
    assert!(!lease.check_alive());
    let other = store.node("b").lease("job", quick()).unwrap();
    within(other.acquire_when_free(&Stop::new())).await.unwrap().unwrap();
}

#[tokio::test]
async fn s01_the_first_refused_write_ends_the_holding() {
    let store = Faulty::new(true);
    let lease = store.node("a").lease("job", quick()).unwrap();
    let lost = losses(&lease);
    granted(&lease).await;
    let fence = lease.fence().unwrap();
    store.inner.revoke(lease.name(), "test", true).await.unwrap();
    let FenceCheck::Refused(fenced) = store.inner.check(&fence) else { panic!("the fence holds") };
    lease.fenced(&fenced);
    assert!(!lease.check_alive(), "at once, without waiting for a renewal");
    assert_eq!(told(&lost, 1).await, [Loss::Released]);
    granted(&lease).await;
    lease.fenced(&fenced);
    assert!(lease.check_alive(), "an old refusal harms no later holding");
}

#[tokio::test]
async fn s18_a_watchdog_gives_up_the_lease_of_stalled_work() {
    let store = Faulty::new(true);
    let mut settings = quick();
    settings.watchdog = Some(Duration::from_millis(700));
    let lease = store.node("a").lease("job", settings).unwrap();
    let lost = losses(&lease);
    granted(&lease).await;
    for _ in 0..4 {
        // passes time: progress in time keeps the lease
        tokio::time::sleep(Duration::from_millis(300)).await;
        lease.progress();
    }
    assert!(lease.check_alive());
    within(lease.lost().stopped()).await;
    assert_eq!(told(&lost, 1).await, [Loss::Stalled]);
}

#[tokio::test]
async fn s24_every_loss_is_told_once_and_in_order() {
    let store = Faulty::new(true);
    let lease = store.node("a").lease("job", quick()).unwrap();
    let lost = losses(&lease);
    let removed = lease.on_lost(|_| panic!("a handler that was removed, and one that panics"));
    lease.on_lost(|_| panic!("a handler that panics harms nobody"));
    removed.remove();
    let name = LeaseName::new("job").unwrap();
    for _ in 0..3 {
        granted(&lease).await;
        store.inner.revoke(&name, "test", false).await.unwrap();
        within(lease.lost().stopped()).await;
        lease.release().await.unwrap();
    }
    assert_eq!(told(&lost, 3).await, [Loss::Revoked, Loss::Revoked, Loss::Revoked]);
    let causes: Vec<Cause> =
        store.inner.history(None, None, 10).await.unwrap().iter().map(|change| change.cause).collect();
    assert_eq!(causes, [Cause::Resigned, Cause::Acquired].repeat(3));
}

#[tokio::test]
async fn s25_a_release_hands_over_at_once_by_presence_or_by_a_hint_and_by_polling_without() {
    for (presence, hints) in [(true, false), (false, true), (false, false)] {
        let store = Faulty::new(presence);
        store.hints.store(hints, Ordering::SeqCst);
        let (a, b) = (store.node("a"), store.node("b"));
        let poll = if presence || hints { Duration::from_secs(60) } else { Duration::from_millis(100) };
        let slow = LeaseSettings { poll, ..LeaseSettings::with_ttl(Duration::from_secs(60)) };
        let (one, two) = (a.lease("job", slow.clone()).unwrap(), b.lease("job", slow).unwrap());
        granted(&one).await;
        while presence && store.row("job").await.presence.is_none() {
            tokio::task::yield_now().await;
        }
        let waiter = two.clone();
        let waiting = tokio::spawn(async move { waiter.acquire_when_free(&Stop::new()).await });
        while store.claims.load(Ordering::SeqCst) < 2 {
            tokio::task::yield_now().await;
        }
        one.release().await.unwrap();
        let fence = within(waiting).await.unwrap().unwrap().unwrap();
        assert_eq!(fence.term.get(), 2);
        assert!(two.check_alive());
    }
}

#[tokio::test]
async fn a_store_that_hints_at_a_lease_that_is_held_is_not_asked_in_a_loop() {
    let store = Faulty::new(false);
    store.lies.store(true, Ordering::SeqCst);
    let (a, b) = (store.node("a"), store.node("b"));
    let slow =
        LeaseSettings { poll: Duration::from_secs(60), ..LeaseSettings::with_ttl(Duration::from_secs(60)) };
    let (one, two) = (a.lease("job", slow.clone()).unwrap(), b.lease("job", slow).unwrap());
    granted(&one).await;
    let stop = Stop::new();
    let (waiter, stopped) = (two.clone(), stop.clone());
    let waiting = tokio::spawn(async move { waiter.acquire_when_free(&stopped).await });
    // passes time: a loop would make thousands of claims in it
    tokio::time::sleep(Duration::from_millis(300)).await;
    stop.stop();
    assert!(within(waiting).await.unwrap().unwrap().is_none());
    assert_eq!(store.claims.load(Ordering::SeqCst), 3, "one to hold, one to find it held, one for the hint");
}

#[tokio::test]
async fn s15_a_store_that_went_back_in_time_is_not_led_on() {
    let store = Faulty::new(true);
    let lease = store.node("a").lease("job", quick()).unwrap();
    for _ in 0..3 {
        granted(&lease).await;
        lease.release().await.unwrap();
    }
    // Another store under the same handle, as after a restore from a backup that lost the last terms.
    let restored = Faulty::new(true);
    let elsewhere = restored.node("a").lease("job", quick()).unwrap();
    granted(&elsewhere).await;
    elsewhere.release().await.unwrap();
    store.inner.restore_from(&restored.inner);
    let refused = lease.acquire().await.unwrap_err();
    assert!(matches!(refused, LeaseError::TermWentBack { .. }), "{refused}");
    assert!(!lease.check_alive());
}

#[tokio::test]
async fn a_dropped_lease_is_given_back() {
    let store = Faulty::new(true);
    let lease = store.node("a").lease("job", quick()).unwrap();
    granted(&lease).await;
    let lost = lease.lost();
    drop(lease);
    assert!(lost.is_stopped(), "nobody may act under a handle that is gone");
    let other = store.node("b").lease("job", quick()).unwrap();
    within(other.acquire_when_free(&Stop::new())).await.unwrap().unwrap();
}

#[tokio::test]
async fn a_wait_ends_when_it_is_stopped_or_dropped_and_leaves_nothing_behind() {
    let store = Faulty::new(true);
    let holder = store.node("a").lease("job", quick()).unwrap();
    granted(&holder).await;
    let waiter = store.node("b").lease("job", quick()).unwrap();
    let stop = Stop::new();
    stop.stop();
    assert!(within(waiter.acquire_when_free(&stop)).await.unwrap().is_none());
    let dropped =
        tokio::time::timeout(Duration::from_millis(50), waiter.acquire_when_free(&Stop::new())).await;
    assert!(dropped.is_err());
    holder.release().await.unwrap();
    let third = store.node("c").lease("job", quick()).unwrap();
    within(third.acquire_when_free(&Stop::new())).await.unwrap().unwrap();
    assert!(!waiter.check_alive());
}

#[tokio::test]
async fn a_wait_rides_out_a_store_that_goes_away_and_comes_back() {
    let store = Faulty::new(false);
    let lease = store.node("a").lease("job", quick()).unwrap();
    store.down.store(true, Ordering::SeqCst);
    let waiter = lease.clone();
    let waiting = tokio::spawn(async move { waiter.acquire_when_free(&Stop::new()).await });
    while store.claims.load(Ordering::SeqCst) < 3 {
        // passes time: until the waiter has tried in vain
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    store.down.store(false, Ordering::SeqCst);
    within(waiting).await.unwrap().unwrap().unwrap();
}

#[tokio::test]
async fn c2_settings_and_names_are_checked_before_anything_is_asked() {
    let store = Faulty::new(true);
    let leases = store.node("a");
    assert!(matches!(leases.lease("", quick()), Err(LeaseError::Name(_))));
    let mut bad = quick();
    bad.renew = bad.ttl;
    assert!(matches!(leases.lease("job", bad), Err(LeaseError::Settings(_))));
    assert_eq!(store.claims.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn c7_a_crashed_holder_loses_the_lease_when_the_ttl_ends() {
    let store = Faulty::new(false);
    let claim = tenure::core::lease::Claim {
        name: LeaseName::new("job").unwrap(),
        node: tenure::local_node(Some("dead")).unwrap(),
        id: tenure::core::id::Unique::from_u128(1),
        ttl: Duration::from_millis(400),
        kind: None,
        evidence: None,
    };
    store.try_acquire(&claim).await.unwrap();
    let lease = store.node("b").lease("job", quick()).unwrap();
    let fence = within(lease.acquire_when_free(&Stop::new())).await.unwrap().unwrap();
    assert_eq!(fence.term.get(), 2);
}

#[tokio::test]
async fn a_grant_that_comes_when_its_caller_is_gone_is_given_back() {
    let store = Faulty::new(true);
    let lease = store.node("a").lease("job", quick()).unwrap();
    store.slow_claims.store(true, Ordering::SeqCst);
    let impatient = tokio::time::timeout(Duration::from_millis(20), lease.acquire()).await;
    assert!(impatient.is_err(), "the claim is still under way");
    let given_back = async {
        let name = LeaseName::new("job").unwrap();
        while store.inner.observe(&name).await.unwrap().is_none_or(|row| row.released_at.is_none()) {
            tokio::task::yield_now().await;
        }
    };
    within(given_back).await;
    assert!(!lease.check_alive());
}

#[tokio::test]
async fn a_wait_that_begins_after_a_loss_rides_out_the_outage_too() {
    let store = Faulty::new(false);
    let lease = store.node("a").lease("job", quick()).unwrap();
    granted(&lease).await;
    store.down.store(true, Ordering::SeqCst);
    within(lease.lost().stopped()).await;
    let waiter = lease.clone();
    let waiting = tokio::spawn(async move { waiter.acquire_when_free(&Stop::new()).await });
    let tried = store.claims.load(Ordering::SeqCst);
    while store.claims.load(Ordering::SeqCst) < tried + 2 {
        // passes time: until the waiter has tried in vain
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    store.down.store(false, Ordering::SeqCst);
    assert_eq!(within(waiting).await.unwrap().unwrap().unwrap().term.get(), 2);
}

#[tokio::test]
async fn s07_a_renewal_that_hangs_does_not_cost_the_lease() {
    let store = Faulty::new(false);
    let lease = store.node("a").lease("job", quick()).unwrap();
    granted(&lease).await;
    store.hang_renewals.store(1, Ordering::SeqCst);
    // passes time: twice the ttl
    tokio::time::sleep(Duration::from_secs(2)).await;
    assert_eq!(store.hang_renewals.load(Ordering::SeqCst), 0, "one renewal never came back");
    assert!(lease.check_alive());
}

#[tokio::test]
async fn a_lost_signal_that_is_given_by_its_user_ends_nothing() {
    let store = Faulty::new(true);
    let lease = store.node("a").lease("job", quick()).unwrap();
    granted(&lease).await;
    lease.lost().stop();
    assert!(lease.check_alive() && !lease.lost().is_stopped());
}
