//! The receiver: handlers that share one durable inbox, in which effect and mark are one step.

use std::collections::BTreeSet;

use tenure_core::memory::OpenInbox;
use tenure_core::outbox::{Accept, Consumer, Message, MessageId, Verdict};
use tenure_core::time::StoreTime;

use super::super::World;
use super::super::message::Answer;
use super::Outbox;
use crate::faults::Mood;
use crate::oracle::Fact;

/// In the payload of what the handler will never take.
pub(super) const UNWELCOME: &str = "unwelcome";

/// The receiver.
#[derive(Debug)]
pub(crate) struct Receiver {
    consumer: Consumer,
    pub(crate) mood: Mood,
    /// Messages with which it has trouble of its own.
    pub(crate) failing: BTreeSet<MessageId>,
    pub(crate) refusing: BTreeSet<MessageId>,
    /// What took effect, in this order.
    pub(crate) ledger: Vec<MessageId>,
    pub(crate) deliveries: u64,
}

impl Receiver {
    pub(super) fn new() -> Self {
        let consumer = Consumer::new("consumer")
            .unwrap_or_else(|error| unreachable!("the simulator's own names are valid: {error:?}"));
        Self {
            consumer,
            mood: Mood::KIND,
            failing: BTreeSet::new(),
            refusing: BTreeSet::new(),
            ledger: Vec::new(),
            deliveries: 0,
        }
    }
}

impl Outbox {
    /// Handles one message; `None`: there will be no answer.
    fn handle(&mut self, message: &Message, now: StoreTime, facts: &mut Vec<Fact>) -> Option<Verdict> {
        let mood = self.receiver.mood;
        let rng = &mut self.rng;
        let mut hit = |chance: u32| chance > 0 && rng.u32(0..1000) < chance;
        self.receiver.deliveries += 1;
        if hit(mood.hang) {
            return None;
        }
        if hit(mood.fail) || self.receiver.failing.contains(&message.id) {
            return Some(Verdict::transient("fails"));
        }
        if hit(mood.reject) || self.receiver.refusing.contains(&message.id) {
            return Some(Verdict::rejected("turned away at the door"));
        }
        let (consumer, inbox) = (&self.receiver.consumer, &mut self.tables.inbox);
        let mut open = OpenInbox::default();
        let verdict = match open.on(inbox).accept_message(consumer, message, now) {
            Accept::Fresh if message.body.as_bytes().starts_with(UNWELCOME.as_bytes()) => {
                // The transaction is rolled back; the refusal has one of its own.
                match inbox.refuse(consumer, message.id, "not wanted", now) {
                    Accept::Refused { reason } => Verdict::Rejected { reason },
                    _ => Verdict::Accepted,
                }
            }
            Accept::Fresh => {
                inbox.merge(open);
                facts.push(Fact::Effect { id: message.id });
                self.receiver.ledger.push(message.id);
                Verdict::Accepted
            }
            Accept::Duplicate => Verdict::Accepted,
            Accept::Refused { reason } => Verdict::Rejected { reason },
            Accept::Differs => Verdict::rejected("another message has this id"),
        };
        if hit(mood.hang_after) {
            return None;
        }
        Some(if hit(mood.fail_after) { Verdict::transient("fails after the effect") } else { verdict })
    }
}

impl World {
    /// A delivery arrives: one message after another, and of a source nothing after one that was not accepted.
    pub(super) fn receive(&mut self, node: usize, messages: &[Message]) -> Option<Answer> {
        let mut verdicts = Vec::with_capacity(messages.len());
        let mut stopped: Vec<&str> = Vec::new();
        for message in messages {
            let source = message.source.as_deref();
            if source.is_some_and(|source| stopped.contains(&source)) {
                verdicts.push(Verdict::Withheld);
                continue;
            }
            let Some(outbox) = &mut self.outbox else { return None };
            let before = outbox.receiver.ledger.len();
            let verdict = outbox.handle(message, self.now, &mut self.store.facts);
            let fresh = outbox.receiver.ledger.len() > before;
            self.store.tally.deliveries += 1;
            self.store.tally.effects += u64::from(fresh);
            let (source, id) = (source.unwrap_or("-"), message.id);
            self.note_store(format_args!(
                "receiver: {id} of {source}, attempt {} by n{node}: fresh {fresh}, {verdict:?}",
                message.attempt
            ));
            let verdict = verdict?;
            if let (Some(source), false) = (message.source.as_deref(), verdict == Verdict::Accepted) {
                stopped.push(source);
            }
            verdicts.push(verdict);
        }
        Some(Answer::Verdicts(verdicts))
    }
}
