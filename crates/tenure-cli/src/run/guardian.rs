//! Tenure's end of the pipe to a guard.

use std::io;
use std::process::Stdio;
use std::time::Duration;

use nix::unistd::Pid;
use tenure::core::time::Monotonic;
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncWriteExt, BufReader};
use tokio::process::{Child, ChildStdin, Command};
use tokio::time::timeout;

use super::command::own_binary;
use super::guard;
use crate::output::Failure;

/// How long a guard may take to leave once it has ended the command.
const LEAVING: Duration = Duration::from_millis(20);
/// A guard that takes nothing in for this long is replaced.
const TELL_PATIENCE: Duration = Duration::from_millis(100);
/// A guard that is not ready after this long never will be.
pub(super) const READY_PATIENCE: Duration = Duration::from_secs(2);
/// How long the end of a killed guard is waited for.
const DEATH_PATIENCE: Duration = Duration::from_secs(1);

/// The guard of one command.
pub(super) struct Guard {
    /// Before the pipe, so that it is also dropped before: a guard that is replaced because it does not listen is killed
    /// first, and never sees its pipe close and ends the command.
    child: Child,
    input: ChildStdin,
}

impl Guard {
    /// Starts a guard and waits until it knows what it guards.
    pub(super) async fn start(group: Pid, until: Monotonic, patience: Duration) -> Result<Self, Failure> {
        let failed = |error: io::Error| Failure::Failed(format!("cannot start the guard process: {error}"));
        let mut child = Command::new(own_binary()?)
            .arg(guard::COMMAND)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .process_group(0)
            .kill_on_drop(true)
            .spawn()
            .map_err(failed)?;
        let (Some(input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(Failure::Failed("the guard process has no pipes".into()));
        };
        let mut guard = Self { child, input };
        guard.until(until).await.map_err(failed)?;
        guard.tell(format!("child {group}\n")).await.map_err(failed)?;
        hear_ready(output, patience).await.map_err(failed)?;
        Ok(guard)
    }

    /// Tells how long trust lasts.
    pub(super) async fn until(&mut self, until: Monotonic) -> io::Result<()> {
        self.tell(format!("until {}\n", until.since_origin().as_micros())).await
    }

    /// The command is gone: there is nothing left to guard. Not asked but killed, for it may be stopped itself.
    pub(super) async fn dismiss(mut self) {
        let _ = timeout(DEATH_PATIENCE, self.child.kill()).await;
    }

    /// Waits until the guard is gone. True when it has ended the command, false when someone killed it.
    pub(super) async fn ended(&mut self) -> bool {
        self.child.wait().await.is_ok_and(|status| status.code().is_some())
    }

    /// Whether the guard has ended the command. It leaves right after, which is waited for.
    pub(super) async fn has_ended_the_command(&mut self) -> bool {
        timeout(LEAVING, self.ended()).await.unwrap_or(false)
    }

    /// Whether someone has stopped the guard, where the system tells.
    pub(super) fn is_stopped(&self) -> bool {
        let stat = self.child.id().and_then(|pid| std::fs::read_to_string(format!("/proc/{pid}/stat")).ok());
        // The state stands behind the name, which is in brackets and may hold anything.
        let state = stat.as_deref().and_then(|stat| stat.rsplit_once(") ")?.1.chars().next());
        matches!(state, Some('T' | 't'))
    }

    async fn tell(&mut self, line: String) -> io::Result<()> {
        // A guard that is stopped reads nothing, and one day its pipe is full.
        timeout(TELL_PATIENCE, self.input.write_all(line.as_bytes())).await?
    }
}

/// Waits for the guard's word that it knows the command.
async fn hear_ready(output: impl AsyncRead + Unpin, patience: Duration) -> io::Result<()> {
    let mut answer = String::new();
    timeout(patience, BufReader::new(output).read_line(&mut answer)).await??;
    if answer == guard::READY { Ok(()) } else { Err(io::Error::other("it gave no answer")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_guard_that_never_gets_ready_is_not_waited_for() {
        let (_silent, output) = tokio::io::duplex(64);
        let heard = timeout(READY_PATIENCE, hear_ready(output, Duration::from_millis(20))).await;
        assert_eq!(heard.expect("an end").unwrap_err().kind(), io::ErrorKind::TimedOut);
    }

    #[tokio::test]
    async fn only_the_right_word_counts() {
        assert!(hear_ready(guard::READY.as_bytes(), READY_PATIENCE).await.is_ok());
        for word in ["", "running 0 tests\n"] {
            assert!(hear_ready(word.as_bytes(), READY_PATIENCE).await.is_err(), "{word:?}");
        }
    }
}
