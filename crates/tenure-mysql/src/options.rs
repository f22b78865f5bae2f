//! How to reach a server of MySQL or MariaDB and how to behave there.
//!
//! The password lives only in the driver's own options. Errors about a URL never repeat any part of it: a password with a
//! stray `@` or `?` turns up in unexpected parts.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use sqlx::mysql::{MySqlConnectOptions, MySqlSslMode};
use tenure_core::StoreError;
use tenure_core::naming::Naming;
use url::Url;

/// The most connections that a pool may be given.
const CONNECTIONS_MAX: u32 = 1000;

/// How to reach a server, and how to behave there.
#[derive(Clone)]
#[non_exhaustive]
pub struct MySqlOptions {
    /// Where the tables live. `tenure_` in the connection's own database.
    pub naming: Naming,
    /// How many connections leases, registry and cluster have at most; presence, watches and session locks have their
    /// own. 5.
    pub max_connections: u32,
    /// How many connections outbox and events have at most, opened when they are first needed. 8.
    pub max_outbox_connections: u32,
    /// How many holders' deaths can be waited for at once, each on a connection of its own; further waits poll. 8.
    pub max_watches: u32,
    /// How long opening a connection may take. 5 s.
    pub connect_timeout: Duration,
    /// How long a claim or an operator's change waits for the row's lock, say behind an open transaction that has
    /// checked a fence, before it answers that the store is busy; the server counts in whole seconds. 2 s.
    pub lock_timeout: Duration,
    /// How long a statement may run. 5 s.
    pub statement_timeout: Duration,
    /// How the connection is protected. `Required` for other hosts. For loopback and sockets `Preferred` if there is a
    /// password, which MySQL takes over a plain connection only while it remembers it, and else `Disabled`.
    pub tls: TlsMode,
    /// Certificates to trust beside the system's, as PEM; for [`TlsMode::VerifyIdentity`].
    pub root_certificate: Option<PathBuf>,
    server: MySqlConnectOptions,
}

/// How a connection is protected, in the words of MySQL.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TlsMode {
    /// Plain text.
    Disabled,
    /// Encrypted if the server can, without looking at its certificate.
    Preferred,
    /// Encrypted, without looking at the server's certificate.
    Required,
    /// Encrypted, and the certificate is checked against trusted roots and the host's name.
    VerifyIdentity,
}

/// Refuses a URL or a setting. The message never repeats what was given: it may hold a password.
fn refuse<T>(message: impl Into<String>) -> Result<T, StoreError> {
    Err(StoreError::Refused { store: "mysql".into(), message: message.into() })
}

impl MySqlOptions {
    /// Reads `mysql://user:password@host:port/database?ssl-mode=…`; `mariadb://` is the same.
    ///
    /// Options: `ssl-mode` (DISABLED, PREFERRED, REQUIRED, VERIFY_IDENTITY), `ssl-ca`, `socket`, `connect_timeout` in
    /// seconds. Without a password there, the environment's `MYSQL_PWD` counts.
    pub fn from_url(text: &str) -> Result<Self, StoreError> {
        let Ok(url) = text.parse::<Url>() else {
            return refuse(
                "the MySQL URL cannot be read; it looks like mysql://user:password@host:port/database, with special \
                 characters of the password percent-encoded",
            );
        };
        if !matches!(url.scheme(), "mysql" | "mariadb") {
            return refuse("the MySQL URL does not begin with mysql://");
        }
        let decoded = |part: &str| {
            url::form_urlencoded::parse(format!("x={}", part.replace('+', "%2B")).as_bytes())
                .next()
                .map(|(_, value)| value.into_owned())
                .unwrap_or_default()
        };
        let mut server = MySqlConnectOptions::new()
            .charset("utf8mb4")
            .pipes_as_concat(false)
            .no_engine_substitution(false);
        let Some(host) = url.host_str().filter(|host| !host.is_empty()) else {
            return refuse("the MySQL URL names no host");
        };
        if host.contains(['@', '?', '#', '%']) {
            return refuse(
                "the host of the MySQL URL cannot be read; an `@` in a password must be written as %40",
            );
        }
        server = server.host(host.trim_matches(['[', ']'])).port(url.port().unwrap_or(3306));
        let database = decoded(url.path().trim_start_matches('/'));
        if database.is_empty() || database.contains('/') {
            return refuse("the MySQL URL names no database; it looks like mysql://user@host/database");
        }
        server = server.database(&database);
        if !url.username().is_empty() {
            server = server.username(&decoded(url.username()));
        }
        let password = url.password().map(decoded).or_else(|| std::env::var("MYSQL_PWD").ok());
        if let Some(password) = &password {
            server = server.password(password);
        }
        let local = matches!(host, "localhost")
            || host.trim_matches(['[', ']']).parse::<std::net::IpAddr>().is_ok_and(|ip| ip.is_loopback())
            || url.query_pairs().any(|(key, _)| key == "socket");
        let mut options = Self {
            naming: Naming::default(),
            max_connections: 5,
            max_outbox_connections: 8,
            max_watches: 8,
            connect_timeout: Duration::from_secs(5),
            lock_timeout: Duration::from_secs(2),
            statement_timeout: Duration::from_secs(5),
            tls: match (local, password.is_some_and(|password| !password.is_empty())) {
                (true, false) => TlsMode::Disabled,
                (true, true) => TlsMode::Preferred,
                (false, _) => TlsMode::Required,
            },
            root_certificate: None,
            server,
        };
        for (key, value) in url.query_pairs() {
            options.take(&key, &value)?;
        }
        options.validate()?;
        Ok(options)
    }

