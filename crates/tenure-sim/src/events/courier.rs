//! The courier: brings every message to one host or the other until it knows what became of it, and now and then once more.

use std::time::Duration;

use tenure_core::entity::HEADER_TO;
use tenure_core::outbox::{Body, MessageId, NewMessage, Verdict};
use uuid::Uuid;

use super::actor::{Actor, Input};
use super::host::settles;
use super::{Event, EventsWorld};
use crate::faults::LATEST;
use crate::world::message::Kind;

/// How long the courier waits for a host at most before it tries again.
const AGAIN: Duration = Duration::from_secs(2);

/// A message for an entity.
#[derive(Debug, Clone)]
pub(crate) struct Mail {
    pub(crate) id: MessageId,
    /// The entity's kind.
    pub(crate) topic: String,
    pub(crate) to: String,
    pub(crate) kind: String,
    pub(crate) payload: String,
    /// How long it is held back.
    pub(crate) delay: Duration,
}

impl Mail {
    /// What was sent through the outbox.
    pub(crate) fn of(message: &NewMessage) -> Option<Self> {
        let Body::Text(payload) = &message.body else { return None };
        Some(Self {
            id: message.id?,
            topic: message.topic.clone(),
            to: message.headers.get(HEADER_TO)?.clone(),
            kind: message.kind.clone(),
            payload: payload.clone(),
            delay: message.delay,
        })
    }

    /// A command from outside.
    pub(crate) fn command(id: u128, topic: &str, to: &str, kind: &str, payload: &str) -> Self {
        Self {
            id: Uuid::from_u128(id).into(),
            topic: topic.into(),
            to: to.into(),
            kind: kind.into(),
            payload: payload.into(),
            delay: Duration::ZERO,
        }
    }
}

/// A message, and what the courier knows of it.
#[derive(Debug)]
pub(crate) struct Posted {
    pub(crate) mail: Mail,
    pub(crate) settled: Option<Verdict>,
}

impl EventsWorld {
    /// Takes a message to be delivered.
    pub(crate) fn post(&mut self, mail: Mail) -> usize {
        let delay = mail.delay;
        self.mails.push(Posted { mail, settled: None });
        let number = self.mails.len() - 1;
        let soon = Duration::from_micros(self.rng.u64(100..5000));
        self.schedule(delay + soon, Event::Deliver(number));
        number
    }

    /// Someone outside tells an entity something.
    pub(super) fn tell_entities(&mut self) {
        if !self.stormy {
            return;
        }
        let (id, amount) = (self.rng.u128(..), self.rng.u64(1..=9));
        let entity = |world: &mut Self| world.rng.u64(0..world.plan.mail.entities);
        let to = entity(self);
        let mail = match self.rng.u32(0..10) {
            0 => Mail::command(id, "counter", &to.to_string(), "Touch", "null"),
            1 => Mail::command(id, "counter", &to.to_string(), "Empty", "null"),
            2..=4 => {
                let payload = format!(r#"{{"from":{},"to":{to},"amount":{amount}}}"#, entity(self));
                Mail::command(id, "flow", "0", "Start", &payload)
            }
            _ => {
                let payload = format!(r#"{{"amount":{amount}}}"#);
                Mail::command(id, "counter", &to.to_string(), "Add", &payload)
            }
        };
        self.post(mail);
        let pause = self.plan.mail.pause.mul_f64(self.rng.f64());
        self.schedule(pause, Event::Tell);
    }

    /// Brings a message to a host, if it is not known to be settled, or for no good reason.
    pub(super) fn deliver(&mut self, number: usize) {
        let hosts = self.hosts();
        if hosts.is_empty() {
            return;
        }
        let settled = self.mails[number].settled.is_some();
        if settled {
            // Once more, and perhaps long after.
            if self.stormy && self.rng.u32(0..1000) < self.plan.mail.again {
                let late = LATEST.mul_f64(self.rng.f64());
                self.schedule(late, Event::Deliver(number));
            } else if !self.stormy {
                return;
            }
        } else {
            let again = AGAIN.mul_f64(0.1 + self.rng.f64());
            self.schedule(again, Event::Deliver(number));
        }
        let host = hosts[self.rng.usize(0..hosts.len())];
        let fate = self.seats[host].weather.fate(Kind::Deliver, &mut self.rng);
        for after in [fate.request, fate.copy].into_iter().flatten() {
            self.schedule(after, Event::Mail { host, number });
        }
    }

    /// A message reaches a host.
    pub(super) fn mail_arrives(&mut self, host: usize, number: usize) {
        let mail = self.mails[number].mail.clone();
        if let (true, Actor::Host(desk)) = (self.seats[host].is_up(), &mut self.seats[host].actor) {
            desk.put(number, mail);
            self.tally.deliveries += 1;
            let life = self.seats[host].life;
            self.reach(host, life, Input::Mail);
        }
    }

    /// A host says what became of a message; the courier may not hear it.
    pub(super) fn verdict(&mut self, host: usize, number: usize, verdict: Verdict) {
        self.note(host, format_args!("message {number}: {verdict:?}"));
        let heard = self.seats[host].weather.fate(Kind::Deliver, &mut self.rng).answer.is_some();
        if settles(&verdict) && heard {
            self.mails[number].settled.get_or_insert(verdict);
        }
    }
}
