//! Routes: events that tell processes something.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use tenure_core::entity::{Behaviour, Caller};
use tenure_core::event::Recorded;
use tenure_core::outbox::deterministic_id;

use super::handler::{EventHandler, HandleError};
use crate::entities::{Entities, Reply};

/// From an event to the process that it concerns, and what that one is told.
pub type Route<B> = Arc<dyn Fn(&Recorded) -> Option<(String, <B as Behaviour>::Command)> + Send + Sync>;

/// Tells processes what events say, for a subscription that holds a lease. An event that is read twice tells once: it has
/// an id made of its stream and version.
///
/// A refusal counts as handled: the process has decided.
pub fn routes<B: Behaviour>(
    entities: &Entities<B>,
    route: impl Fn(&Recorded) -> Option<(String, B::Command)> + Send + Sync + 'static,
) -> Routes<B> {
    Routes { entities: entities.clone(), route: Arc::new(route) }
}

/// A handler that tells processes what events say.
pub struct Routes<B: Behaviour> {
    entities: Entities<B>,
    route: Route<B>,
}

impl<B: Behaviour> fmt::Debug for Routes<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Routes").field("to", &B::KIND).finish_non_exhaustive()
    }
}

#[async_trait]
impl<B: Behaviour> EventHandler for Routes<B> {
    async fn handle(&self, event: &Recorded) -> Result<(), HandleError> {
        let Some((id, command)) = (self.route)(event) else { return Ok(()) };
        let source = format!("route:{}:{}", B::KIND, event.stream);
        let caller = Caller {
            message_id: Some(deterministic_id(&source, event.version.0, 0)),
            fingerprint: None,
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
    let names = ["traceparent", "tracestate"].into_iter();
    names.filter_map(|name| Some((name.to_owned(), event.metadata.headers.get(name)?.clone()))).collect()
}
