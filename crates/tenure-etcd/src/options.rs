//! How to reach an etcd cluster and how to behave there.
//!
//! Errors about a URL never repeat any part of it: a password with a stray `@` or `?` turns up in unexpected parts.

mod connect;
mod url;

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use tenure_core::StoreError;

/// The port that etcd serves clients on unless it is told otherwise.
const PORT: u16 = 2379;
/// Where the keys live unless the URL says otherwise.
const PREFIX: &str = "tenure/leases/";
/// The longest prefix, in bytes.
const PREFIX_MAX_BYTES: usize = 500;
/// The most hosts that a URL may name.
const HOSTS_MAX: usize = 32;
/// The longest that anything may take.
const TIMEOUT_MAX: Duration = Duration::from_secs(600);

/// How to reach a cluster, and how to behave there.
#[derive(Clone)]
#[non_exhaustive]
pub struct EtcdOptions {
    /// What all keys begin with; it ends in a slash. `tenure/leases/`.
    pub prefix: String,
    /// How long opening a connection may take. 5 s.
    pub connect_timeout: Duration,
    /// How long one claim, renewal or release may take in all; after that its outcome is unknown. It should be well below
    /// the ttl, so that a renewal without an answer can be tried again. 2 s.
    pub request_timeout: Duration,
    /// Whether connections are encrypted; needs the feature `tls`. False.
    pub tls: bool,
    /// Files for encrypted connections.
    pub tls_files: TlsFiles,
    hosts: Vec<String>,
    user: Option<(String, String)>,
}

/// Files in PEM for encrypted connections.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TlsFiles {
    /// Whom to trust instead of the system's authorities.
    pub authority: Option<PathBuf>,
    /// The certificate by which we are known to the server, and its key.
    pub identity: Option<(PathBuf, PathBuf)>,
}

/// Refuses a URL or a setting. The message never repeats what was given: it may hold a password.
fn refuse<T>(message: impl Into<String>) -> Result<T, StoreError> {
    Err(StoreError::Refused { store: "etcd".into(), message: message.into() })
}

impl EtcdOptions {
    /// Reads `etcd://user:password@host:port,host:port/prefix?…`; `etcds://` is encrypted.
    ///
    /// All but one host may be left out. Options: `tls` (true or false), `ca` (a file of authorities in PEM), `cert` and
    /// `key` (files by which we are known to the server), `connect_timeout` and `request_timeout` in seconds.
    pub fn from_url(text: &str) -> Result<Self, StoreError> {
        url::read(text)
    }

    /// Checks every field, and every pair that must fit together.
    pub fn validate(&self) -> Result<(), StoreError> {
        let Self { prefix, connect_timeout, request_timeout, .. } = self;
        if self.hosts.is_empty() || self.hosts.len() > HOSTS_MAX {
            return refuse(format!("the number of hosts is not between 1 and {HOSTS_MAX}"));
        }
        if prefix.len() > PREFIX_MAX_BYTES || prefix.chars().any(char::is_control) {
            return refuse(format!(
                "prefix has more than {PREFIX_MAX_BYTES} bytes, or a control character in it"
            ));
        }
        if !prefix.ends_with('/') {
            return refuse("prefix does not end in a slash, so its keys could be those of another prefix");
        }
        for (name, timeout) in [("connect_timeout", connect_timeout), ("request_timeout", request_timeout)] {
            if timeout.is_zero() || *timeout > TIMEOUT_MAX {
                return refuse(format!("{name} is not above 0 and at most {TIMEOUT_MAX:?}"));
            }
        }
        if self.tls_files != TlsFiles::default() && !self.tls {
            return refuse("files for TLS are given, but tls is off; use etcds://");
        }
        if self.tls && !cfg!(feature = "tls") {
            return refuse("this program was built without TLS for etcd; build it with the feature `tls`");
        }
        Ok(())
    }

    /// The store's name in errors, without user and password.
    pub(crate) fn label(&self) -> String {
        format!("etcd at {}", self.hosts.join(","))
    }

    /// What a person should know of this store.
    pub(crate) fn notes(&self) -> Vec<String> {
        let mut notes = vec![
            "etcd counts a ttl in whole seconds and notices its end up to half a second late".to_owned(),
            "times of a lease are those of its holder's clock; nothing is decided by them".to_owned(),
        ];
        if self.user.is_some() && !self.tls && !self.is_local() {
            notes.push("the password goes over the network as plain text; use etcds://".to_owned());
        }
        notes
    }

    pub(crate) fn hosts(&self) -> &[String] {
        &self.hosts
    }

    fn is_local(&self) -> bool {
        let local = |host: &String| {
            let name = host.rsplit_once(':').map_or(host.as_str(), |(name, _)| name);
            let name = name.trim_matches(['[', ']']);
            name == "localhost" || name.parse::<std::net::IpAddr>().is_ok_and(|ip| ip.is_loopback())
        };
        self.hosts.iter().all(local)
    }
}

/// Without the password.
impl fmt::Debug for EtcdOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EtcdOptions")
            .field("hosts", &self.hosts)
            .field("prefix", &self.prefix)
            .field("connect_timeout", &self.connect_timeout)
            .field("request_timeout", &self.request_timeout)
            .field("tls", &self.tls)
            .field("tls_files", &self.tls_files)
            .field("user", &self.user.as_ref().map(|_| "(hidden)"))
            .finish()
    }
}
