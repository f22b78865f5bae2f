//! How to reach a SQL Server and how to behave there.
//!
//! The password lives only in the driver's own configuration, which never prints it. Errors about a URL never repeat any part
//! of it: a password with a stray `@` or `?` turns up in unexpected parts.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use tenure_core::StoreError;
use tenure_core::naming::Naming;
use tiberius::{AuthMethod, Config, EncryptionLevel};
use url::Url;

/// The most connections that a pool may be given.
const CONNECTIONS_MAX: u32 = 1000;
/// The longest name that the server keeps for a program.
const APPLICATION_NAME_MAX_CHARS: usize = 128;
/// Where the password comes from that the URL does not hold, first to last.
const PASSWORD_VARIABLES: [&str; 2] = ["MSSQL_PASSWORD", "SQLCMDPASSWORD"];

/// How to reach a server, and how to behave there.
#[derive(Clone)]
#[non_exhaustive]
pub struct SqlServerOptions {
    /// Where the tables live. `tenure_` in the user's own schema of the connection's database.
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
    /// checked a fence, before it answers that the store is busy. 2 s.
    pub lock_timeout: Duration,
    /// How long a call may take. The server itself has no such limit: a connection on which one takes longer is closed. 5 s.
    pub statement_timeout: Duration,
    /// How the connection is protected. `Off` for loopback, `Full` for other hosts.
    pub encrypt: Encrypt,
    /// Whether any certificate will do: it keeps listeners out, not impostors. False.
    pub trust_server_certificate: bool,
    /// Certificates to trust besides the system's, as PEM or DER.
    pub root_certificate: Option<PathBuf>,
    /// What the server shows for our connections as `program_name`. `tenure`.
    pub application_name: String,
    server: Server,
}

/// Where the server is, and who we are there.
#[derive(Clone)]
struct Server {
    host: String,
    port: u16,
    database: String,
    user: String,
    password: String,
}

/// How a connection is protected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Encrypt {
    /// Plain text, the password as well.
    Off,
    /// The login is encrypted, and nothing else.
    Login,
    /// Everything is encrypted.
    Full,
}

/// Refuses a URL or a setting. The message never repeats what was given: it may hold a password.
fn refuse<T>(message: impl Into<String>) -> Result<T, StoreError> {
    Err(StoreError::Refused { store: "sqlserver".into(), message: message.into() })
}

impl SqlServerOptions {
    /// Reads `sqlserver://user:password@host:port/database?encrypt=…`; `mssql://` is the same.
    ///
    /// Options: `encrypt` (true, login, false), `trust_server_certificate` (true, false), `root_certificate`,
    /// `application_name`, `connect_timeout` in seconds. Without a password there, the environment's `MSSQL_PASSWORD` or
    /// `SQLCMDPASSWORD` counts.
    pub fn from_url(text: &str) -> Result<Self, StoreError> {
        Self::read(text, |variable| std::env::var(variable).ok())
    }

