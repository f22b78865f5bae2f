//! A private etcd, from the program that Debian installs.

use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, TcpStream};
use std::path::Path;

use crate::Result;
use crate::apt::find_program;
use crate::server::{Account, Durability, Server, on_free_port, output};

/// A running etcd and how to reach it.
#[derive(Debug)]
pub(crate) struct Etcd {
    port: u16,
    pub(crate) version: String,
    _server: Server,
}

impl Etcd {
    /// Starts a cluster of one under `dir`.
    pub(crate) fn start(dir: &Path, account: Account, durability: Durability) -> Result<Self> {
        let program = find_program("etcd").ok_or("`etcd` (package `etcd-server`) is not installed")?;
        let folder = dir.join("etcd");
        account.make_dir(&folder)?;
        let (port, server) = on_free_port(|port| {
            let mut etcd = account.command(&program);
            etcd.args(options(&folder, port, durability));
            let mut server = Server::spawn("etcd", etcd, dir, "TERM")?;
            server.wait_ready(|| is_healthy(port))?;
            Ok((port, server))
        })?;
        let mut version = account.command(&program);
        version.arg("--version");
        let version = output(version)?;
        let version = version.lines().next().unwrap_or_default().replace("etcd Version: ", "");
        Ok(Self { port, version, _server: server })
    }

    pub(crate) fn url(&self) -> String {
        format!("etcd://127.0.0.1:{}", self.port)
    }
}

fn options(folder: &Path, port: u16, durability: Durability) -> Vec<String> {
    let client = format!("http://127.0.0.1:{port}");
    // A cluster of one has no peers: it listens on any port, and nobody will call the one that it names.
    let peer = "http://127.0.0.1:1";
    let mut options = vec![
        "--name=test".to_owned(),
        format!("--data-dir={}", folder.join(format!("data-{port}")).display()),
        format!("--listen-client-urls={client}"),
        format!("--advertise-client-urls={client}"),
        "--listen-peer-urls=http://127.0.0.1:0".to_owned(),
        format!("--initial-advertise-peer-urls={peer}"),
        format!("--initial-cluster=test={peer}"),
    ];
    if durability == Durability::Fast {
        options.push("--unsafe-no-fsync".to_owned());
    }
    options
}

/// Whether the cluster has a leader, by its own word.
fn is_healthy(port: u16) -> bool {
    let ask = || -> std::io::Result<String> {
        let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port))?;
        stream.write_all(b"GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        Ok(answer)
    };
    ask().is_ok_and(|answer| answer.contains(r#""health":"true""#))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_durable_server_waits_for_the_disk() {
        let fast = options(Path::new("d"), 1, Durability::Fast);
        let durable = options(Path::new("d"), 1, Durability::Durable);
        assert!(fast.iter().any(|option| option == "--unsafe-no-fsync"));
        assert!(durable.iter().all(|option| !option.contains("unsafe")));
        assert!(durable.iter().all(|option| !option.contains("0.0.0.0")), "loopback only");
    }
}
