//! How to reach a Postgres server and how to behave there.
//!
//! The password lives only in the driver's own configuration value, which never prints it. Errors about a URL never
//! repeat any part of it: a password with a stray `@` or `?` turns up in unexpected parts.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use tenure_core::StoreError;
use tenure_core::naming::Naming;
use tokio_postgres::Config;
use tokio_postgres::config::Host;
use url::form_urlencoded;

use crate::password;

/// The most connections that the pool may be given.
const CONNECTIONS_MAX: u32 = 1000;
/// The longest name that Postgres keeps for a connection is 63 bytes; ours leaves room for ` presence`.
const APPLICATION_NAME_MAX_BYTES: usize = 50;

/// How to reach a server, and how to behave there.
#[derive(Clone)]
#[non_exhaustive]
pub struct PostgresOptions {
    /// Where the tables live. `tenure_` in the connection's own schema.
    pub naming: Naming,
    /// How many connections the pool has at most; presence, watches, session locks and the outbox have their own. 5.
    pub max_connections: u32,
    /// How many connections outbox and events have at most, opened when they are first needed. 8.
    pub max_outbox_connections: u32,
    /// How many holders' deaths can be waited for at once, each on a connection of its own; further waits poll. 8.
    pub max_watches: u32,
    /// How long opening a connection may take. 5 s.
    pub connect_timeout: Duration,
    /// How long a claim or an operator's change waits for the row's lock, say behind an open transaction that has
    /// checked a fence, before it answers that the store is busy. 2 s.
    pub lock_timeout: Duration,
    /// How long a statement may run. 5 s.
    pub statement_timeout: Duration,
    /// Whether sessions are real here, or a transaction pooler stands between. Found out by a probe.
    pub sessions: Sessions,
    /// How the connection is protected. `Disable` for loopback and sockets, `Require` for other hosts.
    pub tls: TlsMode,
    /// Certificates to trust instead of the system's, as PEM; for [`TlsMode::VerifyFull`].
    pub root_certificate: Option<PathBuf>,
    /// What the server shows for our connections in `pg_stat_activity`. `tenure`.
    pub application_name: String,
    /// Whether it is opened to be looked at: then a standby, or a role that may only read, will do. False.
    pub looking: bool,
    server: Config,
}

/// Whether a connection keeps its server session.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Sessions {
    /// Find out at start.
    #[default]
    Probe,
    /// They are real: the connection is direct, or the pooler works in session mode.
    Real,
    /// A transaction pooler stands between.
    Pooled,
}

/// How a connection is protected, in the words of libpq.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TlsMode {
    /// Plain text.
    Disable,
    /// Encrypted if the server can, without looking at its certificate.
    Prefer,
    /// Encrypted, without looking at the server's certificate.
    Require,
    /// Encrypted, and the certificate is checked against trusted roots and the host's name.
    VerifyFull,
}

/// Refuses a URL or a setting. The message never repeats what was given: it may hold a password.
fn refuse<T>(message: impl Into<String>) -> Result<T, StoreError> {
    Err(StoreError::Refused { store: "postgres".into(), message: message.into() })
}

impl PostgresOptions {
    /// Reads `postgres://user:password@host:port/database?sslmode=…&application_name=…`.
    ///
    /// Options: `sslmode` (disable, prefer, require, verify-full), `sslrootcert`, `application_name`,
    /// `connect_timeout` in seconds, and `host`, `port`, `user`, `password`, `dbname` as libpq has them. Without a
    /// password there, the environment's `PGPASSWORD` counts, then the password file (`PGPASSFILE`, or `~/.pgpass`).
    pub fn from_url(url: &str) -> Result<Self, StoreError> {
        let (base, query) = url.split_once('?').unwrap_or((url, ""));
        if !base.starts_with("postgres://") && !base.starts_with("postgresql://") {
            return refuse("the Postgres URL does not begin with postgres://");
        }
        let Ok(server) = base.parse::<Config>() else {
            return refuse(
                "the Postgres URL cannot be read; it looks like postgres://user:password@host:port/database, with \
                 special characters of the password percent-encoded",
            );
        };
        let mut options = Self::to(server);
        let mut tls = None;
        for (key, value) in form_urlencoded::parse(query.as_bytes()) {
            options.take(&key, &value, &mut tls)?;
        }
        if options.server.get_hosts().is_empty() {
            return refuse("the Postgres URL names no host");
        }
        options.tls = tls.unwrap_or(if options.is_local() { TlsMode::Disable } else { TlsMode::Require });
        options.validate()?;
        if options.server.get_password().is_none()
            && let Some(password) = password::find(&options.server)
        {
            options.server.password(password);
        }
        Ok(options)
    }

