//! The fence in a user's transaction: who waits for whom, at each isolation.

use std::time::{Duration, Instant};

use sqlx::Executor as _;
use sqlx::mysql::MySqlConnection;
use tenure_core::StoreError;
use tenure_core::contract::{LeaseAdmin as _, LeaseStore as _};
use tenure_core::lease::{Acquire, FenceError, Loss, Release, Renew};
use tenure_mysql::MySqlStore;

use crate::bed::{claim, granted, on_both, renewal};
use crate::sandbox::{Sandbox, Server};

const SHORT: Duration = Duration::from_millis(400);
const LONG: Duration = Duration::from_secs(20);
const ISOLATIONS: [&str; 2] = ["READ COMMITTED", "REPEATABLE READ"];

on_both!(
    s01_an_open_transaction_lets_renewals_pass_and_holds_up_a_takeover,
    a_renewal_passes_a_queued_change_of_holder,
    changes_of_holder_answer_busy_behind_an_open_transaction,
    s08_releases_behind_open_transactions_leave_renewals_a_connection,
    expiry_is_judged_after_the_wait_for_the_row,
    a_claim_waits_for_a_renewal_that_is_under_way,
    s01_a_deposed_holder_is_refused_even_if_its_snapshot_is_old,
    a_user_s_transaction_keeps_its_settings,
);

/// A user's transaction at that isolation.
async fn begun(sandbox: &Sandbox, isolation: &str) -> MySqlConnection {
    let mut user = sandbox.user().await;
    let set = format!("SET SESSION TRANSACTION ISOLATION LEVEL {isolation}");
    user.execute(sqlx::query(sqlx::AssertSqlSafe(set))).await.unwrap();
    user.execute("START TRANSACTION").await.unwrap();
    user
}

/// The long transaction of a user must neither cost the holder its lease nor be overtaken by a successor.
async fn s01_an_open_transaction_lets_renewals_pass_and_holds_up_a_takeover(server: Server) {
    for isolation in ISOLATIONS {
        let Some(sandbox) = Sandbox::new(server).await else { return };
        let (store, other) = (sandbox.store().await, sandbox.sql().await);
        let (leases, fencing) = (store.sql(), store.fencing());
        let grant = granted(leases.try_acquire(&claim("job", SHORT)).await.unwrap());
        let mut user = begun(&sandbox, isolation).await;
        fencing.check(&mut user, &grant.fence()).await.expect("it holds");

        let began = Instant::now();
        assert_eq!(leases.renew(&grant, &renewal(1)).await.unwrap(), Renew::Extended);
        assert!(began.elapsed() < Duration::from_millis(300), "the renewal waited {:?}", began.elapsed());

        // passes time: the ttl of the grant
        tokio::time::sleep(SHORT + Duration::from_millis(50)).await;
        let takeover = tokio::spawn(async move { other.try_acquire(&claim("job", SHORT)).await });
        // passes time: enough for a takeover that does not wait
        tokio::time::sleep(Duration::from_millis(300)).await;
        assert!(!takeover.is_finished(), "the takeover did not wait for the transaction");
        user.execute("COMMIT").await.unwrap();
        let successor = granted(takeover.await.unwrap().unwrap());
        assert!(successor.term > grant.term);
        let mut again = begun(&sandbox, isolation).await;
        let refusal = fencing.check(&mut again, &grant.fence()).await.unwrap_err();
        assert!(matches!(refusal, FenceError::Fenced(fenced) if matches!(fenced.loss, Loss::Taken { .. })));
    }
}

/// A renewal passes even while a takeover is queued for the same fence.
async fn a_renewal_passes_a_queued_change_of_holder(server: Server) {
    for isolation in ISOLATIONS {
        let Some(sandbox) = Sandbox::new(server).await else { return };
        let store = sandbox.store().await;
        let leases = store.sql();
        let grant = granted(leases.try_acquire(&claim("job", LONG)).await.unwrap());
        let mut user = begun(&sandbox, isolation).await;
        store.fencing().check(&mut user, &grant.fence()).await.expect("it holds");
        let (operator, lease) = (sandbox.sql().await, grant.name.clone());
        let queued = tokio::spawn(async move { operator.revoke(&lease, "op", true).await });
        // passes time: enough for a revocation that does not wait
        tokio::time::sleep(Duration::from_millis(200)).await;
        assert!(!queued.is_finished());
        let began = Instant::now();
        assert_eq!(leases.renew(&grant, &renewal(1)).await.unwrap(), Renew::Extended);
        assert!(began.elapsed() < Duration::from_millis(300), "the renewal waited {:?}", began.elapsed());
        user.execute("COMMIT").await.unwrap();
        queued.await.unwrap().unwrap();
    }
}

