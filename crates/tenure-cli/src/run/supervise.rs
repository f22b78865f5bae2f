//! Looking after the command while the lease is held, and ending it before trust does.

use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::time::Duration;

use nix::sys::signal::Signal;
use nix::unistd::getpgrp;
use serde_json::json;
use tenure::{Fence, Lease};

use super::command::{RunningCommand, exit_code};
use super::guardian::{Guard, READY_PATIENCE};
use super::watch::Watch;
use super::{Job, terminal};
use crate::outlet;
use crate::output::{self, Failure};
use crate::signals::Signals;

/// How long to wait for the store's answer to a release before leaving all the same; the ttl does the rest.
const RELEASE_PATIENCE: Duration = Duration::from_secs(3);
/// How long the command waits for what was said before it to be read.
const ORDER_PATIENCE: Duration = Duration::from_millis(50);

/// How the command came to its end.
pub(super) enum Ended {
    /// By itself, or by a signal that was forwarded.
    Exited(u8),
    /// By us, because the lease was lost.
    Lost,
}

/// Runs the command until it ends or the lease does. Returns when the command is gone and the lease given back.
pub(super) async fn supervise(job: &Job<'_>, fence: &Fence, signals: &mut Signals) -> Result<Ended, Failure> {
    let ended = match start(job, fence).await {
        Ok(Some((command, guard))) => run(job, fence, command, guard, signals).await,
        Ok(None) => {
            tell_loss(job, fence, "it ended before the command could start", "");
            Ok(Ended::Lost)
        }
        Err(failure) => Err(failure),
    };
    // Only now that the command is gone.
    give_back(job.lease).await;
    ended
}

/// The command, ready to go, and its guard; `None` when the lease is lost before.
async fn start(job: &Job<'_>, fence: &Fence) -> Result<Option<(RunningCommand, Guard)>, Failure> {
    let lost = job.lease.lost();
    tokio::select! {
        biased;
        () = lost.stopped() => Ok(None),
        prepared = prepare(job, fence) => prepared,
    }
}

async fn prepare(job: &Job<'_>, fence: &Fence) -> Result<Option<(RunningCommand, Guard)>, Failure> {
    let command = RunningCommand::launch(&job.args.command, fence, job.node).await?;
    job.lease.progress();
    let Some(until) = job.lease.trust().trusted_until() else { return Ok(None) };
    let guard = Guard::start(command.group(), until, READY_PATIENCE).await;
    job.lease.progress();
    if !job.lease.check_alive() {
        return Ok(None);
    }
    Ok(Some((command, guard?)))
}

async fn run(
    job: &Job<'_>,
    fence: &Fence,
    mut command: RunningCommand,
    guard: Guard,
    signals: &mut Signals,
) -> Result<Ended, Failure> {
    tell_start(job, fence, &command);
    command.go();
    let mut watch = Watch::new(job, guard);
    let status = watch.until_exit(&mut command, signals).await;
    // What the command left behind in its group would go on acting without a lease.
    command.signal(Signal::SIGKILL);
    terminal::hand_over(command.group(), getpgrp());
    let killed = status.as_ref().is_ok_and(was_killed);
    match (watch.why_ended(&command, killed).await, status) {
        (Some(reason), _) => {
            tell_loss(job, fence, &reason, "; the command was ended");
            Ok(Ended::Lost)
        }
        (None, Ok(status)) => Ok(Ended::Exited(exit_code(status))),
        (None, Err(error)) => Err(Failure::Failed(format!("cannot wait for the command: {error}"))),
    }
}

/// Gives the lease back, and waits for the answer as long as is reasonable.
pub(super) async fn give_back(lease: &Lease) {
    match tokio::time::timeout(RELEASE_PATIENCE, lease.release()).await {
        Ok(Ok(_)) => {}
        Ok(Err(error)) => {
            output::note(format_args!("the lease could not be given back and ends with its ttl: {error}"))
        }
        Err(_) => output::note("the store did not answer to the release; the lease ends with its ttl"),
    }
}

fn tell_start(job: &Job<'_>, fence: &Fence, command: &RunningCommand) {
    let (lease, term, pid) = (&fence.lease, fence.term, command.group());
    let event = json!({
        "event": "acquired", "lease": lease, "term": term, "node": job.node.name, "pid": pid.as_raw()
    });
    job.voice.say(event, &format!("lease {lease} acquired (term {term}); the command runs as process {pid}"));
    // Before the command says anything itself, where somebody reads.
    outlet::flush(ORDER_PATIENCE);
}

fn tell_loss(job: &Job<'_>, fence: &Fence, reason: &str, consequence: &str) {
    output::note(format_args!("lease {} lost: {reason}{consequence}", fence.lease));
    job.voice.event(json!({ "event": "lost", "lease": fence.lease, "term": fence.term, "reason": reason }));
}

fn was_killed(status: &ExitStatus) -> bool {
    status.signal() == Some(Signal::SIGKILL as i32)
}
