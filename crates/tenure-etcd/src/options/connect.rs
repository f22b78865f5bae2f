//! From options to a connection.

use std::time::Duration;

use etcd_client::{Client, ConnectOptions, Error};
use tenure_core::StoreError;
use tokio::net::TcpStream;

use super::EtcdOptions;
use crate::link::Link;

/// How often a connection is asked whether it lives. etcd throws clients out that ask more often than every 5 s.
const PING_EVERY: Duration = Duration::from_secs(10);
/// How long it may take to answer.
const PING_WITHIN: Duration = Duration::from_secs(5);

impl EtcdOptions {
    /// The way to the cluster, with a member that is there to begin with.
    pub(crate) async fn link(self) -> Result<Link, StoreError> {
        let first = self.knock().await?;
        Ok(Link::new(self, first))
    }

    /// Opens the connection to one member; runs on the thread on which it shall live.
    pub(crate) async fn open(&self, member: usize) -> Result<Client, Error> {
        let scheme = if self.tls { "https" } else { "http" };
        let mut options = ConnectOptions::new()
            .with_connect_timeout(self.connect_timeout)
            .with_keep_alive(PING_EVERY, PING_WITHIN)
            // etcd throws clients out that ask while they have nothing under way.
            .with_keep_alive_while_idle(false)
            // A member that is cut off from the others would keep a watch open and say nothing.
            .with_require_leader(true)
            // Tokens of etcd end after minutes, and with a restart.
            .with_auto_token_refresh(true);
        if let Some((user, password)) = &self.user {
            options = options.with_user(user, password);
        }
        options = self.with_tls(options)?;
        Client::connect([format!("{scheme}://{}", self.hosts[member])], Some(options)).await
    }

    /// Sees which member is there. The client itself tries for ever, and does not say what was wrong.
    async fn knock(&self) -> Result<usize, StoreError> {
        let mut reasons = Vec::new();
        for (number, host) in self.hosts.iter().enumerate() {
            match tokio::time::timeout(self.connect_timeout, TcpStream::connect(host)).await {
                Ok(Ok(_)) => return Ok(number),
                Ok(Err(error)) => reasons.push(format!("{host}: {error}")),
                Err(_) => reasons.push(format!("{host}: no answer within {:?}", self.connect_timeout)),
            }
        }
        Err(self.unreachable(reasons.join("; ")))
    }

    fn unreachable(&self, message: String) -> StoreError {
        StoreError::Unreachable { store: self.label(), message }
    }

    #[cfg(not(feature = "tls"))]
    fn with_tls(&self, options: ConnectOptions) -> Result<ConnectOptions, Error> {
        Ok(options)
    }

    #[cfg(feature = "tls")]
    fn with_tls(&self, options: ConnectOptions) -> Result<ConnectOptions, Error> {
        use etcd_client::{Certificate, Identity, TlsOptions};
        if !self.tls {
            return Ok(options);
        }
        let read = |path: &std::path::Path| {
            std::fs::read(path).map_err(|error| {
                Error::InvalidArgs(format!("a file for TLS cannot be read: {}: {error}", path.display()))
            })
        };
        let mut tls = TlsOptions::new();
        tls = match &self.tls_files.authority {
            Some(authority) => tls.ca_certificate(Certificate::from_pem(read(authority)?)),
            None => tls.with_native_roots(),
        };
        if let Some((certificate, key)) = &self.tls_files.identity {
            tls = tls.identity(Identity::from_pem(read(certificate)?, read(key)?));
        }
        Ok(options.with_tls(tls))
    }
}
