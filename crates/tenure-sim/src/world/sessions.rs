//! The presence sessions of the store: who is there, whose flags are up, and who waits for one to fall.

use std::collections::BTreeMap;
use std::time::Duration;

use tenure_core::id::Unique;
use tenure_core::lease::{Flag, Term};
use tenure_core::time::StoreTime;

use super::message::Answer;

/// Who calls.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Caller {
    pub(crate) node: usize,
    /// In which of its lives.
    pub(crate) life: u64,
    pub(crate) call: u64,
}

/// All that lives in the server's memory and dies with it.
#[derive(Debug, Default)]
pub(crate) struct Sessions {
    open: BTreeMap<Unique, Session>,
    watchers: Vec<(Caller, Flag)>,
}

#[derive(Debug)]
struct Session {
    owner: Caller,
    flags: Vec<Flag>,
    idle_timeout: Duration,
    heard_at: StoreTime,
}

impl Sessions {
    pub(crate) fn open(
        &mut self,
        owner: Caller,
        id: Unique,
        idle_timeout: Duration,
        now: StoreTime,
    ) -> Answer {
        self.open.insert(id, Session { owner, flags: Vec::new(), idle_timeout, heard_at: now });
        Answer::Session
    }

    pub(crate) fn ping(&mut self, id: Unique, now: StoreTime) -> Answer {
        self.on(id, now, |_| {})
    }

    pub(crate) fn raise(&mut self, flag: &Flag, now: StoreTime) -> Answer {
        self.on(flag.session, now, |session| session.flags.push(flag.clone()))
    }

    pub(crate) fn lower(&mut self, flag: &Flag, now: StoreTime) -> Answer {
        self.on(flag.session, now, |session| session.flags.retain(|up| up != flag))
    }

    pub(crate) fn close(&mut self, id: Unique) -> Answer {
        self.open.remove(&id);
        Answer::Session
    }

    /// Answers at once when the flag is down; otherwise the caller waits.
    pub(crate) fn watch(&mut self, caller: Caller, flag: &Flag) -> Option<Answer> {
        if !self.is_up(flag) {
            return Some(Answer::Fallen);
        }
        self.watchers.push((caller, flag.clone()));
        None
    }

    /// Takes those whose flag is down.
    pub(crate) fn take_woken(&mut self) -> Vec<Caller> {
        let (waiting, woken): (Vec<_>, Vec<_>) =
            std::mem::take(&mut self.watchers).into_iter().partition(|(_, flag)| self.is_up(flag));
        self.watchers = waiting;
        woken.into_iter().map(|(caller, _)| caller).collect()
    }

    pub(crate) fn is_watched(&self, term: Term, session: Unique) -> bool {
        self.watchers.iter().any(|(_, flag)| flag.term == term && flag.session == session)
    }

    /// When a session ends unless something is heard on it; `None` when there is no such session.
    pub(crate) fn idle_at(&self, id: Unique) -> Option<StoreTime> {
        self.open.get(&id).map(|session| session.heard_at.after(session.idle_timeout))
    }

    /// The sessions of one life of a node.
    pub(crate) fn of(&self, node: usize, life: u64) -> Vec<Unique> {
        let theirs = |session: &Session| session.owner.node == node && session.owner.life == life;
        self.open.iter().filter(|(_, session)| theirs(session)).map(|(id, _)| *id).collect()
    }

    /// The server restarts: all sessions are gone. Answers who watched something.
    pub(crate) fn restart(&mut self) -> Vec<Caller> {
        self.open.clear();
        std::mem::take(&mut self.watchers).into_iter().map(|(caller, _)| caller).collect()
    }

    fn is_up(&self, flag: &Flag) -> bool {
        self.open.get(&flag.session).is_some_and(|session| session.flags.contains(flag))
    }

    fn on(&mut self, id: Unique, now: StoreTime, work: impl FnOnce(&mut Session)) -> Answer {
        let Some(session) = self.open.get_mut(&id) else { return Answer::NoSession };
        session.heard_at = now;
        work(session);
        Answer::Session
    }
}
