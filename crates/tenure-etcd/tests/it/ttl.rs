//! What etcd really grants.

use std::time::Duration;

use tenure_core::contract::LeaseStore as _;
use tenure_core::lease::{Acquire, Release};

use crate::node::{claim, takes};
use crate::sandbox::Sandbox;

/// A holder counts its trust from the ttl that it asked for: etcd's must never be shorter.
#[tokio::test]
async fn the_ttl_at_etcd_is_never_shorter_than_the_one_that_was_asked_for() {
    let Some(sandbox) = Sandbox::new() else { return };
    let store = sandbox.store().await;
    for (number, millis) in [1000, 2000, 2001, 5500, 6000, 86_400_000].into_iter().enumerate() {
        let (name, ttl) = (format!("ttl-{number}"), Duration::from_millis(millis));
        let grant = takes(&store, &claim("ann", &name, ttl)).await;
        assert_eq!(grant.ttl, ttl, "the grant says what was asked for");
        let key = sandbox.held(&name).await.expect("held");
        let answer = sandbox.client().await.lease_client().time_to_live(key.lease(), None).await.unwrap();
        let granted = Duration::from_secs(answer.granted_ttl().unsigned_abs());
        assert!(granted >= ttl, "{granted:?} for {ttl:?}");
        let row = store.observe(&grant.name).await.unwrap().expect("a row");
        assert_eq!(row.renewed_at.until(row.expires_at), granted, "the row says what was granted");
    }
}

/// A grant that has expired is stamped by its release as long as nobody has come since.
#[tokio::test]
async fn a_release_after_the_ttl_stamps_the_row() {
    let Some(sandbox) = Sandbox::new() else { return };
    let store = sandbox.store().await;
    let grant = takes(&store, &claim("ann", "job", Duration::from_secs(1))).await;
    while sandbox.held("job").await.is_some() {
        // passes time: until etcd has ended the grant
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert_eq!(store.observe(&grant.name).await.unwrap().expect("a row").released_at, None);
    assert_eq!(store.release(&grant).await.unwrap(), Release::Released);
    let row = store.observe(&grant.name).await.unwrap().expect("a row");
    assert!(row.released_at.is_some() && row.term == grant.term, "{row:?}");
    assert_eq!(store.release(&grant).await.unwrap(), Release::NotHeld);
}

/// A holder whose clock is a day behind, or ahead, is judged by etcd alone.
#[tokio::test]
async fn s12_a_holders_clock_decides_nothing() {
    let Some(sandbox) = Sandbox::new() else { return };
    let store = sandbox.store().await;
    let ttl = Duration::from_secs(60);
    let day = 86_400_000_000_i64;
    for (number, shift) in [-day, day].into_iter().enumerate() {
        let name = format!("clock-{number}");
        let grant = takes(&store, &claim("ann", &name, ttl)).await;
        let key = sandbox.held(&name).await.expect("held");
        let shifted = (grant.acquired_at.as_micros() + shift).to_string();
        let value = key.value_str().unwrap().replace(&grant.acquired_at.as_micros().to_string(), &shifted);
        let kept = etcd_client::PutOptions::new().with_lease(key.lease());
        sandbox.client().await.kv_client().put(key.key(), value, Some(kept)).await.unwrap();
        let answer = store.try_acquire(&claim("bob", &name, ttl)).await.unwrap();
        let Acquire::Held(holder) = answer else { panic!("taken from one whose clock is wrong") };
        let error = holder.expires_in.abs_diff(ttl);
        assert!(error <= Duration::from_secs(2), "{:?} of {ttl:?}", holder.expires_in);
    }
}

/// The caller trusts a grant from the start of the attempt that was answered: a claim made again begins its ttl again.
#[tokio::test]
async fn s16_a_repeated_claim_lasts_its_ttl_from_the_repetition() {
    let Some(sandbox) = Sandbox::new() else { return };
    let (ann, bob) = (sandbox.store().await, sandbox.store().await);
    let ours = claim("ann", "job", Duration::from_secs(3));
    let first = takes(&ann, &ours).await;
    // passes time: most of the ttl
    tokio::time::sleep(Duration::from_millis(2500)).await;
    assert_eq!(takes(&ann, &ours).await, first);
    // passes time: beyond the end of the first ttl, and the time that etcd takes to notice it
    tokio::time::sleep(Duration::from_millis(2000)).await;
    let answer = bob.try_acquire(&claim("bob", "job", Duration::from_secs(3))).await.unwrap();
    assert!(matches!(answer, Acquire::Held(_)), "{answer:?}");
}
