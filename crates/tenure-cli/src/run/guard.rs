//! The guard: a process that can end the command when tenure cannot.
//!
//! It reads lines from its standard input: `child PID` names the process group, `until MICROS` says how long trust
//! lasts on the machine's steady clock. When time is up, or the pipe closes, it kills the group. It does nothing else, so
//! that nothing else can go wrong with it; tenure kills it when the command is gone.

use std::io::{self, Write};
use std::os::fd::AsFd;
use std::process::ExitCode;
use std::time::Duration;

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{SigSet, Signal, killpg};
use nix::unistd::{Pid, read};
use tenure::SteadyClock;
use tenure::core::time::{Clock, Monotonic};

/// The first argument by which this binary knows that it is the guard.
pub(super) const COMMAND: &str = "__guard";
/// The command is ended this long before its trust, so that it is gone when trust is.
pub(super) const LEAD: Duration = Duration::from_millis(50);
/// Tenure itself ends the command a little earlier: what the guard has to do is a sign that tenure could not.
pub(super) const OWN_LEAD: Duration = LEAD.saturating_add(Duration::from_millis(25));
/// What the guard answers once it knows the command.
pub(super) const READY: &str = "ready\n";

/// Looks at the clock at least this often: a machine that slept may have skipped a timer.
const LOOK_EVERY: Duration = Duration::from_millis(200);

/// What the guard was told.
#[derive(Default)]
struct Watched {
    group: Option<Pid>,
    until: Option<Monotonic>,
}

pub(super) fn main() -> ExitCode {
    // Nothing but SIGKILL and SIGSTOP keeps a guard from its work: not a terminal that goes away, not a signal meant for
    // everyone, and not the hang-up that the kernel sends to a stopped process whose parent has died.
    let _ = SigSet::all().thread_block();
    let mut watched = Watched::default();
    let mut unread = Vec::new();
    loop {
        let left = watched.until.map_or(LOOK_EVERY, |until| SteadyClock.now().until(until.before(LEAD)));
        // Everything that was said comes before the clock: a guard that was stopped for a while finds its pipe full of
        // deadlines that have passed, and the last one is the one that counts.
        let mut patience = left.min(LOOK_EVERY);
        loop {
            match readable(patience) {
                Ok(false) => break,
                Ok(true) => {}
                Err(_) => return end(&watched),
            }
            match read_lines(&mut unread, &mut watched) {
                Ok(true) => patience = Duration::ZERO,
                // The pipe is closed: tenure is gone.
                Ok(false) | Err(_) => return end(&watched),
            }
        }
        if watched.until.is_some_and(|until| SteadyClock.now() >= until.before(LEAD)) {
            return end(&watched);
        }
    }
}

/// Whether there is something to read, or comes within `patience`.
fn readable(patience: Duration) -> Result<bool, Errno> {
    // Rounded up: a timeout that ends a little early would only be a busy wait.
    let millis = u16::try_from(patience.as_micros().div_ceil(1000)).unwrap_or(u16::MAX);
    let input = io::stdin();
    let mut polled = [PollFd::new(input.as_fd(), PollFlags::POLLIN)];
    match poll(&mut polled, PollTimeout::from(millis)) {
        Ok(ready) => Ok(ready > 0),
        Err(Errno::EINTR) => Ok(false),
        Err(error) => Err(error),
    }
}

/// Takes in one piece of what there is; false at the end of the pipe.
fn read_lines(unread: &mut Vec<u8>, watched: &mut Watched) -> io::Result<bool> {
    let mut buffer = [0; 4096];
    // Straight from the pipe: what the standard library has read ahead would be invisible to `poll`.
    let count = read(io::stdin(), &mut buffer)?;
    unread.extend_from_slice(&buffer[..count]);
    while let Some(end) = unread.iter().position(|byte| *byte == b'\n') {
        let line: Vec<u8> = unread.drain(..=end).collect();
        obey(std::str::from_utf8(&line).unwrap_or_default().trim_end(), watched)?;
    }
    Ok(count > 0)
}

fn obey(line: &str, watched: &mut Watched) -> io::Result<()> {
    match line.split_once(' ').unwrap_or((line, "")) {
        ("child", pid) => {
            watched.group = pid.parse().ok().map(Pid::from_raw);
            io::stdout().write_all(READY.as_bytes())?;
            io::stdout().flush()?;
        }
        ("until", micros) => {
            let micros = micros.parse().map(Duration::from_micros);
            watched.until = micros.ok().map(Monotonic::from_origin);
        }
        _ => {}
    }
    Ok(())
}

fn end(watched: &Watched) -> ExitCode {
    if let Some(group) = watched.group {
        // Fails only when the group is gone already.
        let _ = killpg(group, Signal::SIGKILL);
    }
    ExitCode::from(1)
}
