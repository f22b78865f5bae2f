//! No error, log or debug text holds the password, whatever goes wrong.

use std::time::Duration;

use tenure_core::StoreError;
use tenure_mysql::{MySqlOptions, MySqlStore};

use crate::bed::{Bed, as_user, on_both};
use crate::sandbox::{Sandbox, Server};

const CANARY: &str = "c4nary-pa55";

on_both!(
    missing_databases_and_users_are_refused,
    a_wrong_password_is_refused_and_the_right_one_opens,
    a_password_of_the_environment_is_used_and_never_shown,
);

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
    let mut options = MySqlOptions::from_url(url).expect("a URL");
    options.connect_timeout = Duration::from_millis(700);
    assert!(!format!("{options:?}").contains(CANARY));
    let error = MySqlStore::connect(options).await.expect_err("a refusal");
    assert!(!texts(&error).contains(CANARY), "{error:?}");
    error
}

#[tokio::test]
async fn a_server_that_is_not_there_is_unreachable() {
    let error = refusal(&format!("mysql://u:{CANARY}@127.0.0.1:1/d")).await;
    assert!(
        matches!(&error, StoreError::Unreachable { store, .. } if store == "mysql://127.0.0.1:1/d"),
        "{error}"
    );
    let error = refusal(&format!("mysql://u:{CANARY}@no-such-host.invalid/d")).await;
    assert!(matches!(error, StoreError::Unreachable { .. }), "{error}");
}

/// A listener that accepts and says nothing: a dead proxy. How long to try is the URL's to say.
#[tokio::test]
async fn a_silent_server_is_given_up_in_time() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let began = std::time::Instant::now();
    let error = refusal(&format!("mysql://u:{CANARY}@127.0.0.1:{port}/d")).await;
    assert!(matches!(error, StoreError::Unreachable { .. }), "{error}");
    assert!(began.elapsed() < Duration::from_secs(3), "{:?}", began.elapsed());
    let url = format!("mysql://u@127.0.0.1:{port}/d?connect_timeout=1");
    let began = std::time::Instant::now();
    let error = MySqlStore::connect(MySqlOptions::from_url(&url).unwrap()).await.unwrap_err();
    assert!(matches!(error, StoreError::Unreachable { .. }), "{error}");
    let took = began.elapsed();
    assert!(took >= Duration::from_millis(950) && took < Duration::from_secs(3), "{took:?}");
}

async fn missing_databases_and_users_are_refused(server: Server) {
    let Some(sandbox) = Sandbox::empty(server) else { return };
    let url = as_user(&sandbox.url, &format!("no_such_user:{CANARY}"));
    let error = refusal(&url).await;
    assert!(matches!(error, StoreError::Refused { .. }) && !error.is_transient(), "{error:?}");
    let (server, _) = sandbox.url.rsplit_once('/').unwrap();
    let error = refusal(&format!("{server}/no_such_database")).await;
    assert!(matches!(error, StoreError::Refused { .. }), "{error:?}");
}

/// Also where the server asks for the whole password: it goes over TLS by itself, or it is said what to do.
async fn a_wrong_password_is_refused_and_the_right_one_opens(server: Server) {
    let Some(bed) = Bed::new(server).await else { return };
    bed.root(format!("ALTER USER '{}'@'%' IDENTIFIED BY '{CANARY}'", bed.user)).await;
    let error = refusal(&as_user(&bed.url, &format!("{}:not-it", bed.user))).await;
    assert!(matches!(&error, StoreError::Refused { message, .. } if message.contains("1045")), "{error:?}");
    let right = as_user(&bed.url, &format!("{}:{CANARY}", bed.user));
    if server == Server::MySql {
        let error = refusal(&format!("{right}?ssl-mode=DISABLED")).await;
        assert!(
            matches!(&error, StoreError::Refused { message, .. } if message.contains("ssl-mode=REQUIRED")),
            "{error:?}"
        );
    }
    let store = MySqlStore::connect(MySqlOptions::from_url(&right).unwrap()).await.expect("it opens");
    assert!(!format!("{store:?} {store:#?} {:?}", store.sql()).contains(CANARY));
}

/// A URL that says nothing of a password: this test once more, in a process with another environment.
async fn a_password_of_the_environment_is_used_and_never_shown(server: Server) {
    const PART: &str = "TENURE_TEST_PASSWORD_URL";
    if let Ok(url) = std::env::var(PART) {
        MySqlStore::connect(MySqlOptions::from_url(&url).unwrap()).await.expect("it opens");
        return;
    }
    let Some(bed) = Bed::new(server).await else { return };
    bed.root(format!("ALTER USER '{}'@'%' IDENTIFIED BY '{CANARY}'", bed.user)).await;
    let part = if server == Server::MySql { "mysql" } else { "mariadb" };
    let me = format!("secrets::{part}::a_password_of_the_environment_is_used_and_never_shown");
    let again = |password: &str| {
        let mut again = std::process::Command::new(std::env::current_exe().unwrap());
        again.args(["--exact", &me]).env(PART, &bed.url).env("MYSQL_PWD", password).output().unwrap()
    };
    let right = again(CANARY);
    assert!(right.status.success(), "{}", String::from_utf8_lossy(&right.stdout));
    assert!(!again("not-it").status.success());
}
