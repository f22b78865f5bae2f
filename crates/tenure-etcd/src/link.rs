//! The members of the cluster, and which of them is asked.
//!
//! One member is asked until it fails, then the next: a client that spreads its requests over all members would send every
//! third one into the void while one of three is down. A request that never left is made again at the next member at
//! once; of others it is unknown whether they took effect, and that is for the caller to decide.

use std::fmt;
use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use etcd_client::{Client, Error};
use tenure_core::StoreError;
use tokio::sync::OnceCell;
use tokio::time::Instant;

use crate::error::{is_unreachable, was_never_sent};
use crate::options::EtcdOptions;
use crate::thread;

/// The way to a cluster. Clones share their connections.
#[derive(Clone)]
pub(crate) struct Link {
    members: Arc<Members>,
    /// The store's name in errors, without secrets.
    pub(crate) label: Arc<str>,
    pub(crate) request_timeout: Duration,
}

struct Members {
    options: EtcdOptions,
    /// One for each host, made when it is first needed.
    clients: Vec<OnceCell<Client>>,
    /// Which one is asked.
    asked: AtomicUsize,
}

impl fmt::Debug for Link {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Link").field("store", &self.label).finish_non_exhaustive()
    }
}

impl Link {
    /// Nothing is opened yet; `first` is the host to begin with.
    pub(crate) fn new(options: EtcdOptions, first: usize) -> Self {
        let (label, request_timeout) = (options.label().into(), options.request_timeout);
        let clients = (0..options.hosts().len()).map(|_| OnceCell::new()).collect();
        Self {
            members: Arc::new(Members { options, clients, asked: AtomicUsize::new(first) }),
            label,
            request_timeout,
        }
    }

    /// Makes a request, at another member if it did not leave for the first.
    pub(crate) async fn ask<T, F>(
        &self,
        deadline: Instant,
        doing: &str,
        request: impl Fn(Client) -> F,
    ) -> Result<Result<T, Error>, StoreError>
    where
        F: Future<Output = Result<T, Error>>,
    {
        let mut left = self.members.clients.len();
        loop {
            left -= 1;
            let number = self.members.asked.load(Ordering::SeqCst);
            let asking = async {
                match self.members.client(number).await {
                    Ok(client) => (request(client).await, false),
                    Err(error) => (Err(error), true),
                }
            };
            let Ok((answer, unopened)) = tokio::time::timeout_at(deadline, asking).await else {
                self.members.leave(number);
                let (store, limit) = (self.label.to_string(), self.request_timeout);
                let message = format!("{doing}: no answer within {limit:?}");
                return Err(StoreError::Unreachable { store, message });
            };
            let Err(error) = &answer else { return Ok(answer) };
            if is_unreachable(error) {
                self.members.leave(number);
                if left > 0 && (unopened || was_never_sent(error)) {
                    continue;
                }
            }
            return Ok(answer);
        }
    }
}

impl Members {
    async fn client(self: &Arc<Self>, number: usize) -> Result<Client, Error> {
        let open = || {
            let members = Arc::clone(self);
            let opening = thread::spawn(async move { members.options.open(number).await });
            async {
                opening.await.unwrap_or_else(|_| Err(Error::Internal("a connection broke off".to_owned())))
            }
        };
        self.clients[number].get_or_try_init(open).await.cloned()
    }

    /// Asks the next member from now on, unless someone else has found that out before.
    fn leave(&self, number: usize) {
        let next = (number + 1) % self.clients.len();
        let _ = self.asked.compare_exchange(number, next, Ordering::SeqCst, Ordering::SeqCst);
    }
}
