//! The nodes: processes that are started, killed and started anew.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tenure::core::lease::LeaseRecord;
use tenure::{Database, LeaseName};
use tokio::process::{Child, Command};

use super::{RELAY, ROUTES};
use crate::output::Failure;

/// How long nodes may take to leave.
const LEAVING: Duration = Duration::from_secs(15);

pub(super) struct Nodes {
    url: String,
    journal: PathBuf,
    /// Where telemetry goes, if anywhere.
    collector: Option<String>,
    nodes: Vec<Node>,
    /// The leases whose holders are killed, in turn.
    offices: [LeaseName; 2],
    /// The kill that no other node has answered yet: when it was, in which office, and the term that ended.
    open: Option<(Instant, usize, u64)>,
    failovers: Vec<Duration>,
    leaders: [Option<LeaseRecord>; 2],
}

struct Node {
    name: String,
    child: Child,
    pid: Option<i32>,
}

/// A node as it is shown.
pub(super) struct Shown<'a> {
    pub(super) name: &'a str,
    pub(super) pid: Option<i32>,
    pub(super) relays: bool,
    pub(super) routes: bool,
}

impl Nodes {
    pub(super) fn start(
        count: u32,
        url: &str,
        journal: &Path,
        collector: Option<&str>,
    ) -> Result<Self, Failure> {
        let mut nodes = Self {
            url: url.to_owned(),
            journal: journal.to_owned(),
            collector: collector.map(str::to_owned),
            nodes: Vec::new(),
            offices: [LeaseName::new(RELAY)?, LeaseName::new(ROUTES)?],
            open: None,
            failovers: Vec::new(),
            leaders: [None, None],
        };
        for number in 1..=count {
            let node = nodes.spawn(format!("node-{number}"))?;
            nodes.nodes.push(node);
        }
        Ok(nodes)
    }

    fn spawn(&self, name: String) -> Result<Node, Failure> {
        let failed = |error: std::io::Error| Failure::Failed(format!("cannot start {name}: {error}"));
        let binary = std::env::current_exe().map_err(failed)?;
        let mut command = Command::new(binary);
        command.args(["--db", &self.url, "demo-node", "--name", &name, "--journal"]).arg(&self.journal);
        // The other end of its standard input is ours: should we die, it ends.
        command.stdin(Stdio::piped()).stdout(Stdio::null()).kill_on_drop(true);
        // Killed nodes leave the others with warnings that are no news here.
        if std::env::var_os("TENURE_LOG").is_none() {
            command.env("TENURE_LOG", "off");
        }
        // By the environment and not in the list of processes: a URL may hold a key.
        if let Some(collector) = &self.collector {
            command.env("TENURE_OTLP", collector);
        }
        // Signals of the terminal are for us: we end the nodes, in their turn.
        command.process_group(0);
        let child = command.spawn().map_err(failed)?;
        let pid = child.id().and_then(|pid| i32::try_from(pid).ok());
        Ok(Node { name, child, pid })
    }

    /// Sees who is in office, notes failovers, and starts anew what has ended.
    pub(super) async fn watch(&mut self, database: &Database) -> Result<(), Failure> {
        for (office, leader) in self.offices.iter().zip(&mut self.leaders) {
            let record = database.leases().observe(office).await?;
            *leader = record.filter(|record| record.released_at.is_none());
        }
        if let Some((killed, office, term)) = self.open
            && self.leaders[office].as_ref().is_some_and(|leader| leader.term.get() > term)
        {
            self.failovers.push(killed.elapsed());
            self.open = None;
        }
        for at in 0..self.nodes.len() {
            if matches!(self.nodes[at].child.try_wait(), Ok(Some(_))) {
                let name = self.nodes[at].name.clone();
                self.nodes[at] = self.spawn(name)?;
            }
        }
        Ok(())
    }

    /// Kills the node in office: that of the relay and that of the routes, in turn. False when there is none, or the last
    /// one's successor is not in office yet.
    pub(super) async fn kill_leader(&mut self, database: &Database) -> Result<bool, Failure> {
        self.watch(database).await?;
        let office = self.failovers.len() % self.offices.len();
        let Some(leader) = self.leaders[office].as_ref().filter(|_| self.open.is_none()) else {
            return Ok(false);
        };
        let leading = i32::try_from(leader.node.pid).ok();
        let Some(pid) = self.nodes.iter().filter_map(|node| node.pid).find(|pid| Some(*pid) == leading)
        else {
            return Ok(false);
        };
        let term = leader.term.get();
        if kill(Pid::from_raw(pid), Signal::SIGKILL).is_ok() {
            self.open = Some((Instant::now(), office, term));
        }
        Ok(self.open.is_some())
    }

    /// Asks all to leave, and waits for them.
    pub(super) async fn end(&mut self) {
        for node in &self.nodes {
            if let Some(pid) = node.pid {
                // Fails only when it is gone.
                let _ = kill(Pid::from_raw(pid), Signal::SIGTERM);
            }
        }
        for node in &mut self.nodes {
            if tokio::time::timeout(LEAVING, node.child.wait()).await.is_err() {
                let _ = node.child.kill().await;
            }
        }
    }

    pub(super) fn failovers(&self) -> &[Duration] {
        &self.failovers
    }

    pub(super) fn term(&self) -> Option<u64> {
        self.leaders[0].as_ref().map(|leader| leader.term.get())
    }

    pub(super) fn shown(&self) -> impl Iterator<Item = Shown<'_>> {
        let holds = |office: usize, pid: Option<i32>| {
            let holder = self.leaders[office].as_ref().and_then(|leader| i32::try_from(leader.node.pid).ok());
            pid.is_some() && pid == holder
        };
        self.nodes.iter().map(move |node| Shown {
            name: &node.name,
            pid: node.pid,
            relays: holds(0, node.pid),
            routes: holds(1, node.pid),
        })
    }
}
