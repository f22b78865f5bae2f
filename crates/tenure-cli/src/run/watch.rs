//! The watch over a running command: every turn looks at the clock, the lease, the guard, the signals and the command.

use std::io;
use std::process::ExitStatus;
use std::time::Duration;

use nix::sys::signal::Signal;
use tenure::core::time::{Clock, Monotonic};
use tenure::{Lease, Loss, SteadyClock};

use super::command::RunningCommand;
use super::guard::OWN_LEAD;
use super::guardian::{Guard, READY_PATIENCE};
use super::{Job, terminal};
use crate::args::OnLost;
use crate::signals::{self, Signals};

/// The longest nap, so that the end of trust is seen soon after the machine woke from sleep.
const NAP_MAX: Duration = Duration::from_millis(200);

/// The watch over one running of the command.
pub(super) struct Watch<'a> {
    lease: &'a Lease,
    on_lost: OnLost,
    term_lead: Duration,
    /// Until when the command may run.
    until: Monotonic,
    /// SIGTERM went out because the lease ends: from then on `until` stands.
    asked: bool,
    /// The end of the lease was seen.
    over: bool,
    guard: Option<Guard>,
    /// Why the command is being ended by us.
    ending: Option<String>,
}

impl<'a> Watch<'a> {
    pub(super) fn new(job: &Job<'a>, guard: Guard) -> Self {
        Self {
            lease: job.lease,
            on_lost: job.args.on_lost,
            term_lead: job.term_lead,
            until: SteadyClock.now(),
            asked: false,
            over: false,
            guard: Some(guard),
            ending: None,
        }
    }

    /// Keeps watch until the command is gone.
    pub(super) async fn until_exit(
        &mut self,
        command: &mut RunningCommand,
        caught: &mut Signals,
    ) -> io::Result<ExitStatus> {
        let mut trust = self.lease.trust();
        let lost = self.lease.lost();
        let on_terminal = terminal::is_there();
        loop {
            // The heartbeat has a thread of its own; this tells it that the command is looked after.
            self.lease.progress();
            self.trust_until(trust.trusted_until());
            let nap = self.end_in_time(command);
            if on_terminal && command.was_stopped() {
                terminal::follow_into_stop(command.group()).await;
                self.resume(command, trust.trusted_until());
            }
            tokio::select! {
                biased;
                status = command.wait() => {
                    self.blame_trust();
                    return status;
                }
                changed = trust.changed(), if !self.over && !lost.is_stopped() => match changed {
                    Some(later) => {
                        self.trust_until(Some(later));
                        self.tell_guard(command, later).await;
                    }
                    None => self.lost(command),
                },
                () = lost.stopped(), if !self.over => self.lost(command),
                ended_the_command = guard_ended(&mut self.guard), if self.guard.is_some() => {
                    self.guard = None;
                    if ended_the_command {
                        self.blame_guard(command);
                    }
                }
                signal = caught.next() => {
                    command.signal(signal);
                    // A command that is stopped could not even die of it.
                    if signals::is_ending(signal) {
                        command.signal(Signal::SIGCONT);
                    }
                }
                () = tokio::time::sleep(nap) => {}
            }
            if self.guard.as_ref().is_some_and(Guard::is_stopped) {
                // Someone stopped it: it is no guard any more. Dropped, and so killed.
                self.guard = None;
            }
            if self.guard.is_none() && self.ending.is_none() {
                self.renew_guard(command).await;
            }
        }
    }

    /// Why the command was ended by us, if it was. Asked when it is gone: nothing is left to guard.
    pub(super) async fn why_ended(mut self, command: &RunningCommand, killed: bool) -> Option<String> {
        if let Some(mut guard) = self.guard.take() {
            if killed && guard.has_ended_the_command().await {
                self.blame_guard(command);
            }
            guard.dismiss().await;
        }
        self.ending
    }

    /// Once asked to end, the command is not given more time: it could not tell that it may stay.
    fn trust_until(&mut self, until: Option<Monotonic>) {
        self.until = until.filter(|_| !self.asked && !self.over).unwrap_or(self.until);
    }

    /// Ends the command when its time has come; returns how long there is nothing to do.
    fn end_in_time(&mut self, command: &RunningCommand) -> Duration {
        let now = SteadyClock.now();
        let (ask_at, kill_at) = (self.until.before(self.term_lead), self.until.before(OWN_LEAD));
        if now >= kill_at {
            self.blame(Loss::TrustEnded);
            command.signal(Signal::SIGKILL);
        } else if self.on_lost == OnLost::Term && now >= ask_at {
            self.blame(Loss::TrustEnded);
            self.ask(command);
        }
        let asks = self.on_lost == OnLost::Term && !self.asked;
        now.until(if asks { ask_at } else { kill_at }).clamp(Duration::from_millis(1), NAP_MAX)
    }

    /// The lease is over. Whoever revoked it waits for us, at most until our trust would have ended; in every other
    /// case somebody else may act already.
    fn lost(&mut self, command: &RunningCommand) {
        self.over = true;
        let loss = self.lease.loss();
        self.ending
            .get_or_insert_with(|| loss.as_ref().map_or_else(|| "unknown".into(), ToString::to_string));
        if self.on_lost == OnLost::Term && loss == Some(Loss::Revoked) {
            self.ask(command);
        } else {
            command.signal(Signal::SIGKILL);
            self.until = SteadyClock.now();
        }
    }

    /// Asks the command to end, once.
    fn ask(&mut self, command: &RunningCommand) {
        if !self.asked {
            self.asked = true;
            command.signal(Signal::SIGTERM);
        }
    }

    /// A command that was stopped goes on, if it still may; otherwise the guard has ended it.
    fn resume(&self, command: &RunningCommand, until: Option<Monotonic>) {
        if until.is_some_and(|until| SteadyClock.now() < until.before(OWN_LEAD)) {
            command.signal(Signal::SIGCONT);
        }
    }

    fn blame(&mut self, presumed: Loss) {
        let loss = || self.lease.loss().unwrap_or(presumed).to_string();
        self.ending.get_or_insert_with(loss);
    }

    /// A command that ended when its time was up was ended by the guard, or by the signal that asked it to.
    fn blame_trust(&mut self) {
        if SteadyClock.now() >= self.until.before(OWN_LEAD) {
            self.blame(Loss::TrustEnded);
        }
    }

    /// The guard ended the command while this process stood still. It may have woken in time to renew the lease, but the
    /// command is gone.
    fn blame_guard(&mut self, command: &RunningCommand) {
        let reason = || "this process stood still, and the guard ended the command in time".to_owned();
        self.ending.get_or_insert_with(reason);
        command.signal(Signal::SIGKILL);
    }

    async fn tell_guard(&mut self, command: &RunningCommand, until: Monotonic) {
        let Some(guard) = &mut self.guard else { return };
        if guard.until(until).await.is_ok() {
            return;
        }
        let ended_the_command = guard.has_ended_the_command().await;
        // Dropped, and so killed, before another one is started.
        self.guard = None;
        if ended_the_command {
            self.blame_guard(command);
        }
    }

    /// Without a guard the command must not run: another one is there before trust ends, or the command is ended.
    async fn renew_guard(&mut self, command: &RunningCommand) {
        tracing::warn!("the guard process ended or does not listen; starting another");
        let patience = READY_PATIENCE.min(SteadyClock.now().until(self.until.before(OWN_LEAD)));
        match Guard::start(command.group(), self.until, patience).await {
            Ok(guard) => self.guard = Some(guard),
            Err(failure) => {
                self.ending = Some(format!("no guard ({failure})"));
                command.signal(Signal::SIGKILL);
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
