//! Migrations, by this program and by hand.

use std::time::Duration;

use tenure_core::StoreError;
use tenure_core::contract::{Migrated, Schema};
use tenure_core::naming::{Identifier, Naming};
use tenure_sqlite::{SqliteOptions, SqliteStore};

use crate::backend::{SqliteFile, take};

#[tokio::test]
async fn migrating_twice_changes_nothing() {
    let file = SqliteFile::nothing_yet();
    let store = file.connect().await;
    assert_eq!(store.migrate().await.unwrap(), Migrated { from: 0, to: 1 });
    assert_eq!(store.migrate().await.unwrap(), Migrated { from: 1, to: 1 });
    store.verify_schema().await.unwrap();
}

#[tokio::test]
async fn c39_a_newer_schema_is_refused_by_number() {
    let file = SqliteFile::start().await;
    file.raw().execute("insert into tenure_schema values (9, 'the future', 0)", []).unwrap();
    let store = file.connect().await;
    for error in [store.migrate().await.unwrap_err(), store.verify_schema().await.unwrap_err()] {
        assert!(matches!(error, StoreError::SchemaNewer { found: 9, known: 1, .. }), "{error}");
    }
}

#[tokio::test]
async fn what_is_printed_for_a_dba_makes_the_same_schema() {
    let printed = SqliteFile::nothing_yet();
    let script = printed.connect().await.migrations();
    printed.raw().execute_batch(&script).unwrap();
    printed.connect().await.verify_schema().await.unwrap();
    take(&printed.connect().await, "a", Duration::from_secs(6)).await;

    let migrated = SqliteFile::start().await;
    let schema = |file: &SqliteFile| -> Vec<(String, Option<String>)> {
        let connection = file.raw();
        let mut statement = connection.prepare("select name, sql from sqlite_schema order by name").unwrap();
        let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
        rows.map(Result::unwrap).collect()
    };
    assert_eq!(schema(&printed), schema(&migrated));
    let noted =
        "select abs(applied_at - (julianday('now') - 2440587.5) * 86400000000) < 60000000 from tenure_schema";
    for file in [&printed, &migrated] {
        assert!(file.raw().query_row(noted, [], |row| row.get::<_, bool>(0)).unwrap());
    }
}

#[tokio::test]
async fn two_prefixes_share_a_file_without_seeing_each_other() {
    let file = SqliteFile::start().await;
    let naming = Naming { prefix: Identifier::new("prefix", "other_").unwrap(), ..Naming::default() };
    let other =
        SqliteStore::connect(SqliteOptions { naming, ..SqliteOptions::new(file.path()) }).await.unwrap();
    assert_eq!(other.migrate().await.unwrap(), Migrated { from: 0, to: 1 });
    take(&other, "a", Duration::from_secs(6)).await;
    take(&file.connect().await, "a", Duration::from_secs(6)).await;
}
