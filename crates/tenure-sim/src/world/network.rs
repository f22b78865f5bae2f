//! The way of a message: from a node to the store and back, through the weather of its link.

use tenure_core::id::Unique;
use tenure_core::lease::{Acquire, FenceCheck};
use tenure_core::mutation::{Rule, off};

use super::message::{Answer, Envelope, Kind, Request};
use super::sessions::Caller;
use super::{Event, World};
use crate::actor::Ask;
use crate::faults::Fate;

impl World {
    /// Sends a call on its way.
    pub(super) fn send(&mut self, node: usize, ask: Ask) {
        let Ask { request, purpose, patience } = ask;
        let fate = self.fate(node, &request);
        let host = &mut self.hosts[node];
        let (life, call) = (host.life, host.actor.file(purpose));
        if let Some(patience) = patience {
            let patience = host.plan.clock.when(host.plan.clock.read(self.now).after(patience));
            let event = Event::Answer { node, life, call, answer: None };
            self.schedule(self.now.until(patience), event);
        }
        if let Some(error) = fate.error {
            self.schedule(error, Event::Answer { node, life, call, answer: Some(Box::new(Answer::Doubt)) });
        }
        let envelope = Envelope { from: node, life, call, request, answer_after: fate.answer };
        if let Some(copy) = fate.copy {
            self.schedule(copy, Event::Arrive(Box::new(envelope.clone())));
        }
        if let Some(request) = fate.request {
            self.schedule(request, Event::Arrive(Box::new(envelope)));
        }
    }

    fn fate(&mut self, node: usize, request: &Request) -> Fate {
        let kind = request.kind();
        if let Some(fate) = self.take_snare(node, kind) {
            self.note(node, format_args!("{kind:?} is spoilt: {fate:?}"));
            return fate;
        }
        let host = &self.hosts[node];
        // What is cut off from the store may still reach the receiver.
        if let (Kind::Deliver, Some(outbox)) = (kind, &mut self.outbox) {
            let mood = outbox.receiver.mood;
            let fate = mood.weather.fate(kind, &mut outbox.rng);
            return Fate { answer: fate.answer.map(|after| after + mood.takes), ..fate };
        }
        if host.is_cut(self.now) {
            return Fate::SILENCE;
        }
        match &mut self.outbox {
            Some(outbox) if kind.is_outbox() => host.weather.fate(kind, &mut outbox.rng),
            _ => host.weather.fate(kind, &mut self.rng),
        }
    }

    /// A call reaches the store.
    pub(super) fn arrive(&mut self, envelope: Envelope) {
        let Envelope { from: node, life, call, request, answer_after } = envelope;
        let kind = request.kind();
        if kind.is_outbox() {
            let answer = self.arrive_at_outbox(node, &request);
            if let (Some(answer), Some(after)) = (answer, answer_after)
                && (kind == Kind::Deliver || !self.hosts[node].is_cut(self.now))
            {
                self.schedule(after, Event::Answer { node, life, call, answer: Some(Box::new(answer)) });
            }
            return;
        }
        let judged =
            if off(Rule::StoreClock) { self.hosts[node].plan.clock.wall(self.now) } else { self.now };
        let answer = self.store.handle(Caller { node, life, call }, &request, self.now, judged);
        self.note_arrival(node, &request, answer.as_ref());
        if let Request::Open(session, _) = &request
            && let Some(at) = self.store.sessions.idle_at(*session)
        {
            self.schedule(self.now.until(at), Event::Idle { session: *session, owner: node });
        }
        if let (Some(answer), Some(after)) = (answer, answer_after)
            && !self.hosts[node].is_cut(self.now)
        {
            self.schedule(after, Event::Answer { node, life, call, answer: Some(Box::new(answer)) });
        }
        self.spread_news();
    }

    /// Tells those who watch a flag that it is down.
    pub(super) fn spread_news(&mut self) {
        for watcher in self.store.sessions.take_woken() {
            let host = &self.hosts[watcher.node];
            if host.is_cut(self.now) {
                continue;
            }
            if let Some(after) = host.weather.news(&mut self.rng) {
                let (node, life, call) = (watcher.node, watcher.life, watcher.call);
                self.schedule(
                    after,
                    Event::Answer { node, life, call, answer: Some(Box::new(Answer::Fallen)) },
                );
            }
        }
    }

    /// Ends a session that has been silent for too long.
    pub(super) fn check_idle(&mut self, session: Unique, owner: usize) {
        let Some(at) = self.store.sessions.idle_at(session) else { return };
        if self.now < at {
            self.schedule(self.now.until(at), Event::Idle { session, owner });
            return;
        }
        self.store.sessions.close(session);
        self.note_store(format_args!("ends the silent session of n{owner}"));
        self.tell_session_ended(owner, session);
        self.spread_news();
    }

    /// The server closes its side of a connection; the node hears of it if its link lets it through.
    pub(super) fn tell_session_ended(&mut self, node: usize, session: Unique) {
        let host = &self.hosts[node];
        if host.is_cut(self.now) {
            return;
        }
        let life = host.life;
        if let Some(after) = host.weather.news(&mut self.rng) {
            self.schedule(after, Event::SessionEnded { node, life, session });
        }
    }

    /// The kernel of a dead process ended its connections.
    pub(super) fn end_sessions(&mut self, node: usize, life: u64) {
        for session in self.store.sessions.of(node, life) {
            self.store.sessions.close(session);
        }
        self.spread_news();
    }

    fn note_arrival(&mut self, node: usize, request: &Request, answer: Option<&Answer>) {
        match (request, answer) {
            (Request::Acquire(_), Some(Answer::Acquire(Acquire::Granted(grant)))) => {
                self.note_store(format_args!("grants term {} to n{node}", grant.term));
            }
            (Request::Renew(grant, renewal), Some(answer)) => {
                let (term, number) = (grant.term, renewal.number);
                self.note_store(format_args!("renewal {number} of term {term} by n{node}: {answer:?}"));
            }
            (Request::Release(grant), Some(answer)) => {
                self.note_store(format_args!("release of term {} by n{node}: {answer:?}", grant.term));
            }
            (Request::Write(fence), Some(Answer::Write(FenceCheck::Refused(fenced)))) => {
                self.note_store(format_args!(
                    "refuses a write of n{node} under term {}: {}",
                    fence.term, fenced.loss
                ));
            }
            _ => {}
        }
    }
}
