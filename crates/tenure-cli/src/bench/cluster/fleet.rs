//! Real nodes: processes that tell what they do, and what was heard of them.

use std::collections::BTreeMap;
use std::process::Stdio;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};

use super::super::meter::Meter;
use super::journal::Journal;
use crate::output::Failure;

/// What takes longer than this has failed.
const PATIENCE: Duration = Duration::from_secs(120);

/// Where the nodes keep themselves: a URL and a schema.
pub(in crate::bench) type Address = (String, Option<String>);

/// The nodes of a measurement, by name.
pub(in crate::bench) struct Fleet {
    address: Address,
    nodes: BTreeMap<String, Process>,
    journal: Arc<Mutex<Journal>>,
    /// Counts processes, so that each has a number of its own.
    started: u32,
}

struct Process {
    child: Child,
    pid: Pid,
    number: u32,
}

impl Fleet {
    pub(in crate::bench) fn new(address: Address) -> Self {
        Self { address, nodes: BTreeMap::new(), journal: Arc::default(), started: 0 }
    }

    /// Also after a panic: what was heard until then is true.
    pub(in crate::bench) fn journal(&self) -> MutexGuard<'_, Journal> {
        self.journal.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts a node and waits until it has joined.
    pub(in crate::bench) async fn start(
        &mut self,
        name: &str,
        meter: Option<&Meter>,
        more: &[&str],
    ) -> Result<(), Failure> {
        let binary = std::env::current_exe().map_err(not_started)?;
        let mut command = Command::new(binary);
        // The URL goes by the environment: command lines are for everyone to read.
        command.env("TENURE_DB", meter.map_or(self.address.0.as_str(), Meter::url));
        if let Some(schema) = &self.address.1 {
            command.args(["--schema", schema]);
        }
        command.args(["cluster-node", "--name", name]).args(more);
        let stderr = match meter.is_some_and(|meter| meter.prepare(&mut command)) {
            true => Stdio::piped(),
            false if std::env::var_os("TENURE_LOG").is_none() => Stdio::null(),
            false => Stdio::inherit(),
        };
        // The other end of its standard input is ours: should we die, it leaves. Signals of the terminal are for us.
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(stderr);
        command.process_group(0).kill_on_drop(true);
        let mut child = command.spawn().map_err(not_started)?;
        let pid = child.id().and_then(|pid| i32::try_from(pid).ok()).map(Pid::from_raw);
        let (Some(pid), Some(stdout)) = (pid, child.stdout.take()) else {
            return Err(Failure::Failed("a node ended at once".into()));
        };
        if let (Some(meter), Some(log)) = (meter, child.stderr.take()) {
            meter.read(log);
        }
        self.started += 1;
        let number = self.started;
        let (journal, node) = (self.journal.clone(), name.to_owned());
        tokio::spawn(async move {
            let mut lines = BufReader::new(stdout).lines();
            while let Ok(Some(line)) = lines.next_line().await {
                if let Ok(event) = serde_json::from_str::<Value>(&line) {
                    journal.lock().unwrap_or_else(PoisonError::into_inner).hear(number, &node, &event);
                }
            }
            journal.lock().unwrap_or_else(PoisonError::into_inner).silent(number);
        });
        self.nodes.insert(name.to_owned(), Process { child, pid, number });
        self.until("a node has joined", |journal| journal.has_joined(number)).await
    }

    /// Waits until the journal says so.
    pub(in crate::bench) async fn until(
        &self,
        what: &str,
        holds: impl Fn(&Journal) -> bool,
    ) -> Result<(), Failure> {
        let look = async {
            while !holds(&self.journal()) {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        let late = |_| {
            Failure::Failed(format!(
                "waited {PATIENCE:?} in vain until {what}; try again with TENURE_LOG=info"
            ))
        };
        tokio::time::timeout(PATIENCE, look).await.map_err(late)
    }

    /// Every node's name, with the number of its process.
    pub(super) fn names(&self) -> impl Iterator<Item = (&str, u32)> {
        self.nodes.iter().map(|(name, process)| (name.as_str(), process.number))
    }

    pub(super) fn signal(&self, name: &str, signal: Signal) {
        if let Some(process) = self.nodes.get(name) {
            // Fails only when it is gone.
            let _ = kill(process.pid, signal);
        }
    }

    /// Waits until a node's process is gone and all that it said was heard; kills it when that takes too long.
    pub(super) async fn gone(&mut self, name: &str) -> Result<(), Failure> {
        let Some(mut process) = self.nodes.remove(name) else { return Ok(()) };
        if tokio::time::timeout(PATIENCE, process.child.wait()).await.is_err() {
            let _ = process.child.kill().await;
        }
        self.until("all that a node said was heard", |journal| journal.is_silent(process.number)).await
    }

    /// What a node's process keeps in memory, where the system tells.
    pub(in crate::bench) fn resident_kib(&self, name: &str) -> Option<u64> {
        let pid = self.nodes.get(name)?.pid;
        let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
        line.trim().trim_end_matches(" kB").parse().ok()
    }

    /// Asks all to leave at once, and waits for them.
    pub(in crate::bench) async fn end(&mut self) -> Result<(), Failure> {
        let names: Vec<String> = self.nodes.keys().cloned().collect();
        for name in &names {
            self.signal(name, Signal::SIGTERM);
        }
        for name in &names {
            self.gone(name).await?;
        }
        Ok(())
    }
}

fn not_started(error: std::io::Error) -> Failure {
    Failure::Failed(format!("cannot start a node: {error}"))
}
