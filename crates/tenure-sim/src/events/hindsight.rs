//! What is seen only in hindsight: a message that was refused for good because its host had an old state in memory.

use tenure_core::entity::{AggregateOf, Behaviour, ProcessOf, Replayed, replay};
use tenure_core::event::StreamName;
use tenure_core::outbox::MessageId;

use super::entity::{Counter, Flow};
use super::{EventsWorld, Mail, named};

impl EventsWorld {
    /// Whether the entity, as its stream stands, would have accepted a message that was refused just now.
    pub(super) fn would_be_accepted(&self, id: MessageId) -> bool {
        let Some(posted) = self.mails.iter().find(|posted| posted.mail.id == id) else { return false };
        match posted.mail.topic.as_str() {
            "counter" => self.accepts::<AggregateOf<Counter>>(&posted.mail),
            _ => self.accepts::<ProcessOf<Flow>>(&posted.mail),
        }
    }

    fn accepts<B: Behaviour>(&self, mail: &Mail) -> bool {
        let stream = named(StreamName::of(B::KIND, &mail.to));
        let entity = replay(Replayed::<B>::default(), &self.books.stream(&stream));
        let command = B::commands().decode_text(&mail.kind, 1, &mail.payload);
        match (entity, command) {
            (Ok(entity), Ok(command)) => B::handle(&entity.state, command).is_ok(),
            _ => false,
        }
    }
}
