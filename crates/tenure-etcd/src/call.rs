//! One call of the contract: the requests it is made of, and the deadline that they share.
//!
//! A request that is not answered by then is left alone: its stream is reset, the connection and all other requests on
//! it go on, and whether it took effect is unknown, as the error says.

use std::fmt;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use etcd_client::{
    Client, Error, GetResponse, Txn, TxnOp, TxnOpResponse, TxnResponse, WatchOptions, WatchStream,
};
use tenure_core::StoreError;
use tokio::time::Instant;

use crate::error::{is_lease_gone, store_error};

/// The connection and what it is called.
#[derive(Clone)]
pub(crate) struct Link {
    pub(crate) client: Client,
    /// The store's name in errors, without secrets.
    pub(crate) label: Arc<str>,
    pub(crate) request_timeout: Duration,
}

impl fmt::Debug for Link {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Link").field("store", &self.label).finish_non_exhaustive()
    }
}

/// One call under way.
#[derive(Debug)]
pub(crate) struct Call {
    link: Link,
    deadline: Instant,
}

/// A lease that etcd granted.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Granted {
    pub(crate) lease: i64,
    pub(crate) seconds: u64,
}

/// The answer to something done with an etcd lease.
#[derive(Debug)]
pub(crate) enum OnLease<T> {
    Done(T),
    /// The lease has ended; nothing was done.
    Gone,
}

impl Call {
    pub(crate) fn begin(link: &Link) -> Self {
        Self { link: link.clone(), deadline: Instant::now() + link.request_timeout }
    }

    pub(crate) fn label(&self) -> &str {
        &self.link.label
    }

    pub(crate) fn failed(&self, message: impl Into<String>) -> StoreError {
        StoreError::Failed { store: self.label().to_owned(), message: message.into(), source: None }
    }

    pub(crate) fn busy(&self, message: impl Into<String>) -> StoreError {
        StoreError::Busy { store: self.label().to_owned(), message: message.into() }
    }

    /// Reads keys at one revision. All reads are linearizable: nothing here asks for less.
    pub(crate) async fn read(
        &mut self,
        keys: &[&str],
    ) -> Result<(TxnResponse, Vec<GetResponse>), StoreError> {
        let gets: Vec<TxnOp> = keys.iter().map(|key| TxnOp::get(*key, None)).collect();
        let answer = self.txn("reading the lease", Txn::new().and_then(gets)).await?;
        let read = answer.op_responses().into_iter().filter_map(|answer| match answer {
            TxnOpResponse::Get(get) => Some(get),
            _ => None,
        });
        let read: Vec<_> = read.collect();
        Ok((answer, read))
    }

    pub(crate) async fn txn(&mut self, doing: &str, txn: Txn) -> Result<TxnResponse, StoreError> {
        let mut kv = self.link.client.kv_client();
        let answer = self.within(doing, kv.txn(txn)).await?;
        answer.map_err(|error| store_error(self.label(), doing, error))
    }

    /// A transaction that attaches a key to a lease: if that has ended, etcd refuses it as a whole.
    pub(crate) async fn txn_on_lease(
        &mut self,
        doing: &str,
        txn: Txn,
    ) -> Result<OnLease<TxnResponse>, StoreError> {
        let mut kv = self.link.client.kv_client();
        let answer = self.within(doing, kv.txn(txn)).await?;
        self.unless_gone(doing, answer)
    }

    /// Makes an etcd lease that lasts at least `ttl`: etcd counts whole seconds, and may grant more than was asked for.
    pub(crate) async fn grant(&mut self, ttl: Duration) -> Result<Granted, StoreError> {
        let doing = "asking for an etcd lease";
        let asked = whole_seconds(ttl);
        let mut leases = self.link.client.lease_client();
        let answer = self.within(doing, leases.grant(asked, None)).await?;
        let answer = answer.map_err(|error| store_error(self.label(), doing, error))?;
        if answer.ttl() < asked {
            let granted = answer.ttl();
            return Err(self.failed(format!("{doing}: etcd granted {granted} s instead of {asked} s")));
        }
        Ok(Granted { lease: answer.id(), seconds: answer.ttl().unsigned_abs() })
    }

    /// Has etcd count the lease's ttl from now. Once: nothing goes on after this.
    pub(crate) async fn keep_alive(&mut self, lease: i64) -> Result<OnLease<()>, StoreError> {
        let doing = "renewing an etcd lease";
        let mut leases = self.link.client.lease_client();
        // The client sends one request and waits for its answer; both ends of the stream are dropped right after.
        let answer = self.within(doing, leases.keep_alive(lease)).await?;
        self.unless_gone(doing, answer.map(drop))
    }

    /// How many seconds a lease has left, rounded down; 0 or less when it has ended.
    pub(crate) async fn seconds_left(&mut self, lease: i64) -> Result<i64, StoreError> {
        let doing = "asking how long an etcd lease lasts";
        let mut leases = self.link.client.lease_client();
        let answer = self.within(doing, leases.time_to_live(lease, None)).await?;
        match self.unless_gone(doing, answer)? {
            OnLease::Done(answer) => Ok(answer.ttl()),
            OnLease::Gone => Ok(-1),
        }
    }

    /// Ends an etcd lease that nobody needs any more. If that fails, it ends by its ttl.
    pub(crate) async fn tidy_up(&mut self, lease: i64) {
        let mut leases = self.link.client.lease_client();
        let until = Instant::now() + self.link.request_timeout;
        match tokio::time::timeout_at(until, leases.revoke(lease)).await {
            Ok(Ok(_)) => {}
            Ok(Err(error)) if is_lease_gone(&error) => {}
            Ok(Err(error)) => {
                let error = store_error(self.label(), "revoking an etcd lease", error);
                tracing::debug!(%error, "an etcd lease without a key is left to its ttl");
            }
            Err(_) => tracing::debug!("an etcd lease without a key is left to its ttl: no answer"),
        }
    }

    pub(crate) async fn watch(
        &mut self,
        key: &str,
        options: WatchOptions,
    ) -> Result<WatchStream, StoreError> {
        let doing = "watching the lease";
        let mut watcher = self.link.client.watch_client();
        let answer = self.within(doing, watcher.watch(key, Some(options))).await?;
        answer.map_err(|error| store_error(self.label(), doing, error))
    }

    async fn within<T>(&self, doing: &str, request: impl Future<Output = T>) -> Result<T, StoreError> {
        let limit = self.link.request_timeout;
        tokio::time::timeout_at(self.deadline, request).await.map_err(|_| StoreError::Unreachable {
            store: self.label().to_owned(),
            message: format!("{doing}: no answer within {limit:?}"),
        })
    }

    fn unless_gone<T>(&self, doing: &str, answer: Result<T, Error>) -> Result<OnLease<T>, StoreError> {
        match answer {
            Ok(answer) => Ok(OnLease::Done(answer)),
            Err(error) if is_lease_gone(&error) => Ok(OnLease::Gone),
            Err(error) => Err(store_error(self.label(), doing, error)),
        }
    }
}

/// A ttl in etcd's unit, never shorter.
pub(crate) fn whole_seconds(ttl: Duration) -> i64 {
    let seconds = ttl.as_secs().saturating_add(u64::from(ttl.subsec_nanos() > 0));
    i64::try_from(seconds.max(1)).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ttl_is_rounded_up_and_never_down() {
        let millis = |millis| whole_seconds(Duration::from_millis(millis));
        assert_eq!([millis(0), millis(1), millis(1000), millis(1001), millis(5999)], [1, 1, 1, 2, 6]);
        assert_eq!(whole_seconds(Duration::MAX), i64::MAX);
    }
}
