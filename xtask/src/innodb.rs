//! What a private MariaDB and a private MySQL have in common; they differ in how they are come by and initialised.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::Result;
use crate::server::{
    Account, Durability, LOCKED_PASSWORD, Server, on_free_port, output, without_client_variables,
};

const DATABASE: &str = "tenure";

/// One of the two, ready to be started.
pub(crate) struct Kit<'a> {
    /// The name of its log.
    pub(crate) name: &'static str,
    /// The server without options.
    pub(crate) server: Command,
    /// The client without options, run as ourselves.
    pub(crate) client: &'a dyn Fn() -> Command,
    /// An initialised data directory that belongs to the account.
    pub(crate) data: &'a Path,
    /// Options that only this one has.
    pub(crate) options: Vec<String>,
}

/// A running server and how to reach it.
#[derive(Debug)]
pub(crate) struct Innodb {
    port: u16,
    pub(crate) version: String,
    _server: Server,
}

impl Innodb {
    /// Starts a server, with its files in `folder`.
    pub(crate) fn start(
        kit: &Kit<'_>,
        folder: &Path,
        account: Account,
        durability: Durability,
    ) -> Result<Self> {
        let setup = folder.join("setup.sql");
        fs::write(&setup, setup_sql())
            .map_err(|error| format!("cannot write {}: {error}", setup.display()))?;
        account.own(&setup)?;
        let (port, server) = on_free_port(|port| {
            let mut command = account.command(Path::new(kit.server.get_program()));
            command.args(kit.server.get_args()).arg("--no-defaults").args(settings(port, durability));
            command.arg(format!("--datadir={}", kit.data.display()));
            command.arg(format!("--init-file={}", setup.display()));
            command.args(&kit.options).env("TMPDIR", folder);
            // It has nothing to save: its files are removed.
            let mut server = Server::spawn(kit.name, command, folder, "KILL")?;
            server.wait_ready(|| ask((kit.client)(), port, "select 1").is_ok())?;
            Ok((port, server))
        })?;
        let version = plain_version(&ask((kit.client)(), port, "select version()")?);
        Ok(Self { port, version, _server: server })
    }

    /// The superuser, without a password.
    pub(crate) fn url(&self) -> String {
        format!("mysql://root@127.0.0.1:{}/{DATABASE}", self.port)
    }

    /// A user that is let in only with its password.
    pub(crate) fn auth_url(&self) -> String {
        format!("mysql://locked:{LOCKED_PASSWORD}@127.0.0.1:{}/{DATABASE}", self.port)
    }
}

/// Asks a server one thing, as its superuser, in the database of the tests.
fn ask(client: Command, port: u16, sql: &str) -> Result<String> {
    let mut client = without_client_variables(client);
    client
        .args(["--no-defaults", "--protocol=TCP", "--host=127.0.0.1", "--user=root", "--connect-timeout=5"])
        .args([&format!("--port={port}"), "--batch", "--skip-column-names", "--execute", sql, DATABASE]);
    output(client)
}

/// What the server runs before it lets anyone in. It may run again, when the port turned out to be taken.
fn setup_sql() -> String {
    let statements = [
        format!("CREATE DATABASE IF NOT EXISTS {DATABASE}"),
        "CREATE USER IF NOT EXISTS 'root'@'127.0.0.1'".to_owned(),
        "GRANT ALL ON *.* TO 'root'@'127.0.0.1' WITH GRANT OPTION".to_owned(),
        // Each server takes its own default for how a password is shown.
        format!("CREATE USER IF NOT EXISTS 'locked'@'%' IDENTIFIED BY '{LOCKED_PASSWORD}'"),
        format!("GRANT ALL ON {DATABASE}.* TO 'locked'@'%'"),
    ];
    statements.map(|statement| statement + ";\n").concat()
}

fn settings(port: u16, durability: Durability) -> Vec<String> {
    let mut settings = vec![
        format!("--port={port}"),
        "--bind-address=127.0.0.1".to_owned(),
        // Relative to the data directory: a path under a temporary directory may be too long for a socket.
        "--socket=s".to_owned(),
        "--pid-file=pid".to_owned(),
        "--max-connections=500".to_owned(),
        // Users are let in by address, whatever the machine calls itself.
        "--skip-name-resolve".to_owned(),
    ];
    if durability == Durability::Fast {
        settings.extend(WEAK.map(str::to_owned));
    }
    settings
}

/// Nothing waits for the disk. The binary log stays as the server has it by default: commits take another way with it.
const WEAK: [&str; 4] = [
    "--innodb-flush-log-at-trx-commit=0",
    "--sync-binlog=0",
    "--innodb-doublewrite=OFF",
    "--innodb-flush-method=nosync",
];

/// `10.11.6-MariaDB-0+deb12u1` is 10.11.6.
fn plain_version(version: &str) -> String {
    version.split('-').next().filter(|plain| !plain.is_empty()).unwrap_or("of unknown version").to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_benchmark_never_runs_without_fsync() {
        let durable = settings(1, Durability::Durable);
        for weak in WEAK {
            let name = weak.split('=').next().unwrap();
            assert!(!durable.iter().any(|setting| setting.starts_with(name)), "{name}");
            assert!(settings(1, Durability::Fast).contains(&weak.to_owned()));
        }
    }

    #[test]
    fn a_server_listens_on_loopback_only() {
        for durability in [Durability::Durable, Durability::Fast] {
            assert!(settings(1, durability).contains(&"--bind-address=127.0.0.1".to_owned()));
        }
    }

    #[test]
    fn setting_up_may_happen_twice() {
        for line in setup_sql().lines().filter(|line| line.starts_with("CREATE")) {
            assert!(line.contains(" IF NOT EXISTS "), "{line}");
        }
    }

    #[test]
    fn a_version_is_told_without_its_packaging() {
        assert_eq!(plain_version("10.11.6-MariaDB-0+deb12u1"), "10.11.6");
        assert_eq!(plain_version("9.7.4-2"), "9.7.4");
        assert_eq!(plain_version(""), "of unknown version");
    }
}
