//! The requests to the API, each with an end.
//!
//! A request runs as a task of its own, on the runtime on which the store was opened. Connections then live where the
//! heartbeat does, however busy the caller's runtime is, and a caller that goes away cuts nothing in half. What bounds a
//! request is its deadline: the server is told of it, and past it the answer is unknown.

use std::fmt;
use std::pin::pin;
use std::time::Duration;

use futures_util::TryStreamExt;
use k8s_openapi::api::coordination::v1::Lease;
use kube::api::{GetParams, PostParams, WatchEvent, WatchParams};
use kube::core::{Request, Resource};
use kube::{Client, Error};
use tenure_core::StoreError;
use tokio::runtime::Handle;
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout_at};

use crate::error::{Verb, answered, failed};

/// What field managers call us.
const MANAGER: &str = "tenure";
/// Any name will do: nothing is read from it.
const NOBODY: &str = "tenure-reach";

/// What a write came to.
#[derive(Debug)]
pub(crate) enum Written {
    /// It took effect; this is the object now.
    Done(Box<Lease>),
    /// Someone was faster, or the object is gone: look again.
    Conflict,
}

/// What a watch tells.
#[derive(Debug)]
pub(crate) enum News {
    /// The object is like this now.
    Changed(Box<Lease>),
    /// It is gone.
    Deleted,
    /// The stream has ended, or cannot go on from where it was: look, and watch again.
    Ended,
}

/// The API for the Leases of one namespace.
#[derive(Clone)]
pub(crate) struct Requests {
    calls: Client,
    watches: Client,
    runtime: Handle,
    path: String,
    namespace: String,
    /// What errors call this place.
    label: String,
    /// Host and port of the API.
    address: String,
}

impl fmt::Debug for Requests {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Requests").field("at", &self.label).finish_non_exhaustive()
    }
}

impl Requests {
    pub(crate) fn new(
        calls: Client,
        watches: Client,
        namespace: String,
        label: String,
        address: String,
    ) -> Self {
        let path = Lease::url_path(&(), Some(&namespace));
        Self { calls, watches, runtime: Handle::current(), path, namespace, label, address }
    }

    /// What errors call this place.
    pub(crate) fn label(&self) -> &str {
        &self.label
    }

    /// The object as the API has it now; not from a cache, which could be behind.
    pub(crate) async fn get(&self, name: &str, until: Instant) -> Result<Option<Lease>, StoreError> {
        let request = Request::new(&self.path).get(name, &GetParams::default());
        match self.call(Verb::Get, request, until).await? {
            Ok(lease) => Ok(Some(lease)),
            Err(Error::Api(status)) if status.code == 404 => Ok(None),
            Err(error) => Err(self.failed(Verb::Get, &error)),
        }
    }

    /// Whether the API answers, and knows who we are. A role may be for some names alone: what is not allowed is as good
    /// an answer as what is not there.
    pub(crate) async fn reach(&self, until: Instant) -> Result<(), StoreError> {
        let request = Request::new(&self.path).get(NOBODY, &GetParams::default());
        let at = |error: StoreError| match error {
            StoreError::Unreachable { store, message } => {
                StoreError::Unreachable { store, message: format!("{message} (the API at {})", self.address) }
            }
            other => other,
        };
        match self.call(Verb::Get, request, until).await.map_err(at)? {
            Ok(_) => Ok(()),
            Err(Error::Api(status)) if matches!(status.code, 403 | 404) => Ok(()),
            Err(error) => Err(at(self.failed(Verb::Get, &error))),
        }
    }

    /// Makes an object.
    pub(crate) async fn create(&self, lease: &Lease, until: Instant) -> Result<Written, StoreError> {
        let request = Request::new(&self.path).create(&manager(), self.body(lease)?);
        match self.call(Verb::Create, request, until).await? {
            Ok(lease) => Ok(Written::Done(Box::new(lease))),
            // "AlreadyExists". A namespace that is being removed answers 409 too, and the look that follows shows it.
            Err(Error::Api(status)) if status.code == 409 => Ok(Written::Conflict),
            Err(error) => Err(self.failed(Verb::Create, &error)),
        }
    }

    /// Writes an object, if it is still the one with this `resourceVersion`.
    pub(crate) async fn replace(&self, lease: &Lease, until: Instant) -> Result<Written, StoreError> {
        let name = lease.metadata.name.as_deref().unwrap_or_default();
        let request = Request::new(&self.path).replace(name, &manager(), self.body(lease)?);
        match self.call(Verb::Update, request, until).await? {
            Ok(lease) => Ok(Written::Done(Box::new(lease))),
            Err(Error::Api(status)) if matches!(status.code, 404 | 409) => Ok(Written::Conflict),
            Err(error) => Err(self.failed(Verb::Update, &error)),
        }
    }

