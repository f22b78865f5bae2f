//! TLS: encrypted without a look at the certificate, and encrypted with one.
//!
//! Runs where the test server has `ssl = on` with a certificate for `localhost` that is not itself an authority.

use std::io::Write as _;

use tenure_core::StoreError;
use tenure_postgres::{PostgresOptions, PostgresStore};

use crate::sandbox::{Mode, Sandbox, say};

/// The server's own certificate as a file to trust; `None`, said aloud, where the server has none.
async fn certificate(sandbox: &Sandbox) -> Option<std::path::PathBuf> {
    let client = sandbox.superuser().await;
    let on: String = client.query_one("SHOW ssl", &[]).await.unwrap().get(0);
    if on != "on" {
        say("THE TEST SERVER HAS NO TLS: tests of TLS pass without having been run");
        return None;
    }
    let sql = "SELECT pg_read_file(current_setting('ssl_cert_file'))";
    let pem: String = client.query_one(sql, &[]).await.unwrap().get(0);
    let path = std::env::temp_dir().join(format!("tenure-{}.pem", sandbox.prefix));
    std::fs::File::create(&path).unwrap().write_all(pem.as_bytes()).unwrap();
    Some(path)
}

async fn connect(sandbox: &Sandbox, host: &str, query: &str) -> Result<(), StoreError> {
    let (user, address) = sandbox.url.rsplit_once('@').unwrap();
    let (_, rest) = address.split_once(':').unwrap();
    let url = format!("{user}@{host}:{rest}?{query}");
    let mut options = PostgresOptions::from_url(&url).unwrap();
    options.application_name = sandbox.prefix.clone();
    let store = PostgresStore::connect(options).await?;
    let sql = "SELECT count(*) FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) \
               WHERE application_name LIKE $1 AND NOT ssl";
    // The pool opens its first connection on the first call.
    let _ = tenure_core::contract::Schema::verify_schema(&store).await;
    let pattern = format!("{}%", sandbox.prefix);
    let plain: i64 = sandbox.superuser().await.query_one(sql, &[&pattern]).await.unwrap().get(0);
    assert_eq!(plain, 0, "a connection is not encrypted");
    Ok(())
}

#[tokio::test]
async fn require_encrypts_and_verify_full_checks_who_answers() {
    let Some(sandbox) = Sandbox::empty(Mode::Direct) else { return };
    let Some(trusted) = certificate(&sandbox).await else { return };
    let file = trusted.clone();
    let trusted = format!("sslmode=verify-full&sslrootcert={}", trusted.display());
    connect(&sandbox, "127.0.0.1", "sslmode=require").await.unwrap();
    connect(&sandbox, "127.0.0.1", "sslmode=prefer").await.unwrap();
    connect(&sandbox, "localhost", &trusted).await.unwrap();
    for (host, query) in [("127.0.0.1", trusted.as_str()), ("localhost", "sslmode=verify-full")] {
        let error = connect(&sandbox, host, query).await.unwrap_err();
        assert!(
            matches!(&error, StoreError::Refused { message, .. } if message.contains("certificate")),
            "{error:?}"
        );
        assert!(!error.is_transient());
    }
    std::fs::remove_file(file).unwrap();
}
