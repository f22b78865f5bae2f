//! One lease that a process wants or holds: the simulator's lease actors, with a session that several of them share.

use std::time::Duration;

use tenure_core::id::{Node, Unique};
use tenure_core::lease::{Acquire, Fence, LeaseName, LeaseSettings, Loss, Term};
use tenure_core::time::Monotonic;

use crate::actor::{Candidacy, FAR, Leaving, Office, Patience, Purpose, Turn};
use crate::world::message::Answer;

/// The open session, and when its last answered ping started.
pub(super) type Live = Option<(Unique, Monotonic)>;

/// One lease.
#[derive(Debug)]
pub(super) struct Chair {
    lease: LeaseName,
    settings: LeaseSettings,
    role: Role,
    leaving: Vec<Leaving>,
}

#[derive(Debug)]
enum Role {
    Idle,
    Resting { until: Monotonic },
    Contending(Box<Candidacy>),
    Holding(Box<Office>),
}

impl Chair {
    pub(super) fn new(lease: LeaseName, settings: LeaseSettings) -> Self {
        Self { lease, settings, role: Role::Idle, leaving: Vec::new() }
    }

    /// The term that it believes in.
    pub(super) fn belief(&self, now: Monotonic) -> Option<Term> {
        match &self.role {
            Role::Holding(office) if office.believes(now) => Some(office.term()),
            _ => None,
        }
    }

    pub(super) fn is_idle(&self) -> bool {
        matches!(self.role, Role::Idle)
    }

    pub(super) fn has_left(&self) -> bool {
        self.is_idle() && self.leaving.is_empty()
    }

    pub(super) fn contend(&mut self, turn: &mut Turn<'_>) {
        self.role = Role::Contending(Box::new(Candidacy::new(self.lease.clone(), &self.settings, turn)));
    }

    /// Waits no longer.
    pub(super) fn give_up(&mut self) {
        if !matches!(self.role, Role::Holding(_)) {
            self.role = Role::Idle;
        }
    }

    /// Gives back what it holds; wants it again after a rest, if at all.
    pub(super) fn release(&mut self, rest: Option<Duration>, now: Monotonic) {
        if let Role::Holding(office) = &self.role {
            self.leaving.push(Leaving::new(office.grant.clone(), office.flag(), now));
        }
        self.role = rest.map_or(Role::Idle, |rest| Role::Resting { until: now.after(rest) });
    }

    /// Holds no longer, and leaves the row to its ttl.
    pub(super) fn drop_office(&mut self) {
        self.role = Role::Idle;
    }

    /// A call under its fence was refused.
    pub(super) fn fenced(&mut self, term: Term) {
        if let Role::Holding(office) = &mut self.role
            && office.term() == term
        {
            office.fenced(Loss::Fenced);
        }
    }

    /// Does whatever is due; says when there is something to do again, and whether the office is over.
    pub(super) fn drive(
        &mut self,
        node: &Node,
        live: Live,
        patience: Patience,
        turn: &mut Turn<'_>,
    ) -> (Monotonic, Option<Loss>) {
        let mut wake = FAR;
        for leaving in &mut self.leaving {
            wake = wake.min(leaving.drive(patience, turn));
        }
        if let Role::Resting { until } = self.role {
            if turn.now < until {
                return (wake.min(until), None);
            }
            self.contend(turn);
        }
        match &mut self.role {
            Role::Contending(candidacy) => {
                (wake.min(candidacy.drive(node, &self.settings, patience, turn)), None)
            }
            Role::Holding(office) => match office.drive(live, patience, turn) {
                Ok(at) => (wake.min(at), None),
                Err(loss) => (wake, Some(loss)),
            },
            _ => (wake, None),
        }
    }

    /// Takes an answer; a grant that was waited for is handed on as its fence.
    pub(super) fn answered(
        &mut self,
        purpose: Purpose,
        answer: Option<Answer>,
        live: Live,
        turn: &mut Turn<'_>,
    ) -> Option<Fence> {
        match (purpose, &mut self.role) {
            (Purpose::Claim { id, started }, Role::Contending(candidacy)) => {
                let grant = candidacy.claimed(id, answer, turn)?;
                let (fence, office) =
                    (grant.fence(), Office::enter(grant, &self.settings, started, turn.now).without_writes());
                self.role = Role::Holding(Box::new(office));
                return Some(fence);
            }
            // Nobody wants it any more.
            (Purpose::Claim { .. }, _) => {
                if let Some(Answer::Acquire(Acquire::Granted(grant))) = answer {
                    self.leaving.push(Leaving::new(grant, None, turn.now));
                }
            }
            (Purpose::Watch(flag), Role::Contending(candidacy)) => {
                candidacy.watched(&flag, answer.as_ref(), turn)
            }
            (Purpose::Renew(term, number), Role::Holding(office)) if office.term() == term => {
                office.renewed(number, answer, turn.now);
            }
            (Purpose::Raise(flag), Role::Holding(office)) => office.raised(&flag, live, answer.as_ref()),
            (Purpose::Release(term), _) => {
                self.leaving.retain_mut(|one| one.term() != term || !one.released(answer.as_ref(), turn));
            }
            _ => {}
        }
        None
    }

    pub(super) fn pinged(&mut self, session: Unique, started: Monotonic, now: Monotonic) {
        if let Role::Holding(office) = &mut self.role {
            office.pinged(session, started, now);
        }
    }

    pub(super) fn session_lost(&mut self, session: Unique) {
        if let Role::Holding(office) = &mut self.role {
            office.session_lost(session);
        }
    }
}
