//! A private Postgres: its own data directory, its own port, gone afterwards.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::Result;
use crate::apt::postgres_bin;
use crate::certificate::certify;
use crate::server::{
    Account, Durability, LOCKED_PASSWORD, Server, on_free_port, output, without_client_variables,
};

/// Whom the server lets in: everyone from this machine, except one role that has to show its password.
const HBA: &str = "host all locked 127.0.0.1/32 scram-sha-256\nhost all all 127.0.0.1/32 trust\n";
const DATABASE: &str = "tenure";

/// A running Postgres and how to reach it.
#[derive(Debug)]
pub(crate) struct Postgres {
    pub(crate) port: u16,
    pub(crate) version: String,
    _server: Server,
}

impl Postgres {
    /// Initialises and starts a server under `dir`.
    pub(crate) fn start(dir: &Path, account: Account, durability: Durability) -> Result<Self> {
        let bin = postgres_bin()
            .ok_or("the server programs of Postgres (package `postgresql`) are not installed")?;
        let data = dir.join("postgres");
        init(&bin, &data, account, dir)?;
        let (port, server) = on_free_port(|port| {
            let mut postgres = account.command(&bin.join("postgres"));
            postgres.arg("-D").arg(&data);
            for setting in settings(port, durability) {
                postgres.args(["-c", &setting]);
            }
            let mut server = Server::spawn("postgresql", postgres, dir, "INT")?;
            server.wait_ready(|| psql(&bin, port, "postgres", "select 1").is_ok())?;
            Ok((port, server))
        })?;
        psql(&bin, port, "postgres", &format!("create database {DATABASE}"))?;
        psql(&bin, port, "postgres", &format!("create role locked login password '{LOCKED_PASSWORD}'"))?;
        let version = psql(&bin, port, "postgres", "show server_version")?;
        let version = version.split_whitespace().next().unwrap_or("of unknown version").to_owned();
        Ok(Self { port, version, _server: server })
    }

    /// The superuser, without a password.
    pub(crate) fn url(&self) -> String {
        url(self.port)
    }

    /// A role that is let in only with its password.
    pub(crate) fn auth_url(&self) -> String {
        format!("postgres://locked:{LOCKED_PASSWORD}@127.0.0.1:{}/{DATABASE}", self.port)
    }
}

/// The address of the test database behind a port: Postgres' own, or that of a pooler before it.
pub(crate) fn url(port: u16) -> String {
    format!("postgres://postgres@127.0.0.1:{port}/{DATABASE}")
}

/// Asks a server one thing, as its superuser.
pub(crate) fn psql(bin: &Path, port: u16, database: &str, sql: &str) -> Result<String> {
    let mut psql = without_client_variables(Command::new(bin.join("psql")));
    psql.env("PGCONNECT_TIMEOUT", "5")
        .args(["-X", "-h", "127.0.0.1", "-p", &port.to_string(), "-U", "postgres", "-d", database])
        .args(["-v", "ON_ERROR_STOP=1", "-qAtc", sql]);
    output(psql)
}

fn init(bin: &Path, data: &Path, account: Account, dir: &Path) -> Result<()> {
    account.make_dir(data)?;
    let mut initdb = account.command(&bin.join("initdb"));
    initdb
        .current_dir(dir)
        .args(["-A", "trust", "-U", "postgres", "--no-sync", "-E", "UTF8", "--locale=C", "-D"])
        .arg(data);
    output(initdb)?;
    certify(data, account)?;
    fs::write(data.join("pg_hba.conf"), HBA).map_err(|error| format!("cannot write pg_hba.conf: {error}"))
}

fn settings(port: u16, durability: Durability) -> Vec<String> {
    let mut settings = vec![
        format!("port={port}"),
        "listen_addresses=127.0.0.1".to_owned(),
        // A path under a temporary directory may be too long for a socket.
        "unix_socket_directories=".to_owned(),
        "max_connections=300".to_owned(),
        // None by default; a transaction that is prepared and forgotten is one of the things that are tried.
        "max_prepared_transactions=20".to_owned(),
        "ssl=on".to_owned(),
    ];
    if durability == Durability::Fast {
        settings.extend(["fsync=off".to_owned(), "full_page_writes=off".to_owned()]);
    }
    settings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_benchmark_never_runs_without_fsync() {
        let weakens = |setting: &String| setting.ends_with("=off");
        assert!(!settings(1, Durability::Durable).iter().any(weakens));
        assert!(settings(1, Durability::Fast).contains(&"fsync=off".to_owned()));
    }

    #[test]
    fn a_server_listens_on_loopback_only() {
        for durability in [Durability::Durable, Durability::Fast] {
            assert!(settings(1, durability).contains(&"listen_addresses=127.0.0.1".to_owned()));
        }
    }
}
