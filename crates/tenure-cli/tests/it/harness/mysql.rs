//! What tests do on MySQL and MariaDB behind the binary's back.

use sqlx::mysql::{MySqlConnectOptions, MySqlSslMode};
use sqlx::{AssertSqlSafe, ConnectOptions as _, Connection as _, MySqlConnection, Row as _};
use tenure::core::naming::Identifier;
use tenure::mysql::{MySqlOptions, MySqlStore};
use tenure::{Fence, FenceError};

/// A connection of the test's own.
pub(crate) async fn connect(url: &str) -> Result<MySqlConnection, String> {
    let options: MySqlConnectOptions = url.parse().map_err(told)?;
    options.ssl_mode(MySqlSslMode::Disabled).disable_statement_logging().connect().await.map_err(told)
}

/// Runs statements.
pub(super) async fn execute(url: &str, sql: &str) -> Result<(), String> {
    let mut connection = connect(url).await?;
    sqlx::raw_sql(AssertSqlSafe(sql)).execute(&mut connection).await.map_err(told)?;
    connection.close().await.map_err(told)
}

/// One number.
pub(super) async fn count(url: &str, sql: &str) -> Result<i64, String> {
    let mut connection = connect(url).await?;
    let row = sqlx::query(AssertSqlSafe(sql)).fetch_one(&mut connection).await.map_err(told)?;
    let count = row.try_get_unchecked(0).map_err(told)?;
    connection.close().await.map_err(told)?;
    Ok(count)
}

/// Whether a write under this fence would be let through now.
pub(super) async fn check(url: &str, prefix: &str, fence: &Fence) -> Result<(), FenceError> {
    let mut options = MySqlOptions::from_url(url).unwrap();
    options.naming.prefix = Identifier::new("prefix", prefix).unwrap();
    options.connect_timeout = super::PATIENCE;
    let store = MySqlStore::connect(options).await.unwrap();
    let mut connection = connect(url).await.unwrap();
    let mut transaction = connection.begin().await.unwrap();
    store.fencing().check(&mut transaction, fence).await
}

/// Ends the sessions of a user. One that has ended by itself meanwhile is no error.
pub(super) async fn end_sessions_of(url: &str, user: &str) -> Result<(), String> {
    let mut connection = connect(url).await?;
    let list = "select id from information_schema.processlist where user = ?";
    let rows = sqlx::query(list).bind(user).fetch_all(&mut connection).await.map_err(told)?;
    for row in rows {
        let session: u64 = row.try_get_unchecked(0).map_err(told)?;
        let _ = sqlx::raw_sql(AssertSqlSafe(format!("kill {session}"))).execute(&mut connection).await;
    }
    connection.close().await.map_err(told)
}

fn told(error: impl std::fmt::Display) -> String {
    error.to_string()
}
