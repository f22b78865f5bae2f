//! Delivery to functions of this process.

use std::any::Any;
use std::collections::HashMap;
use std::fmt;
use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::task::Poll;

use async_trait::async_trait;
use tenure_core::contract::Sink;
use tenure_core::outbox::{Message, Verdict};

use super::SinkError;

/// What a handler returns: its work on a message, boxed.
pub type HandlerFuture<'a> = Pin<Box<dyn Future<Output = Verdict> + Send + 'a>>;

type Handler = Box<dyn for<'a> Fn(&'a Message) -> HandlerFuture<'a> + Send + Sync>;

/// Calls a function for each type of message. The types are a closed list: a row cannot choose what runs.
///
/// A message of a type that is not listed is poison, so that it is parked with a reason and found by an operator. A
/// handler that panics has failed for this time; the panic goes no further.
///
/// ```
/// use tenure::core::outbox::{Message, Verdict};
/// use tenure::sink::{Handlers, verdict};
///
/// async fn ship(message: &Message) -> Result<(), std::io::Error> {
///     // …
///     Ok(())
/// }
///
/// let handlers = Handlers::new()
///     .on("OrderPlaced", |message| Box::pin(async move { verdict(ship(message).await) }))?
///     .on("OrderCancelled", |_| Box::pin(async { Verdict::rejected("orders are final") }))?;
/// # Ok::<(), tenure::sink::SinkError>(())
/// ```
#[derive(Default)]
pub struct Handlers {
    of_type: HashMap<String, Handler>,
    otherwise: Option<Handler>,
}

impl Handlers {
    /// No handler at all.
    pub fn new() -> Self {
        Self::default()
    }

    /// Calls `handler` for messages of the type `kind`. A type has one handler.
    pub fn on<F>(mut self, kind: impl Into<String>, handler: F) -> Result<Self, SinkError>
    where
        F: for<'a> Fn(&'a Message) -> HandlerFuture<'a> + Send + Sync + 'static,
    {
        let kind = kind.into();
        if self.of_type.contains_key(&kind) {
            return Err(SinkError::HandledTwice { kind });
        }
        self.of_type.insert(kind, Box::new(handler));
        Ok(self)
    }

    /// Calls `handler` for messages of every type that has none of its own.
    #[must_use]
    pub fn otherwise<F>(mut self, handler: F) -> Self
    where
        F: for<'a> Fn(&'a Message) -> HandlerFuture<'a> + Send + Sync + 'static,
    {
        self.otherwise = Some(Box::new(handler));
        self
    }
}

impl fmt::Debug for Handlers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut types: Vec<_> = self.of_type.keys().collect();
        types.sort();
        f.debug_struct("Handlers")
            .field("types", &types)
            .field("otherwise", &self.otherwise.is_some())
            .finish_non_exhaustive()
    }
}

#[async_trait]
impl Sink for Handlers {
    fn name(&self) -> &str {
        "handlers"
    }

    async fn deliver(&self, message: &Message) -> Verdict {
        let Some(handler) = self.of_type.get(&message.kind).or(self.otherwise.as_ref()) else {
            return Verdict::Poison { reason: format!("no handler for type `{}`", message.kind) };
        };
        // The function can panic before there is a future, and the future at each poll. What a panic left half done is
        // the handler's own; nothing of ours is behind the reference that it got.
        let mut work = match catch_unwind(AssertUnwindSafe(|| handler(message))) {
            Ok(work) => work,
            Err(panic) => return panicked(&*panic),
        };
        poll_fn(|context| match catch_unwind(AssertUnwindSafe(|| work.as_mut().poll(context))) {
            Ok(poll) => poll,
            Err(panic) => Poll::Ready(panicked(&*panic)),
        })
        .await
    }
}

fn panicked(panic: &(dyn Any + Send)) -> Verdict {
    let text = panic.downcast_ref::<&str>().copied();
    let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    Verdict::transient(format!("the handler panicked: {}", text.unwrap_or("without a text")))
}

/// The verdict that goes with a result: accepted, or a failure that may pass, with the error as its reason.
pub fn verdict<E: fmt::Display>(result: Result<(), E>) -> Verdict {
    match result {
        Ok(()) => Verdict::Accepted,
        Err(error) => Verdict::transient(error.to_string()),
    }
}
