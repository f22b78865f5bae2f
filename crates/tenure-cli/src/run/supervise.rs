//! Looking after the command while the lease is held, and ending it before trust does.

use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::time::Duration;

use nix::sys::signal::Signal;
use serde_json::json;
use tenure::core::id::Node;
use tenure::core::time::{Clock, Monotonic};
use tenure::{Fence, Lease, SteadyClock};

use super::child::{Charge, Guard, Signals, exit_code};
use super::guard::LEAD;
use super::{Voice, launcher};
use crate::args::{OnLost, RunArgs};
use crate::output::{self, Failure};

/// With `--on-lost term`, SIGTERM goes out when this much trust is left: less than ever is left while pings arrive.
const TERM_LEAD: Duration = Duration::from_millis(350);
/// How long to wait for the store's answer to a release before leaving all the same; the ttl does the rest.
const RELEASE_PATIENCE: Duration = Duration::from_secs(3);
/// The longest nap, so that the end of trust is seen soon after the machine woke from sleep.
const NAP_MAX: Duration = Duration::from_millis(200);

/// How the command came to its end.
pub(super) enum Ended {
    /// By itself, or by a signal that was forwarded.
    Exited(u8),
    /// By us, because the lease was lost.
    Lost,
}

/// Runs the command until it ends or the lease does. Returns when the command is gone and the lease given back.
pub(super) async fn supervise(
    lease: &Lease,
    fence: &Fence,
    node: &Node,
    args: &RunArgs,
    signals: &mut Signals,
    voice: &Voice,
) -> Result<Ended, Failure> {
    let started = start(lease, fence, node, args).await;
    let (mut charge, guard) = match started {
        Ok(started) => started,
        Err(failure) => {
            give_back(lease).await;
            return Err(failure);
        }
    };
    let text = format!(
        "lease {} acquired (term {}); the command runs as process {}",
        fence.lease,
        fence.term,
        charge.group()
    );
    let event = json!({ "event": "acquired", "lease": fence.lease, "term": fence.term, "node": node.name, "pid": charge.group().as_raw() });
    voice.say(event, &text);
    charge.go();
    let mut watch = Watch { lease, on_lost: args.on_lost, guard: Some(guard), ending: None };
    let status = watch.until_exit(&mut charge, signals).await;
    // What the command left behind in its group would go on acting without a lease.
    charge.signal(Signal::SIGKILL);
    launcher::terminal_to(nix::unistd::getpgrp());
    if let Some(mut guard) = watch.guard.take() {
        if status.as_ref().is_ok_and(was_killed) && guard.has_ended_the_command().await {
            watch.blame_guard(&charge);
        }
        guard.dismiss().await;
    }
    let ended = match (watch.ending, status) {
        (Some(reason), _) => {
            output::note(format_args!("lease {} lost: {reason}; the command was ended", fence.lease));
            voice.say(
                json!({ "event": "lost", "lease": fence.lease, "term": fence.term, "reason": reason }),
                "",
            );
            Ended::Lost
        }
        (None, Ok(status)) => Ended::Exited(exit_code(status)),
        (None, Err(error)) => return Err(Failure::Failed(format!("cannot wait for the command: {error}"))),
    };
    // Only now that the command is gone.
    give_back(lease).await;
    Ok(ended)
}

async fn start(
    lease: &Lease,
    fence: &Fence,
    node: &Node,
    args: &RunArgs,
) -> Result<(Charge, Guard), Failure> {
    let charge = Charge::launch(&args.command, fence, node).await?;
    let lost = || Failure::Failed(format!("lease {} was lost before the command could start", fence.lease));
    let until = lease.trust().trusted_until().ok_or_else(lost)?;
    let guard = Guard::start(charge.group(), until).await?;
    Ok((charge, guard))
}

async fn give_back(lease: &Lease) {
    match tokio::time::timeout(RELEASE_PATIENCE, lease.release()).await {
        Ok(Ok(_)) => {}
        Ok(Err(error)) => {
            output::note(format_args!("the lease could not be given back and ends with its ttl: {error}"))
        }
        Err(_) => output::note("the store did not answer to the release; the lease ends with its ttl"),
    }
}

struct Watch<'a> {
    lease: &'a Lease,
    on_lost: OnLost,
    guard: Option<Guard>,
    /// Why the command is being ended by us.
    ending: Option<String>,
}

