//! The holder's side of a lease: when to renew, how long to trust, when to stop.
//!
//! ```text
//!            granted                      flag raised              renewal that announces it answered
//!   begin ───────────▶ trusts its row ────────────────▶ renew(Some) ─────────────▶ trusts row AND pings
//!                            ▲                                                            │
//!                            │   renewal that withdraws it answered         pings late, or session lost
//!                            └─────────────────────────────── renew(None) ◀───────────────┘
//!   at any time: trust ended, or the store said Lost ──▶ over, for ever
//! ```
//!
//! Trust is `attempt started + ttl − margin`. While the row names, *or may name*, a session of ours, trust also ends at
//! `last ping started + presence trust`: a contender that sees the session end waits exactly that long. "May name":
//! an announcement counts from the moment it is sent, a withdrawal only once it was answered.

use std::time::Duration;

use super::{Announced, Grant, LeaseSettings, Loss, Renew, Renewal};
use crate::id::Unique;
use crate::mutation::{Rule, off};
use crate::time::Monotonic;

/// How many renewals may be without an answer at once.
const IN_FLIGHT_MAX: usize = 4;

/// What the holder must do next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// Send this renewal, after calling [`Incumbent::renewal_started`].
    Renew(Renewal),
    /// Nothing to do before this reading of the clock, unless something happens.
    WaitUntil(Monotonic),
    /// Stop acting now. The grant is over for this holder, whatever it may still hear.
    Stop(Loss),
}

/// One holding of a lease, seen from the inside.
#[derive(Debug, Clone)]
pub struct Incumbent {
    settings: LeaseSettings,
    /// Until when the last answered renewal carries.
    row_trust: Monotonic,
    /// The session that the row names or may name.
    bound: Option<Bound>,
    /// The session on which our flag is up.
    session: Option<Session>,
    /// Renewals that have no answer yet, oldest first.
    in_flight: Vec<InFlight>,
    renewals: u64,
    renew_at: Monotonic,
    /// Not before this: the pause after a renewal without an answer.
    retry_at: Monotonic,
    /// A withdrawn presence is announced again only with a regular renewal, so that a jittery session does not flap.
    withdrawn: bool,
    progress_at: Monotonic,
    over: Option<Loss>,
}

#[derive(Debug, Clone, Copy)]
struct Bound {
    session: Unique,
    ping: Monotonic,
    confirmed: bool,
}

#[derive(Debug, Clone, Copy)]
struct Session {
    id: Unique,
    ping: Monotonic,
}

#[derive(Debug, Clone, Copy)]
struct InFlight {
    number: u64,
    started: Monotonic,
    session: Option<Unique>,
}

impl Incumbent {
    /// Takes office with `grant`, the answer to an attempt that started at `started`.
    pub fn begin(grant: &Grant, settings: &LeaseSettings, started: Monotonic, now: Monotonic) -> Self {
        let settings = LeaseSettings { ttl: grant.ttl, ..settings.clone() };
        let mut incumbent = Self {
            row_trust: started,
            bound: None,
            session: None,
            in_flight: Vec::new(),
            renewals: 0,
            renew_at: started.after(settings.renew),
            retry_at: started,
            withdrawn: false,
            progress_at: now,
            over: None,
            settings,
        };
        incumbent.row_trust = incumbent.trust_from(started, now);
        incumbent
    }

    /// Until when this holder may believe that it holds the lease, without asking anyone.
    pub fn trusted_until(&self) -> Monotonic {
        match (&self.over, &self.bound) {
            (Some(_), _) => Monotonic::from_origin(Duration::ZERO),
            (None, Some(bound)) if !off(Rule::PresenceTrust) => {
                self.row_trust.min(bound.ping.after(self.presence_trust()))
            }
            _ => self.row_trust,
        }
    }

    /// Whether this holder may believe at `now` that it holds the lease.
    pub fn believes(&self, now: Monotonic) -> bool {
        self.over.is_none() && (now < self.trusted_until() || off(Rule::StopAtDeadline))
    }

