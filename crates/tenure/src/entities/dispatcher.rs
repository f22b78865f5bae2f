//! The sink that tells entities of this process what was sent to them.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use tenure_core::contract::Sink;
use tenure_core::entity::{
    Behaviour, Caller, HEADER_CAUSATION, HEADER_CORRELATION, HEADER_SCHEMA, HEADER_TO,
};
use tenure_core::observe::trace_headers;
use tenure_core::outbox::{Message, Verdict, fingerprint};

use super::{Entities, Reply, TellError};

/// Delivers commands to aggregates and processes, by the topic, which is their kind. What is no one's goes to another sink, or
/// is dead at once.
#[derive(Debug, Default)]
pub struct Dispatcher {
    receivers: HashMap<&'static str, Box<dyn Receiver>>,
    otherwise: Option<Arc<dyn Sink>>,
}

#[async_trait]
trait Receiver: Send + Sync + fmt::Debug {
    async fn receive(&self, message: &Message) -> Verdict;
}

impl Dispatcher {
    /// Knows nobody yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Delivers to entities of this kind.
    #[must_use]
    pub fn with<B: Behaviour>(mut self, entities: &Entities<B>) -> Self {
        self.receivers.insert(B::KIND, Box::new(To(entities.clone())));
        self
    }

    /// Gives every other topic to another sink.
    #[must_use]
    pub fn otherwise(mut self, sink: Arc<dyn Sink>) -> Self {
        self.otherwise = Some(sink);
        self
    }
}

#[async_trait]
impl Sink for Dispatcher {
    fn name(&self) -> &str {
        "entities"
    }

    async fn deliver(&self, message: &Message) -> Verdict {
        match (self.receivers.get(message.topic.as_str()), &self.otherwise) {
            (Some(receiver), _) => receiver.receive(message).await,
            (None, Some(sink)) => sink.deliver(message).await,
            (None, None) => {
                Verdict::Poison { reason: format!("nothing of the kind `{}` is known here", message.topic) }
            }
        }
    }
}

struct To<B: Behaviour>(Entities<B>);

impl<B: Behaviour> fmt::Debug for To<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[async_trait]
impl<B: Behaviour> Receiver for To<B> {
    async fn receive(&self, message: &Message) -> Verdict {
        let poison = |reason: String| Verdict::Poison { reason };
        let Some(to) = message.headers.get(HEADER_TO) else {
            return poison(format!("the header `{HEADER_TO}` is missing: it says whom the command is for"));
        };
        let schema = message.headers.get(HEADER_SCHEMA).map_or(Ok(1), |schema| schema.parse());
        let Ok(schema) = schema else { return poison(format!("the header `{HEADER_SCHEMA}` is no number")) };
        let command = match B::commands().decode(&message.kind, schema, &message.body) {
            Ok(command) => command,
            Err(error) => return poison(error.to_string()),
        };
        let header = |name: &str| message.headers.get(name).cloned();
        let caller = Caller {
            message_id: Some(message.id),
            // For another one it would be another command.
            fingerprint: Some(uuid::Uuid::new_v5(&fingerprint(message), to.as_bytes())),
            correlation: header(HEADER_CORRELATION),
            causation: header(HEADER_CAUSATION),
            trace: trace_headers(&message.headers)
                .map(|(name, text)| (name.to_owned(), text.to_owned()))
                .collect(),
        };
        match self.0.tell_as(to, command, &caller).await {
            Ok(Reply::Accepted { .. }) => Verdict::Accepted,
            Ok(Reply::Rejected(rejection)) => Verdict::rejected(rejection.reason()),
            Err(error) => verdict(&error),
        }
    }
}

fn verdict(error: &TellError) -> Verdict {
    match error.is_transient() {
        true => Verdict::transient(error.to_string()),
        false => Verdict::Poison { reason: error.to_string() },
    }
}