    fn to(server: Config) -> Self {
        Self {
            naming: Naming::default(),
            max_connections: 5,
            max_outbox_connections: 8,
            max_watches: 8,
            connect_timeout: Duration::from_secs(5),
            lock_timeout: Duration::from_secs(2),
            statement_timeout: Duration::from_secs(5),
            sessions: Sessions::Probe,
            tls: TlsMode::Require,
            root_certificate: None,
            application_name: "tenure".into(),
            looking: false,
            server,
        }
    }

    /// Takes one option from behind the `?`.
    fn take(&mut self, key: &str, value: &str, tls: &mut Option<TlsMode>) -> Result<(), StoreError> {
        match key {
            "sslmode" => *tls = Some(tls_mode(value)?),
            "sslrootcert" => self.root_certificate = Some(PathBuf::from(value)),
            "application_name" => self.application_name = value.to_owned(),
            "connect_timeout" => match value.parse::<u64>() {
                Ok(seconds) if seconds > 0 => self.connect_timeout = Duration::from_secs(seconds),
                _ => return refuse("connect_timeout in the Postgres URL is not a number of seconds above 0"),
            },
            "host" => drop(self.server.host(value)),
            "port" => match value.parse() {
                Ok(port) => drop(self.server.port(port)),
                Err(_) => return refuse("port in the Postgres URL is not a port number"),
            },
            "user" => drop(self.server.user(value)),
            "password" => drop(self.server.password(value)),
            "dbname" => drop(self.server.dbname(value)),
            // The option is not named in the message: behind a stray `?` it may be part of a password.
            _ => {
                return refuse(
                    "the Postgres URL holds an option that is not known; known are sslmode, sslrootcert, \
                     application_name, connect_timeout, host, port, user, password, dbname (and a `?` in a password \
                     must be written as %3F)",
                );
            }
        }
        Ok(())
    }

    /// Checks every field, and every pair that must fit together.
    pub fn validate(&self) -> Result<(), StoreError> {
        let strange = |host: &Host| matches!(host, Host::Tcp(name) if name.contains(['@', ':', '?', '#']) && name.parse::<std::net::IpAddr>().is_err());
        if self.server.get_hosts().iter().any(strange) {
            return refuse(
                "the host of the Postgres URL cannot be read; an `@` in a password must be written as %40",
            );
        }
        if self.server.get_hosts().len() != 1 || self.server.get_ports().len() > 1 {
            return refuse("the Postgres URL names more than one host; name the one that can be written to");
        }
        let Self { max_connections, max_watches, lock_timeout, statement_timeout, connect_timeout, .. } =
            self;
        let is_pool = |size: u32| (1..=CONNECTIONS_MAX).contains(&size);
        if !is_pool(*max_connections)
            || !is_pool(self.max_outbox_connections)
            || *max_watches > CONNECTIONS_MAX
        {
            return refuse(format!(
                "max_connections or max_outbox_connections is not between 1 and {CONNECTIONS_MAX}, or max_watches is \
                 above it"
            ));
        }
        if lock_timeout.as_millis() == 0
            || connect_timeout.as_millis() == 0
            || lock_timeout >= statement_timeout
        {
            return refuse(format!(
                "lock_timeout {lock_timeout:?} is not above 0 and below statement_timeout {statement_timeout:?}, or \
                 connect_timeout {connect_timeout:?} is 0"
            ));
        }
        if self.application_name.len() > APPLICATION_NAME_MAX_BYTES || !self.application_name.is_ascii() {
            return refuse(format!(
                "application_name is not ASCII of at most {APPLICATION_NAME_MAX_BYTES} bytes"
            ));
        }
        Ok(())
    }

    /// What errors and logs call this server: no user, no password, no options.
    pub fn label(&self) -> String {
        let host = match self.server.get_hosts().first() {
            Some(Host::Tcp(name)) if name.contains(':') => format!("[{name}]"),
            Some(Host::Tcp(name)) => name.clone(),
            #[cfg(unix)]
            Some(Host::Unix(path)) => path.display().to_string(),
            None => String::new(),
        };
        let port = self.server.get_ports().first().copied().unwrap_or(5432);
        let database = self.server.get_dbname().or(self.server.get_user()).unwrap_or_default();
        format!("postgres://{host}:{port}/{database}")
    }

    /// The driver's own configuration, without what is set per connection.
    pub(crate) fn server(&self) -> &Config {
        &self.server
    }

