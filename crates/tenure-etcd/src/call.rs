//! One call of the contract: the requests it is made of, and the deadline that they share.
//!
//! A request that is not answered by then is left alone: its stream is reset, the connection and all other requests on
//! it go on, and whether it took effect is unknown, as the error says.

use std::time::Duration;

use etcd_client::{
    Client, Error, GetResponse, ResponseHeader, Txn, TxnOp, TxnOpResponse, TxnResponse, WatchOptions,
    WatchStream,
};
use tenure_core::StoreError;
use tokio::time::Instant;

use crate::error::{is_lease_gone, store_error};
use crate::link::Link;

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

/// The term of etcd's own leader in which something was answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RaftTerm(Option<u64>);

impl RaftTerm {
    pub(crate) fn of(header: Option<&ResponseHeader>) -> Self {
        Self(header.map(ResponseHeader::raft_term))
    }

    /// Whether both are known, and the same.
    pub(crate) fn is_also(self, other: Self) -> bool {
        self.0.is_some() && self == other
    }
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

    /// With as much time as it takes to open a connection first.
    pub(crate) fn opening(link: &Link, connect_timeout: Duration) -> Self {
        Self { link: link.clone(), deadline: Instant::now() + connect_timeout + link.request_timeout }
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
        let answer = self.ask_txn(doing, txn).await?;
        answer.map_err(|error| store_error(self.label(), doing, error))
    }

    /// A transaction that attaches a key to a lease: if that has ended, etcd refuses it as a whole.
    pub(crate) async fn txn_on_lease(
        &mut self,
        doing: &str,
        txn: Txn,
    ) -> Result<OnLease<TxnResponse>, StoreError> {
        let answer = self.ask_txn(doing, txn).await?;
        self.unless_gone(doing, answer)
    }

    async fn ask_txn(&self, doing: &str, txn: Txn) -> Result<Result<TxnResponse, Error>, StoreError> {
        let request = |client: Client| {
            let txn = txn.clone();
            async move { client.kv_client().txn(txn).await }
        };
        self.link.ask(self.deadline, doing, request).await
    }

    /// Makes an etcd lease that lasts at least `ttl`: etcd counts whole seconds, and may grant more than was asked for.
    pub(crate) async fn grant(&mut self, ttl: Duration) -> Result<Granted, StoreError> {
        let doing = "asking for an etcd lease";
        let asked = whole_seconds(ttl);
        let request = |client: Client| async move { client.lease_client().grant(asked, None).await };
        let answer = self.link.ask(self.deadline, doing, request).await?;
        let answer = answer.map_err(|error| store_error(self.label(), doing, error))?;
        if answer.ttl() < asked {
            let granted = answer.ttl();
            return Err(self.failed(format!("{doing}: etcd granted {granted} s instead of {asked} s")));
        }
        Ok(Granted { lease: answer.id(), seconds: answer.ttl().unsigned_abs() })
    }

    /// Has etcd count the lease's ttl from now, and says in which term of etcd's leader. Once: nothing goes on after this.
    pub(crate) async fn keep_alive(&mut self, lease: i64) -> Result<OnLease<RaftTerm>, StoreError> {
        let doing = "renewing an etcd lease";
        let request = |client: Client| async move {
            // The client asks once by itself and keeps the answer. The term is in the answer to a second question on the
            // same stream; both of its ends are dropped right after.
            let (mut keeper, mut answers) = client.lease_client().keep_alive(lease).await?;
            keeper.keep_alive().await?;
            answers.message().await
        };
        let answer = self.link.ask(self.deadline, doing, request).await?;
        match self.unless_gone(doing, answer)? {
            OnLease::Gone => Ok(OnLease::Gone),
            OnLease::Done(None) => {
                Err(self.failed(format!("{doing}: etcd ended the stream without an answer")))
            }
            OnLease::Done(Some(answer)) if answer.ttl() <= 0 => Ok(OnLease::Gone),
            OnLease::Done(Some(answer)) => Ok(OnLease::Done(RaftTerm::of(answer.header()))),
        }
    }

    /// How many seconds a lease has left, rounded down; 0 or less when it has ended.
    pub(crate) async fn seconds_left(&mut self, lease: i64) -> Result<i64, StoreError> {
        let doing = "asking how long an etcd lease lasts";
        let request = |client: Client| async move { client.lease_client().time_to_live(lease, None).await };
        let answer = self.link.ask(self.deadline, doing, request).await?;
        match self.unless_gone(doing, answer)? {
            OnLease::Done(answer) => Ok(answer.ttl()),
            OnLease::Gone => Ok(-1),
        }
    }

    /// Ends an etcd lease that nobody needs any more. If that fails, it ends by its ttl.
    pub(crate) async fn tidy_up(&mut self, lease: i64) {
        let doing = "revoking an etcd lease";
        let request = |client: Client| async move { client.lease_client().revoke(lease).await };
        // A time of its own: what the call was made for is done.
        let deadline = Instant::now() + self.link.request_timeout;
        let answer = self.link.ask(deadline, doing, request).await;
        if let Err(error) = answer.and_then(|answer| self.unless_gone(doing, answer)) {
            tracing::debug!(%error, "an etcd lease without a key is left to its ttl");
        }
    }

    pub(crate) async fn watch(
        &mut self,
        key: &str,
        options: WatchOptions,
    ) -> Result<WatchStream, StoreError> {
        let doing = "watching the lease";
        let request = |client: Client| {
            let (key, options) = (key.to_owned(), options.clone());
            async move { client.watch_client().watch(key, Some(options)).await }
        };
        let answer = self.link.ask(self.deadline, doing, request).await?;
        answer.map_err(|error| store_error(self.label(), doing, error))
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
