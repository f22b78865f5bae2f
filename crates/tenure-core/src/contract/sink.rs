//! Where messages go.

use std::fmt;

use async_trait::async_trait;

use crate::outbox::{Message, Verdict};

/// A place that messages are delivered to.
///
/// A relay calls it for many sources at once, and for one source one after another. What it delivers may come again: the
/// receiver's inbox makes its effect happen once.
#[async_trait]
pub trait Sink: Send + Sync + fmt::Debug {
    /// What logs and metrics call it; without secrets.
    fn name(&self) -> &str;

    /// Delivers one message.
    ///
    /// When the relay's deadline has passed it no longer waits, and counts the attempt as a transient failure; the future
    /// is not dropped half-way, but goes on by itself.
    async fn deliver(&self, message: &Message) -> Verdict;

    /// How many messages it takes at once; 1 for a sink that takes them one by one.
    fn batch_size(&self) -> usize {
        1
    }

    /// Delivers several messages, and answers for each in the same order. Of one source, they are in order, and after one
    /// that was not accepted no further one of that source may be tried: it is [`Verdict::Withheld`].
    async fn deliver_batch(&self, messages: &[Message]) -> Vec<Verdict> {
        let mut verdicts = Vec::with_capacity(messages.len());
        let mut stopped = std::collections::HashSet::new();
        for message in messages {
            let source = message.source.as_deref();
            if source.is_some_and(|source| stopped.contains(source)) {
                verdicts.push(Verdict::Withheld);
                continue;
            }
            let verdict = self.deliver(message).await;
            if let (Some(source), false) = (source, verdict == Verdict::Accepted) {
                stopped.insert(source.to_owned());
            }
            verdicts.push(verdict);
        }
        verdicts
    }

    /// Why nothing can be delivered here any more, once that is so: a pipe whose reader has gone. The relay then ends; it
    /// burns no attempt of what was answered with [`Verdict::Withheld`].
    fn gone(&self) -> Option<String> {
        None
    }

    /// Waits until all that was accepted has left the process, where the sink has a buffer.
    async fn flush(&self) {}
}
