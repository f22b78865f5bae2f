//! A private NATS server with JetStream, from the program that Debian installs.

use std::io::Read as _;
use std::net::{Ipv4Addr, TcpStream};
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::Result;
use crate::apt::find_program;
use crate::server::{Account, Server, on_free_port, output};

/// A running server and how to reach it.
#[derive(Debug)]
pub(crate) struct Nats {
    port: u16,
    pub(crate) version: String,
    /// The program, for tests that need a server of their own to stop and to set up otherwise.
    pub(crate) program: PathBuf,
    _server: Server,
}

impl Nats {
    /// Starts a server under `dir`.
    pub(crate) fn start(dir: &Path, account: Account) -> Result<Self> {
        let program = find_program("nats-server").ok_or("the package `nats-server` is not installed")?;
        let folder = dir.join("nats");
        account.make_dir(&folder)?;
        let (port, server) = on_free_port(|port| {
            let mut nats = account.command(&program);
            nats.args(["-js", "-a", "127.0.0.1", "-p", &port.to_string(), "-sd"]).arg(&folder);
            let mut server = Server::spawn("nats", nats, dir, "TERM")?;
            server.wait_ready(|| greets(port))?;
            Ok((port, server))
        })?;
        let mut version = account.command(&program);
        version.arg("--version");
        let version = output(version)?.replace("nats-server: v", "");
        Ok(Self { port, version, program, _server: server })
    }

    pub(crate) fn url(&self) -> String {
        format!("nats://127.0.0.1:{}", self.port)
    }
}

/// A server says what it is as soon as one connects.
fn greets(port: u16) -> bool {
    let greeting = || -> std::io::Result<[u8; 4]> {
        let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port))?;
        stream.set_read_timeout(Some(Duration::from_secs(1)))?;
        let mut first = [0; 4];
        stream.read_exact(&mut first)?;
        Ok(first)
    };
    greeting().is_ok_and(|first| &first == b"INFO")
}