    fn is_local(&self) -> bool {
        self.server.get_hosts().iter().all(|host| match host {
            Host::Tcp(name) => {
                name == "localhost"
                    || name.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
            }
            #[cfg(unix)]
            Host::Unix(_) => true,
        })
    }
}

fn tls_mode(text: &str) -> Result<TlsMode, StoreError> {
    match text {
        "disable" => Ok(TlsMode::Disable),
        "allow" | "prefer" => Ok(TlsMode::Prefer),
        "require" => Ok(TlsMode::Require),
        "verify-full" => Ok(TlsMode::VerifyFull),
        "verify-ca" => {
            refuse("sslmode=verify-ca is not offered: use sslmode=verify-full, which also checks the host")
        }
        _ => refuse("sslmode in the Postgres URL is none of disable, prefer, require, verify-full"),
    }
}

/// Without the password and without the user.
impl fmt::Debug for PostgresOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PostgresOptions")
            .field("server", &self.label())
            .field("naming", &self.naming)
            .field("max_connections", &self.max_connections)
            .field("max_outbox_connections", &self.max_outbox_connections)
            .field("max_watches", &self.max_watches)
            .field("connect_timeout", &self.connect_timeout)
            .field("lock_timeout", &self.lock_timeout)
            .field("statement_timeout", &self.statement_timeout)
            .field("sessions", &self.sessions)
            .field("tls", &self.tls)
            .field("root_certificate", &self.root_certificate)
            .field("application_name", &self.application_name)
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CANARY: &str = "c4nary";

    #[test]
    fn the_url_is_read_and_tls_is_on_for_other_hosts() {
        let options =
            PostgresOptions::from_url("postgres://u:p%40ss@db.example:6000/app?application_name=my%20app")
                .unwrap();
        assert_eq!(options.label(), "postgres://db.example:6000/app");
        assert_eq!(options.server.get_password(), Some(&b"p@ss"[..]));
        assert_eq!((options.tls, options.application_name.as_str()), (TlsMode::Require, "my app"));
        for local in ["localhost", "127.0.0.1", "[::1]"] {
            let options = PostgresOptions::from_url(&format!("postgres://{local}/app")).unwrap();
            assert_eq!(options.tls, TlsMode::Disable, "{local}");
        }
        let socket = PostgresOptions::from_url("postgres:///app?host=/run/pg&port=5433").unwrap();
        assert_eq!((socket.tls, socket.label().as_str()), (TlsMode::Disable, "postgres:///run/pg:5433/app"));
        let full =
            PostgresOptions::from_url("postgres://h/d?sslmode=verify-full&sslrootcert=/r.pem").unwrap();
        assert_eq!((full.tls, full.root_certificate), (TlsMode::VerifyFull, Some("/r.pem".into())));
        let advice = PostgresOptions::from_url("postgres://h/d?sslmode=verify-ca").unwrap_err().to_string();
        assert!(advice.contains("verify-full"), "{advice}");
    }

    #[test]
    fn the_connect_timeout_of_the_url_counts() {
        let timeout = |url: &str| PostgresOptions::from_url(url).map(|options| options.connect_timeout);
        assert_eq!(timeout("postgres://h/d").unwrap(), Duration::from_secs(5));
        assert_eq!(timeout("postgres://h/d?connect_timeout=9").unwrap(), Duration::from_secs(9));
        for bad in ["0", "-1", "1.5", "x", ""] {
            assert!(timeout(&format!("postgres://h/d?connect_timeout={bad}")).is_err(), "{bad}");
        }
    }

    #[test]
    fn no_refusal_and_no_debug_text_repeats_the_password() {
        let bad = [
            "postgres://u:c4nary@h:port/d",
            "postgres://u:x@c4nary@h/d",
            "postgres://u:1?c4nary@h/d",
            "postgres://u:1?c4nary=1@h/d",
            "postgres://u:c4nary@h/d?sslmode=c4nary",
            "postgres://u:c4nary@h/d?nonsense=1",
            "postgres://u:c4nary@/d",
            "postgres://u:c4nary@h1,h2/d",
            "mysql://u:c4nary@h/d",
            "c4nary",
        ];
        for url in bad {
            let error = PostgresOptions::from_url(url).unwrap_err();
            assert!(!format!("{error} {error:?}").contains(CANARY), "{url}: {error}");
        }
        let good = PostgresOptions::from_url("postgres://u:c4nary@h/d?password=c4nary").unwrap();
        assert!(!format!("{good:?} {}", good.label()).contains(CANARY));
    }
}
