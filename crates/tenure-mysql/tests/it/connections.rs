//! What the pool survives: dropped calls, ended runtimes, ended sessions, and crowds.

use std::time::{Duration, Instant};

use sqlx::{AssertSqlSafe, Connection as _, Executor as _};
use tenure_core::StoreError;
use tenure_core::contract::{LeaseAdmin as _, LeaseRegistry as _, LeaseStore as _};
use tenure_core::lease::{Acquire, Grant, Renew};
use tenure_mysql::{MySqlOptions, MySqlStore};
use tenure_sql::SqlStore;

use crate::bed::{Bed, NOT_FRESH, claim, granted, kill, name, on_both, renewal, unique};
use crate::proxy::{Proxy, address, through};
use crate::sandbox::{Sandbox, Server};

on_both!(
    s35_dropped_calls_poison_nothing,
    dropped_waiters_give_their_connections_up,
    a_crowd_of_waiting_claims_holds_up_no_renewal,
    a_crowd_of_slow_reads_holds_up_no_renewal,
    a_crowd_of_renewals_keeps_to_the_limit_of_connections,
    ended_sessions_are_replaced,
    one_ended_session_costs_one_call_at_most,
    a_session_that_was_idle_for_long_is_replaced,
    a_session_ended_in_the_middle_of_a_statement_is_replaced,
    too_many_connections_are_busy_and_no_refusal,
    a_look_at_a_held_lease_takes_no_lock,
    a_table_that_is_locked_is_busy_in_time,
    a_user_without_rights_is_refused,
    few_rights_are_enough_to_run,
    connections_outlive_the_runtimes_of_callers,
);

const LONG: Duration = Duration::from_secs(30);

