//! A private PgBouncer in transaction mode before a private Postgres.
//!
//! The settings are PgBouncer's own defaults but for the mode: what works here works behind the pooler of a user who
//! changed nothing else.

use std::fs;
use std::path::Path;

use crate::Result;
use crate::apt::{find_program, postgres_bin};
use crate::postgres::{Postgres, psql, url};
use crate::server::{Account, Server, on_free_port, output};

/// A running PgBouncer and how to reach it.
#[derive(Debug)]
pub(crate) struct PgBouncer {
    port: u16,
    pub(crate) version: String,
    _server: Server,
}

impl PgBouncer {
    /// Starts a pooler under `dir` that forwards to `postgres`.
    pub(crate) fn start(dir: &Path, account: Account, postgres: &Postgres) -> Result<Self> {
        let program = find_program("pgbouncer").ok_or("the package `pgbouncer` is not installed")?;
        let bin = postgres_bin().ok_or("psql (package `postgresql`) is not installed")?;
        let folder = dir.join("pgbouncer");
        account.make_dir(&folder)?;
        let (ini, users) = (folder.join("pgbouncer.ini"), folder.join("users.txt"));
        let (port, server) = on_free_port(|port| {
            let write = || -> std::io::Result<()> {
                fs::write(&users, "\"postgres\" \"\"\n")?;
                fs::write(&ini, configuration(port, postgres.port, &users))
            };
            write().map_err(|error| format!("cannot write the configuration of PgBouncer: {error}"))?;
            let mut pgbouncer = account.command(&program);
            pgbouncer.arg(&ini);
            let mut server = Server::spawn("pgbouncer", pgbouncer, dir, "INT")?;
            server.wait_ready(|| psql(&bin, port, "postgres", "select 1").is_ok())?;
            Ok((port, server))
        })?;

        let mut version = account.command(&program);
        version.arg("--version");
        let version = output(version)?;
        let version = version.lines().next().unwrap_or_default().replace("PgBouncer ", "");
        Ok(Self { port, version, _server: server })
    }

    /// The superuser, through the pooler.
    pub(crate) fn url(&self) -> String {
        url(self.port)
    }
}

fn configuration(port: u16, postgres: u16, users: &Path) -> String {
    format!(
        "[databases]\n\
         * = host=127.0.0.1 port={postgres}\n\
         [pgbouncer]\n\
         listen_addr = 127.0.0.1\n\
         listen_port = {port}\n\
         unix_socket_dir =\n\
         auth_type = trust\n\
         auth_file = {}\n\
         admin_users = postgres\n\
         pool_mode = transaction\n\
         default_pool_size = 20\n\
         max_client_conn = 200\n",
        users.display()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pooler_runs_in_transaction_mode_on_loopback() {
        let text = configuration(6000, 5000, Path::new("users.txt"));
        assert!(text.lines().any(|line| line == "pool_mode = transaction"));
        assert!(text.lines().any(|line| line == "listen_addr = 127.0.0.1"));
        assert!(text.contains("port=5000") && text.contains("listen_port = 6000"));
    }
}
