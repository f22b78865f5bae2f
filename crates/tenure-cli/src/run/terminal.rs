//! Whom the terminal listens to, and what ^Z does.
//!
//! A command in a process group of its own may read from the terminal only while the terminal is its own. The shell that
//! started tenure knows nothing of that group: when the command is stopped, tenure takes the terminal back and stops
//! itself, so that the shell sees its job stopped.

use std::io::{self, IsTerminal};
use std::time::Duration;

use nix::sys::signal::{SigSet, Signal, killpg};
use nix::unistd::{Pid, getpgrp, tcgetpgrp, tcsetpgrp};
use tokio::signal::unix::{SignalKind, signal};

/// When we were not stopped this long after asking for it, nobody could continue us, and we go on.
const STOP_PATIENCE: Duration = Duration::from_millis(300);

/// Whether standard input is a terminal.
pub(super) fn is_there() -> bool {
    io::stdin().is_terminal()
}

/// Makes the terminal listen to `to`, if it listens to `from`: from the background nothing is taken.
pub(super) fn hand_over(from: Pid, to: Pid) {
    if !is_there() || foreground() != Some(from) {
        return;
    }
    // Whoever is not in the foreground is stopped for trying, unless this signal is blocked.
    let quiet = SigSet::from_iter([Signal::SIGTTOU]);
    if quiet.thread_block().is_ok() {
        // Fails when the terminal is not ours to give; then the command runs in the background.
        let _ = tcsetpgrp(io::stdin(), to);
        let _ = quiet.thread_unblock();
    }
}

/// The command was stopped: stops our own group like it, and returns when the shell has continued it. The terminal is
/// the command's again when the shell gave it to us.
pub(super) async fn follow_into_stop(command: Pid) {
    let own = getpgrp();
    // A command that asked for the terminal while it was ours to give was stopped only for that.
    if foreground() != Some(own) {
        hand_over(command, own);
        if let Ok(mut continued) = signal(SignalKind::from_raw(Signal::SIGCONT as i32)) {
            // Like ^Z itself: everything in the group, and nothing where no shell is left to continue it.
            let _ = killpg(own, Signal::SIGTSTP);
            let _ = tokio::time::timeout(STOP_PATIENCE, continued.recv()).await;
        }
    }
    hand_over(own, command);
}

fn foreground() -> Option<Pid> {
    tcgetpgrp(io::stdin()).ok()
}
