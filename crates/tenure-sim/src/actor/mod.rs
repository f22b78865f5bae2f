//! A node of the world: the driver that a real process would be, around the machines of `tenure-core`.
//!
//! ```text
//!               granted                      stopped or lost
//!   contending ─────────▶ holding ─────────────────────────────▶ contending, while the old grant is released
//!        ▲                   │ resigns
//!        └── after a rest ── resting
//! ```

mod candidacy;
mod leaving;
mod office;
mod relay;
mod session;
mod turn;

use std::collections::BTreeMap;
use std::time::Duration;

use tenure_core::id::{Node, NodeName, Unique};
use tenure_core::lease::{Fence, FenceCheck, LeaseName, LeaseSettings, Loss, Term};
use tenure_core::time::Monotonic;

pub(crate) use candidacy::Candidacy;
pub(crate) use leaving::Leaving;
pub(crate) use office::Office;
use relay::{Errand, Relay};
pub(crate) use session::Session;
pub(crate) use turn::{Ask, Purpose, Turn};

use crate::plan::RelayPlan;
use crate::world::message::Answer;

/// A moment that no simulation reaches.
pub(crate) const FAR: Monotonic = Monotonic::from_origin(Duration::from_secs(u32::MAX as u64));

/// How long a node waits for answers.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Patience {
    pub(crate) call: Duration,
    /// A ping without an answer for so long ends the session, as the node sees it.
    pub(crate) ping: Duration,
}

/// One node.
#[derive(Debug)]
pub(crate) struct Actor {
    node: Node,
    lease: LeaseName,
    pub(crate) settings: LeaseSettings,
    patience: Patience,
    session: Session,
    role: Role,
    leaving: Vec<Leaving>,
    /// How a holder relays, where there is an outbox.
    relaying: Option<RelayPlan>,
    /// The relay of the office, and those of former offices that bring home what is under way.
    relays: Vec<Relay>,
    pending: BTreeMap<u64, Purpose>,
    calls: u64,
}

#[derive(Debug)]
enum Role {
    Resting { until: Monotonic },
    Contending(Box<Candidacy>),
    Holding(Box<Office>),
}

impl Role {
    fn contend(lease: &LeaseName, settings: &LeaseSettings, turn: &mut Turn<'_>) -> Self {
        Self::Contending(Box::new(Candidacy::new(lease.clone(), settings, turn)))
    }
}

impl Actor {
    /// A process that has just started.
    pub(crate) fn new(
        name: NodeName,
        lease: LeaseName,
        settings: LeaseSettings,
        patience: Patience,
        relaying: Option<RelayPlan>,
        turn: &mut Turn<'_>,
    ) -> Self {
        let pid = turn.rng.u32(2..99_999);
        let node = Node { machine: name.to_string(), name, incarnation: turn.unique(), pid };
        Self {
            role: Role::contend(&lease, &settings, turn),
            node,
            lease,
            settings,
            patience,
            session: Session::Closed { reopen_at: turn.now },
            leaving: Vec::new(),
            relaying,
            relays: Vec::new(),
            pending: BTreeMap::new(),
            calls: 0,
        }
    }

    /// The term in which this node believes at `now`, if it believes in any.
    pub(crate) fn belief(&self, now: Monotonic) -> Option<Term> {
        match &self.role {
            Role::Holding(office) if office.believes(now) => Some(office.term()),
            _ => None,
        }
    }

    /// The session as this node sees it.
    pub(crate) fn live_session(&self) -> Option<Unique> {
        self.session.live().map(|(id, _)| id)
    }

    /// Does whatever is due; says when there is something to do again.
    pub(crate) fn drive(&mut self, turn: &mut Turn<'_>) -> Monotonic {
        let Self { settings, patience, .. } = self;
        let mut wake = match &settings.presence {
            Some(presence) => self.session.drive(presence, *patience, turn),
            None => FAR,
        };
        for leaving in &mut self.leaving {
            wake = wake.min(leaving.drive(*patience, turn));
        }
        let role_wake = match &mut self.role {
            Role::Resting { until } if turn.now < *until => *until,
            Role::Resting { .. } => {
                self.contend(turn);
                return self.drive(turn);
            }
            Role::Contending(candidacy) => candidacy.drive(&self.node, settings, *patience, turn),
            Role::Holding(office) => match office.drive(self.session.live(), *patience, turn) {
                Ok(wake) => wake,
                Err(loss) => {
                    self.step_down(&loss, turn);
                    return self.drive(turn);
                }
            },
        };
        let mut wake = wake.min(role_wake);
        self.relays.retain(|relay| !relay.is_over(turn.now));
        for relay in &mut self.relays {
            wake = wake.min(relay.drive(turn));
        }
        wake
    }

    /// Files a call under its purpose, and gives it a number.
    pub(crate) fn file(&mut self, purpose: Purpose) -> u64 {
        self.calls += 1;
        self.pending.insert(self.calls, purpose);
        self.calls
    }

