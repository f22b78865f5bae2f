//! The fence in a user's transaction: who waits for whom.

use std::time::{Duration, Instant};

use tenure_core::StoreError;
use tenure_core::contract::{LeaseAdmin as _, LeaseStore as _};
use tenure_core::lease::{FenceError, Loss, Release, Renew};

use crate::sandbox::{Mode, Sandbox, claim, granted, renewal};

const SHORT: Duration = Duration::from_millis(400);

/// The long transaction of a user must neither cost the holder its lease nor be overtaken by a successor.
async fn open_transaction_lets_renewals_pass_and_holds_up_a_takeover(mode: Mode) {
    let Some(sandbox) = Sandbox::new(mode).await else { return };
    let (store, other) = (sandbox.store().await, sandbox.store().await);
    let grant = granted(store.try_acquire(&claim("job", SHORT)).await.unwrap());
    let mut user = sandbox.user().await;
    let transaction = user.transaction().await.unwrap();
    store.fencing().check(&transaction, &grant.fence()).await.expect("it holds");

    let began = Instant::now();
    assert_eq!(store.renew(&grant, &renewal(1)).await.unwrap(), Renew::Extended);
    assert!(began.elapsed() < Duration::from_millis(300), "the renewal waited {:?}", began.elapsed());

    // passes time: the ttl of the grant
    tokio::time::sleep(SHORT + Duration::from_millis(50)).await;
    let takeover = tokio::spawn(async move { other.try_acquire(&claim("job", SHORT)).await });
    // passes time: enough for a takeover that does not wait
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert!(!takeover.is_finished(), "the takeover did not wait for the transaction");
    transaction.commit().await.unwrap();
    let successor = granted(takeover.await.unwrap().unwrap());
    assert!(successor.term > grant.term);
    let again = user.transaction().await.unwrap();
    let refusal = store.fencing().check(&again, &grant.fence()).await.unwrap_err();
    assert!(matches!(refusal, FenceError::Fenced(fenced) if matches!(fenced.loss, Loss::Taken { .. })));
}

#[tokio::test]
async fn s01_direct_open_transaction_lets_renewals_pass_and_holds_up_a_takeover() {
    open_transaction_lets_renewals_pass_and_holds_up_a_takeover(Mode::Direct).await;
}

#[tokio::test]
async fn s01_pooled_open_transaction_lets_renewals_pass_and_holds_up_a_takeover() {
    open_transaction_lets_renewals_pass_and_holds_up_a_takeover(Mode::Pooled).await;
}

/// A renewal passes even while a takeover is queued for the same row.
#[tokio::test]
async fn a_renewal_passes_a_queued_change_of_holder() {
    let Some(sandbox) = Sandbox::new(Mode::Direct).await else { return };
    let store = sandbox.store().await;
    let grant = granted(store.try_acquire(&claim("job", Duration::from_secs(20))).await.unwrap());
    let mut user = sandbox.user().await;
    let transaction = user.transaction().await.unwrap();
    store.fencing().check(&transaction, &grant.fence()).await.expect("it holds");
    let operator = sandbox.store().await;
    let lease = grant.name.clone();
    let queued = tokio::spawn(async move { operator.revoke(&lease, "op", true).await });
    // passes time: enough for a revocation that does not wait
    tokio::time::sleep(Duration::from_millis(200)).await;
    assert!(!queued.is_finished());
    let began = Instant::now();
    assert_eq!(store.renew(&grant, &renewal(1)).await.unwrap(), Renew::Extended);
    assert!(began.elapsed() < Duration::from_millis(300), "the renewal waited {:?}", began.elapsed());
    transaction.commit().await.unwrap();
    queued.await.unwrap().unwrap();
}

/// Whoever changes the holder waits for a checked fence, but not for ever.
async fn changes_of_holder_answer_busy_behind_an_open_transaction(mode: Mode) {
    let Some(sandbox) = Sandbox::new(mode).await else { return };
    let mut options = sandbox.options();
    options.lock_timeout = Duration::from_millis(200);
    let store = tenure_postgres::PostgresStore::connect(options).await.unwrap();
    let grant = granted(store.try_acquire(&claim("job", SHORT)).await.unwrap());
    let mut user = sandbox.user().await;
    let transaction = user.transaction().await.unwrap();
    store.fencing().check(&transaction, &grant.fence()).await.expect("it holds");
    for force in [false, true] {
        let answer = store.revoke(&grant.name, "op", force).await;
        assert!(matches!(answer, Err(StoreError::Busy { .. })), "{answer:?}");
    }
    let answer = store.release(&grant).await;
    assert!(matches!(answer, Err(StoreError::Busy { .. })), "{answer:?}");
    // passes time: the ttl of the grant
    tokio::time::sleep(SHORT).await;
    let answer = store.try_acquire(&claim("job", SHORT)).await;
    assert!(matches!(answer, Err(StoreError::Busy { .. })), "{answer:?}");
    transaction.rollback().await.unwrap();
    assert_eq!(store.release(&grant).await.unwrap(), Release::Released);
}

