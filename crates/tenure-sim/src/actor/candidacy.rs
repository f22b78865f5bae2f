//! A node that waits for the lease: the driver around a [`Contender`].

use std::time::Duration;

use tenure_core::id::{Node, Unique};
use tenure_core::lease::{Acquire, Claim, Contender, Flag, Grant, LeaseName, LeaseSettings, Move};
use tenure_core::time::Monotonic;

use super::turn::{Purpose, Turn};
use super::{FAR, Patience};
use crate::world::message::{Answer, Request};

/// One wait for the lease, with one claim that is repeated until it is granted.
#[derive(Debug)]
pub(crate) struct Candidacy {
    lease: LeaseName,
    contender: Contender,
    claim: Unique,
    claiming: bool,
    watching: Option<Flag>,
}

impl Candidacy {
    pub(crate) fn new(lease: LeaseName, settings: &LeaseSettings, turn: &mut Turn<'_>) -> Self {
        let contender = Contender::new(lease.clone(), settings.poll);
        Self { lease, contender, claim: turn.unique(), claiming: false, watching: None }
    }

    /// Claims, watches or waits; says when it wants to be looked at again.
    pub(crate) fn drive(
        &mut self,
        node: &Node,
        settings: &LeaseSettings,
        patience: Patience,
        turn: &mut Turn<'_>,
    ) -> Monotonic {
        if self.claiming {
            return FAR;
        }
        match self.contender.next(turn.now) {
            Move::Try(evidence) => {
                if evidence.is_some() {
                    turn.note(format!("claims with evidence {evidence:?}"));
                }
                let claim = Claim {
                    name: self.lease.clone(),
                    node: node.clone(),
                    id: self.claim,
                    ttl: settings.ttl,
                    kind: None,
                    evidence,
                };
                let purpose = Purpose::Claim { id: self.claim, started: turn.now };
                turn.ask(Request::Acquire(claim), purpose, Some(patience.call));
                self.claiming = true;
                FAR
            }
            Move::Watch(_, _) if settings.presence.is_none() => {
                self.contender.cannot_watch(turn.now);
                self.drive(node, settings, patience, turn)
            }
            Move::Watch(flag, until) => {
                if self.watching.as_ref() != Some(&flag) {
                    turn.ask(Request::Watch(flag.clone()), Purpose::Watch(flag.clone()), None);
                    self.watching = Some(flag);
                }
                until
            }
            Move::Sleep(until) => until,
        }
    }

    /// Notes the answer to a claim; a grant is handed back.
    pub(crate) fn claimed(
        &mut self,
        id: Unique,
        answer: Option<Answer>,
        turn: &mut Turn<'_>,
    ) -> Option<Grant> {
        if id != self.claim || !self.claiming {
            return None;
        }
        self.claiming = false;
        match answer {
            Some(Answer::Acquire(Acquire::Granted(grant))) => return Some(grant),
            Some(Answer::Acquire(Acquire::Held(holder))) => {
                let jitter = turn.rng.f64();
                self.contender.held(&holder, jitter, turn.now);
                // A watch of this flag that began before the look may never be answered: begin another.
                self.watching = None;
            }
            Some(Answer::Regress(error)) => {
                turn.note(format!("refuses to lead: {error}"));
                self.contender.no_answer(Duration::from_secs(1), turn.now);
            }
            _ => {
                let pause = turn.millis(50, 500);
                self.contender.no_answer(pause, turn.now);
            }
        }
        None
    }

    /// Notes what came of watching a flag.
    pub(crate) fn watched(&mut self, flag: &Flag, answer: Option<&Answer>, turn: &mut Turn<'_>) {
        if self.watching.as_ref() != Some(flag) {
            return;
        }
        self.watching = None;
        match answer {
            Some(Answer::Fallen) => {
                turn.note(format!("sees the flag of term {} down", flag.term));
                self.contender.flag_fell(flag, turn.now);
            }
            _ => self.contender.cannot_watch(turn.now),
        }
    }

    /// A hint that the lease may be free.
    pub(crate) fn hint(&mut self) {
        self.contender.hint();
    }
}
