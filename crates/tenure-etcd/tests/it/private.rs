//! An etcd of a test's own, which may be killed, restarted and wiped.

use std::collections::BTreeSet;
use std::fs::File;
use std::iter;
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use tempfile::TempDir;
use tenure_etcd::{EtcdOptions, EtcdStore};

use crate::sandbox::{in_ci, say};

pub(crate) struct Private {
    pub(crate) port: u16,
    peer_port: u16,
    program: PathBuf,
    directory: TempDir,
    /// Options beside the usual ones.
    more: Vec<String>,
    child: Option<Child>,
}

impl Private {
    /// A server that runs; `None`, said aloud, where the program is not installed.
    pub(crate) fn start() -> Option<Self> {
        Self::with(tempfile::tempdir().unwrap(), Vec::new())
    }

    /// With these options as well, and files in this directory.
    pub(crate) fn with(directory: TempDir, more: Vec<String>) -> Option<Self> {
        let program = find_program()?;
        let (port, peer_port) = (free_port(), free_port());
        let mut server = Self { port, peer_port, program, directory, more, child: None };
        server.run();
        Some(server)
    }

    /// Starts the server again after it was killed.
    pub(crate) fn run(&mut self) {
        let scheme =
            if self.more.iter().any(|option| option.starts_with("--cert-file")) { "https" } else { "http" };
        let (client, peer) =
            (format!("{scheme}://127.0.0.1:{}", self.port), format!("http://127.0.0.1:{}", self.peer_port));
        let log = File::create(self.directory.path().join("etcd.log")).unwrap();
        let child = Command::new(&self.program)
            .args(["--name", "test", "--unsafe-no-fsync"])
            .arg(format!("--data-dir={}", self.directory.path().join("data").display()))
            .arg(format!("--listen-client-urls={client}"))
            .arg(format!("--advertise-client-urls={client}"))
            .arg(format!("--listen-peer-urls={peer}"))
            .arg(format!("--initial-advertise-peer-urls={peer}"))
            .arg(format!("--initial-cluster=test={peer}"))
            .args(&self.more)
            .env_clear()
            .stdin(Stdio::null())
            .stdout(log.try_clone().unwrap())
            .stderr(log)
            .spawn()
            .expect("etcd starts");
        self.child = Some(child);
        let began = Instant::now();
        while TcpStream::connect((Ipv4Addr::LOCALHOST, self.port)).is_err() {
            assert!(began.elapsed() < Duration::from_secs(20), "etcd is not ready");
            // passes time: until the server listens
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Ends the server as a power cut would.
    pub(crate) fn kill(&mut self) {
        if let Some(mut child) = self.child.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }

    /// Removes all data of a server that was killed.
    pub(crate) fn wipe(&self) {
        std::fs::remove_dir_all(self.directory.path().join("data")).unwrap();
    }

    pub(crate) fn url(&self) -> String {
        format!("etcd://127.0.0.1:{}", self.port)
    }

    pub(crate) async fn store(&self) -> EtcdStore {
        connect(&self.url()).await
    }
}

/// Connects to a server that may have been started only just now.
pub(crate) async fn connect(url: &str) -> EtcdStore {
    let began = Instant::now();
    loop {
        match EtcdStore::connect(EtcdOptions::from_url(url).unwrap()).await {
            Ok(store) => return store,
            Err(error) => assert!(began.elapsed() < Duration::from_secs(20), "{error}"),
        }
    }
}

impl Drop for Private {
    fn drop(&mut self) {
        self.kill();
    }
}

fn find_program() -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found =
        std::env::split_paths(&path).map(|folder| folder.join("etcd")).find(|program| program.is_file());
    if found.is_none() {
        let given = std::env::var_os("TENURE_TEST_ETCD_URL").is_some();
        assert!(!in_ci() || given, "the program `etcd` is not installed, and with CI=true that is a failure");
        say("THE PROGRAM `etcd` IS NOT INSTALLED: tests that restart a server pass without having been run");
    }
    found
}

/// A port that nobody listens on, and that no other test of this process was given: two servers would start on it, one in vain,
/// and its test would talk to the other's.
pub(crate) fn free_port() -> u16 {
    static GIVEN: Mutex<BTreeSet<u16>> = Mutex::new(BTreeSet::new());
    let free = || TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap().local_addr().unwrap().port();
    let mut given = GIVEN.lock().unwrap();
    iter::repeat_with(free).find(|port| given.insert(*port)).unwrap()
}
