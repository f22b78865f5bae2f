//! No error, log or debug text holds the password, whatever goes wrong.

use std::time::Duration;

use tenure_core::StoreError;
use tenure_postgres::{PostgresOptions, PostgresStore};

use crate::sandbox::{Mode, Sandbox};

const CANARY: &str = "c4nary-pa55";

/// Every text that an error can be turned into.
fn texts(error: &StoreError) -> String {
    let mut text = format!("{error} {error:?} {error:#?}");
    let mut cause = std::error::Error::source(error);
    while let Some(inner) = cause {
        text += &format!(" {inner} {inner:?}");
        cause = inner.source();
    }
    text
}

async fn refusal(url: &str) -> StoreError {
    let mut options = PostgresOptions::from_url(url).expect("a URL");
    options.connect_timeout = Duration::from_millis(700);
    assert!(!format!("{options:?}").contains(CANARY));
    let error = PostgresStore::connect(options).await.expect_err("a refusal");
    assert!(!texts(&error).contains(CANARY), "{error:?}");
    error
}

/// Puts a user, the canary and a database into a test URL.
fn with(url: &str, user: &str, database: &str) -> String {
    let (_, address) = url.split_once("://").unwrap();
    let address = address.rsplit_once('@').map_or(address, |(_, address)| address);
    let (host, _) = address.split_once('/').unwrap();
    format!("postgres://{user}:{CANARY}@{host}/{database}")
}

#[tokio::test]
async fn a_server_that_is_not_there_is_unreachable() {
    let error = refusal(&format!("postgres://u:{CANARY}@127.0.0.1:1/d")).await;
    assert!(
        matches!(&error, StoreError::Unreachable { store, .. } if store == "postgres://127.0.0.1:1/d"),
        "{error}"
    );
    let error = refusal(&format!("postgres://u:{CANARY}@no-such-host.invalid/d")).await;
    assert!(matches!(error, StoreError::Unreachable { .. }), "{error}");
}

/// A listener that accepts and says nothing: a dead proxy.
#[tokio::test]
async fn a_silent_server_is_given_up_in_time() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let began = std::time::Instant::now();
    let error = refusal(&format!("postgres://u:{CANARY}@127.0.0.1:{port}/d")).await;
    assert!(matches!(error, StoreError::Unreachable { .. }), "{error}");
    assert!(began.elapsed() < Duration::from_secs(3), "{:?}", began.elapsed());
}

/// How long to try is the URL's to say.
#[tokio::test]
async fn the_connect_timeout_of_the_url_is_kept_to() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let url = format!("postgres://u@127.0.0.1:{port}/d?connect_timeout=1");
    let began = std::time::Instant::now();
    let error = PostgresStore::connect(PostgresOptions::from_url(&url).unwrap()).await.unwrap_err();
    assert!(matches!(error, StoreError::Unreachable { .. }), "{error}");
    let took = began.elapsed();
    assert!(took >= Duration::from_millis(950) && took < Duration::from_secs(3), "{took:?}");
}

#[tokio::test]
async fn missing_databases_and_roles_are_refused() {
    for mode in [Mode::Direct, Mode::Pooled] {
        let Some(sandbox) = Sandbox::empty(mode) else { return };
        let error = refusal(&with(&sandbox.url, "postgres", "no_such_database")).await;
        assert!(matches!(error, StoreError::Refused { .. }), "{mode:?}: {error:?}");
    }
    let Some(sandbox) = Sandbox::empty(Mode::Direct) else { return };
    let error = refusal(&with(&sandbox.url, "no_such_role", "postgres")).await;
    assert!(matches!(error, StoreError::Refused { .. }), "{error:?}");
}

/// On a server that asks this role for its password, where there is one; what a server says to a wrong password is
/// told by a small stand-in as well.
#[tokio::test]
async fn a_wrong_password_is_refused() {
    wrong_password_by_a_stand_in(&format!("u:{CANARY}")).await;
    let Ok(url) = std::env::var("TENURE_TEST_POSTGRES_AUTH_URL") else { return };
    let right = PostgresOptions::from_url(&url).unwrap();
    PostgresStore::connect(right).await.expect("the right password opens");
    let (user, _) = url.trim_start_matches("postgres://").split_once(':').unwrap();
    let (_, database) = url.rsplit_once('/').unwrap();
    let error = refusal(&with(&url, user, database)).await;
    assert!(matches!(&error, StoreError::Refused { message, .. } if message.contains("28P01")), "{error:?}");
}

/// A URL that says nothing of a password: this test once more, in a process with another environment.
#[tokio::test]
async fn a_password_of_the_environment_is_used_and_never_shown() {
    const PART: &str = "TENURE_TEST_PASSWORD_PART";
    if std::env::var_os(PART).is_some() {
        return wrong_password_by_a_stand_in("u").await;
    }
    let me = "secrets::a_password_of_the_environment_is_used_and_never_shown";
    let mut again = std::process::Command::new(std::env::current_exe().unwrap());
    let again = again.args(["--exact", me]).env(PART, "1").env("PGPASSWORD", CANARY).output().unwrap();
    assert!(again.status.success(), "{}", String::from_utf8_lossy(&again.stdout));
}

/// `login` is what stands before the URL's `@`.
async fn wrong_password_by_a_stand_in(login: &str) {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        let (mut socket, _) = listener.accept().await.unwrap();
        let mut buffer = [0; 1024];
        let _ = socket.read(&mut buffer).await.unwrap();
        // Asks for the password in clear text, takes it, and says no.
        socket.write_all(&[b'R', 0, 0, 0, 8, 0, 0, 0, 3]).await.unwrap();
        let n = socket.read(&mut buffer).await.unwrap();
        assert!(buffer[..n].windows(CANARY.len()).any(|window| window == CANARY.as_bytes()));
        let body = b"SFATAL\0VFATAL\0C28P01\0Mpassword authentication failed for user \"u\"\0\0";
        let length = u32::try_from(body.len() + 4).unwrap();
        socket.write_all(b"E").await.unwrap();
        socket.write_all(&length.to_be_bytes()).await.unwrap();
        socket.write_all(body).await.unwrap();
    });
    let error = refusal(&format!("postgres://{login}@127.0.0.1:{port}/d")).await;
    assert!(matches!(&error, StoreError::Refused { message, .. } if message.contains("28P01")), "{error:?}");
}

#[tokio::test]
async fn a_server_without_tls_is_refused_when_tls_is_asked_for() {
    let Some(sandbox) = Sandbox::empty(Mode::Pooled) else { return };
    let error = refusal(&format!("{}?sslmode=require", with(&sandbox.url, "postgres", "postgres"))).await;
    assert!(matches!(&error, StoreError::Refused { message, .. } if message.contains("TLS")), "{error:?}");
    let error = refusal(&format!(
        "{}?sslmode=verify-full&sslrootcert=/none",
        with(&sandbox.url, "postgres", "postgres")
    ))
    .await;
    assert!(
        matches!(&error, StoreError::Refused { message, .. } if message.contains("sslrootcert")),
        "{error:?}"
    );
}
