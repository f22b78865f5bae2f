//! The inbox as a plain table: what took effect, for each consumer.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use uuid::Uuid;

use super::outbox::is_over;
use crate::event::InboxMark;
use crate::mutation::{Rule, off};
use crate::outbox::{Accept, Consumer, Message, MessageId, fingerprint, shorten};
use crate::time::StoreTime;

/// Which messages took effect, for each consumer.
#[derive(Debug, Clone, Default)]
pub struct InboxTable {
    seen: BTreeMap<(Consumer, MessageId), Seen>,
}

#[derive(Debug, Clone)]
struct Seen {
    fingerprint: Option<Uuid>,
    refused: Option<String>,
    accepted_at: StoreTime,
}

impl InboxTable {
    /// Accepts a message by its id.
    pub fn accept(&mut self, consumer: &Consumer, id: MessageId, now: StoreTime) -> Accept {
        self.in_one(|inbox| inbox.accept(consumer, id, now))
    }

    /// Accepts a message, and tells one with another content under the same id.
    pub fn accept_message(&mut self, consumer: &Consumer, message: &Message, now: StoreTime) -> Accept {
        self.in_one(|inbox| inbox.accept_message(consumer, message, now))
    }

    /// Notes a refusal, in a transaction of its own after the one with the handler's writes was rolled back, so that a
    /// retry gets the same answer; what is settled stays. Answers what stands.
    pub fn refuse(&mut self, consumer: &Consumer, id: MessageId, reason: &str, now: StoreTime) -> Accept {
        self.in_one(|inbox| inbox.refuse(consumer, id, reason, now))
    }

    fn in_one<T>(&mut self, work: impl FnOnce(&mut InboxView<'_>) -> T) -> T {
        let mut open = OpenInbox::default();
        let done = work(&mut open.on(self));
        self.merge(open);
        done
    }

    /// Writes what a transaction has staged.
    pub fn merge(&mut self, open: OpenInbox) {
        self.seen.extend(open.seen);
    }

    /// How many messages are remembered.
    pub fn len(&self) -> usize {
        self.seen.len()
    }

    /// Whether nothing is remembered.
    pub fn is_empty(&self) -> bool {
        self.seen.is_empty()
    }

    /// Forgets at most `limit` of what was accepted long enough ago, the oldest first. Answers how many, and whether there
    /// are more.
    pub fn sweep(&mut self, keep: Duration, limit: usize, now: StoreTime) -> (u64, bool) {
        let mut old: Vec<_> = self
            .seen
            .iter()
            .filter(|(_, seen)| is_over(seen.accepted_at, keep, now))
            .map(|(key, seen)| (seen.accepted_at, key.clone()))
            .collect();
        old.sort();
        let more = old.len() > limit;
        old.truncate(limit);
        for (_, key) in &old {
            self.seen.remove(key);
        }
        (old.len() as u64, more)
    }
}

/// What a receiver's transaction has written and not committed.
#[derive(Debug, Clone, Default)]
pub struct OpenInbox {
    seen: BTreeMap<(Consumer, MessageId), Seen>,
    /// What was not in the table, and must not be there when it commits.
    fresh: BTreeSet<(Consumer, MessageId)>,
}

impl OpenInbox {
    /// The inbox as this transaction sees it.
    pub fn on<'a>(&'a mut self, table: &'a InboxTable) -> InboxView<'a> {
        InboxView { table, open: self }
    }

    /// Whether it can commit: not when another transaction has accepted the same message meanwhile.
    pub fn check(&self, table: &InboxTable) -> Result<(), String> {
        match self.fresh.iter().find(|key| table.seen.contains_key(key)) {
            Some((consumer, id)) if !off(Rule::InboxRemembers) => {
                Err(format!("{} has accepted the message {id} in another transaction", consumer.as_str()))
            }
            _ => Ok(()),
        }
    }
}

/// An inbox as an open transaction sees it.
#[derive(Debug)]
pub struct InboxView<'a> {
    table: &'a InboxTable,
    open: &'a mut OpenInbox,
}

impl InboxView<'_> {
    /// Accepts a message by its id.
    pub fn accept(&mut self, consumer: &Consumer, id: MessageId, now: StoreTime) -> Accept {
        self.take(consumer, id, None, now)
    }

    /// Accepts a message, and tells one with another content under the same id.
    pub fn accept_message(&mut self, consumer: &Consumer, message: &Message, now: StoreTime) -> Accept {
        self.take(consumer, message.id, Some(fingerprint(message)), now)
    }

    /// Accepts the message that an append is caused by, or notes that it is refused. Only a fresh one is written.
    pub fn mark(&mut self, mark: &InboxMark, now: StoreTime) -> Accept {
        let accept = self.take(&mark.consumer, mark.id, mark.fingerprint, now);
        if accept == Accept::Fresh
            && let Some(seen) = self.open.seen.get_mut(&(mark.consumer.clone(), mark.id))
        {
            seen.refused = mark.refused.as_deref().map(shorten);
        }
        accept
    }

    fn take(
        &mut self,
        consumer: &Consumer,
        id: MessageId,
        fingerprint: Option<Uuid>,
        now: StoreTime,
    ) -> Accept {
        let key = (consumer.clone(), id);
        let seen = self.open.seen.get(&key).or_else(|| self.table.seen.get(&key));
        let Some(seen) = seen.filter(|_| !off(Rule::InboxRemembers)) else {
            self.open.seen.insert(key.clone(), Seen { fingerprint, refused: None, accepted_at: now });
            self.open.fresh.insert(key);
            return Accept::Fresh.counted();
        };
        Accept::again(seen.fingerprint.as_ref(), fingerprint.as_ref(), seen.refused.clone())
    }

    /// Notes a refusal, unless the message was settled before. Answers what stands: [`Accept::Refused`], with an earlier
    /// refusal's reason where there is one, or [`Accept::Duplicate`].
    pub fn refuse(&mut self, consumer: &Consumer, id: MessageId, reason: &str, now: StoreTime) -> Accept {
        let key = (consumer.clone(), id);
        let settled = self.open.seen.get(&key).or_else(|| self.table.seen.get(&key));
        let refused = match settled {
            Some(seen) => seen.refused.clone(),
            None => {
                let reason = Some(shorten(reason));
                let seen = Seen { fingerprint: None, refused: reason.clone(), accepted_at: now };
                self.open.seen.insert(key.clone(), seen);
                self.open.fresh.insert(key);
                reason
            }
        };
        refused.map_or(Accept::Duplicate, |reason| Accept::Refused { reason })
    }
}