    /// Why it is over, once it is.
    pub fn loss(&self) -> Option<&Loss> {
        self.over.as_ref()
    }

    /// Decides what to do at `now`.
    pub fn step(&mut self, now: Monotonic) -> Step {
        self.expire(now);
        if let Some(loss) = &self.over {
            return Step::Stop(loss.clone());
        }
        let deadline = self.trusted_until();
        if let Some(until) = self.wait_for_answer(now) {
            let until = until.min(deadline);
            return Step::WaitUntil(self.watchdog_at().map_or(until, |at| at.min(until)));
        }
        let wanted = self.wanted_session(now);
        let named = self.bound.map(|bound| bound.session);
        let confirmed = self.bound.is_none_or(|bound| bound.confirmed);
        let withdraw = named.is_some() && wanted != named;
        let announce =
            wanted.is_some() && !confirmed || wanted.is_some() && named.is_none() && !self.withdrawn;
        let overdue = !self.in_flight.is_empty();
        let due =
            if withdraw || announce || overdue { self.retry_at } else { self.renew_at.max(self.retry_at) };
        if now >= due {
            // From one session to another the row goes by way of none; otherwise it might name either.
            let session = if withdraw { None } else { wanted };
            return Step::Renew(Renewal {
                number: self.renewals + 1,
                presence: session.map(|id| self.announced(id)),
            });
        }
        Step::WaitUntil(due.min(deadline).min(self.session_doubt_at(now).unwrap_or(deadline)))
    }

    /// Notes that `renewal` is being sent.
    pub fn renewal_started(&mut self, renewal: &Renewal, now: Monotonic) {
        self.renewals = renewal.number;
        let session = renewal.presence.as_ref().map(|announced| announced.session);
        self.in_flight.push(InFlight { number: renewal.number, started: now, session });
        if let (Some(id), None) = (session, self.bound) {
            // A session that was lost in this very moment has no ping that could be trusted.
            let never = Monotonic::from_origin(Duration::ZERO);
            let ping = self.session.map_or(never, |session| session.ping);
            self.bound = Some(Bound { session: id, ping, confirmed: false });
        }
    }

    /// Notes the answer to a renewal; `None` when there was none, and nobody knows whether it took effect.
    ///
    /// A renewal that was overtaken by another extends trust all the same, but says nothing of presence any more.
    pub fn renewal_ended(&mut self, number: u64, answer: Option<Renew>, now: Monotonic) {
        let Some(at) = self.in_flight.iter().position(|one| one.number == number) else { return };
        let InFlight { started, session, .. } = self.in_flight.remove(at);
        let latest = number == self.renewals;
        // An answer that comes after trust has ended brings nothing back.
        self.expire(now);
        match answer {
            _ if self.over.is_some() => {}
            Some(Renew::Lost(loss)) => self.over = Some(loss),
            Some(Renew::Extended) => {
                self.row_trust = self.row_trust.max(self.trust_from(started, now));
                self.renew_at = self.renew_at.max(started.after(self.settings.renew));
                if latest {
                    // What was sent before can no longer take effect.
                    self.in_flight.clear();
                    self.retry_at = now;
                    self.settle_presence(session);
                }
            }
            None if latest => {
                self.retry_at = now.after((self.settings.renew / 8).max(Duration::from_millis(50)));
                if off(Rule::DoubtKeepsPresence) && session.is_none() {
                    self.settle_presence(None);
                }
            }
            None => {}
        }
    }

    /// Notes that the flag of this grant is up on `session`, which was last pinged at `ping`.
    pub fn flag_raised(&mut self, session: Unique, ping: Monotonic) {
        self.session = Some(Session { id: session, ping });
    }

