//! However often a message comes, and to how many hosts: its events are there once, and what it sends is sent once with
//! them. One that was refused has no effect, ever, and every sender is told what was said first.

use std::collections::HashMap;

use tenure_core::outbox::{Consumer, MessageId};

use super::Invariant;
use crate::oracle::{EventFact, Fact, Moment};

/// One message, one effect.
#[derive(Debug, Default)]
pub struct EntityEffectOnce {
    /// Which transaction each message's events are from.
    caused: HashMap<MessageId, u64>,
    /// What was settled about each message, and by which transaction.
    marks: HashMap<(Consumer, MessageId), (u64, Option<String>)>,
    sent: HashMap<MessageId, u64>,
}

impl Invariant for EntityEffectOnce {
    fn name(&self) -> &'static str {
        "entity_effect_once"
    }

    fn check(&mut self, moment: &Moment<'_>) -> Result<(), String> {
        for fact in moment.facts {
            let Fact::Event(fact) = fact else { continue };
            match fact {
                EventFact::Visible { transaction, event } => {
                    let Some(id) = event.metadata.message_id else { continue };
                    let first = *self.caused.entry(id).or_insert(*transaction);
                    if first != *transaction {
                        return Err(format!("message {id} took effect in {first} and in {transaction}"));
                    }
                }
                EventFact::Sent { transaction, id } => {
                    if let Some(first) = self.sent.insert(*id, *transaction) {
                        return Err(format!("dispatch {id} was sent by {first} and by {transaction}"));
                    }
                }
                EventFact::Marked { transaction, consumer, id, refused } => {
                    // Marks and events of one append appear together, the events first.
                    if refused.is_some() && self.caused.contains_key(id) {
                        return Err(format!("message {id} took effect, and is refused by {transaction}"));
                    }
                    let mark = (*transaction, refused.clone());
                    if let Some((first, _)) = self.marks.insert((consumer.clone(), *id), mark) {
                        return Err(format!("message {id} was settled by {first} and by {transaction}"));
                    }
                }
                EventFact::Verdict { consumer, id, refused } => self.told(consumer, *id, refused.as_ref())?,
                _ => {}
            }
        }
        Ok(())
    }
}

impl EntityEffectOnce {
    fn told(&self, consumer: &Consumer, id: MessageId, refused: Option<&String>) -> Result<(), String> {
        match self.marks.get(&(consumer.clone(), id)) {
            None => Err(format!("the sender of {id} was told {refused:?}, and nothing is settled")),
            Some((_, settled)) if settled.as_ref() == refused => Ok(()),
            Some((_, settled)) => {
                Err(format!("the sender of {id} was told {refused:?}, and {settled:?} is settled"))
            }
        }
    }
}
