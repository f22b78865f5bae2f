//! A connection past Tenure to a server of MySQL or MariaDB, as a program of the user's own would have it.

use sqlx::mysql::{MySqlConnectOptions, MySqlSslMode};
use sqlx::{ConnectOptions as _, MySqlConnection};

use crate::output::Failure;

/// Whether the URL names such a server.
pub(crate) fn is_named_by(url: &str) -> bool {
    matches!(url.split(':').next(), Some("mysql" | "mariadb"))
}

/// How the server is reached. Without TLS unless the URL asks for it, as Tenure has it on the same machine.
pub(crate) fn options(url: &str) -> Result<MySqlConnectOptions, Failure> {
    // What is wrong with it was told when Tenure read it. The driver's own words may repeat a password.
    let unusable = || Failure::Usage("the MySQL URL cannot be read".into());
    let mut parsed = url::Url::parse(url).map_err(|_| unusable())?;
    let asks_for_tls = parsed.query_pairs().any(|(key, _)| matches!(&*key, "ssl-mode" | "sslmode"));
    if parsed.scheme() == "mariadb" {
        parsed = url::Url::parse(&url.replacen("mariadb", "mysql", 1)).map_err(|_| unusable())?;
    }
    let options = MySqlConnectOptions::from_url(&parsed).map_err(|_| unusable())?;
    Ok(match asks_for_tls {
        true => options,
        false => options.ssl_mode(MySqlSslMode::Disabled),
    }
    .disable_statement_logging())
}

/// Opens one.
pub(crate) async fn connect(options: &MySqlConnectOptions) -> Result<MySqlConnection, Failure> {
    options.connect().await.map_err(failed)
}

/// Says what the server said. Other errors of the driver may hold its configuration: of those only the kind is told.
pub(crate) fn failed(error: sqlx::Error) -> Failure {
    let message = match &error {
        sqlx::Error::Database(db) => db.message().to_owned(),
        sqlx::Error::Io(error) => error.to_string(),
        _ => "the connection failed".into(),
    };
    Failure::Failed(format!("mysql: {message}"))
}
