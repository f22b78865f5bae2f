//! A writer: appends at the version that it believes in, and asks again with the same ids when it does not know what came
//! of it.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use fastrand::Rng;
use tenure_core::entity::HEADER_TO;
use tenure_core::event::{Append, AppendAnswer, Expected, NewEvent, StreamName, Version};
use tenure_core::outbox::NewMessage;
use uuid::Uuid;

use super::actor::{Input, Turn};
use super::message::{Answer, Request};
use super::named;
use crate::oracle::EventFact;
use crate::plan::Writing;

/// How long it waits at most before it asks again.
const AGAIN: Duration = Duration::from_millis(300);

#[derive(Debug)]
pub(crate) struct Writer {
    plan: Writing,
    index: usize,
    entities: u64,
    /// The versions that it believes in.
    versions: BTreeMap<StreamName, Version>,
    /// What it has asked for, without a certain answer so far.
    pub(crate) pending: Option<Arc<Append>>,
    made: u64,
}

impl Writer {
    pub(crate) fn new(index: usize, plan: Writing, entities: u64) -> Self {
        Self { plan, index, entities, versions: BTreeMap::new(), pending: None, made: 0 }
    }

    /// Its intention may have been written down elsewhere, and outlive it.
    pub(crate) fn restart(&mut self, rng: &mut Rng) {
        self.versions.clear();
        if rng.bool() {
            self.pending = None;
        }
    }

    pub(crate) fn drive(&mut self, input: Input, turn: &mut Turn<'_>) {
        match input {
            Input::Wake => self.write(turn),
            Input::Answer(Some(Answer::Append(answer))) => self.told(answer, turn),
            Input::Answer(Some(Answer::Problem(problem))) => turn.tell(EventFact::Problem(problem)),
            Input::Answer(_) => turn.wake = Some(turn.up_to(AGAIN)),
            _ => {}
        }
    }

    fn write(&mut self, turn: &mut Turn<'_>) {
        if self.pending.is_none() && turn.stormy && !self.plan.pause.is_zero() {
            let append = self.compose(turn);
            self.pending = Some(Arc::new(append));
        }
        if let Some(append) = &self.pending {
            turn.ask = Some(Request::Append(append.clone()));
        }
    }

    fn told(&mut self, answer: AppendAnswer, turn: &mut Turn<'_>) {
        turn.wake = Some(turn.up_to(self.plan.pause));
        let Some(append) = self.pending.take() else { return };
        match &answer {
            AppendAnswer::Appended(appended) => {
                self.versions.insert(append.stream.clone(), appended.version);
            }
            AppendAnswer::Conflict { actual } => {
                self.versions.insert(append.stream.clone(), *actual);
            }
            _ => {}
        }
        turn.notes.push(format!("append to {}: {answer:?}", append.stream));
        turn.tell(EventFact::Told { append, answer });
    }

    fn compose(&mut self, turn: &mut Turn<'_>) -> Append {
        self.made += 1;
        let new = turn.hit(self.plan.new);
        let stream = match new {
            // Of few names, so that two may want the same.
            true => format!("new-{}", turn.rng.u64(0..40)),
            false => format!("plain-{}", turn.rng.u64(0..self.plan.streams)),
        };
        let stream = named(StreamName::new(stream));
        let expected = match self.versions.get(&stream) {
            _ if new => Expected::NONE,
            _ if turn.hit(self.plan.any) => Expected::Any,
            version => Expected::Exact(version.copied().unwrap_or_default()),
        };
        let count = turn.rng.u64(1..=3);
        let event = |_| {
            let id = Uuid::from_u128(turn.rng.u128(..));
            NewEvent::json(id, "Written", format!("[{},{}]", self.index, self.made))
        };
        let append = Append::new(stream, expected, (0..count).map(event).collect());
        if turn.hit(self.plan.sends) { append.with_dispatches(vec![self.command(turn)]) } else { append }
    }

    fn command(&self, turn: &mut Turn<'_>) -> NewMessage {
        let payload = format!(r#"{{"amount":{}}}"#, turn.rng.u64(1..=5));
        NewMessage::json("counter", "Add", payload)
            .with_id(Uuid::from_u128(turn.rng.u128(..)))
            .with_header(HEADER_TO, turn.rng.u64(0..self.entities).to_string())
    }
}
