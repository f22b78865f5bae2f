//! A real `tenure run` process that a benchmark starts, watches and torments.

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tokio::io::{AsyncBufReadExt, BufReader, Lines};
use tokio::process::{Child, ChildStdout, Command};

use super::actor;
use super::meter::Meter;
use crate::args::Global;
use crate::output::Failure;

/// A benchmark that waits longer than this for a process has failed.
const PATIENCE: Duration = Duration::from_secs(60);

/// How a contestant is started.
pub(super) struct Entry<'a> {
    pub(super) global: &'a Global,
    pub(super) url: &'a str,
    /// The database that records what is granted at `url`, if that is another place.
    pub(super) protected: Option<&'a str>,
    pub(super) lease: &'a str,
    pub(super) options: &'a [String],
    pub(super) acts: &'a Path,
    /// What counts its statements, if anyone does.
    pub(super) meter: Option<&'a Meter>,
}

fn not_started(error: std::io::Error) -> Failure {
    Failure::Failed(format!("cannot start a contestant: {error}"))
}

/// This binary, with the tables that the command line names.
fn tenure(binary: &Path, global: &Global) -> Command {
    let mut command = Command::new(binary);
    command.args(["--json", "--table-prefix", &global.table_prefix]);
    if let Some(schema) = &global.schema {
        command.args(["--schema", schema]);
    }
    command
}

/// One running contestant.
pub(super) struct Contestant {
    child: Child,
    pid: Pid,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Contestant {
    pub(super) fn start(entry: &Entry<'_>) -> Result<Self, Failure> {
        let binary = std::env::current_exe().map_err(not_started)?;
        let mut command = tenure(&binary, entry.global);
        // The URL goes by the environment: command lines are for everyone to read.
        command.env("TENURE_LEASE_URL", entry.url).args(["run", "--name", entry.lease]).args(entry.options);
        // Ours, by which we were told of the store, would make its own proxy another place.
        command.env_remove("TENURE_DB").envs(entry.protected.map(|protected| ("TENURE_DB", protected)));
        command.arg("--").arg(&binary).arg(actor::COMMAND).arg(entry.acts);
        Self::spawn(command, entry.meter)
    }

    /// A relay that has nothing to do, to a receiver that is not there.
    pub(super) fn start_relay(global: &Global, meter: &Meter, lease: &str) -> Result<Self, Failure> {
        let binary = std::env::current_exe().map_err(not_started)?;
        let mut command = tenure(&binary, global);
        command.env("TENURE_DB", meter.url());
        command.args(["relay", "--to", "http://127.0.0.1:9/", "--lease-name", lease]);
        Self::spawn(command, Some(meter))
    }

    /// A relay to this receiver, over tables that someone else has made.
    pub(super) fn start_relay_to(
        receiver: &str,
        (url, schema): (String, Option<String>),
    ) -> Result<Self, Failure> {
        let binary = std::env::current_exe().map_err(not_started)?;
        let mut command = Command::new(binary);
        command.arg("--json");
        if let Some(schema) = schema {
            command.args(["--schema", &schema]);
        }
        command.env("TENURE_DB", url).args(["relay", "--to", receiver]);
        Self::spawn(command, None)
    }

    fn spawn(mut command: Command, meter: Option<&Meter>) -> Result<Self, Failure> {
        let quiet = std::env::var_os("TENURE_LOG").is_none();
        let stderr = match meter.is_some_and(|meter| meter.prepare(&mut command)) {
            true => Stdio::piped(),
            false if quiet => Stdio::null(),
            false => Stdio::inherit(),
        };
        let mut child = command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(stderr)
            .kill_on_drop(true)
            .spawn()
            .map_err(not_started)?;
        let pid = child.id().and_then(|pid| i32::try_from(pid).ok()).map(Pid::from_raw);
        let (Some(pid), Some(stdout)) = (pid, child.stdout.take()) else {
            return Err(Failure::Failed("a contestant ended at once".into()));
        };
        if let (Some(meter), Some(log)) = (meter, child.stderr.take()) {
            meter.read(log);
        }
        Ok(Self { child, pid, lines: BufReader::new(stdout).lines() })
    }

    /// Waits for an event that the contestant tells of.
    pub(super) async fn until_event(&mut self, event: &str) -> Result<(), Failure> {
        self.until_one_of(&[event]).await.map(drop)
    }

    /// Waits for the first of these events, and tells which it was.
    pub(super) async fn until_one_of<'e>(&mut self, events: &[&'e str]) -> Result<&'e str, Failure> {
        let awaited = events.join(" or ");
        let look = async {
            while let Ok(Some(line)) = self.lines.next_line().await {
                let told = |event: &&&str| line.contains(&format!("\"event\":\"{event}\""));
                if let Some(event) = events.iter().find(told) {
                    return Ok(*event);
                }
            }
            Err(Failure::Failed(format!(
                "a contestant ended before it was {awaited}; try again with TENURE_LOG=info"
            )))
        };
        let late = |_| Failure::Failed(format!("a contestant was not {awaited} within {PATIENCE:?}"));
        tokio::time::timeout(PATIENCE, look).await.map_err(late)?
    }

    pub(super) fn signal(&self, signal: Signal) {
        // Fails only when the contestant is gone.
        let _ = kill(self.pid, signal);
    }

    /// What the process keeps in memory, where the system tells.
    pub(super) fn resident_kib(&self) -> Option<u64> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.pid)).ok()?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
        line.trim().trim_end_matches(" kB").parse().ok()
    }

    /// Waits until it is gone; kills it when that takes too long.
    pub(super) async fn gone(mut self) {
        if tokio::time::timeout(Duration::from_secs(15), self.child.wait()).await.is_err() {
            let _ = self.child.kill().await;
        }
    }
}
