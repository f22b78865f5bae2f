//! A connection past Tenure to a server of MySQL or MariaDB, as a program of the user's own would have it.

use sqlx::mysql::{MySqlConnectOptions, MySqlSslMode};
use sqlx::{ConnectOptions as _, MySqlConnection};
use tenure::mysql::{MySqlOptions, TlsMode};

use crate::output::Failure;

/// Whether the URL names such a server.
pub(crate) fn is_named_by(url: &str) -> bool {
    matches!(url.split(':').next(), Some("mysql" | "mariadb"))
}

/// How the server is reached: as Tenure reaches it.
pub(crate) fn options(url: &str) -> Result<MySqlConnectOptions, Failure> {
    // Tenure says what is wrong with a URL. The driver's own words may repeat a password.
    let tenures = MySqlOptions::from_url(url)?;
    let unusable = || Failure::Usage("the MySQL URL cannot be read".into());
    let parsed = url::Url::parse(url).map_err(|_| unusable())?;
    let mut options = MySqlConnectOptions::from_url(&parsed).map_err(|_| unusable())?;
    if let (None, Ok(password)) = (parsed.password(), std::env::var("MYSQL_PWD")) {
        options = options.password(&password);
    }
    let mode = match tenures.tls {
        TlsMode::Disabled => MySqlSslMode::Disabled,
        TlsMode::Preferred => MySqlSslMode::Preferred,
        TlsMode::Required => MySqlSslMode::Required,
        TlsMode::VerifyIdentity => MySqlSslMode::VerifyIdentity,
    };
    Ok(options.ssl_mode(mode).disable_statement_logging())
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
