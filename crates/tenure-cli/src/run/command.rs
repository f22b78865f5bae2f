//! The command that `run` looks after.

use std::ffi::OsString;
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::ExitStatus;

use nix::errno::Errno;
use nix::sys::signal::{Signal, killpg};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::Pid;
use tenure::Fence;
use tenure::core::id::Node;
use tokio::process::{Child, Command};

use super::launcher;
use crate::output::Failure;

/// The command, in a process group of its own.
pub(super) struct RunningCommand {
    child: Child,
    group: Pid,
}

impl RunningCommand {
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

    /// Whether the command was stopped since the last look, as by ^Z. Its end is left for [`Self::wait`] to see.
    pub(super) fn was_stopped(&self) -> bool {
        #[cfg(target_os = "linux")]
        {
            use nix::sys::wait::{Id, waitid};
            let stopped = waitid(Id::Pid(self.group), WaitPidFlag::WSTOPPED | WaitPidFlag::WNOHANG);
            matches!(stopped, Ok(WaitStatus::Stopped(..)))
        }
        #[cfg(not(target_os = "linux"))]
        false
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
    let code = status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0));
    u8::try_from(code).unwrap_or(1)
}

pub(super) fn own_binary() -> Result<PathBuf, Failure> {
    // Not the path: the file behind it may be replaced while we wait for the lease.
    #[cfg(target_os = "linux")]
    return Ok("/proc/self/exe".into());
    #[cfg(not(target_os = "linux"))]
    std::env::current_exe().map_err(|error| Failure::Failed(format!("cannot find my own binary: {error}")))
}
