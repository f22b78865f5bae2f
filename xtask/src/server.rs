//! A server process that cannot outlive us.
//!
//! A server runs as an ordinary user (all of them refuse root), writes its log into the scratch directory, is stopped
//! when dropped, and is killed by the kernel when the thread that started it ends, with its process or alone.

use std::fs::{self, File};
use std::net::{Ipv4Addr, TcpListener};
use std::os::unix::fs::chown;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crate::Result;
use crate::apt::find_program;

const READY_WITHIN: Duration = Duration::from_secs(30);
const STOP_WITHIN: Duration = Duration::from_secs(5);
const POLL: Duration = Duration::from_millis(20);

/// Not a secret: it opens a server that lives for one test run, on loopback. Tests look for it where it must not appear.
pub(crate) const LOCKED_PASSWORD: &str = "tenure-test-secret";

/// Whether a commit survives a power cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Durability {
    /// As in production; benchmarks are run so.
    Durable,
    /// Nothing waits for the disk: faster, for tests only.
    Fast,
}

/// The user that servers run as: `None` is the user we are.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Account(Option<(u32, u32)>);

impl Account {
    /// Ourselves, or as root the first of `user` and `nobody` that exists.
    pub(crate) fn of(user: &str) -> Result<Self> {
        if !is_root() {
            return Ok(Self(None));
        }
        [user, "nobody"]
            .into_iter()
            .find_map(|user| Some(Self(Some((id("-u", user)?, id("-g", user)?)))))
            .ok_or_else(|| format!("neither a user `{user}` nor `nobody` exists to run a server as"))
    }

    /// The user we are, for a command that is to end with us.
    pub(crate) fn ourselves() -> Self {
        Self(None)
    }

    /// A command that runs as this account.
    pub(crate) fn command(self, program: &Path) -> Command {
        let mut wrapper = Command::new("setpriv");
        match self.0 {
            Some((user, group)) => {
                wrapper.args([format!("--reuid={user}"), format!("--regid={group}")]).arg("--init-groups");
            }
            None if find_program("setpriv").is_none() => {
                return without_client_variables(Command::new(program));
            }
            None => {}
        }
        wrapper.args(["--pdeathsig", "KILL", "--"]).arg(program);
        without_client_variables(wrapper)
    }

    /// Makes a directory that belongs to this account.
    pub(crate) fn make_dir(self, path: &Path) -> Result<()> {
        let fail = |error| format!("cannot make {}: {error}", path.display());
        fs::create_dir(path).map_err(fail)?;
        match self.0 {
            Some((user, group)) => chown(path, Some(user), Some(group)).map_err(fail),
            None => Ok(()),
        }
    }

    /// Makes a file, or a directory and all that is in it, belong to this account.
    pub(crate) fn own(self, path: &Path) -> Result<()> {
        let Some((user, group)) = self.0 else { return Ok(()) };
        let mut command = Command::new("chown");
        command.arg("-R").arg(format!("{user}:{group}")).arg(path);
        output(command).map(drop)
    }
}

/// A running server.
#[derive(Debug)]
pub(crate) struct Server {
    name: &'static str,
    child: Child,
    log: PathBuf,
    /// The signal that asks for a quick but orderly end.
    stop_signal: &'static str,
}

impl Server {
    /// Starts `command` with its output in `DIR/NAME.log`.
    pub(crate) fn spawn(
        name: &'static str,
        mut command: Command,
        dir: &Path,
        stop_signal: &'static str,
    ) -> Result<Self> {
        let log = dir.join(format!("{name}.log"));
        let open = || -> std::io::Result<(File, File)> {
            let out = File::create(&log)?;
            Ok((out.try_clone()?, out))
        };
        let (out, err) = open().map_err(|error| format!("cannot write {}: {error}", log.display()))?;
        let child = command
            .current_dir(dir)
            .stdin(Stdio::null())
            .stdout(out)
            .stderr(err)
            .spawn()
            .map_err(|error| format!("{name} does not start: {error}"))?;
        Ok(Self { name, child, log, stop_signal })
    }

    /// Waits until `probe` says yes; fails with the end of the log when the server ends or takes too long.
    pub(crate) fn wait_ready(&mut self, mut probe: impl FnMut() -> bool) -> Result<()> {
        let started = Instant::now();
        loop {
            if let Ok(Some(status)) = self.child.try_wait() {
                return Err(format!("{} ended while starting ({status}): {}", self.name, self.log_tail()));
            }
            if probe() {
                return Ok(());
            }
            if started.elapsed() > READY_WITHIN {
                let seconds = READY_WITHIN.as_secs();
                return Err(format!("{} is not ready after {seconds} s: {}", self.name, self.log_tail()));
            }
            thread::sleep(POLL);
        }
    }