    /// Takes the answer to a call, or `None` when patience has ended. Only the first one counts.
    pub(crate) fn answered(&mut self, call: u64, answer: Option<Answer>, turn: &mut Turn<'_>) {
        let Some(purpose) = self.pending.remove(&call) else { return };
        match (purpose, &mut self.role) {
            (Purpose::Claim { id, started }, Role::Contending(candidacy)) => {
                if let Some(grant) = candidacy.claimed(id, answer, turn) {
                    turn.note(format!("is granted term {}", grant.term));
                    if let Some(plan) = &self.relaying {
                        self.relays.push(Relay::new(grant.fence(), plan, self.patience.call, turn.now));
                    }
                    let office = Office::enter(grant, &self.settings, started, turn.now);
                    self.role = Role::Holding(Box::new(office));
                }
            }
            (Purpose::Watch(flag), Role::Contending(candidacy)) => {
                candidacy.watched(&flag, answer.as_ref(), turn)
            }
            (Purpose::Renew(term, number), Role::Holding(office)) if office.term() == term => {
                turn.note(format!("renewal {number} of term {term} came to {answer:?}"));
                office.renewed(number, answer, turn.now);
            }
            (Purpose::Raise(flag), Role::Holding(office)) => {
                office.raised(&flag, self.session.live(), answer.as_ref())
            }
            (Purpose::Write(fence), _) => self.written(&fence, answer, turn),
            (Purpose::Release(term), _) => {
                turn.note(format!("release of term {term} came to {answer:?}"));
                self.leaving.retain_mut(|one| one.term() != term || !one.released(answer.as_ref(), turn));
            }
            (Purpose::Open { id, started }, _) => self.session.opened(id, started, answer.as_ref(), turn),
            (Purpose::Ping { id, started }, _) => self.pinged(id, started, answer.as_ref(), turn),
            (Purpose::Relay(term, errand), _) => self.relayed(term, errand, answer, turn),
            _ => {}
        }
    }

    fn pinged(&mut self, id: Unique, started: Monotonic, answer: Option<&Answer>, turn: &mut Turn<'_>) {
        if !self.session.pinged(id, started, answer) {
            self.session_ended(id, turn);
        } else if let (Some(Answer::Session), Role::Holding(office)) = (answer, &mut self.role) {
            office.pinged(id, started, turn.now);
        }
    }

    /// Learns that a session is over.
    pub(crate) fn session_ended(&mut self, id: Unique, turn: &mut Turn<'_>) {
        if !self.session.lose(id, turn) {
            return;
        }
        turn.note("finds its session broken".into());
        if let Role::Holding(office) = &mut self.role {
            office.session_lost(id);
        }
    }

    /// A refused write is the end of the office it was made in.
    fn written(&mut self, fence: &Fence, answer: Option<Answer>, turn: &mut Turn<'_>) {
        if let Some(Answer::Write(FenceCheck::Refused(fenced))) = answer
            && matches!(&self.role, Role::Holding(office) if office.term() == fence.term)
        {
            self.step_down(&fenced.loss, turn);
        }
    }

    /// A refused record, too.
    fn relayed(&mut self, term: Term, errand: Errand, answer: Option<Answer>, turn: &mut Turn<'_>) {
        let Some(relay) = self.relays.iter_mut().find(|relay| relay.term() == term) else { return };
        relay.answered(errand, answer, turn);
        if relay.is_fenced() && matches!(&self.role, Role::Holding(office) if office.term() == term) {
            self.step_down(&Loss::Fenced, turn);
        }
    }

    fn stop_relays(&mut self, now: Monotonic) {
        self.relays.iter_mut().for_each(|relay| relay.stop(now));
    }

    /// Tells the relay that something may have been committed.
    pub(crate) fn nudge(&mut self, now: Monotonic) {
        self.relays.iter_mut().for_each(|relay| relay.hint(now));
    }

    /// Whether a relay wants to be told of commits.
    pub(crate) fn is_armed(&self) -> bool {
        self.relays.iter().any(Relay::armed)
    }

    /// Stops acting, then gives back what may still be ours, and waits for the lease again.
    fn step_down(&mut self, loss: &Loss, turn: &mut Turn<'_>) {
        if let Role::Holding(office) = &self.role {
            turn.note(format!("steps down from term {}: {loss}", office.term()));
            self.leaving.push(Leaving::new(office.grant.clone(), office.flag(), turn.now));
            self.stop_relays(turn.now);
        }
        self.contend(turn);
    }

    /// Gives the lease up of its own will, and rests; answers whether there was one to give up.
    pub(crate) fn resign(&mut self, rest: Duration, turn: &mut Turn<'_>) -> bool {
        let Role::Holding(office) = &self.role else { return false };
        turn.note(format!("resigns from term {}", office.term()));
        self.leaving.push(Leaving::new(office.grant.clone(), office.flag(), turn.now));
        self.stop_relays(turn.now);
        self.role = Role::Resting { until: turn.now.after(rest) };
        true
    }

    /// A hint that the lease may be free.
    pub(crate) fn hint(&mut self) {
        if let Role::Contending(candidacy) = &mut self.role {
            candidacy.hint();
        }
    }

    /// The write that a pause of the process interrupts after belief was checked and before it was sent.
    pub(crate) fn half_done_write(&self, now: Monotonic) -> Option<Fence> {
        match &self.role {
            Role::Holding(office) if office.believes(now) => Some(office.grant.fence()),
            _ => None,
        }
    }

    fn contend(&mut self, turn: &mut Turn<'_>) {
        self.role = Role::contend(&self.lease, &self.settings, turn);
    }
}