    /// Tells of every change of an object after `version`, for `span` at most, until `heed` has heard enough.
    ///
    /// Dropping the future ends the watch.
    pub(crate) async fn watch<T: Send + 'static>(
        &self,
        name: &str,
        version: &str,
        span: Duration,
        mut heed: impl FnMut(News) -> Option<T> + Send + 'static,
    ) -> Result<Option<T>, StoreError> {
        // The server ends the stream by itself a little later; it counts in whole seconds.
        let seconds = u32::try_from(span.as_secs()).unwrap_or(u32::MAX).saturating_add(1);
        let params = WatchParams::default().fields(&format!("metadata.name={name}")).timeout(seconds);
        let request =
            Request::new(&self.path).watch(&params, version).map_err(|error| self.unmade(&error))?;
        let (this, until) = (self.clone(), Instant::now() + span);
        let watching = async move {
            let events = match timeout_at(until, this.watches.request_events::<Lease>(request)).await {
                Err(_) => return Ok(None),
                Ok(Err(Error::Api(status))) if status.code == 410 => return Ok(heed(News::Ended)),
                Ok(events) => events.map_err(|error| this.failed(Verb::Watch, &error))?,
            };
            let mut events = pin!(events);
            loop {
                let news = match timeout_at(until, events.try_next()).await {
                    Err(_) => return Ok(None),
                    Ok(Ok(Some(WatchEvent::Added(lease) | WatchEvent::Modified(lease)))) => {
                        News::Changed(Box::new(lease))
                    }
                    Ok(Ok(Some(WatchEvent::Deleted(_)))) => News::Deleted,
                    Ok(Ok(Some(WatchEvent::Bookmark(_)))) => continue,
                    Ok(Ok(Some(WatchEvent::Error(status)))) if status.code == 410 => News::Ended,
                    Ok(Ok(Some(WatchEvent::Error(status)))) => {
                        return Err(answered(this.label.clone(), &this.namespace, Verb::Watch, &status));
                    }
                    Ok(Ok(None)) => News::Ended,
                    Ok(Err(error)) => return Err(this.failed(Verb::Watch, &error)),
                };
                let ended = matches!(news, News::Ended);
                let heard = heed(news);
                if heard.is_some() || ended {
                    return Ok(heard);
                }
            }
        };
        let mut task = Bound(self.runtime.spawn(watching));
        self.finished((&mut task.0).await)?
    }

    async fn call<R: std::error::Error>(
        &self,
        verb: Verb,
        request: Result<http::Request<Vec<u8>>, R>,
        until: Instant,
    ) -> Result<Result<Lease, Error>, StoreError> {
        let mut request = request.map_err(|error| self.unmade(&error))?;
        let left = until.saturating_duration_since(Instant::now());
        // The server gives up when nobody waits any more, and not only its client.
        let address = request.uri().to_string();
        let join = if address.contains('?') { '&' } else { '?' };
        let address = format!("{address}{join}timeout={}ms", left.as_millis().max(1));
        *request.uri_mut() = address.parse().map_err(|_| self.wrong("the address of the request"))?;
        let client = self.calls.clone();
        let calling = async move { timeout_at(until, client.request::<Lease>(request)).await };
        match self.finished(self.runtime.spawn(calling).await)? {
            Ok(answer) => Ok(answer),
            Err(_) => Err(StoreError::Unreachable {
                store: self.label.clone(),
                message: format!("no answer to {verb:?} within {left:?}; it may have taken effect"),
            }),
        }
    }

    fn body(&self, lease: &Lease) -> Result<Vec<u8>, StoreError> {
        serde_json::to_vec(lease).map_err(|error| self.unmade(&error))
    }

    fn failed(&self, verb: Verb, error: &Error) -> StoreError {
        failed(&self.label, &self.namespace, verb, error)
    }

    fn unmade(&self, error: &dyn std::error::Error) -> StoreError {
        self.wrong(&format!("a request cannot be made: {error}"))
    }

    fn wrong(&self, message: &str) -> StoreError {
        StoreError::Failed { store: self.label.clone(), message: message.to_owned(), source: None }
    }

    fn finished<T>(&self, done: Result<T, tokio::task::JoinError>) -> Result<T, StoreError> {
        done.map_err(|_| StoreError::Unreachable {
            store: self.label.clone(),
            message: "the runtime on which the store was opened has ended; open it on one that lasts".into(),
        })
    }
}

fn manager() -> PostParams {
    PostParams { field_manager: Some(MANAGER.into()), ..PostParams::default() }
}

/// A task that ends when nobody waits for it any more.
struct Bound<T>(JoinHandle<T>);

impl<T> Drop for Bound<T> {
    fn drop(&mut self) {
        self.0.abort();
    }
}
