//! The handle on etcd that people have.

use std::collections::BTreeMap;
use std::future::Future;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use tenure_core::StoreError;
use tenure_core::contract::{Capabilities, LeaseStore, Vacancy, Watch};
use tenure_core::lease::{Acquire, Claim, Grant, LeaseName, LeaseRecord, Release, Renew, Renewal, Term};

use crate::acquire::{Answer, acquire};
use crate::call::Call;
use crate::keys::Keys;
use crate::link::Link;
use crate::look::Look;
use crate::options::EtcdOptions;
use crate::release::release;
use crate::renew::renew;
use crate::row::BACKEND;
use crate::thread;
use crate::watch::watch;

/// Leases on an etcd cluster. Clones share a connection.
#[derive(Debug, Clone)]
pub struct EtcdStore {
    link: Link,
    prefix: Arc<str>,
    notes: Arc<[String]>,
    /// What the terms of our grants are counted from; one entry for every lease that this process ever had.
    epochs: Arc<Mutex<BTreeMap<LeaseName, (Term, String)>>>,
}

impl EtcdStore {
    /// Connects, logs in where there is a user, and asks the cluster one question: what it cannot do is known now.
    pub async fn connect(options: EtcdOptions) -> Result<Self, StoreError> {
        options.validate()?;
        let label = options.label();
        let connecting = thread::spawn(async move {
            let (prefix, notes): (Arc<str>, _) = (options.prefix.as_str().into(), options.notes());
            let connect_timeout = options.connect_timeout;
            let link = options.link().await?;
            // Whoever may not read its keys is told so at the start, and not in the middle of the night.
            let mut call = Call::opening(&link, connect_timeout);
            call.read(&[&format!("{prefix}birth")]).await?;
            Ok(Self { link, prefix, notes: notes.into(), epochs: Arc::default() })
        });
        joined(&label, connecting.await)
    }

    fn keys(&self, name: &LeaseName) -> Keys {
        Keys::new(&self.prefix, name)
    }

    /// Runs one call on the thread of the connections, to its end.
    async fn run<T, F>(&self, work: impl FnOnce(Call) -> F) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: Future<Output = Result<T, StoreError>> + Send + 'static,
    {
        joined(&self.link.label, thread::spawn(work(Call::begin(&self.link))).await)
    }

    fn epochs(&self) -> MutexGuard<'_, BTreeMap<LeaseName, (Term, String)>> {
        self.epochs.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[async_trait]
impl LeaseStore for EtcdStore {
    async fn try_acquire(&self, claim: &Claim) -> Result<Acquire, StoreError> {
        let (keys, claim) = (self.keys(&claim.name), claim.clone());
        let Answer { acquire, epoch } =
            self.run(|mut call| async move { acquire(&mut call, &keys, &claim).await }).await?;
        if let (Acquire::Granted(grant), Some(epoch)) = (&acquire, epoch) {
            self.epochs().insert(grant.name.clone(), (grant.term, epoch));
        }
        Ok(acquire)
    }

    async fn renew(&self, grant: &Grant, renewal: &Renewal) -> Result<Renew, StoreError> {
        let (keys, grant, renewal) = (self.keys(&grant.name), grant.clone(), renewal.clone());
        self.run(|mut call| async move { renew(&mut call, &keys, &grant, &renewal).await }).await
    }

    async fn release(&self, grant: &Grant) -> Result<Release, StoreError> {
        let (keys, grant) = (self.keys(&grant.name), grant.clone());
        self.run(|mut call| async move { release(&mut call, &keys, &grant).await }).await
    }

    async fn observe(&self, name: &LeaseName) -> Result<Option<LeaseRecord>, StoreError> {
        let keys = self.keys(name);
        self.run(|mut call| async move { Ok(Look::take(&mut call, &keys).await?.record(&keys)) }).await
    }

    fn vacancy(&self) -> Option<&dyn Vacancy> {
        Some(self)
    }

    /// The cluster's number, and the mark that the first claim of all left there: a cluster that was wiped and set up
    /// again under the same address has another mark.
    fn epoch(&self, grant: &Grant) -> Option<String> {
        let epochs = self.epochs();
        epochs.get(&grant.name).filter(|(term, _)| *term == grant.term).map(|(_, epoch)| epoch.clone())
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities { store: BACKEND.into(), notes: self.notes.to_vec(), ..Capabilities::default() }
    }
}

#[async_trait]
impl Vacancy for EtcdStore {
    async fn watch(&self, name: &LeaseName, term: Term, patience: Duration) -> Result<Watch, StoreError> {
        // Not spawned: whoever drops this future wants the watch to end with it.
        watch(&self.link, &self.keys(name), term, patience).await
    }
}

/// The answer of a task that cannot panic unless there is a bug.
fn joined<T>(
    label: &str,
    ended: Result<Result<T, StoreError>, tokio::task::JoinError>,
) -> Result<T, StoreError> {
    ended.unwrap_or_else(|error| {
        Err(StoreError::Failed {
            store: label.to_owned(),
            message: "a call to etcd broke off".to_owned(),
            source: Some(Box::new(error)),
        })
    })
}
