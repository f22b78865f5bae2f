//! Processes as the kernel sees them.

use std::fs;
use std::path::Path;

use nix::sys::signal::{Signal, kill, killpg};
use nix::unistd::Pid;

use super::wait_until;

struct Stat {
    state: char,
    parent: i32,
}

fn stat(pid: i32) -> Option<Stat> {
    stat_at(format!("/proc/{pid}/stat").as_ref())
}

fn stat_at(path: &Path) -> Option<Stat> {
    let text = fs::read_to_string(path).ok()?;
    // The name stands in brackets and may hold anything.
    let mut fields = text.rsplit_once(')')?.1.split_whitespace();
    Some(Stat { state: fields.next()?.chars().next()?, parent: fields.next()?.parse().ok()? })
}

/// Whether a process can still do anything. One that is dead and only waits for its parent cannot.
pub(crate) fn is_running(pid: Pid) -> bool {
    stat(pid.as_raw()).is_some_and(|stat| !matches!(stat.state, 'Z' | 'X'))
}

/// The living children of a process.
pub(crate) fn children(of: Pid) -> Vec<Pid> {
    let entries = fs::read_dir("/proc").expect("/proc").flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let child = |pid: &i32| stat(*pid).is_some_and(|stat| stat.parent == of.as_raw() && stat.state != 'Z');
    pids.filter(child).map(Pid::from_raw).collect()
}

/// The guard that a `tenure run` has started.
pub(crate) fn guard_of(tenure: Pid) -> Option<Pid> {
    children(tenure).into_iter().find(|pid| {
        let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        line.split(|byte| *byte == 0).nth(1) == Some(b"__guard")
    })
}

/// Sends a signal; that nobody is there any more is no error.
pub(crate) fn signal(pid: Pid, signal: Signal) {
    let _ = kill(pid, signal);
}

/// Stops a process, and waits until each of its threads stands still: one that runs on another processor does not hear of it at
/// once, and may take a lock until then.
pub(crate) fn freeze(pid: Pid) {
    signal(pid, Signal::SIGSTOP);
    let moves = |thread: fs::DirEntry| {
        let stat = stat_at(&thread.path().join("stat"));
        stat.is_some_and(|stat| !matches!(stat.state, 'T' | 't' | 'Z' | 'X'))
    };
    let threads = || fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    wait_until("every thread stands still", || !threads().any(moves));
}

/// Sends a signal to a whole process group.
pub(crate) fn signal_group(group: Pid, signal: Signal) {
    let _ = killpg(group, signal);
}