/// Law 8: as many releases wait as there are connections, and a renewal passes them all.
async fn s08_releases_behind_open_transactions_leave_renewals_a_connection(server: Server) {
    let Some(sandbox) = Sandbox::new(server).await else { return };
    let store = sandbox.store().await;
    let leases = store.sql();
    let kept = granted(leases.try_acquire(&claim("kept", LONG)).await.unwrap());
    let (mut users, mut grants) = (Vec::new(), Vec::new());
    for number in 0..6 {
        let grant = granted(leases.try_acquire(&claim(&format!("job-{number}"), LONG)).await.unwrap());
        let mut user = begun(&sandbox, ISOLATIONS[0]).await;
        store.fencing().check(&mut user, &grant.fence()).await.expect("it holds");
        users.push(user);
        grants.push(grant);
    }
    let release = |grant| {
        let leases = leases.clone();
        tokio::spawn(async move { leases.release(&grant).await })
    };
    let releases: Vec<_> = grants.into_iter().map(release).collect();
    // passes time: until the releases wait on the server
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert!(releases.iter().all(|release| !release.is_finished()));
    let began = Instant::now();
    assert_eq!(leases.renew(&kept, &renewal(1)).await.unwrap(), Renew::Extended);
    assert!(began.elapsed() < Duration::from_millis(300), "the renewal waited {:?}", began.elapsed());
    for mut user in users {
        user.execute("COMMIT").await.unwrap();
    }
    for release in releases {
        assert!(matches!(release.await.unwrap().unwrap(), Release::Released));
    }
    let (began, again) = (Instant::now(), leases.release(&kept).await.unwrap());
    assert!(matches!(again, Release::Released) && began.elapsed() < Duration::from_millis(300));
}

/// Whoever changes the holder waits for a checked fence, but not for ever.
async fn changes_of_holder_answer_busy_behind_an_open_transaction(server: Server) {
    let Some(sandbox) = Sandbox::new(server).await else { return };
    let mut options = sandbox.options();
    options.lock_timeout = Duration::from_secs(1);
    let store = MySqlStore::connect(options).await.unwrap();
    let leases = store.sql();
    let grant = granted(leases.try_acquire(&claim("job", SHORT)).await.unwrap());
    let mut user = begun(&sandbox, "REPEATABLE READ").await;
    store.fencing().check(&mut user, &grant.fence()).await.expect("it holds");
    let began = Instant::now();
    let answer = leases.revoke(&grant.name, "op", true).await;
    assert!(matches!(answer, Err(StoreError::Busy { .. })), "{answer:?}");
    let answer = leases.release(&grant).await;
    assert!(matches!(answer, Err(StoreError::Busy { .. })), "{answer:?}");
    let answer = leases.try_acquire(&claim("job", SHORT)).await;
    assert!(matches!(answer, Err(StoreError::Busy { .. })), "{answer:?}");
    assert!(began.elapsed() < Duration::from_secs(8), "{:?}", began.elapsed());
    user.execute("ROLLBACK").await.unwrap();
    assert_eq!(leases.release(&grant).await.unwrap(), Release::Released);
}

/// The clock of a fence is read after the wait for its row.
async fn expiry_is_judged_after_the_wait_for_the_row(server: Server) {
    for isolation in ISOLATIONS {
        let Some(sandbox) = Sandbox::new(server).await else { return };
        let store = sandbox.store().await;
        let grant = granted(store.sql().try_acquire(&claim("job", SHORT)).await.unwrap());
        let mut blocker = begun(&sandbox, "READ COMMITTED").await;
        let lock = format!("SELECT 1 FROM {} FOR UPDATE", sandbox.table("fences"));
        blocker.execute(sqlx::query(sqlx::AssertSqlSafe(lock))).await.unwrap();
        let (fencing, fence) = (store.fencing(), grant.fence());
        let mut user = begun(&sandbox, isolation).await;
        let check = tokio::spawn(async move { fencing.check(&mut user, &fence).await });
        // passes time: the ttl of the grant, while the check waits
        tokio::time::sleep(SHORT + Duration::from_millis(100)).await;
        assert!(!check.is_finished());
        // The row itself does not change: only a clock that is read after the wait can tell.
        blocker.execute("ROLLBACK").await.unwrap();
        let refusal = check.await.unwrap().unwrap_err();
        assert!(matches!(refusal, FenceError::Fenced(fenced) if fenced.loss == Loss::Expired), "{isolation}");
    }
}