    /// Takes one option from behind the `?`.
    fn take(&mut self, key: &str, value: &str) -> Result<(), StoreError> {
        match key {
            "ssl-mode" | "sslmode" => self.tls = tls_mode(value)?,
            "ssl-ca" => self.root_certificate = Some(PathBuf::from(value)),
            "socket" => self.server = self.server.clone().socket(value),
            "connect_timeout" => match value.parse::<u64>() {
                Ok(seconds) if seconds > 0 => self.connect_timeout = Duration::from_secs(seconds),
                _ => return refuse("connect_timeout in the MySQL URL is not a number of seconds above 0"),
            },
            // The option is not named in the message: behind a stray `?` it may be part of a password.
            _ => {
                return refuse(
                    "the MySQL URL holds an option that is not known; known are ssl-mode, ssl-ca, socket, \
                     connect_timeout (and a `?` in a password must be written as %3F)",
                );
            }
        }
        Ok(())
    }

    /// Checks every field, and every pair that must fit together.
    pub fn validate(&self) -> Result<(), StoreError> {
        let is_pool = |size: u32| (1..=CONNECTIONS_MAX).contains(&size);
        if !is_pool(self.max_connections)
            || !is_pool(self.max_outbox_connections)
            || self.max_watches > CONNECTIONS_MAX
        {
            return refuse(format!(
                "max_connections or max_outbox_connections is not between 1 and {CONNECTIONS_MAX}, or max_watches is \
                 above it"
            ));
        }
        let Self { lock_timeout, statement_timeout, connect_timeout, .. } = self;
        if lock_timeout.as_millis() == 0
            || connect_timeout.as_millis() == 0
            || lock_timeout >= statement_timeout
        {
            return refuse(format!(
                "lock_timeout {lock_timeout:?} is not above 0 and below statement_timeout {statement_timeout:?}, or \
                 connect_timeout {connect_timeout:?} is 0"
            ));
        }
        Ok(())
    }

    /// What errors and logs call this server: no user, no password, no options.
    pub fn label(&self) -> String {
        let host = self.server.get_host();
        let host = if host.contains(':') { format!("[{host}]") } else { host.to_owned() };
        format!(
            "mysql://{host}:{}/{}",
            self.server.get_port(),
            self.server.get_database().unwrap_or_default()
        )
    }

    /// The connection's own database.
    pub(crate) fn database(&self) -> &str {
        self.server.get_database().unwrap_or_default()
    }

    /// The driver's own options. Reads the file of certificates, if there is one.
    pub(crate) fn server(&self) -> Result<MySqlConnectOptions, StoreError> {
        let mode = match self.tls {
            TlsMode::Disabled => MySqlSslMode::Disabled,
            TlsMode::Preferred => MySqlSslMode::Preferred,
            TlsMode::Required => MySqlSslMode::Required,
            TlsMode::VerifyIdentity => MySqlSslMode::VerifyIdentity,
        };
        let server = self.server.clone().ssl_mode(mode);
        match self.root_certificate.as_ref().map(std::fs::read) {
            None => Ok(server),
            Some(Ok(pem)) => Ok(server.ssl_ca_from_pem(pem)),
            Some(Err(error)) => refuse(format!("the file of root certificates cannot be read: {error}")),
        }
    }
}

fn tls_mode(text: &str) -> Result<TlsMode, StoreError> {
    match text.to_ascii_uppercase().replace('-', "_").as_str() {
        "DISABLED" => Ok(TlsMode::Disabled),
        "PREFERRED" => Ok(TlsMode::Preferred),
        "REQUIRED" => Ok(TlsMode::Required),
        "VERIFY_IDENTITY" => Ok(TlsMode::VerifyIdentity),
        "VERIFY_CA" => {
            refuse("ssl-mode=VERIFY_CA is not offered: use VERIFY_IDENTITY, which also checks the host")
        }
        _ => refuse("ssl-mode in the MySQL URL is none of DISABLED, PREFERRED, REQUIRED, VERIFY_IDENTITY"),
    }
}

