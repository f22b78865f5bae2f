//! A node that holds the lease: the driver around an [`Incumbent`].

use tenure_core::id::Unique;
use tenure_core::lease::{Flag, Grant, Incumbent, LeaseSettings, Loss, Renew, Step, Term};
use tenure_core::time::Monotonic;

use super::turn::{Purpose, Turn};
use super::{FAR, Patience};
use crate::world::message::{Answer, Request};

/// One holding of the lease.
#[derive(Debug)]
pub(crate) struct Office {
    pub(crate) grant: Grant,
    incumbent: Incumbent,
    /// The session on which the flag is up, or being raised.
    flag: Option<Unique>,
    write_at: Monotonic,
}

impl Office {
    pub(crate) fn enter(grant: Grant, settings: &LeaseSettings, started: Monotonic, now: Monotonic) -> Self {
        let incumbent = Incumbent::begin(&grant, settings, started, now);
        Self { grant, incumbent, flag: None, write_at: now }
    }

    /// The same, without protected writes: the work of this lease is done elsewhere.
    pub(crate) fn without_writes(self) -> Self {
        Self { write_at: FAR, ..self }
    }

    /// A call under its fence was refused.
    pub(crate) fn fenced(&mut self, loss: Loss) {
        self.incumbent.fenced(loss);
    }

    pub(crate) fn believes(&self, now: Monotonic) -> bool {
        self.incumbent.believes(now)
    }

    pub(crate) fn term(&self) -> Term {
        self.grant.term
    }

    /// The flag of this grant, if it was ever raised.
    pub(crate) fn flag(&self) -> Option<Flag> {
        self.flag.map(|session| self.flag_on(session))
    }

    /// Renews, raises its flag and writes; an error says why it is over.
    pub(crate) fn drive(
        &mut self,
        session: Option<(Unique, Monotonic)>,
        patience: Patience,
        turn: &mut Turn<'_>,
    ) -> Result<Monotonic, Loss> {
        if let Some((id, _)) = session
            && self.flag != Some(id)
        {
            let flag = self.flag_on(id);
            turn.ask(Request::Raise(flag.clone()), Purpose::Raise(flag), Some(patience.call));
            self.flag = Some(id);
        }
        let wake = loop {
            match self.incumbent.step(turn.now) {
                Step::Stop(loss) => return Err(loss),
                Step::WaitUntil(at) => break at,
                Step::Renew(renewal) => {
                    self.incumbent.renewal_started(&renewal, turn.now);
                    if let Some(presence) = &renewal.presence {
                        turn.note(format!(
                            "renewal {} names session {}",
                            renewal.number,
                            short(presence.session)
                        ));
                    } else {
                        turn.note(format!("renewal {} names no session", renewal.number));
                    }
                    let purpose = Purpose::Renew(self.grant.term, renewal.number);
                    turn.ask(Request::Renew(self.grant.clone(), renewal), purpose, Some(patience.call));
                }
            }
        };
        if turn.now >= self.write_at && self.incumbent.believes(turn.now) {
            let fence = self.grant.fence();
            turn.ask(Request::Write(fence.clone()), Purpose::Write(fence), Some(patience.call));
            self.incumbent.progressed(turn.now);
            self.write_at = turn.now.after(turn.millis(20, 400));
        }
        Ok(wake.min(self.write_at))
    }

    /// Notes the answer to a renewal.
    pub(crate) fn renewed(&mut self, number: u64, answer: Option<Answer>, now: Monotonic) {
        let answer: Option<Renew> = match answer {
            Some(Answer::Renew(answer)) => Some(answer),
            _ => None,
        };
        self.incumbent.renewal_ended(number, answer, now);
    }

    /// Notes the answer to raising the flag.
    pub(crate) fn raised(
        &mut self,
        flag: &Flag,
        session: Option<(Unique, Monotonic)>,
        answer: Option<&Answer>,
    ) {
        let Some((id, ping)) = session.filter(|(id, _)| *id == flag.session && self.flag == Some(*id)) else {
            return;
        };
        match answer {
            Some(Answer::Session) => self.incumbent.flag_raised(id, ping),
            // Unanswered: raise it again.
            _ => self.flag = None,
        }
    }

    pub(crate) fn pinged(&mut self, session: Unique, started: Monotonic, now: Monotonic) {
        self.incumbent.pinged(session, started, now);
    }

    pub(crate) fn session_lost(&mut self, session: Unique) {
        self.incumbent.session_lost(session);
    }

    fn flag_on(&self, session: Unique) -> Flag {
        Flag { lease: self.grant.name.clone(), term: self.grant.term, session }
    }
}

/// The first digits of a long number.
fn short(unique: Unique) -> String {
    unique.to_string().chars().take(6).collect()
}
