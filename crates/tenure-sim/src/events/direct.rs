//! What a scenario can do with a world of events: let it run, spoil one call, hold a transaction, and say what it expects.

use std::sync::Arc;
use std::time::Duration;

use tenure_core::entity::{AggregateOf, Replayed, replay};
use tenure_core::event::{Append, StreamName};
use tenure_core::outbox::Verdict;

use super::actor::Actor;
use super::entity::Counter;
use super::message::Kind;
use super::{Event, EventsWorld, Stage, named};
use crate::faults::Fate;
use crate::report::Failure;

/// A fate that waits for the next call of a kind.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Snare {
    pub(crate) actor: usize,
    pub(crate) kind: Kind,
    pub(crate) fate: Fate,
}

const SOON: Option<Duration> = Some(Duration::from_millis(1));

impl Snare {
    /// The next such call takes effect, and nobody hears of it.
    pub(crate) fn lose_answer(actor: usize, kind: Kind) -> Self {
        Self { actor, kind, fate: Fate { request: SOON, ..Fate::SILENCE } }
    }
}

impl EventsWorld {
    /// Spoils the next call that fits.
    pub(crate) fn snare(&mut self, snare: Snare) {
        self.snares.push(snare);
    }

    pub(super) fn take_snare(&mut self, actor: usize, kind: Kind) -> Option<Fate> {
        let at = self.snares.iter().position(|snare| snare.actor == actor && snare.kind == kind)?;
        Some(self.snares.remove(at).fate)
    }

    /// Lets `span` pass.
    pub(crate) fn run_for(&mut self, span: Duration) -> Result<(), Failure> {
        let until = self.now.after(span);
        while self.step(until)? {}
        Ok(())
    }

    /// Lets time pass until `done`; fails as `what` when that takes longer than `at_most`.
    pub(crate) fn run_until(
        &mut self,
        what: &'static str,
        at_most: Duration,
        done: impl Fn(&Self) -> bool,
    ) -> Result<(), Failure> {
        let until = self.now.after(at_most);
        while !done(self) {
            if !self.step(until)? {
                return self.expect(what, done(self), || format!("did not happen within {at_most:?}"));
            }
        }
        Ok(())
    }

    /// Fails as `what` unless it holds.
    pub(crate) fn expect(
        &self,
        what: &'static str,
        holds: bool,
        message: impl FnOnce() -> String,
    ) -> Result<(), Failure> {
        if holds { Ok(()) } else { Err(self.failure(what, message())) }
    }

    /// Begins an append in a caller's own transaction, which goes no further than `hold_at` before it is let go.
    pub(crate) fn open(&mut self, append: Append, hold_at: Option<Stage>) -> u64 {
        let transaction = self.books.begin(Arc::new(append), None);
        if let Some(open) = self.books.open.get_mut(&transaction) {
            open.hold_at = hold_at;
        }
        self.schedule(Duration::ZERO, Event::Append(transaction));
        transaction
    }

    /// Lets a transaction go on to its end.
    pub(crate) fn let_go(&mut self, transaction: u64) {
        if let Some(open) = self.books.open.get_mut(&transaction) {
            open.hold_at = None;
        }
        self.schedule(Duration::ZERO, Event::Append(transaction));
    }

    /// Has a writer append this, and ask again until it knows what came of it.
    pub(crate) fn have_written(&mut self, writer: usize, append: Append) {
        if let Actor::Writer(writer) = &mut self.seats[writer].actor {
            writer.pending = Some(Arc::new(append));
        }
        let input = Box::new(super::Input::Wake);
        self.schedule(Duration::ZERO, Event::Reach { actor: writer, life: 0, call: None, input });
    }

    /// Gives a message to a host now.
    pub(crate) fn hand_in(&mut self, host: usize, number: usize) {
        self.schedule(Duration::ZERO, Event::Mail { host, number });
    }

    /// Takes a message that is delivered only by [`EventsWorld::hand_in`].
    pub(crate) fn write_letter(&mut self, mail: super::Mail) -> usize {
        self.mails.push(super::Posted { mail, settled: None });
        self.mails.len() - 1
    }

    /// What the sender of a message was told.
    pub(crate) fn told(&self, number: usize) -> Option<&Verdict> {
        self.mails[number].settled.as_ref()
    }

    /// Whether every reader has come to the end of what there is.
    pub(crate) fn readers_are_there(&self) -> bool {
        (0..self.names.len()).all(|subscription| self.checkpoint(subscription) == self.books.head())
    }

    /// Whether nobody waits for the store any more, and every message is settled.
    pub(crate) fn is_quiet(&self) -> bool {
        let idle = |actor: &Actor| match actor {
            Actor::Writer(writer) => writer.pending.is_none(),
            Actor::Host(host) => host.is_idle(),
            Actor::Reader(_) => true,
        };
        self.books.open.is_empty()
            && self.mails.iter().all(|posted| posted.settled.is_some())
            && self.seats.iter().all(|seat| idle(&seat.actor))
    }

    /// The sum of a counter, as its events make it.
    pub(crate) fn sum_of(&self, counter: u64) -> Result<u64, Failure> {
        let stream = named(StreamName::of("counter", &counter.to_string()));
        let replayed = replay(Replayed::<AggregateOf<Counter>>::default(), &self.books.stream(&stream));
        let entity = replayed.map_err(|error| self.failure("a_stream_can_be_replayed", error.to_string()))?;
        Ok(entity.state.sum)
    }

    /// What the readers of a subscription do, for people.
    pub(crate) fn readers_of(&self, subscription: usize) -> String {
        let readers = self.seats.iter().filter_map(|seat| Some((seat, seat.actor.reader()?)));
        let readers = readers.filter(|(_, reader)| reader.subscription == subscription);
        readers.map(|(seat, reader)| format!("{reader} ({:?}); ", seat.condition)).collect()
    }

    /// One number for the whole trace.
    pub(crate) fn trace_hash(&self) -> u64 {
        self.trace.hash()
    }
}
