//! What the pool survives: dropped calls, ended runtimes, ended sessions, and crowds.

use std::time::{Duration, Instant};

use tenure_core::StoreError;
use tenure_core::contract::{LeaseAdmin as _, LeaseRegistry as _, LeaseStore as _, Presence as _};
use tenure_core::lease::{Acquire, Grant, Renew};
use tenure_postgres::PostgresStore;

use crate::sandbox::{Mode, Sandbox, claim, granted, name, renewal};

/// A call that is dropped half-way leaves no open transaction and no connection that others wait behind.
#[tokio::test]
async fn s35_dropped_calls_poison_nothing() {
    for mode in [Mode::Direct, Mode::Pooled] {
        let Some(sandbox) = Sandbox::new(mode).await else { return };
        let store = sandbox.store().await;
        for micros in (0..60).map(|step| step * 150) {
            let claim = claim(&format!("l{micros}"), Duration::from_secs(30));
            let _ = tokio::time::timeout(Duration::from_micros(micros), store.try_acquire(&claim)).await;
            // The same claim gets its grant, whether or not the dropped call took effect.
            assert_eq!(granted(store.try_acquire(&claim).await.unwrap()).claim, claim.id);
        }
        let sql = "SELECT count(*) FROM pg_stat_activity WHERE state LIKE 'idle in transaction%' \
                   AND application_name LIKE $1";
        let pattern = format!("{}%", sandbox.prefix);
        let mut left = 1;
        for _ in 0..200 {
            left = sandbox.superuser().await.query_one(sql, &[&pattern]).await.unwrap().get::<_, i64>(0);
            if left == 0 {
                break;
            }
            // passes time: between two looks
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        assert_eq!(left, 0, "{mode:?}");
    }
}

/// Dropped calls that wait for a lock must not use up the pool.
#[tokio::test]
async fn dropped_waiters_give_their_connections_up() {
    let Some(sandbox) = Sandbox::new(Mode::Direct).await else { return };
    let store = sandbox.store().await;
    let grant = granted(store.try_acquire(&claim("job", Duration::from_secs(30))).await.unwrap());
    let mut user = sandbox.user().await;
    let transaction = user.transaction().await.unwrap();
    transaction.query(&format!("SELECT 1 FROM {} FOR UPDATE", sandbox.table("leases")), &[]).await.unwrap();
    for _ in 0..8 {
        let release = tokio::time::timeout(Duration::from_millis(20), store.release(&grant)).await;
        assert!(release.is_err(), "it should have waited");
    }
    let began = Instant::now();
    store.observe(&grant.name).await.unwrap();
    assert!(began.elapsed() < Duration::from_millis(500), "{:?}", began.elapsed());
}

/// Claims that wait for a lock leave a connection for renewals.
#[tokio::test]
async fn a_crowd_of_waiting_claims_holds_up_no_renewal() {
    let Some(sandbox) = Sandbox::new(Mode::Direct).await else { return };
    let store = sandbox.store().await;
    let short = Duration::from_millis(100);
    let mut user = sandbox.user().await;
    let transaction = user.transaction().await.unwrap();
    let mut waiting = Vec::new();
    for number in 0..6 {
        let lease = format!("l{number}");
        granted(store.try_acquire(&claim(&lease, short)).await.unwrap());
    }
    let elsewhere = granted(store.try_acquire(&claim("elsewhere", Duration::from_secs(30))).await.unwrap());
    let lock = format!("SELECT 1 FROM {} WHERE name <> 'elsewhere' FOR UPDATE", sandbox.table("leases"));
    transaction.query(&lock, &[]).await.unwrap();
    // passes time: the ttl of the leases
    tokio::time::sleep(short).await;
    for number in 0..6 {
        let store = store.clone();
        waiting.push(tokio::spawn(async move {
            store.try_acquire(&claim(&format!("l{number}"), short)).await.map(|_| ())
        }));
    }
    // passes time: lets the claims reach their locks
    tokio::time::sleep(Duration::from_millis(200)).await;
    renews_at_once(&store, &elsewhere).await;
    transaction.rollback().await.unwrap();
    for waiting in waiting {
        waiting.await.unwrap().unwrap();
    }
}

/// Reads that are slow, of whatever kind, leave a connection for renewals; also for the reason why one failed.
#[tokio::test]
async fn a_crowd_of_slow_reads_holds_up_no_renewal() {
    for mode in [Mode::Direct, Mode::Pooled] {
        let Some(sandbox) = Sandbox::new(mode).await else { return };
        let store = sandbox.store().await;
        let grant = granted(store.try_acquire(&claim("job", Duration::from_secs(30))).await.unwrap());
        let given_back = granted(store.try_acquire(&claim("done", Duration::from_secs(30))).await.unwrap());
        store.release(&given_back).await.unwrap();
        // The history is of no concern to a renewal.
        let mut user = sandbox.superuser().await;
        let transaction = user.transaction().await.unwrap();
        let lock = format!("LOCK TABLE {} IN ACCESS EXCLUSIVE MODE", sandbox.table("lease_history"));
        transaction.batch_execute(&lock).await.unwrap();
        let reads: Vec<_> = (0..8)
            .map(|_| {
                let store = store.clone();
                tokio::spawn(async move { store.history(None, None, 10).await })
            })
            .collect();
        sandbox.waiting_for_locks(3).await;
        renews_at_once(&store, &grant).await;
        let began = Instant::now();
        assert!(matches!(store.renew(&given_back, &renewal(1)).await.unwrap(), Renew::Lost(_)), "{mode:?}");
        assert!(began.elapsed() < Duration::from_millis(500), "{mode:?}: {:?}", began.elapsed());
        transaction.rollback().await.unwrap();
        for read in reads {
            read.await.unwrap().unwrap();
        }
    }
}

async fn renews_at_once(store: &PostgresStore, grant: &Grant) {
    let began = Instant::now();
    assert_eq!(store.renew(grant, &renewal(1)).await.unwrap(), Renew::Extended);
    assert!(began.elapsed() < Duration::from_millis(500), "{:?}", began.elapsed());
}

/// The store works from a runtime that is not its own, and goes on when that one has ended.
#[test]
fn connections_outlive_the_runtimes_of_callers() {
    let runtime =
        || tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let home = runtime();
    let Some(sandbox) = home.block_on(Sandbox::new(Mode::Direct)) else { return };
    let store = home.block_on(sandbox.store());
    let claim = claim("job", Duration::from_secs(30));
    let grant = runtime().block_on(async { granted(store.try_acquire(&claim).await.unwrap()) });
    for number in 1..=3 {
        let answer = runtime().block_on(store.renew(&grant, &renewal(number)));
        assert_eq!(answer.unwrap(), Renew::Extended);
    }
    // The store's own runtime ends: its connections are gone, and new ones are opened where the caller is.
    home.shutdown_timeout(Duration::from_secs(1));
    let answer = runtime().block_on(async {
        let _ = store.renew(&grant, &renewal(4)).await;
        store.renew(&grant, &renewal(5)).await
    });
    assert_eq!(answer.unwrap(), Renew::Extended);
}

/// A server that ends all sessions (a restart) costs at most the calls under way.
#[tokio::test]
async fn ended_sessions_are_replaced() {
    let Some(sandbox) = Sandbox::new(Mode::Direct).await else { return };
    let store = sandbox.store().await;
    let grant = granted(store.try_acquire(&claim("job", Duration::from_secs(30))).await.unwrap());
    let sql = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = $1";
    sandbox.superuser().await.query(sql, &[&sandbox.prefix]).await.unwrap();
    // passes time: lets word of the end arrive
    tokio::time::sleep(Duration::from_millis(100)).await;
    assert_eq!(store.renew(&grant, &renewal(1)).await.unwrap(), Renew::Extended);
}

/// A waiting node costs one statement per look, and no lock.
#[tokio::test]
async fn a_look_at_a_held_lease_takes_no_lock() {
    let Some(sandbox) = Sandbox::new(Mode::Direct).await else { return };
    let store = sandbox.store().await;
    granted(store.try_acquire(&claim("job", Duration::from_secs(30))).await.unwrap());
    let mut user = sandbox.user().await;
    let transaction = user.transaction().await.unwrap();
    transaction.query(&format!("SELECT 1 FROM {} FOR UPDATE", sandbox.table("leases")), &[]).await.unwrap();
    let began = Instant::now();
    let answer = store.try_acquire(&claim("job", Duration::from_secs(30))).await.unwrap();
    assert!(matches!(answer, Acquire::Held(_)) && began.elapsed() < Duration::from_millis(500));
}

#[tokio::test]
async fn s75_a_read_only_role_is_told_so() {
    let Some(sandbox) = Sandbox::new(Mode::Direct).await else { return };
    let role = format!("{}ro", sandbox.prefix);
    let client = sandbox.superuser().await;
    let sql = format!("CREATE ROLE {role} LOGIN; ALTER ROLE {role} SET default_transaction_read_only = on");
    client.batch_execute(&sql).await.unwrap();
    let (_, address) = sandbox.url.rsplit_once('@').unwrap();
    let options =
        tenure_postgres::PostgresOptions::from_url(&format!("postgres://{role}@{address}")).unwrap();
    let error = PostgresStore::connect(options).await.unwrap_err();
    assert!(matches!(error, StoreError::ReadOnly { .. }), "{error:?}");
    client.batch_execute(&format!("DROP ROLE {role}")).await.unwrap();
}

/// Not everyone may read everything: a role without rights is refused, which waiting does not change.
#[tokio::test]
async fn a_role_without_rights_is_refused() {
    let Some(sandbox) = Sandbox::new(Mode::Direct).await else { return };
    let role = format!("{}no", sandbox.prefix);
    let client = sandbox.superuser().await;
    client.batch_execute(&format!("CREATE ROLE {role} LOGIN")).await.unwrap();
    let (_, address) = sandbox.url.rsplit_once('@').unwrap();
    let mut options =
        tenure_postgres::PostgresOptions::from_url(&format!("postgres://{role}@{address}")).unwrap();
    options.naming = sandbox.options().naming;
    let store = PostgresStore::connect(options).await.unwrap();
    let error = store.observe(&name("x")).await.unwrap_err();
    assert!(matches!(error, StoreError::Refused { .. }) && !error.is_transient(), "{error:?}");
    drop(store);
    client.batch_execute(&format!("DROP ROLE {role}")).await.unwrap();
}

/// The rights that the docs name are enough for everything but migrations.
#[tokio::test]
async fn few_rights_are_enough_to_run() {
    let Some(sandbox) = Sandbox::new(Mode::Direct).await else { return };
    let role = format!("{}run", sandbox.prefix);
    let client = sandbox.superuser().await;
    let grants = format!(
        "CREATE ROLE {role} LOGIN; GRANT SELECT, INSERT, UPDATE ON {} TO {role}; \
         GRANT SELECT, INSERT ON {} TO {role}; GRANT INSERT ON {} TO {role}; GRANT SELECT ON {} TO {role}",
        sandbox.table("leases"),
        sandbox.table("lease_history"),
        sandbox.table("audit"),
        sandbox.table("schema"),
    );
    client.batch_execute(&grants).await.unwrap();
    let (_, address) = sandbox.url.rsplit_once('@').unwrap();
    let url = format!("postgres://{role}@{address}");
    let mut options = tenure_postgres::PostgresOptions::from_url(&url).unwrap();
    options.naming = sandbox.options().naming;
    let store = PostgresStore::connect(options).await.unwrap();
    store.prepare().await.unwrap();
    let grant = granted(store.try_acquire(&claim("job", Duration::from_secs(30))).await.unwrap());
    let user = crate::sandbox::connect(&url).await;
    store.fencing().check(&user, &grant.fence()).await.unwrap();
    store.renew(&grant, &renewal(1)).await.unwrap();
    store.revoke(&grant.name, "op", false).await.unwrap();
    store.release(&grant).await.unwrap();
    store.sweep().await.unwrap();
    assert_eq!(store.history(None, None, 10).await.unwrap().len(), 2);
    let session = store.open(crate::sandbox::unique(), Duration::from_secs(5)).await.unwrap();
    session.ping().await.unwrap();
    session.close().await;
    drop((store, user));
    let table = |table: &str| sandbox.table(table);
    let (leases, history, audit, schema) =
        (table("leases"), table("lease_history"), table("audit"), table("schema"));
    let sql = format!("REVOKE ALL ON {leases}, {history}, {audit}, {schema} FROM {role}; DROP ROLE {role}");
    client.batch_execute(&sql).await.unwrap();
}
