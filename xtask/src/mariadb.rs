//! A private MariaDB, from the programs that Debian installs.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::Result;
use crate::apt::find_program;
use crate::certificate::certify;
use crate::innodb::{Innodb, Kit};
use crate::server::{Account, Durability, output};

/// Initialises and starts a server under `dir`. That takes half a second: a template would not be worth its copy.
pub(crate) fn start(dir: &Path, account: Account, durability: Durability) -> Result<Innodb> {
    let program = |name, package: &str| {
        find_program(name)
            .ok_or_else(|| format!("`{name}` of MariaDB (package `{package}`) is not installed"))
    };
    let server = program("mariadbd", "mariadb-server-core")?;
    let install = program("mariadb-install-db", "mariadb-server-core")?;
    let client = program("mariadb", "mariadb-client-core")?;
    let folder = dir.join("mariadb");
    account.make_dir(&folder)?;
    let data = folder.join("data");
    init(&install, &data, account, &folder)?;
    certify(&folder, account)?;
    let kit = Kit {
        name: "mariadb",
        server: Command::new(server),
        client: &|| Command::new(&client),
        data: &data,
        options: tls(&folder),
    };
    Innodb::start(&kit, &folder, account, durability)
}

fn init(program: &Path, data: &Path, account: Account, folder: &Path) -> Result<()> {
    let mut install = account.command(program);
    install
        .current_dir(folder)
        // A server that starts removes what it finds of temporary tables where it puts its own, also those of another one.
        .env("TMPDIR", folder)
        .arg("--no-defaults")
        .arg(format!("--datadir={}", data.display()))
        // Root without a password, and not only by the socket. Users get addresses, not the name of this machine.
        .args(["--auth-root-authentication-method=normal", "--skip-name-resolve", "--skip-test-db"])
        .arg("--innodb-flush-method=nosync");
    output(install).map(drop)
}

/// What vouches for the server under `dir`: its certificate is its own authority, and names `localhost`.
pub(crate) fn authority(dir: &Path) -> PathBuf {
    dir.join("mariadb/server.crt")
}

/// MariaDB of this age has TLS only with a certificate that it is given.
fn tls(folder: &Path) -> Vec<String> {
    vec![
        format!("--ssl-cert={}", folder.join("server.crt").display()),
        format!("--ssl-key={}", folder.join("server.key").display()),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tls_can_be_tried() {
        assert_eq!(tls(Path::new("d")), ["--ssl-cert=d/server.crt", "--ssl-key=d/server.key"]);
    }
}