/// A call that is dropped half-way leaves no open transaction and no connection that others wait behind.
async fn s35_dropped_calls_poison_nothing(server: Server) {
    let Some(bed) = Bed::new(server).await else { return };
    let store = bed.sql().await;
    for micros in (0..60).map(|step| step * 150) {
        let claim = claim(&format!("l{micros}"), LONG);
        let _ = tokio::time::timeout(Duration::from_micros(micros), store.try_acquire(&claim)).await;
        // The same claim gets its grant, whether or not the dropped call took effect.
        assert_eq!(granted(store.try_acquire(&claim).await.unwrap()).claim, claim.id);
    }
    let sql = "SELECT count(*) FROM information_schema.innodb_trx JOIN information_schema.processlist AS p \
               ON p.id = trx_mysql_thread_id WHERE p.user = ?";
    let began = Instant::now();
    loop {
        let mut root = bed.sandbox.user().await;
        let left: i64 = sqlx::query_scalar(sql).bind(&bed.user).fetch_one(&mut root).await.unwrap();
        if left == 0 {
            break;
        }
        assert!(began.elapsed() < Duration::from_secs(5), "{left} transactions are open");
        // passes time: between two looks
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// Holds the rows of a table for as long as it lives.
async fn holding(bed: &Bed, table: &str, which: &str) -> sqlx::mysql::MySqlConnection {
    let mut user = bed.sandbox.user().await;
    user.execute("SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED").await.unwrap();
    user.execute("START TRANSACTION").await.unwrap();
    let sql = format!("SELECT 1 FROM {} WHERE {which} FOR UPDATE", bed.sandbox.table(table));
    user.execute(sqlx::query(AssertSqlSafe(sql))).await.unwrap();
    user
}

/// Dropped calls that wait for a lock must not use up the pool.
async fn dropped_waiters_give_their_connections_up(server: Server) {
    let Some(bed) = Bed::new(server).await else { return };
    let store = bed.sql().await;
    let grant = granted(store.try_acquire(&claim("job", LONG)).await.unwrap());
    let _holding = holding(&bed, "fences", "true").await;
    for _ in 0..8 {
        let release = tokio::time::timeout(Duration::from_millis(20), store.release(&grant)).await;
        assert!(release.is_err(), "it should have waited");
    }
    let began = Instant::now();
    store.observe(&grant.name).await.unwrap();
    assert!(began.elapsed() < Duration::from_millis(500), "{:?}", began.elapsed());
}

/// Claims that wait for a lock leave a connection for renewals.
async fn a_crowd_of_waiting_claims_holds_up_no_renewal(server: Server) {
    let Some(bed) = Bed::new(server).await else { return };
    let store = bed.sql().await;
    let short = Duration::from_millis(100);
    for number in 0..6 {
        granted(store.try_acquire(&claim(&format!("l{number}"), short)).await.unwrap());
    }
    let elsewhere = granted(store.try_acquire(&claim("elsewhere", LONG)).await.unwrap());
    let mut holding = holding(&bed, "fences", "name LIKE 'l%'").await;
    // passes time: the ttl of the leases
    tokio::time::sleep(short).await;
    let waiting: Vec<_> = (0..6)
        .map(|number| {
            let store = store.clone();
            tokio::spawn(async move { store.try_acquire(&claim(&format!("l{number}"), short)).await })
        })
        .collect();
    // passes time: lets the claims reach their locks
    tokio::time::sleep(Duration::from_millis(300)).await;
    renews_at_once(&store, &elsewhere).await;
    holding.execute("ROLLBACK").await.unwrap();
    for waiting in waiting {
        waiting.await.unwrap().unwrap();
    }
}

/// Reads that are slow, of whatever kind, leave a connection for renewals; also for the reason why one failed.
async fn a_crowd_of_slow_reads_holds_up_no_renewal(server: Server) {
    let Some(bed) = Bed::new(server).await else { return };
    let store = bed.sql().await;
    let grant = granted(store.try_acquire(&claim("job", LONG)).await.unwrap());
    let given_back = granted(store.try_acquire(&claim("done", LONG)).await.unwrap());
    store.release(&given_back).await.unwrap();
    // The history is of no concern to a renewal.
    let mut user = bed.sandbox.user().await;
    let lock = format!("LOCK TABLES {} WRITE", bed.sandbox.table("lease_history"));
    sqlx::raw_sql(AssertSqlSafe(lock)).execute(&mut user).await.unwrap();
    let reads: Vec<_> = (0..8)
        .map(|_| {
            let store = store.clone();
            tokio::spawn(async move { store.history(None, None, 10).await })
        })
        .collect();
    while bed.sessions("Query").await.len() < 3 {
        tokio::task::yield_now().await;
    }
    renews_at_once(&store, &grant).await;
    let began = Instant::now();
    assert!(matches!(store.renew(&given_back, &renewal(1)).await.unwrap(), Renew::Lost(_)));
    assert!(began.elapsed() < Duration::from_millis(500), "{:?}", began.elapsed());
    sqlx::raw_sql("UNLOCK TABLES").execute(&mut user).await.unwrap();
    for read in reads {
        read.await.unwrap().unwrap();
    }
}

async fn renews_at_once(store: &SqlStore, grant: &Grant) {
    let began = Instant::now();
    assert_eq!(store.renew(grant, &renewal(1)).await.unwrap(), Renew::Extended);
    assert!(began.elapsed() < Duration::from_millis(500), "{:?}", began.elapsed());
}

/// However many leases a node holds, it has no more connections than it was given.
async fn a_crowd_of_renewals_keeps_to_the_limit_of_connections(server: Server) {
    let Some(bed) = Bed::new(server).await else { return };
    let proxy = Proxy::before(address(&bed.url)).await;
    let mut options = MySqlOptions::from_url(&through(&bed.url, proxy.port)).unwrap();
    options.naming = bed.options().naming;
    options.max_connections = 3;
    let store = MySqlStore::connect(options).await.unwrap().sql().clone();
    let opened = || proxy.opened.load(std::sync::atomic::Ordering::SeqCst);
    let before = opened();
    let mut grants = Vec::new();
    for number in 0..40 {
        grants.push(granted(store.try_acquire(&claim(&format!("l{number}"), LONG)).await.unwrap()));
    }
    let renewals: Vec<_> = grants
        .into_iter()
        .map(|grant| {
            let store = store.clone();
            tokio::spawn(async move { store.renew(&grant, &renewal(1)).await })
        })
        .collect();
    for renewal in renewals {
        assert_eq!(renewal.await.unwrap().unwrap(), Renew::Extended);
    }
    assert!(opened() - before <= 3, "{} connections", opened() - before);
}

/// A server that ends all sessions (a restart) costs at most the calls under way.
async fn ended_sessions_are_replaced(server: Server) {
    let Some(bed) = Bed::new(server).await else { return };
    let store = bed.sql().await;
    let grant = granted(store.try_acquire(&claim("job", LONG)).await.unwrap());
    assert!(bed.kill("%").await >= 1);
    // passes time: a connection is asked whether it lives
    tokio::time::sleep(NOT_FRESH).await;
    assert_eq!(store.renew(&grant, &renewal(1)).await.unwrap(), Renew::Extended);
}

/// Even where none is asked whether it lives, one call finds out for all.
async fn one_ended_session_costs_one_call_at_most(server: Server) {
    let Some(bed) = Bed::new(server).await else { return };
    let store = bed.sql().await;
    let driver = store.driver();
    let mut lent = Vec::new();
    for _ in 0..8 {
        lent.push(driver.lend(tenure_sql::Turn::Traffic).await.unwrap());
    }
    let ids = bed.sessions("%").await;
    let mut root = bed.sandbox.user().await;
    lent.into_iter().for_each(|lent| lent.give_back());
    for id in ids {
        kill(&mut root, id).await;
    }
    let failed = store.observe(&name("x")).await.is_err();
    eprintln!("{server:?}: the first call failed: {failed}");
    for _ in 0..8 {
        store.observe(&name("x")).await.unwrap();
    }
}

/// The server ends connections that sit idle; so that a frozen program holds no row for long.
async fn a_session_that_was_idle_for_long_is_replaced(server: Server) {
    let Some(bed) = Bed::new(server).await else { return };
    let mut options = bed.options();
    (options.lock_timeout, options.statement_timeout) = (Duration::from_millis(500), Duration::from_secs(1));
    let store = MySqlStore::connect(options).await.unwrap().sql().clone();
    let grant = granted(store.try_acquire(&claim("job", LONG)).await.unwrap());
    assert_eq!(bed.sessions("%").await.len(), 1);
    let began = Instant::now();
    while !bed.sessions("%").await.is_empty() {
        assert!(began.elapsed() < Duration::from_secs(5), "the server leaves it");
        // passes time: between two looks
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert_eq!(store.renew(&grant, &renewal(1)).await.unwrap(), Renew::Extended);
}

async fn a_session_ended_in_the_middle_of_a_statement_is_replaced(server: Server) {
    let Some(bed) = Bed::new(server).await else { return };
    let store = bed.sql().await;
    let grant = granted(store.try_acquire(&claim("job", LONG)).await.unwrap());
    let mut holding = holding(&bed, "leases", "true").await;
    let (renewing, renewed) = (store.clone(), grant.clone());
    let renew = tokio::spawn(async move { renewing.renew(&renewed, &renewal(1)).await });
    while bed.kill("Query").await == 0 {}
    let answer = renew.await.unwrap();
    assert!(
        matches!(answer, Err(StoreError::Unreachable { .. } | StoreError::Busy { .. })),
        "an answer that may have been is none: {answer:?}"
    );
    holding.execute("ROLLBACK").await.unwrap();
    assert_eq!(store.renew(&grant, &renewal(2)).await.unwrap(), Renew::Extended);
}

/// It passes, and so it is no reason to give up.
async fn too_many_connections_are_busy_and_no_refusal(server: Server) {
    let Some(bed) = Bed::new(server).await else { return };
    let user = &bed.user;
    bed.root(format!("ALTER USER '{user}'@'%' WITH MAX_USER_CONNECTIONS 1")).await;
    let options: sqlx::mysql::MySqlConnectOptions = bed.url.parse().unwrap();
    let taken = sqlx::mysql::MySqlConnection::connect_with(&options).await.unwrap();
    let error = MySqlStore::connect(bed.options()).await.unwrap_err();
    assert!(matches!(error, StoreError::Busy { .. }) && error.is_transient(), "{error:?}");
    drop(taken);
}

/// A waiting node costs one statement per look, and no lock.
async fn a_look_at_a_held_lease_takes_no_lock(server: Server) {
    let Some(bed) = Bed::new(server).await else { return };
    let store = bed.sql().await;
    granted(store.try_acquire(&claim("job", LONG)).await.unwrap());
    let _leases = holding(&bed, "leases", "true").await;
    let _fences = holding(&bed, "fences", "true").await;
    let began = Instant::now();
    let answer = store.try_acquire(&claim("job", LONG)).await.unwrap();
    assert!(matches!(answer, Acquire::Held(_)) && began.elapsed() < Duration::from_millis(500));
}

/// Someone alters the table: the server's own wait for that is a day long.
async fn a_table_that_is_locked_is_busy_in_time(server: Server) {
    let Some(bed) = Bed::new(server).await else { return };
    let mut options = bed.options();
    options.lock_timeout = Duration::from_secs(1);
    let store = MySqlStore::connect(options).await.unwrap().sql().clone();
    let grant = granted(store.try_acquire(&claim("job", LONG)).await.unwrap());
    let mut user = bed.sandbox.user().await;
    let lock = format!("LOCK TABLES {} WRITE", bed.sandbox.table("leases"));
    sqlx::raw_sql(AssertSqlSafe(lock)).execute(&mut user).await.unwrap();
    let began = Instant::now();
    let answer = store.renew(&grant, &renewal(1)).await;
    assert!(matches!(answer, Err(StoreError::Busy { .. })), "{answer:?}");
    assert!(began.elapsed() < Duration::from_secs(3), "{:?}", began.elapsed());
    sqlx::raw_sql("UNLOCK TABLES").execute(&mut user).await.unwrap();
    assert_eq!(store.renew(&grant, &renewal(2)).await.unwrap(), Renew::Extended);
}

/// Not everyone may read everything: a user without rights is refused, which waiting does not change.
async fn a_user_without_rights_is_refused(server: Server) {
    let Some(sandbox) = Sandbox::new(server).await else { return };
    let other = format!("SELECT ON {}", sandbox.table("schema"));
    let Some(bed) = Bed::with(sandbox, &other).await else { return };
    let error = bed.sql().await.observe(&name("x")).await.unwrap_err();
    assert!(matches!(error, StoreError::Refused { .. }) && !error.is_transient(), "{error:?}");
}

/// The rights that the docs name are enough for everything but migrations.
async fn few_rights_are_enough_to_run(server: Server) {
    let Some(sandbox) = Sandbox::new(server).await else { return };
    let rights = [
        ("SELECT, INSERT, UPDATE", "leases"),
        ("SELECT, INSERT, UPDATE", "fences"),
        ("SELECT, INSERT", "lease_history"),
        ("INSERT", "audit"),
        ("SELECT", "schema"),
    ];
    let Some(bed) = Bed::with(sandbox, "").await else { return };
    for (right, table) in rights {
        bed.root(format!("GRANT {right} ON {} TO '{}'@'%'", bed.sandbox.table(table), bed.user)).await;
    }
    let store = bed.store().await;
    let leases = store.sql();
    let grant = granted(leases.try_acquire(&claim("job", LONG)).await.unwrap());
    let options: sqlx::mysql::MySqlConnectOptions = bed.url.parse().unwrap();
    let mut user = sqlx::mysql::MySqlConnection::connect_with(&options).await.unwrap();
    let mut transaction = user.begin().await.unwrap();
    store.fencing().check(&mut transaction, &grant.fence()).await.unwrap();
    transaction.commit().await.unwrap();
    leases.renew(&grant, &renewal(1)).await.unwrap();
    leases.revoke(&grant.name, "op", false).await.unwrap();
    leases.release(&grant).await.unwrap();
    leases.sweep().await.unwrap();
    assert_eq!(leases.history(None, None, 10).await.unwrap().len(), 2);
    let session = leases.presence().unwrap().open(unique(), Duration::from_secs(5)).await.unwrap();
    session.ping().await.unwrap();
    session.close().await;
    store.session_locks().await.unwrap();
}

/// The store works from a runtime that is not its own, and goes on when that one has ended.
async fn connections_outlive_the_runtimes_of_callers(server: Server) {
    let Some(bed) = Bed::new(server).await else { return };
    let options = bed.options();
    let test = std::thread::spawn(move || {
        let runtime =
            || tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let home = runtime();
        let store = home.block_on(MySqlStore::connect(options)).unwrap().sql().clone();
        let claim = claim("job", LONG);
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
    });
    tokio::task::spawn_blocking(move || test.join()).await.unwrap().expect("no panic");
}
