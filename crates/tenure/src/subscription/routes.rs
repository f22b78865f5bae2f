//! Routes: events that tell processes something.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use tenure_core::entity::{Behaviour, Caller};
use tenure_core::event::{Recorded, encode};
use tenure_core::observe::trace_headers;
use tenure_core::outbox::deterministic_id;

use super::handler::{EventHandler, HandleError};
use crate::entities::{Entities, Reply};

/// From an event to the process that it concerns, and what that one is told. `Ok(None)` for an event that concerns none;
/// one that cannot be read is an error, or it would be passed over.
pub type Route<B> =
    Arc<dyn Fn(&Recorded) -> Result<Option<(String, <B as Behaviour>::Command)>, HandleError> + Send + Sync>;

/// Tells processes what events say, for a subscription that holds a lease. An event that is read twice tells once: what it
/// tells has an id made of `name`, the event's stream and version, and whom it tells.
///
/// That memory is the inbox, and lasts as long as the inbox keeps it (30 days unless the relay's retention says otherwise):
/// do not rewind a subscription with routes further than that. A refusal counts as handled: the process has decided.
pub fn routes<B: Behaviour>(
    name: impl Into<String>,
    entities: &Entities<B>,
    route: impl Fn(&Recorded) -> Result<Option<(String, B::Command)>, HandleError> + Send + Sync + 'static,
) -> Routes<B> {
    Routes { name: name.into(), entities: entities.clone(), route: Arc::new(route) }
}

/// A handler that tells processes what events say.
pub struct Routes<B: Behaviour> {
    name: String,
    entities: Entities<B>,
    route: Route<B>,
}

impl<B: Behaviour> fmt::Debug for Routes<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Routes").field("name", &self.name).field("to", &B::KIND).finish_non_exhaustive()
    }
}

#[async_trait]
impl<B: Behaviour> EventHandler for Routes<B> {
    async fn handle(&self, event: &Recorded) -> Result<(), HandleError> {
        let Some((id, command)) = (self.route)(event)? else { return Ok(()) };
        let told = encode(&command).map_err(HandleError::poison)?;
        let source = format!("route:{}:{}:{}:{id}", self.name, B::KIND, event.stream);
        let message_id = deterministic_id(&source, event.version.0, 0);
        let content = format!("{}\0{}", told.kind, told.payload);
        let caller = Caller {
            message_id: Some(message_id),
            fingerprint: Some(uuid::Uuid::new_v5(&message_id.as_uuid(), content.as_bytes())),
            correlation: event.metadata.correlation.clone(),
            causation: Some(event.id.to_string()),
            trace: trace(event),
        };
        match self.entities.tell_as(&id, command, &caller).await {
            Ok(Reply::Accepted { .. }) => Ok(()),
            Ok(Reply::Rejected(rejection)) => {
                tracing::info!(stream = %event.stream, version = %event.version, %rejection, "a routed event was refused");
                Ok(())
            }
            Err(error) if error.is_transient() => Err(HandleError::transient(error)),
            Err(error) => Err(HandleError::poison(error)),
        }
    }
}

fn trace(event: &Recorded) -> Vec<(String, String)> {
    let headers = trace_headers(&event.metadata.headers);
    headers.map(|(name, text)| (name.to_owned(), text.to_owned())).collect()
}
