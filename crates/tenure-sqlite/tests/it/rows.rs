//! Rows that no version of Tenure wrote, and looks at many rows.

use std::time::Duration;

use tenure_core::StoreError;
use tenure_core::contract::{LeaseAdmin, LeaseRegistry, LeaseStore};
use tenure_core::lease::Cause;
use tenure_core::registry::{Entry, Recorded};

use crate::backend::{SqliteFile, claim, lease, take, unique};

const TTL: Duration = Duration::from_secs(6);

#[tokio::test]
async fn a_row_with_nonsense_is_an_error_that_names_the_column() {
    let file = SqliteFile::start().await;
    let store = file.connect().await;
    take(&store, "a", TTL).await;
    for (column, value) in
        [("incarnation", "'CANARY'"), ("claim", "''"), ("pid", "-1"), ("presence", "'CANARY'")]
    {
        file.raw().execute(&format!("update tenure_leases set {column} = {value}"), []).unwrap();
        let error = store.try_acquire(&claim("a", "b", TTL)).await.unwrap_err();
        assert!(matches!(error, StoreError::Corrupt { .. }), "{error}");
        assert!(error.to_string().contains(column), "{error}");
        assert!(!format!("{error:?}").contains("CANARY"));
        let good = "update tenure_leases set incarnation = printf('%032d', 1), claim = incarnation, pid = 1, presence = null";
        file.raw().execute(good, []).unwrap();
        file.raw().execute("update tenure_leases set claim = printf('%032d', 1)", []).unwrap();
    }
}

#[tokio::test]
async fn a_revocation_is_audited_and_a_vain_one_is_not() {
    let file = SqliteFile::start().await;
    let store = file.connect().await;
    take(&store, "a", TTL).await;
    store.revoke(&lease("nobody"), "ann", true).await.unwrap();
    store.revoke(&lease("a"), "ann", false).await.unwrap();
    store.revoke(&lease("a"), &"x".repeat(5000), true).await.unwrap();
    let connection = file.raw();
    let mut statement =
        connection.prepare("select actor, action, subject, detail from tenure_audit").unwrap();
    let lines = statement.query_map([], |row| {
        Ok((
            row.get::<_, String>(0)?,
            row.get::<_, String>(1)?,
            row.get::<_, String>(2)?,
            row.get::<_, String>(3)?,
        ))
    });
    let lines: Vec<_> = lines.unwrap().map(Result::unwrap).collect();
    assert_eq!(lines.len(), 2);
    assert_eq!(lines[0], ("ann".into(), "lease.revoke".into(), "a".into(), "term 1 of node".into()));
    assert_eq!((lines[1].0.len(), lines[1].1.as_str()), (200, "lease.revoke.force"));
}

#[tokio::test]
async fn history_is_newest_first_of_one_lease_and_of_all() {
    let file = SqliteFile::start().await;
    let store = file.connect().await;
    for name in ["a", "b", "a"] {
        let grant = take(&store, name, TTL).await;
        store.release(&grant).await.unwrap();
    }
    let of_a = store.history(Some(&lease("a")), None, 3).await.unwrap();
    let seen: Vec<_> = of_a.iter().map(|change| (change.term.get(), change.cause)).collect();
    assert_eq!(seen, [(2, Cause::Released), (2, Cause::Acquired), (1, Cause::Released)]);
    let all = store.history(None, None, 100).await.unwrap();
    assert_eq!(all.len(), 6);
    assert_eq!((all[2].name.as_str(), all[2].cause), ("b", Cause::Released));
}

#[tokio::test]
async fn a_sweep_stamps_every_forgotten_row_and_no_lease_of_its_own() {
    let file = SqliteFile::start().await;
    let store = file.connect().await;
    let own = take(&store, "own", Duration::from_millis(1)).await;
    let entry = |name: String| Entry {
        name: lease(&name),
        node: own.node.clone(),
        claim: unique(),
        backend: "session".into(),
        kind: None,
        origin: None,
    };
    // More than one batch; the last one lives.
    for at in 0..501 {
        let recorded = store.record(&entry(format!("dead-{at}")), Duration::ZERO).await.unwrap();
        assert!(matches!(recorded, Recorded::At(_)));
    }
    store.record(&entry("living".into()), Duration::from_secs(60)).await.unwrap();
    // passes time: the holdings become stale
    tokio::time::sleep(Duration::from_millis(2)).await;
    assert_eq!(store.sweep().await.unwrap(), 501);
    assert_eq!(store.sweep().await.unwrap(), 0);
    assert!(store.observe(&lease("own")).await.unwrap().unwrap().released_at.is_none());
    assert!(store.observe(&lease("living")).await.unwrap().unwrap().released_at.is_none());
}