    fn log_tail(&self) -> String {
        let log = fs::read_to_string(&self.log).unwrap_or_default();
        let lines: Vec<&str> = log.lines().collect();
        lines.get(lines.len().saturating_sub(5)..).unwrap_or_default().join(" | ")
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // The standard library can only kill; a signal of choice is the shell's built-in.
        let script = format!("kill -{} {}", self.stop_signal, self.child.id());
        let _ = Command::new("sh").args(["-c", &script]).stderr(Stdio::null()).status();
        let asked = Instant::now();
        while asked.elapsed() < STOP_WITHIN {
            match self.child.try_wait() {
                Ok(None) => thread::sleep(POLL),
                Ok(Some(_)) | Err(_) => return,
            }
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Starts something on a free port of loopback. Another process may take the port first, so it is tried more than once.
pub(crate) fn on_free_port<T>(mut start: impl FnMut(u16) -> Result<T>) -> Result<T> {
    let mut attempt = || start(free_port()?);
    attempt().or_else(|_| attempt()).or_else(|_| attempt())
}

fn free_port() -> Result<u16> {
    TcpListener::bind((Ipv4Addr::LOCALHOST, 0))
        .and_then(|listener| listener.local_addr())
        .map(|address| address.port())
        .map_err(|error| format!("no free port on loopback: {error}"))
}

/// Runs a command to its end and returns what it printed, or what it complained of.
pub(crate) fn output(mut command: Command) -> Result<String> {
    let program = command.get_program().to_string_lossy().into_owned();
    let output = command
        .stdin(Stdio::null())
        .output()
        .map_err(|error| format!("{program} does not start: {error}"))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned());
    }
    let complaint = String::from_utf8_lossy(&output.stderr);
    Err(format!("{program} failed ({}): {}", output.status, complaint.trim().replace('\n', " | ")))
}

/// Whether we may install packages and change users.
pub(crate) fn is_root() -> bool {
    let mut id = Command::new("id");
    id.arg("-u");
    output(id).is_ok_and(|uid| uid == "0")
}

/// Takes the variables by which a client would connect elsewhere out of a command's environment.
pub(crate) fn without_client_variables(mut command: Command) -> Command {
    for (name, _) in std::env::vars_os() {
        if ["PG", "MYSQL_", "MARIADB_", "ETCD"].iter().any(|start| name.to_string_lossy().starts_with(start))
        {
            command.env_remove(name);
        }
    }
    command
}

fn id(what: &str, user: &str) -> Option<u32> {
    let mut command = Command::new("id");
    command.args([what, user]);
    output(command).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scratch::Scratch;

    fn shell(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        command
    }

    #[test]
    fn a_server_that_ends_while_starting_is_reported_with_its_log() {
        let scratch = Scratch::create().unwrap();
        let mut server =
            Server::spawn("sample", shell("echo port taken; exit 3"), scratch.path(), "TERM").unwrap();
        let reason = server.wait_ready(|| false).unwrap_err();
        assert!(reason.contains("sample ended") && reason.contains("port taken"), "{reason}");
    }

    #[test]
    fn a_dropped_server_is_gone() {
        let scratch = Scratch::create().unwrap();
        let mut server = Server::spawn("sample", shell("exec sleep 600"), scratch.path(), "TERM").unwrap();
        server.wait_ready(|| true).unwrap();
        let pid = server.child.id();
        drop(server);
        assert!(output(shell(&format!("kill -0 {pid}"))).is_err());
    }

    #[test]
    fn a_port_that_was_taken_is_tried_elsewhere() {
        let mut tries = 0;
        let started = on_free_port(|port| {
            tries += 1;
            if tries < 3 { Err("taken".to_owned()) } else { Ok(port) }
        });
        assert!(started.is_ok_and(|port| port > 0));
        assert_eq!(on_free_port(|_| Err::<(), _>("broken".to_owned())), Err("broken".to_owned()));
    }

    #[test]
    fn a_failed_command_says_what_it_complained_of() {
        assert_eq!(output(shell("echo fine")), Ok("fine".to_owned()));
        let reason = output(shell("echo broken >&2; exit 1")).unwrap_err();
        assert!(reason.contains("broken"), "{reason}");
    }
}