impl Watch<'_> {
    async fn until_exit(
        &mut self,
        charge: &mut Charge,
        signals: &mut Signals,
    ) -> std::io::Result<ExitStatus> {
        let mut trust = self.lease.trust();
        let lost = self.lease.lost();
        let mut until = trust.trusted_until().unwrap_or_else(|| SteadyClock.now());
        let mut asked = false;
        loop {
            let now = SteadyClock.now();
            let kill_at = until.before(LEAD);
            if now >= kill_at {
                self.end(charge, Signal::SIGKILL);
            } else if self.on_lost == OnLost::Term && !asked && now >= until.before(TERM_LEAD) {
                asked = true;
                charge.signal(Signal::SIGTERM);
            }
            let nap =
                now.until(self.next_look(kill_at, until, asked)).clamp(Duration::from_millis(1), NAP_MAX);
            tokio::select! {
                biased;
                status = charge.wait() => {
                    self.blame_trust(until);
                    return status;
                }
                changed = trust.changed(), if !lost.is_stopped() => match changed {
                    Some(later) => {
                        until = later;
                        self.tell_guard(charge, until).await;
                    }
                    None => until = self.lost(charge, until, &mut asked),
                },
                () = lost.stopped(), if self.ending.is_none() => until = self.lost(charge, until, &mut asked),
                ended_the_command = guard_ended(&mut self.guard), if self.guard.is_some() => {
                    self.guard = None;
                    if ended_the_command {
                        self.blame_guard(charge);
                    }
                }
                signal = signals.next() => charge.signal(signal),
                () = tokio::time::sleep(nap) => {}
            }
            if self.guard.is_none() && self.ending.is_none() {
                self.renew_guard(charge, until).await;
            }
        }
    }

    fn next_look(&self, kill_at: Monotonic, until: Monotonic, asked: bool) -> Monotonic {
        if self.on_lost == OnLost::Term && !asked { until.before(TERM_LEAD) } else { kill_at }
    }

    /// The lease is over. Whoever revoked it waits for us, at most until our trust would have ended; in every other
    /// case somebody else may act already.
    fn lost(&mut self, charge: &Charge, until: Monotonic, asked: &mut bool) -> Monotonic {
        let loss = self.lease.loss();
        let reason = loss.as_ref().map_or_else(|| "unknown".to_owned(), ToString::to_string);
        if self.ending.is_none() {
            self.ending = Some(reason);
        }
        if self.on_lost == OnLost::Term && loss == Some(tenure::Loss::Revoked) {
            if !*asked {
                *asked = true;
                charge.signal(Signal::SIGTERM);
            }
            return until;
        }
        charge.signal(Signal::SIGKILL);
        SteadyClock.now()
    }

    fn end(&mut self, charge: &Charge, signal: Signal) {
        if self.ending.is_none() {
            let loss = self.lease.loss().unwrap_or(tenure::Loss::TrustEnded);
            self.ending = Some(loss.to_string());
        }
        charge.signal(signal);
    }

    /// A command that ended when its time was up was ended by the guard, or by the signal that asked it to.
    fn blame_trust(&mut self, until: Monotonic) {
        if self.ending.is_none() && SteadyClock.now() >= until.before(LEAD) {
            self.ending = Some(self.lease.loss().unwrap_or(tenure::Loss::TrustEnded).to_string());
        }
    }

    /// The guard ended the command while this process stood still. It may have woken in time to renew the lease, but the
    /// command is gone.
    fn blame_guard(&mut self, charge: &Charge) {
        let reason = || "this process stood still, and the guard ended the command in time".to_owned();
        self.ending.get_or_insert_with(reason);
        charge.signal(Signal::SIGKILL);
    }

    async fn tell_guard(&mut self, charge: &Charge, until: Monotonic) {
        let Some(guard) = &mut self.guard else { return };
        if guard.until(until).await.is_ok() {
            return;
        }
        let ended_the_command = guard.has_ended_the_command().await;
        self.guard = None;
        if ended_the_command { self.blame_guard(charge) } else { self.renew_guard(charge, until).await }
    }

    /// Without a guard the command must not run.
    async fn renew_guard(&mut self, charge: &Charge, until: Monotonic) {
        tracing::warn!("the guard process ended; starting another");
        match Guard::start(charge.group(), until).await {
            Ok(guard) => self.guard = Some(guard),
            Err(failure) => {
                self.ending = Some(format!("no guard ({failure})"));
                charge.signal(Signal::SIGKILL);
            }
        }
    }
}

async fn guard_ended(guard: &mut Option<Guard>) -> bool {
    match guard {
        Some(guard) => guard.ended().await,
        None => std::future::pending().await,
    }
}

fn was_killed(status: &ExitStatus) -> bool {
    status.signal() == Some(Signal::SIGKILL as i32)
}