#[tokio::test]
async fn direct_changes_of_holder_answer_busy_behind_an_open_transaction() {
    changes_of_holder_answer_busy_behind_an_open_transaction(Mode::Direct).await;
}

#[tokio::test]
async fn pooled_changes_of_holder_answer_busy_behind_an_open_transaction() {
    changes_of_holder_answer_busy_behind_an_open_transaction(Mode::Pooled).await;
}

/// The clock of a decision is read after the wait for the row, and so is the clock of a fence.
#[tokio::test]
async fn expiry_is_judged_after_the_wait_for_the_row() {
    let Some(sandbox) = Sandbox::new(Mode::Direct).await else { return };
    let store = sandbox.store().await;
    let grant = granted(store.try_acquire(&claim("job", SHORT)).await.unwrap());
    let mut blocker = sandbox.user().await;
    let transaction = blocker.transaction().await.unwrap();
    let lock = format!("SELECT 1 FROM {} FOR UPDATE", sandbox.table("leases"));
    transaction.query(&lock, &[]).await.unwrap();
    let (fencing, fence) = (store.fencing(), grant.fence());
    let user = sandbox.user().await;
    let check = tokio::spawn(async move { fencing.check(&user, &fence).await });
    // passes time: the ttl of the grant, while the check waits
    tokio::time::sleep(SHORT + Duration::from_millis(100)).await;
    assert!(!check.is_finished());
    // The row itself does not change: only a clock that is read after the wait can tell.
    transaction.rollback().await.unwrap();
    let refusal = check.await.unwrap().unwrap_err();
    assert!(matches!(refusal, FenceError::Fenced(fenced) if fenced.loss == Loss::Expired));
}

/// Another driver can do with the statement alone.
#[tokio::test]
async fn the_statement_can_be_read_without_our_code() {
    let Some(sandbox) = Sandbox::new(Mode::Direct).await else { return };
    let store = sandbox.store().await;
    let grant = granted(store.try_acquire(&claim("o'brien", SHORT)).await.unwrap());
    let user = sandbox.user().await;
    let holds = |row: &tokio_postgres::Row| {
        row.get::<_, i64>("term") == grant.term.as_column()
            && row.get::<_, Option<i64>>("released_us").is_none()
            && row.get::<_, Option<i64>>("revoked_us").is_none()
            && row.get::<_, i64>("expires_us") > row.get::<_, i64>("now_us")
    };
    let rows = user.query(store.fencing().statement(), &[&"o'brien"]).await.unwrap();
    assert!(rows.len() == 1 && holds(&rows[0]));
    store.release(&grant).await.unwrap();
    let rows = user.query(store.fencing().statement(), &[&"o'brien"]).await.unwrap();
    assert!(!holds(&rows[0]));
    assert!(user.query(store.fencing().statement(), &[&"never"]).await.unwrap().is_empty());
}

#[cfg(feature = "sqlx")]
#[tokio::test]
async fn a_fence_is_checked_in_a_transaction_of_sqlx() {
    use sqlx::Connection as _;
    use tenure_core::lease::Term;

    for mode in [Mode::Direct, Mode::Pooled] {
        let Some(sandbox) = Sandbox::new(mode).await else { return };
        let store = sandbox.store().await;
        let grant = granted(store.try_acquire(&claim("job", Duration::from_secs(5))).await.unwrap());
        // PgBouncer refuses this start-up parameter of sqlx unless it is told otherwise.
        let options: sqlx::postgres::PgConnectOptions = sandbox.url.parse().unwrap();
        let mut connection =
            sqlx::PgConnection::connect_with(&options.extra_float_digits(None)).await.unwrap();
        let mut tx = connection.begin().await.unwrap();
        store.fencing().check_sqlx(&mut tx, &grant.fence()).await.expect("it holds");
        tx.commit().await.unwrap();
        let mut later = grant.fence();
        later.term = Term::new(99).unwrap();
        let mut tx = connection.begin().await.unwrap();
        let refusal = store.fencing().check_sqlx(&mut tx, &later).await.unwrap_err();
        assert!(matches!(refusal, FenceError::Fenced(_)), "{refusal}");
    }
}
