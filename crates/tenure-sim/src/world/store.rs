//! The store of the world: one row and its history, with sessions beside them.
//!
//! Every decision about the row is the real one, from [`tenure_core::lease::decide`]; this file is only the glue that a
//! backend would write around it, and tells the oracle what it did.

use tenure_core::lease::decide::{self, Decision, RenewAnswer};
use tenure_core::lease::{
    Acquire, Cause, Change, Claim, Fence, FenceCheck, Grant, LeaseRecord, Release, Renew, Renewal, Revoke,
    Term,
};
use tenure_core::time::StoreTime;

use super::message::{Answer, Request};
use super::sessions::{Caller, Sessions};
use super::tally::Tally;
use crate::oracle::{Asker, Fact, RowChange};

/// What this store calls itself in rows.
const BACKEND: &str = "sim";

/// The row, the history and the sessions.
#[derive(Debug, Default)]
pub(crate) struct Store {
    pub(crate) row: Option<LeaseRecord>,
    remembered: Option<Term>,
    pub(crate) sessions: Sessions,
    /// What happened since the oracle last looked.
    pub(crate) facts: Vec<Fact>,
    pub(crate) tally: Tally,
}

impl Store {
    /// Answers a call. `judged` is the clock that expiry is judged by: the store's own, if the rules are kept.
    ///
    /// `None`: there is no answer yet, the caller waits for a flag.
    pub(crate) fn handle(
        &mut self,
        who: Caller,
        request: &Request,
        now: StoreTime,
        judged: StoreTime,
    ) -> Option<Answer> {
        Some(match request {
            Request::Acquire(claim) => self.acquire(claim, judged),
            Request::Renew(grant, renewal) => self.renew(grant, renewal, judged),
            Request::Release(grant) => self.release(grant, judged),
            Request::Write(fence) => self.write(fence, judged),
            Request::Open(id, idle_timeout) => self.sessions.open(who, *id, *idle_timeout, now),
            Request::Ping(id) => self.sessions.ping(*id, now),
            Request::Close(id) => self.sessions.close(*id),
            Request::Raise(flag) => self.sessions.raise(flag, now),
            Request::Lower(flag) => self.sessions.lower(flag, now),
            Request::Watch(flag) => return self.sessions.watch(who, flag),
            // The outbox and the receiver answer these.
            Request::Look(_)
            | Request::Load(..)
            | Request::Record(..)
            | Request::Sweep(..)
            | Request::Deliver(_) => return None,
        })
    }

    fn acquire(&mut self, claim: &Claim, now: StoreTime) -> Answer {
        let decision = match decide::acquire(self.row.as_ref(), self.remembered, claim, BACKEND, now) {
            Ok(decision) => decision,
            Err(error) => {
                self.tally.regresses += 1;
                return Answer::Regress(error);
            }
        };
        let again = self.row.as_ref().is_some_and(|row| {
            row.is_held(now) && row.claim == claim.id && row.node.incarnation == claim.node.incarnation
        });
        if let Acquire::Granted(grant) = &decision.outcome {
            if again {
                self.tally.granted_again += 1;
            } else {
                self.facts.push(Fact::Granted { term: grant.term });
            }
        }
        let asker = Asker::Claim { incarnation: claim.node.incarnation, claim: claim.id };
        Answer::Acquire(self.apply(asker, decision))
    }

    fn renew(&mut self, grant: &Grant, renewal: &Renewal, now: StoreTime) -> Answer {
        let decision = decide::renew(self.row.as_ref(), grant, renewal, now);
        let asker = Asker::Renewal { term: grant.term, incarnation: grant.node.incarnation };
        match self.apply(asker, decision) {
            RenewAnswer::Is(answer) => {
                self.tally.renewals_lost += u64::from(matches!(answer, Renew::Lost(_)));
                Answer::Renew(answer)
            }
            RenewAnswer::OutOfOrder => {
                self.tally.renewals_out_of_order += 1;
                Answer::Doubt
            }
        }
    }

    fn release(&mut self, grant: &Grant, now: StoreTime) -> Answer {
        let decision = decide::release(self.row.as_ref(), grant, now);
        let asker = Asker::Release { term: grant.term, incarnation: grant.node.incarnation };
        let answer = self.apply(asker, decision);
        self.tally.releases_not_held += u64::from(answer == Release::NotHeld);
        Answer::Release(answer)
    }

    fn write(&mut self, fence: &Fence, now: StoreTime) -> Answer {
        let check = decide::check(self.row.as_ref(), fence, now);
        let accepted = check == FenceCheck::Holds;
        *if accepted { &mut self.tally.writes_accepted } else { &mut self.tally.writes_refused } += 1;
        self.facts.push(Fact::Write { term: fence.term, accepted });
        Answer::Write(check)
    }

    /// An operator has the holder out of office.
    pub(crate) fn revoke(&mut self, force: bool, now: StoreTime) {
        let decision = decide::revoke(self.row.as_ref(), force, now);
        if let Revoke::Forced { term, .. } = &decision.outcome {
            self.facts.push(Fact::Overruled { term: *term });
        }
        self.apply(Asker::Operator, decision);
    }

    /// Someone puts the row into another state with a database shell; the history stays.
    pub(crate) fn meddle(&mut self, after: Option<LeaseRecord>) {
        let before = std::mem::replace(&mut self.row, after);
        if let Some(before) = &before {
            self.facts.push(Fact::Overruled { term: before.term });
        }
        self.facts.push(Fact::Row(Box::new(RowChange {
            asker: Asker::Hand,
            before,
            after: self.row.clone(),
        })));
    }

    fn apply<O>(&mut self, asker: Asker, decision: Decision<O>) -> O {
        if let Some(row) = decision.write {
            let before = self.row.replace(row);
            self.facts.push(Fact::Row(Box::new(RowChange { asker, before, after: self.row.clone() })));
        }
        for line in decision.history {
            self.remember(line);
        }
        decision.outcome
    }

    fn remember(&mut self, line: Change) {
        self.remembered = self.remembered.max(Some(line.term));
        *match line.cause {
            Cause::Acquired => &mut self.tally.granted,
            Cause::Released => &mut self.tally.released,
            Cause::Expired => &mut self.tally.expired,
            Cause::Crashed => &mut self.tally.crashed,
            _ => &mut self.tally.revoked,
        } += 1;
        self.facts.push(Fact::Line(line));
    }

    /// Whether someone waits for the flag that the row names.
    pub(crate) fn is_watched(&self) -> bool {
        let named = self.row.as_ref().and_then(|row| Some((row.term, row.presence.as_ref()?.session)));
        named.is_some_and(|(term, session)| self.sessions.is_watched(term, session))
    }
}
