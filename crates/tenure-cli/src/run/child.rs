//! The processes that `run` looks after: the command, its guard, and the signals between them.

use std::ffi::OsString;
use std::io;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use nix::errno::Errno;
use nix::sys::signal::{Signal, killpg};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::Pid;
use tenure::Fence;
use tenure::core::id::Node;
use tenure::core::time::Monotonic;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::process::{Child, ChildStdin, Command};
use tokio::signal::unix::{SignalKind, signal};

use super::{guard, launcher};
use crate::output::Failure;

/// How long a guard may take to leave once it has ended the command.
const LEAVING: Duration = Duration::from_millis(20);

/// A guard that takes nothing in for this long is replaced.
const TELL_PATIENCE: Duration = Duration::from_millis(100);

/// The command, in a process group of its own.
pub(super) struct Charge {
    child: Child,
    group: Pid,
}

impl Charge {
    /// Starts the launcher, which stops itself before it becomes the command.
    pub(super) async fn launch(command: &[OsString], fence: &Fence, node: &Node) -> Result<Self, Failure> {
        let mut child = Command::new(own_binary()?)
            .arg(launcher::COMMAND)
            .arg(std::process::id().to_string())
            .args(command)
            .env("TENURE_LEASE", fence.lease.as_str())
            .env("TENURE_TERM", fence.term.to_string())
            .env("TENURE_NODE", node.name.as_str())
            .process_group(0)
            .kill_on_drop(true)
            .spawn()
            .map_err(|error| Failure::Failed(format!("cannot start a process: {error}")))?;
        let pid = child.id().and_then(|pid| i32::try_from(pid).ok()).map(Pid::from_raw);
        let Some(group) = pid else { return Err(Failure::Failed("the process ended at once".into())) };
        let stopped = tokio::task::spawn_blocking(move || wait_until_stopped(group)).await;
        if !matches!(stopped, Ok(Ok(()))) {
            let _ = child.kill().await;
            return Err(Failure::Failed("the process could not be prepared to run under a guard".into()));
        }
        Ok(Self { child, group })
    }

    /// Lets the launcher become the command.
    pub(super) fn go(&self) {
        self.signal(Signal::SIGCONT);
    }

    /// Sends a signal to the command and everything it started, as far as that stayed in its group.
    pub(super) fn signal(&self, signal: Signal) {
        // Fails only when nobody is left to get it.
        let _ = killpg(self.group, signal);
    }

    pub(super) async fn wait(&mut self) -> io::Result<ExitStatus> {
        self.child.wait().await
    }

    pub(super) fn group(&self) -> Pid {
        self.group
    }
}

/// Waits for the launcher's own SIGSTOP.
fn wait_until_stopped(pid: Pid) -> Result<(), Errno> {
    loop {
        match waitpid(pid, Some(WaitPidFlag::WUNTRACED)) {
            Ok(WaitStatus::Stopped(..)) => return Ok(()),
            Ok(WaitStatus::Exited(..) | WaitStatus::Signaled(..)) => return Err(Errno::ECHILD),
            Ok(_) | Err(Errno::EINTR) => {}
            Err(error) => return Err(error),
        }
    }
}

/// The exit code that a shell would give.
pub(super) fn exit_code(status: ExitStatus) -> u8 {
    use std::os::unix::process::ExitStatusExt;

    let code = status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0));
    u8::try_from(code).unwrap_or(1)
}

/// The guard of one command.
pub(super) struct Guard {
    child: Child,
    input: ChildStdin,
}

impl Guard {
    /// Starts a guard and waits until it knows what it guards.
    pub(super) async fn start(group: Pid, until: Monotonic) -> Result<Self, Failure> {
        let failed = |error: io::Error| Failure::Failed(format!("cannot start the guard process: {error}"));
        let mut child = Command::new(own_binary()?)
            .arg(guard::COMMAND)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .process_group(0)
            // One that is replaced because it does not listen must not see its pipe close later and end the command.
            .kill_on_drop(true)
            .spawn()
            .map_err(failed)?;
        let (Some(input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(Failure::Failed("the guard process has no pipes".into()));
        };
        let mut guard = Self { child, input };
        guard.until(until).await.map_err(failed)?;
        guard.tell(format!("child {group}\n")).await.map_err(failed)?;
        let mut answer = String::new();
        BufReader::new(output).read_line(&mut answer).await.map_err(failed)?;
        if answer != guard::READY {
            return Err(Failure::Failed("the guard process gave no answer".into()));
        }
        Ok(guard)
    }

    /// Tells how long trust lasts.
    pub(super) async fn until(&mut self, until: Monotonic) -> io::Result<()> {
        self.tell(format!("until {}\n", until.since_origin().as_micros())).await
    }

    /// The command is gone: there is nothing left to guard. Not asked but killed, for it may be stopped itself.
    pub(super) async fn dismiss(mut self) {
        let _ = self.child.kill().await;
    }

    /// Waits until the guard is gone. True when it has ended the command, false when someone killed it.
    pub(super) async fn ended(&mut self) -> bool {
        self.child.wait().await.is_ok_and(|status| status.code().is_some())
    }

    /// Whether the guard has ended the command. It leaves right after, which is waited for.
    pub(super) async fn has_ended_the_command(&mut self) -> bool {
        tokio::time::timeout(LEAVING, self.ended()).await.unwrap_or(false)
    }

    async fn tell(&mut self, line: String) -> io::Result<()> {
        // A guard that is stopped reads nothing, and one day its pipe is full.
        match tokio::time::timeout(TELL_PATIENCE, self.input.write_all(line.as_bytes())).await {
            Ok(told) => told,
            Err(_) => Err(io::ErrorKind::TimedOut.into()),
        }
    }
}

fn own_binary() -> Result<std::path::PathBuf, Failure> {
    // Not the path: the file behind it may be replaced while we wait for the lease.
    #[cfg(target_os = "linux")]
    return Ok("/proc/self/exe".into());
    #[cfg(not(target_os = "linux"))]
    std::env::current_exe().map_err(|error| Failure::Failed(format!("cannot find my own binary: {error}")))
}

/// The signals that are forwarded to the command.
pub(super) struct Signals {
    streams: Vec<(Signal, tokio::signal::unix::Signal)>,
}

impl Signals {
    /// From now on these signals come here instead of ending the process.
    pub(super) fn catch() -> Result<Self, Failure> {
        let forwarded = [
            Signal::SIGTERM,
            Signal::SIGINT,
            Signal::SIGHUP,
            Signal::SIGQUIT,
            Signal::SIGUSR1,
            Signal::SIGUSR2,
        ];
        let streams =
            forwarded.into_iter().map(|which| Ok((which, signal(SignalKind::from_raw(which as i32))?)));
        let streams = streams.collect::<io::Result<_>>();
        Ok(Self {
            streams: streams.map_err(|error| Failure::Failed(format!("cannot catch signals: {error}")))?,
        })
    }

    /// The next signal.
    pub(super) async fn next(&mut self) -> Signal {
        std::future::poll_fn(|context| {
            for (which, stream) in &mut self.streams {
                if let std::task::Poll::Ready(Some(())) = stream.poll_recv(context) {
                    return std::task::Poll::Ready(*which);
                }
            }
            std::task::Poll::Pending
        })
        .await
    }

    /// The next signal that asks to end.
    pub(super) async fn ending(&mut self) -> Signal {
        loop {
            let signal = self.next().await;
            if !matches!(signal, Signal::SIGUSR1 | Signal::SIGUSR2) {
                return signal;
            }
        }
    }
}
