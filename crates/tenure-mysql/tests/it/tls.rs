//! TLS: encrypted without a look at the certificate, and encrypted with one.
//!
//! A server of MySQL makes itself a certificate, which names no host; one of MariaDB 10.11 has none unless it was given one.
//! `TENURE_TEST_MYSQL_CA` (and `…_MARIADB_CA`) may name the file of its authority. If its certificate names `localhost`,
//! as `TENURE_TEST_MYSQL_TLS_LOCALHOST` (and `…_MARIADB_TLS_LOCALHOST`) says, that is checked as well.

use sqlx::Row as _;
use tenure_core::StoreError;
use tenure_core::contract::Schema as _;
use tenure_mysql::{MySqlOptions, MySqlStore};

use crate::bed::{Bed, on_both};
use crate::sandbox::{Server, say};

on_both!(required_encrypts_and_verify_identity_checks_who_answers);

/// Connects; the user's sessions are encrypted if `encrypted`.
async fn connect(bed: &Bed, host: &str, query: &str, encrypted: bool) -> Result<(), StoreError> {
    let (login, address) = bed.url.rsplit_once('@').unwrap();
    let (_, rest) = address.split_once(':').unwrap();
    let url = format!("{login}@{host}:{rest}?{query}");
    let store = MySqlStore::connect(MySqlOptions::from_url(&url)?).await?;
    // The pool opens its first connection on the first call. What each session is, only it can say on both servers.
    let _ = store.sql().verify_schema().await;
    let driver = store.sql().driver();
    let mut lent = driver.lend(tenure_sql::Turn::Work).await?;
    let call = tenure_sql::Call::new("SHOW SESSION STATUS LIKE 'Ssl_cipher'", []);
    let answer = lent.run(&call).await.unwrap();
    let cipher = tenure_sql::Columns::text(&answer.rows[0], "Value").unwrap().unwrap_or_default();
    assert_eq!(!cipher.is_empty(), encrypted, "{query}: {cipher:?}");
    Ok(())
}

async fn has_tls(bed: &Bed) -> bool {
    let mut root = bed.sandbox.user().await;
    let rows = sqlx::query("SHOW GLOBAL VARIABLES LIKE 'have_ssl'").fetch_all(&mut root).await.unwrap();
    // MySQL 9 has forgotten the variable, and always has TLS.
    rows.first().is_none_or(|row| row.get::<String, _>(1) == "YES")
}

async fn required_encrypts_and_verify_identity_checks_who_answers(server: Server) {
    let Some(bed) = Bed::empty(server).await else { return };
    connect(&bed, "127.0.0.1", "ssl-mode=DISABLED", false).await.unwrap();
    if !has_tls(&bed).await {
        connect(&bed, "127.0.0.1", "ssl-mode=PREFERRED", false).await.unwrap();
        for mode in ["REQUIRED", "VERIFY_IDENTITY"] {
            let error = connect(&bed, "127.0.0.1", &format!("ssl-mode={mode}"), true).await.unwrap_err();
            assert!(matches!(error, StoreError::Refused { .. }), "{error:?}");
        }
        return say(&format!("THE TEST SERVER {server:?} HAS NO TLS: only that it is refused was tested"));
    }
    connect(&bed, "127.0.0.1", "ssl-mode=PREFERRED", true).await.unwrap();
    connect(&bed, "127.0.0.1", "ssl-mode=REQUIRED", true).await.unwrap();
    let refused = async |host: &str, query: &str| {
        let error = connect(&bed, host, query, true).await.unwrap_err();
        assert!(
            matches!(&error, StoreError::Refused { message, .. } if message.contains("certificate")),
            "{query}: {error:?}"
        );
        assert!(!error.is_transient());
    };
    refused("localhost", "ssl-mode=VERIFY_IDENTITY").await;
    let named = if server == Server::MySql { "TENURE_TEST_MYSQL" } else { "TENURE_TEST_MARIADB" };
    let variable = format!("{named}_CA");
    let Ok(file) = std::env::var(&variable) else {
        return say(&format!("{variable} IS NOT SET: no certificate was checked against its authority"));
    };
    let trusted = format!("ssl-mode=VERIFY_IDENTITY&ssl-ca={file}");
    refused("127.0.0.1", &trusted).await;
    if std::env::var(format!("{named}_TLS_LOCALHOST")).is_ok() {
        connect(&bed, "localhost", &trusted, true).await.unwrap();
    } else {
        refused("localhost", &trusted).await;
    }
}