    /// Notes a ping of `session` that started at `started` and was answered.
    pub fn pinged(&mut self, session: Unique, started: Monotonic, now: Monotonic) {
        // Latch the end of trust before the ping could move it.
        self.expire(now);
        if let Some(ours) = self.session.as_mut().filter(|ours| ours.id == session) {
            ours.ping = ours.ping.max(started);
        }
        if let Some(bound) = self.bound.as_mut().filter(|bound| bound.session == session) {
            bound.ping = bound.ping.max(started);
        }
    }

    /// Notes that `session` is broken. The row may go on naming it until a renewal has withdrawn it.
    pub fn session_lost(&mut self, session: Unique) {
        if self.session.is_some_and(|ours| ours.id == session) {
            self.session = None;
        }
    }

    /// Notes that the store refused the fence of this grant: the first refusal ends it.
    pub fn fenced(&mut self, loss: Loss) {
        self.over.get_or_insert(loss);
    }

    /// Notes that the guarded work moved on; only of interest with a watchdog.
    pub fn progressed(&mut self, now: Monotonic) {
        self.progress_at = now;
    }

    /// Ends trust for good once its time has come.
    fn expire(&mut self, now: Monotonic) {
        if self.over.is_some() {
            return;
        }
        if now >= self.trusted_until() && !off(Rule::StopAtDeadline) {
            self.over = Some(Loss::TrustEnded);
        } else if self.watchdog_at().is_some_and(|at| now >= at) {
            self.over = Some(Loss::Stalled);
        }
    }

    /// Until when to wait for answers before another renewal is sent; `None` when it is time for one. A call that hangs
    /// on one dead connection must not cost the lease while others work.
    fn wait_for_answer(&self, now: Monotonic) -> Option<Monotonic> {
        let last = self.in_flight.last()?;
        if self.in_flight.len() >= IN_FLIGHT_MAX {
            return Some(self.trusted_until());
        }
        let next = last.started.after((self.settings.renew / 4).max(Duration::from_millis(100)));
        (now < next).then_some(next)
    }

    fn trust_from(&self, started: Monotonic, answered: Monotonic) -> Monotonic {
        let from = if off(Rule::TrustFromStart) { answered } else { started };
        let trust = if off(Rule::Margin) { self.settings.ttl } else { self.settings.row_trust() };
        from.after(trust)
    }

    fn presence_trust(&self) -> Duration {
        self.settings.presence.as_ref().map_or(Duration::ZERO, |presence| presence.trust)
    }

    fn announced(&self, session: Unique) -> Announced {
        Announced { session, trust: self.presence_trust() }
    }

    /// The session that the row should name: ours, as long as its pings come in time.
    fn wanted_session(&self, now: Monotonic) -> Option<Unique> {
        self.session.filter(|session| now < self.doubt_at(session)).map(|session| session.id)
    }

    /// When a session without a new ping becomes doubtful: half-way between the moment at which the next ping was due
    /// and the end of trust, so that there is time for a slow ping and time left to withdraw the session.
    fn doubt_at(&self, session: &Session) -> Monotonic {
        let ping = self.settings.presence.as_ref().map_or(Duration::ZERO, |presence| presence.ping);
        session.ping.after((ping + self.presence_trust()) / 2)
    }

    /// The next moment at which the wanted session may change by itself, or the watchdog may bite.
    fn session_doubt_at(&self, now: Monotonic) -> Option<Monotonic> {
        let doubt = self.session.map(|session| self.doubt_at(&session)).filter(|at| *at > now);
        doubt.into_iter().chain(self.watchdog_at()).min()
    }

    /// When work that shows no progress costs the lease.
    fn watchdog_at(&self) -> Option<Monotonic> {
        self.settings.watchdog.map(|limit| self.progress_at.after(limit))
    }

    fn settle_presence(&mut self, session: Option<Unique>) {
        match (session, &mut self.bound) {
            (None, bound) => {
                self.withdrawn |= bound.is_some();
                *bound = None;
            }
            (Some(id), Some(bound)) if bound.session == id => {
                bound.confirmed = true;
                self.withdrawn = false;
            }
            _ => {}
        }
    }
}