    fn read(text: &str, environment: impl Fn(&str) -> Option<String>) -> Result<Self, StoreError> {
        let Ok(url) = text.parse::<Url>() else {
            return refuse(
                "the SQL Server URL cannot be read; it looks like sqlserver://user:password@host:port/database, with special \
                 characters of the password percent-encoded",
            );
        };
        if !matches!(url.scheme(), "sqlserver" | "mssql") {
            return refuse("the SQL Server URL does not begin with sqlserver://");
        }
        let server = server(&url, environment)?;
        let bare = server.host.as_str();
        let local = bare == "localhost" || bare.parse::<std::net::IpAddr>().is_ok_and(|ip| ip.is_loopback());
        let mut options = Self {
            naming: Naming::default(),
            max_connections: 5,
            max_outbox_connections: 8,
            max_watches: 8,
            connect_timeout: Duration::from_secs(5),
            lock_timeout: Duration::from_secs(2),
            statement_timeout: Duration::from_secs(5),
            encrypt: if local { Encrypt::Off } else { Encrypt::Full },
            trust_server_certificate: false,
            root_certificate: None,
            application_name: "tenure".into(),
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
            "encrypt" => {
                self.encrypt = match value {
                    "true" => Encrypt::Full,
                    "login" => Encrypt::Login,
                    "false" => Encrypt::Off,
                    _ => return refuse("encrypt in the SQL Server URL is none of true, login, false"),
                }
            }
            "trust_server_certificate" => {
                self.trust_server_certificate = match value {
                    "true" => true,
                    "false" => false,
                    _ => {
                        return refuse(
                            "trust_server_certificate in the SQL Server URL is neither true nor false",
                        );
                    }
                }
            }
            "root_certificate" => self.root_certificate = Some(PathBuf::from(value)),
            "application_name" => self.application_name = value.to_owned(),
            "connect_timeout" => match value.parse::<u64>() {
                Ok(seconds) if seconds > 0 => self.connect_timeout = Duration::from_secs(seconds),
                _ => {
                    return refuse(
                        "connect_timeout in the SQL Server URL is not a number of seconds above 0",
                    );
                }
            },
            "instance" | "instance_name" => return refuse(NO_INSTANCES),
            // The option is not named in the message: behind a stray `?` it may be part of a password.
            _ => {
                return refuse(
                    "the SQL Server URL holds an option that is not known; known are encrypt, trust_server_certificate, \
                     root_certificate, application_name, connect_timeout (and a `?` in a password must be written as %3F)",
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
        if self.trust_server_certificate && self.root_certificate.is_some() {
            return refuse("root_certificate says whom to trust, and trust_server_certificate trusts anyone");
        }
        let name = &self.application_name;
        if name.chars().count() > APPLICATION_NAME_MAX_CHARS || name.chars().any(char::is_control) {
            return refuse(format!(
                "application_name is longer than {APPLICATION_NAME_MAX_CHARS} characters, or holds a control character"
            ));
        }
        Ok(())
    }

    /// What errors and logs call this server: no user, no password, no options.
    pub fn label(&self) -> String {
        let Server { host, port, database, .. } = &self.server;
        let host = if host.contains(':') { format!("[{host}]") } else { host.clone() };
        format!("sqlserver://{host}:{port}/{database}")
    }

    /// Where a connection goes to.
    pub(crate) fn address(&self) -> (String, u16) {
        (self.server.host.clone(), self.server.port)
    }

    /// The driver's own configuration, for a connection to this address.
    pub(crate) fn config(&self, (host, port): &(String, u16)) -> Config {
        let mut config = Config::new();
        config.host(host);
        config.port(*port);
        config.database(&self.server.database);
        config.authentication(AuthMethod::sql_server(&self.server.user, &self.server.password));
        config.application_name(&self.application_name);
        config.encryption(match self.encrypt {
            Encrypt::Off => EncryptionLevel::NotSupported,
            Encrypt::Login => EncryptionLevel::Off,
            Encrypt::Full => EncryptionLevel::Required,
        });
        if self.trust_server_certificate {
            config.trust_cert();
        } else if let Some(file) = &self.root_certificate {
            config.trust_cert_ca(file.display());
        }
        // A server that was reached by another address than the one we were given must still be the one we meant.
        if *host != self.server.host {
            config.hostname_in_certificate(host);
        }
        config.handshake_timeout(Some(self.connect_timeout));
        // Whoever waits for an answer has a limit of its own, and ends the connection with it.
        config.command_timeout(None);
        config
    }
}

/// Which ports named instances have is told by a service of its own, over UDP; we do not ask it.
const NO_INSTANCES: &str = "the SQL Server URL names an instance; give the port of that instance instead, as in \
                            sqlserver://host:port/database (it stands in SQL Server Configuration Manager)";

/// Where the URL leads to, and as whom.
fn server(url: &Url, environment: impl Fn(&str) -> Option<String>) -> Result<Server, StoreError> {
    let decoded = |part: &str| {
        url::form_urlencoded::parse(format!("x={}", part.replace('+', "%2B")).as_bytes())
            .next()
            .map(|(_, value)| value.into_owned())
            .unwrap_or_default()
    };
    let Some(host) = url.host_str().filter(|host| !host.is_empty()) else {
        return refuse("the SQL Server URL names no host");
    };
    // `host\instance`, however it is written.
    if host.contains('\\') || host.to_ascii_lowercase().contains("%5c") {
        return refuse(NO_INSTANCES);
    }
    if host.contains(['@', '?', '#', '%', ',']) {
        return refuse(
            "the host of the SQL Server URL cannot be read; an `@` in a password must be written as %40, and a port \
             stands behind a colon",
        );
    }
    let database = decoded(url.path().trim_start_matches('/'));
    if database.contains(['/', '\\']) {
        return refuse(NO_INSTANCES);
    }
    if database.is_empty() {
        return refuse(
            "the SQL Server URL names no database; it looks like sqlserver://user:password@host:port/database",
        );
    }
    let user = decoded(url.username());
    if user.is_empty() {
        return refuse("the SQL Server URL names no user; logins of Windows are not offered");
    }
    let password =
        url.password().map(decoded).or_else(|| PASSWORD_VARIABLES.into_iter().find_map(environment));
    Ok(Server {
        host: host.trim_matches(['[', ']']).to_owned(),
        port: url.port().unwrap_or(1433),
        database,
        user,
        password: password.unwrap_or_default(),
    })
}

/// Without the password and without the user.
impl fmt::Debug for SqlServerOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SqlServerOptions")
            .field("server", &self.label())
            .field("naming", &self.naming)
            .field("max_connections", &self.max_connections)
            .field("max_outbox_connections", &self.max_outbox_connections)
            .field("max_watches", &self.max_watches)
            .field("connect_timeout", &self.connect_timeout)
            .field("lock_timeout", &self.lock_timeout)
            .field("statement_timeout", &self.statement_timeout)
            .field("encrypt", &self.encrypt)
            .field("trust_server_certificate", &self.trust_server_certificate)
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
    fn the_url_is_read_and_other_hosts_are_encrypted_and_checked() {
        let url = "sqlserver://u:p%40s%2Bs@db.example:6000/app?application_name=my%20app";
        let options = SqlServerOptions::from_url(url).unwrap();
        assert_eq!(options.label(), "sqlserver://db.example:6000/app");
        assert_eq!((options.server.user.as_str(), options.server.password.as_str()), ("u", "p@s+s"));
        assert_eq!(options.application_name, "my app");
        assert_eq!((options.encrypt, options.trust_server_certificate), (Encrypt::Full, false));
        for local in ["localhost", "127.0.0.1", "[::1]"] {
            let options = SqlServerOptions::from_url(&format!("mssql://sa@{local}/app")).unwrap();
            assert_eq!((options.encrypt, options.server.port), (Encrypt::Off, 1433), "{local}");
        }
        let six = SqlServerOptions::from_url("sqlserver://sa@[::1]:7/app").unwrap();
        assert_eq!((six.label().as_str(), six.address()), ("sqlserver://[::1]:7/app", ("::1".into(), 7)));
        let own = "sqlserver://u@h/d?encrypt=login&trust_server_certificate=true";
        let own = SqlServerOptions::from_url(own).unwrap();
        assert_eq!((own.encrypt, own.trust_server_certificate), (Encrypt::Login, true));
        assert!(SqlServerOptions::from_url("sqlserver://u@h/d?encrypt=maybe").is_err());
    }

    #[test]
    fn a_named_instance_is_refused_in_words() {
        for url in [
            r"sqlserver://u@h%5CSQLEXPRESS/d",
            "sqlserver://u@h/SQLEXPRESS/d",
            "sqlserver://u@h/d?instance=SQLEXPRESS",
        ] {
            let words = SqlServerOptions::from_url(url).unwrap_err().to_string();
            assert!(
                words.contains("port of that instance") || words.contains("cannot be read"),
                "{url}: {words}"
            );
        }
        let words = SqlServerOptions::from_url("sqlserver://u@h/d?instance=X").unwrap_err().to_string();
        assert!(words.contains("port of that instance"), "{words}");
    }

    #[test]
    fn a_password_that_the_url_does_not_hold_comes_from_the_environment() {
        let with = |variables: &'static [(&str, &str)]| {
            let find = move |name: &str| {
                variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
            };
            move |url: &str| SqlServerOptions::read(url, find).unwrap().server.password
        };
        assert_eq!(with(&[("SQLCMDPASSWORD", "b")])("sqlserver://u@h/d"), "b");
        assert_eq!(with(&[("SQLCMDPASSWORD", "b"), ("MSSQL_PASSWORD", "a")])("sqlserver://u@h/d"), "a");
        assert_eq!(with(&[("MSSQL_PASSWORD", "a")])("sqlserver://u:own@h/d"), "own");
        assert_eq!(with(&[])("sqlserver://u@h/d"), "");
    }

    #[test]
    fn the_connect_timeout_of_the_url_counts() {
        let timeout = |url: &str| SqlServerOptions::from_url(url).map(|options| options.connect_timeout);
        assert_eq!(timeout("sqlserver://u@h/d").unwrap(), Duration::from_secs(5));
        assert_eq!(timeout("sqlserver://u@h/d?connect_timeout=9").unwrap(), Duration::from_secs(9));
        for bad in ["0", "-1", "1.5", "x", ""] {
            assert!(timeout(&format!("sqlserver://u@h/d?connect_timeout={bad}")).is_err(), "{bad}");
        }
    }

    #[test]
    fn settings_that_do_not_fit_together_are_refused() {
        let good = || SqlServerOptions::from_url("sqlserver://u@h/d").unwrap();
        assert!(good().validate().is_ok());
        for spoil in [
            (|options| options.max_connections = 0) as fn(&mut SqlServerOptions),
            |options| options.max_watches = 1001,
            |options| options.lock_timeout = options.statement_timeout,
            |options| options.connect_timeout = Duration::ZERO,
            |options| options.application_name = "a\nb".into(),
            |options| {
                options.trust_server_certificate = true;
                options.root_certificate = Some("/r.pem".into());
            },
        ] {
            let mut options = good();
            spoil(&mut options);
            assert!(options.validate().is_err(), "{options:?}");
        }
    }

    #[test]
    fn no_refusal_and_no_debug_text_repeats_the_password() {
        let bad = [
            "sqlserver://u:c4nary@h:port/d",
            "sqlserver://u:1?c4nary@h/d",
            "sqlserver://u:1?c4nary=1@h/d",
            "sqlserver://u:c4nary@h/d?encrypt=c4nary",
            "sqlserver://u:c4nary@h/d?nonsense=1",
            "sqlserver://u:c4nary@/d",
            "sqlserver://u:c4nary@h1,h2/d",
            "sqlserver://u:c4nary@h",
            "sqlserver://:c4nary@h/d",
            "mysql://u:c4nary@h/d",
            "c4nary",
        ];
        for url in bad {
            let error = SqlServerOptions::from_url(url).unwrap_err();
            assert!(!format!("{error} {error:?}").contains(CANARY), "{url}: {error}");
        }
        for url in ["sqlserver://u:c4nary@h/d", "sqlserver://u:x@c4nary@h/d"] {
            let good = SqlServerOptions::from_url(url).unwrap();
            assert!(!format!("{good:?} {}", good.label()).contains(CANARY), "{url}");
            assert!(!format!("{:?}", good.config(&good.address())).contains(CANARY), "{url}");
        }
    }
}
