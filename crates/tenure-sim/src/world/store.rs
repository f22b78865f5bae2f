//! The store of the world: one row, its history, and the sessions on which flags are up.
//!
//! Every decision about the row is the real one, from [`tenure_core::lease::decide`]; this file is only the glue that a
//! backend would write around it, and tells the oracle what it did.

use std::collections::BTreeMap;
use std::time::Duration;

use tenure_core::id::Unique;
use tenure_core::lease::decide::{self, Decision, RenewAnswer};
use tenure_core::lease::{
    Acquire, Cause, Change, Claim, Fence, FenceCheck, Flag, Grant, LeaseRecord, Release, Renew, Renewal, Revoke, Term,
};
use tenure_core::time::StoreTime;

use super::message::{Answer, Request};
use super::tally::Tally;
use crate::oracle::{Asker, Fact};

/// What this store calls itself in rows.
const BACKEND: &str = "sim";

/// The row, the history and the sessions.
#[derive(Debug, Default)]
pub(crate) struct Store {
    pub(crate) row: Option<LeaseRecord>,
    remembered: Option<Term>,
    sessions: BTreeMap<Unique, Session>,
    watchers: Vec<Watcher>,
    /// What happened since the oracle last looked.
    pub(crate) facts: Vec<Fact>,
    pub(crate) tally: Tally,
}

#[derive(Debug)]
struct Session {
    owner: usize,
    life: u64,
    flags: Vec<Flag>,
    idle_timeout: Duration,
    heard_at: StoreTime,
}

/// One who waits for a flag to fall.
#[derive(Debug, Clone)]
pub(crate) struct Watcher {
    pub(crate) node: usize,
    pub(crate) life: u64,
    pub(crate) call: u64,
    flag: Flag,
}

impl Store {
    /// Answers a call. `judged` is the clock that expiry is judged by: the store's own, if the rules are kept.
    ///
    /// `None`: there is no answer yet, the caller waits for a flag.
    pub(crate) fn handle(&mut self, who: Caller, request: &Request, now: StoreTime, judged: StoreTime) -> Option<Answer> {
        Some(match request {
            Request::Acquire(claim) => self.acquire(claim, judged),
            Request::Renew(grant, renewal) => self.renew(grant, renewal, judged),
            Request::Release(grant) => self.release(grant, judged),
            Request::Write(fence) => self.write(fence, judged),
            Request::Open(id, idle_timeout) => {
                let Caller { node: owner, life, .. } = who;
                let idle_timeout = *idle_timeout;
                self.sessions.insert(*id, Session { owner, life, flags: Vec::new(), idle_timeout, heard_at: now });
                Answer::Session
            }
            Request::Ping(id) => self.on_session(*id, now, |_| {}),
            Request::Raise(flag) => self.on_session(flag.session, now, |session| session.flags.push(flag.clone())),
            Request::Lower(flag) => self.on_session(flag.session, now, |session| session.flags.retain(|f| f != flag)),
            Request::Close(id) => {
                self.sessions.remove(id);
                Answer::Session
            }
            Request::Watch(flag) => {
                if self.is_up(flag) {
                    self.watchers.push(Watcher { node: who.node, life: who.life, call: who.call, flag: flag.clone() });
                    return None;
                }
                Answer::Fallen
            }
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
        self.facts.push(Fact::Row { asker: Asker::Hand, before, after: self.row.clone() });
    }

    fn apply<O>(&mut self, asker: Asker, decision: Decision<O>) -> O {
        if let Some(row) = decision.write {
            let before = self.row.replace(row);
            self.facts.push(Fact::Row { asker, before, after: self.row.clone() });
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

    fn on_session(&mut self, id: Unique, now: StoreTime, work: impl FnOnce(&mut Session)) -> Answer {
        match self.sessions.get_mut(&id) {
            None => Answer::NoSession,
            Some(session) => {
                session.heard_at = now;
                work(session);
                Answer::Session
            }
        }
    }

    fn is_up(&self, flag: &Flag) -> bool {
        self.sessions.get(&flag.session).is_some_and(|session| session.flags.contains(flag))
    }

    /// When the session ends unless something is heard on it; `None` when there is no such session.
    pub(crate) fn idle_at(&self, id: Unique) -> Option<StoreTime> {
        self.sessions.get(&id).map(|session| session.heard_at.after(session.idle_timeout))
    }

    /// Ends a session; answers whether there was one.
    pub(crate) fn end_session(&mut self, id: Unique) -> bool {
        self.sessions.remove(&id).is_some()
    }

    /// The sessions of one life of a node.
    pub(crate) fn sessions_of(&self, owner: usize, life: u64) -> Vec<Unique> {
        let of = |session: &Session| session.owner == owner && session.life == life;
        self.sessions.iter().filter(|(_, session)| of(session)).map(|(id, _)| *id).collect()
    }

    /// Ends everything that lives in the server's memory; answers who watched something there.
    pub(crate) fn restart(&mut self) -> Vec<Watcher> {
        self.sessions.clear();
        std::mem::take(&mut self.watchers)
    }

    /// Takes those whose flag is down.
    pub(crate) fn take_woken(&mut self) -> Vec<Watcher> {
        let (waiting, woken) = std::mem::take(&mut self.watchers).into_iter().partition(|w| self.is_up(&w.flag));
        self.watchers = waiting;
        woken
    }

    /// Whether someone waits for the flag that the row names.
    pub(crate) fn is_watched(&self) -> bool {
        let named = self.row.as_ref().and_then(|row| Some((row.term, row.presence.as_ref()?.session)));
        self.watchers.iter().any(|watcher| Some((watcher.flag.term, watcher.flag.session)) == named)
    }
}

/// Who calls.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Caller {
    pub(crate) node: usize,
    pub(crate) life: u64,
    pub(crate) call: u64,
}