/// A renewal that the server has taken and not yet committed counts: its holder will be told that it goes on.
async fn a_claim_waits_for_a_renewal_that_is_under_way(server: Server) {
    let Some(sandbox) = Sandbox::new(server).await else { return };
    let (store, other) = (sandbox.sql().await, sandbox.sql().await);
    let grant = granted(store.try_acquire(&claim("job", SHORT)).await.unwrap());
    let mut renewal = begun(&sandbox, "READ COMMITTED").await;
    let extend = format!(
        "UPDATE {} SET expires_at = UTC_TIMESTAMP(6) + INTERVAL 20 SECOND WHERE name = 'job'",
        sandbox.table("leases")
    );
    renewal.execute(sqlx::query(sqlx::AssertSqlSafe(extend))).await.unwrap();
    // passes time: the ttl as it is committed
    tokio::time::sleep(SHORT + Duration::from_millis(50)).await;
    let claiming = tokio::spawn(async move { other.try_acquire(&claim("job", SHORT)).await });
    // passes time: enough for a claim that does not wait
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert!(!claiming.is_finished(), "the claim did not wait for the renewal");
    renewal.execute("COMMIT").await.unwrap();
    match claiming.await.unwrap().unwrap() {
        Acquire::Held(holder) => assert_eq!(holder.term, grant.term),
        Acquire::Granted(second) => panic!("{} holds, and so does {}", grant.term, second.term),
    }
}

/// A transaction whose snapshot is from before the takeover sees the old lease in plain reads. The fence is no plain read.
async fn s01_a_deposed_holder_is_refused_even_if_its_snapshot_is_old(server: Server) {
    for (isolation, released) in ISOLATIONS.into_iter().flat_map(|it| [(it, false), (it, true)]) {
        let Some(sandbox) = Sandbox::new(server).await else { return };
        let store = sandbox.store().await;
        let leases = store.sql();
        let grant = granted(leases.try_acquire(&claim("job", LONG)).await.unwrap());
        let mut user = begun(&sandbox, isolation).await;
        // From here on, its snapshot stands.
        let look = format!("SELECT * FROM {}", sandbox.table("leases"));
        user.execute(sqlx::query(sqlx::AssertSqlSafe(look))).await.unwrap();
        if released {
            leases.release(&grant).await.unwrap();
        } else {
            leases.revoke(&grant.name, "op", true).await.unwrap();
            granted(leases.try_acquire(&claim("job", LONG)).await.unwrap());
        }
        let refusal = store.fencing().check(&mut user, &grant.fence()).await.unwrap_err();
        // MariaDB may refuse the read itself: the row has changed since the snapshot.
        assert!(
            matches!(refusal, FenceError::Fenced(_) | FenceError::Store(StoreError::Busy { .. })),
            "{isolation}, released: {released}: {refusal}"
        );
    }
}

/// Nothing of a user's session is changed by a check.
async fn a_user_s_transaction_keeps_its_settings(server: Server) {
    let Some(sandbox) = Sandbox::new(server).await else { return };
    let store = sandbox.store().await;
    let grant = granted(store.sql().try_acquire(&claim("job", LONG)).await.unwrap());
    let mut user = begun(&sandbox, "REPEATABLE READ").await;
    let settings = "SELECT CONCAT(@@sql_mode, @@innodb_lock_wait_timeout, @@wait_timeout, @@autocommit)";
    let before: Vec<u8> = sqlx::query_scalar(settings).fetch_one(&mut user).await.unwrap();
    store.fencing().check(&mut user, &grant.fence()).await.expect("it holds");
    let after: Vec<u8> = sqlx::query_scalar(settings).fetch_one(&mut user).await.unwrap();
    assert_eq!(before, after);
}
