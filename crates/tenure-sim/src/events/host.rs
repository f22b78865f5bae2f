//! A host of entities: one message at a time, and everything in memory but what the store holds.

use std::collections::VecDeque;
use std::time::Duration;

use tenure_core::entity::{Aggregate, AggregateOf, EntitySettings, ProcessOf};
use tenure_core::outbox::Verdict;

use super::actor::{Input, Turn};
use super::courier::Mail;
use super::desk::{Desk, Next};
use super::entity::{Counter, Flow};
use super::message::Answer;

#[derive(Debug)]
pub(crate) struct Host {
    settings: EntitySettings,
    counters: Desk<AggregateOf<Counter>>,
    flows: Desk<ProcessOf<Flow>>,
    /// What has arrived and is not yet handled.
    waiting: VecDeque<(usize, Mail)>,
    /// What is being handled.
    at: Option<(usize, bool)>,
}

impl Host {
    pub(crate) fn new(settings: EntitySettings) -> Self {
        Self {
            settings,
            counters: Desk::new(settings),
            flows: Desk::new(settings),
            waiting: VecDeque::new(),
            at: None,
        }
    }

    pub(crate) fn restart(&mut self) {
        *self = Self::new(self.settings);
    }

    /// A message arrives; it is handled when [`Input::Mail`] is driven.
    pub(crate) fn put(&mut self, number: usize, mail: Mail) {
        self.waiting.push_back((number, mail));
    }

    pub(crate) fn drive(&mut self, input: Input, turn: &mut Turn<'_>) {
        match input {
            Input::Answer(answer) => self.answered(answer, turn),
            Input::Mail | Input::Wake if self.at.is_none() => self.begin(turn),
            _ => {}
        }
    }

    fn begin(&mut self, turn: &mut Turn<'_>) {
        let Some((number, mail)) = self.waiting.pop_front() else { return };
        let counter = mail.topic == Counter::KIND;
        self.at = Some((number, counter));
        let next = if counter { self.counters.begin(mail) } else { self.flows.begin(mail) };
        self.go_on(next, turn);
    }

    fn answered(&mut self, answer: Option<Answer>, turn: &mut Turn<'_>) {
        let next = match self.at {
            None => return,
            Some((_, true)) => self.counters.answered(answer),
            Some((_, false)) => self.flows.answered(answer),
        };
        self.go_on(next, turn);
    }

    fn go_on(&mut self, next: Next, turn: &mut Turn<'_>) {
        for fact in self.counters.facts.drain(..).chain(self.flows.facts.drain(..)) {
            turn.facts.push(crate::oracle::Fact::Event(fact));
        }
        match next {
            Next::Ask(request) => turn.ask = Some(request),
            Next::Done(verdict) => {
                if let Some((number, _)) = self.at.take() {
                    turn.verdicts.push((number, verdict));
                }
                turn.wake = Some(Duration::from_micros(10));
            }
        }
    }

    /// Whether it has nothing to do.
    pub(crate) fn is_idle(&self) -> bool {
        self.at.is_none() && self.waiting.is_empty()
    }
}

/// Whether a message needs not be delivered again.
pub(crate) fn settles(verdict: &Verdict) -> bool {
    matches!(verdict, Verdict::Accepted | Verdict::Rejected { .. })
}