/// Without the password and without the user.
impl fmt::Debug for MySqlOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MySqlOptions")
            .field("server", &self.label())
            .field("naming", &self.naming)
            .field("max_connections", &self.max_connections)
            .field("max_outbox_connections", &self.max_outbox_connections)
            .field("max_watches", &self.max_watches)
            .field("connect_timeout", &self.connect_timeout)
            .field("lock_timeout", &self.lock_timeout)
            .field("statement_timeout", &self.statement_timeout)
            .field("tls", &self.tls)
            .field("root_certificate", &self.root_certificate)
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CANARY: &str = "c4nary";

    #[test]
    fn the_url_is_read_and_tls_is_on_for_other_hosts() {
        let options = MySqlOptions::from_url("mariadb://u%2Bv:p%40s+s@db.example:6000/a%20b").unwrap();
        assert_eq!(
            (options.label().as_str(), options.tls),
            ("mysql://db.example:6000/a b", TlsMode::Required)
        );
        assert_eq!(options.server.get_username(), "u+v");
        assert!(format!("{:?}", options.server).contains("p@s+s"), "a `+` of a password is a `+`");
        assert_eq!(options.database(), "a b");
        let tls = |url: &str| MySqlOptions::from_url(url).unwrap().tls;
        for local in ["localhost", "127.0.0.1", "[::1]"] {
            assert_eq!(tls(&format!("mysql://u@{local}/app")), TlsMode::Disabled, "{local}");
            assert_eq!(tls(&format!("mysql://u:p@{local}/app")), TlsMode::Preferred, "{local}");
        }
        assert_eq!(tls("mysql://u@db.example/app?socket=/run/s"), TlsMode::Disabled);
        let full = MySqlOptions::from_url("mysql://h/d?ssl-mode=verify-identity&ssl-ca=/r.pem").unwrap();
        assert_eq!((full.tls, full.root_certificate), (TlsMode::VerifyIdentity, Some("/r.pem".into())));
        let advice = MySqlOptions::from_url("mysql://h/d?ssl-mode=VERIFY_CA").unwrap_err().to_string();
        assert!(advice.contains("VERIFY_IDENTITY"), "{advice}");
    }

    #[test]
    fn the_connect_timeout_of_the_url_counts() {
        let timeout = |url: &str| MySqlOptions::from_url(url).map(|options| options.connect_timeout);
        assert_eq!(timeout("mysql://h/d").unwrap(), Duration::from_secs(5));
        assert_eq!(timeout("mysql://h/d?connect_timeout=9").unwrap(), Duration::from_secs(9));
        for bad in ["0", "-1", "1.5", "x", ""] {
            assert!(timeout(&format!("mysql://h/d?connect_timeout={bad}")).is_err(), "{bad}");
        }
    }

    #[test]
    fn no_refusal_and_no_debug_text_repeats_the_password() {
        let bad = [
            "mysql://u:c4nary@h:port/d",
            "mysql://u:x@c4nary@h/",
            "mysql://u:1?c4nary@h/d",
            "mysql://u:1?c4nary=1@h/d",
            "mysql://u:1/c4nary@h/d",
            "mysql://u:1#c4nary@h/d",
            "mysql://u:c4nary@h/d?ssl-mode=c4nary",
            "mysql://u:c4nary@h/d?nonsense=1",
            "mysql://u:c4nary@h/d?connect_timeout=c4nary",
            "mysql://u:c4nary@/d",
            "mysql://u:c4nary@h",
            "postgres://u:c4nary@h/d",
            "c4nary",
        ];
        for url in bad {
            let error = MySqlOptions::from_url(url).expect_err(url);
            assert!(!format!("{error} {error:?}").contains(CANARY), "{url}: {error}");
        }
        let good = MySqlOptions::from_url("mysql://u:c4nary@h/d").unwrap();
        assert!(!format!("{good:?} {good:#?} {}", good.label()).contains(CANARY));
        let mut missing = good.clone();
        missing.root_certificate = Some("/no/such/file".into());
        assert!(matches!(missing.server(), Err(StoreError::Refused { .. })));
    }

    #[test]
    fn settings_that_do_not_fit_together_are_refused() {
        let with = |change: fn(&mut MySqlOptions)| {
            let mut options = MySqlOptions::from_url("mysql://h/d").unwrap();
            change(&mut options);
            options.validate()
        };
        assert!(with(|_| ()).is_ok());
        assert!(with(|options| options.max_connections = 0).is_err());
        assert!(with(|options| options.max_outbox_connections = 1001).is_err());
        assert!(with(|options| options.max_watches = 1001).is_err());
        assert!(with(|options| options.lock_timeout = options.statement_timeout).is_err());
        assert!(with(|options| options.connect_timeout = Duration::ZERO).is_err());
    }
}
