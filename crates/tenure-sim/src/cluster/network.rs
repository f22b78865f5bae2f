//! The way of a call: from a process to the store and back, through the weather of its link.

use std::time::Duration;

use tenure_core::cluster::Order;
use tenure_core::id::Unique;

use super::message::{Call, Envelope, Reply, Why};
use super::store::is_granted;
use super::{ClusterWorld, Event};
use crate::faults::Fate;
use crate::world::message::{Answer, Request};
use crate::world::sessions::Caller;

impl ClusterWorld {
    /// Sends a call on its way.
    pub(super) fn send(&mut self, node: usize, call: Call, why: Why, patience: Option<Duration>) {
        let fate = self.fate(node, &call);
        let machine = &mut self.machines[node];
        let (life, number) = (machine.life, machine.process.file(why));
        if let Some(patience) = patience {
            let patience = machine.when(machine.clock(self.now).after(patience));
            self.schedule(self.now.until(patience), Event::Answer { node, life, number, reply: None });
        }
        if let Some(error) = fate.error {
            let reply = Some(Box::new(Reply::Doubt));
            self.schedule(error, Event::Answer { node, life, number, reply });
        }
        let envelope = Envelope { from: node, life, number, call, answer_after: fate.answer };
        if let Some(copy) = fate.copy {
            self.schedule(copy, Event::Arrive(Box::new(envelope.clone())));
        }
        if let Some(request) = fate.request {
            self.schedule(request, Event::Arrive(Box::new(envelope)));
        }
    }

    fn fate(&mut self, node: usize, call: &Call) -> Fate {
        if let Some(fate) = self.take_trap(node, call) {
            self.note(node, format_args!("{call:?} is spoilt: {fate:?}"));
            return fate;
        }
        if self.machines[node].is_cut(self.now) {
            return Fate::SILENCE;
        }
        self.machines[node].weather.fate(call.kind(), &mut self.rng)
    }

    /// A call reaches the store.
    pub(super) fn arrive(&mut self, envelope: Envelope) {
        let Envelope { from: node, life, number, call, answer_after } = envelope;
        let reply = self.store.handle(Caller { node, life, call: number }, &call, self.now);
        self.note_arrival(node, &call, reply.as_ref());
        if let Call::Lease(Request::Open(session, _)) = &call
            && let Some(at) = self.store.sessions.idle_at(*session)
        {
            self.schedule(self.now.until(at), Event::Idle { session: *session, owner: node });
        }
        if let (Some(reply), Some(after)) = (reply, answer_after)
            && !self.machines[node].is_cut(self.now)
        {
            self.schedule(after, Event::Answer { node, life, number, reply: Some(Box::new(reply)) });
        }
        if matches!(call, Call::Lease(Request::Close(_) | Request::Lower(_))) {
            self.spread_news();
        }
    }

    /// Tells those who watch a flag that it is down.
    pub(super) fn spread_news(&mut self) {
        for watcher in self.store.sessions.take_woken() {
            self.tell(watcher, Answer::Fallen);
        }
    }

    pub(super) fn tell(&mut self, watcher: Caller, answer: Answer) {
        let Caller { node, life, call: number } = watcher;
        let machine = &self.machines[node];
        if machine.is_cut(self.now) {
            return;
        }
        if let Some(after) = machine.weather.news(&mut self.rng) {
            let reply = Some(Box::new(Reply::Lease(answer)));
            self.schedule(after, Event::Answer { node, life, number, reply });
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
        self.machines[owner].spoil(self.now);
        self.tell_session_ended(owner, session);
        self.spread_news();
    }

    /// The server closes its side of a connection; the process hears of it if its link lets it through.
    pub(super) fn tell_session_ended(&mut self, node: usize, session: Unique) {
        let machine = &self.machines[node];
        if machine.is_cut(self.now) {
            return;
        }
        let life = machine.life;
        if let Some(after) = machine.weather.news(&mut self.rng) {
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

    fn note_order(&mut self, node: usize, order: &Order, reply: &Reply) {
        let Reply::Applied(answer) = reply else { return };
        match order {
            Order::Register { fence, .. } => {
                self.note_store(format_args!("n{node} registers, {fence}: {answer:?}"))
            }
            Order::Place { fence, placements, .. } => {
                self.note_store(format_args!("n{node} places, {fence}: {placements:?}: {answer:?}"));
            }
            Order::Acknowledge { daemons, .. } => {
                self.note_store(format_args!("n{node} acknowledges {daemons:?}: {answer:?}"));
            }
            Order::Confirm { daemons, .. } => {
                self.note_store(format_args!("n{node} confirms {daemons:?}: {answer:?}"));
            }
            _ => self.note_store(format_args!("n{node} {order:?}: {answer:?}")),
        }
    }

    fn note_arrival(&mut self, node: usize, call: &Call, reply: Option<&Reply>) {
        let Some(reply) = reply else { return };
        match call {
            Call::Lease(Request::Acquire(claim)) if is_granted(reply) => {
                self.note_store(format_args!("grants {} to n{node}", claim.name));
            }
            Call::Lease(Request::Release(grant)) => {
                self.note_store(format_args!("release of {} term {} by n{node}", grant.name, grant.term));
            }
            Call::Apply(order) => self.note_order(node, order, reply),
            _ => {}
        }
    }
}
