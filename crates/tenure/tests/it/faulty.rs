//! A lease store that fails on demand.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use tenure::core::contract::{LeaseStore, Presence, Vacancy, Watch};
use tenure::core::lease::{Acquire, Claim, Grant, LeaseRecord, Renew, Renewal, Term};
use tenure::core::memory::MemoryStore;
use tenure::{LeaseName, LeaseSettings, Leases, Release, SteadyStoreClock, StoreError, local_node};

/// Forwards to memory, unless told otherwise.
#[derive(Debug)]
pub(crate) struct Faulty {
    pub(crate) inner: MemoryStore,
    /// Every call fails before it takes effect.
    pub(crate) down: AtomicBool,
    /// So many claims take effect, and their answers are lost.
    pub(crate) lose_grants: AtomicU32,
    /// Claims take a while before they take effect.
    pub(crate) slow_claims: AtomicBool,
    /// So many renewals never come back.
    pub(crate) hang_renewals: AtomicU32,
    /// How many claims were made.
    pub(crate) claims: AtomicU64,
    pub(crate) presence: bool,
    /// Tells at once that a grant is over.
    pub(crate) hints: AtomicBool,
    /// Tells of every grant that it is over, also of one that is not.
    pub(crate) lies: AtomicBool,
}

impl Faulty {
    pub(crate) fn new(presence: bool) -> Arc<Self> {
        Arc::new(Self {
            inner: MemoryStore::new(Arc::new(SteadyStoreClock::start())),
            down: AtomicBool::new(false),
            lose_grants: AtomicU32::new(0),
            slow_claims: AtomicBool::new(false),
            hang_renewals: AtomicU32::new(0),
            claims: AtomicU64::new(0),
            presence,
            hints: AtomicBool::new(false),
            lies: AtomicBool::new(false),
        })
    }

    /// The leases of another node on this store.
    pub(crate) fn node(self: &Arc<Self>, name: &str) -> Leases {
        Leases::new(self.clone(), local_node(Some(name)).unwrap())
    }

    pub(crate) async fn row(&self, name: &str) -> LeaseRecord {
        self.inner.observe(&LeaseName::new(name).unwrap()).await.unwrap().unwrap()
    }

    fn check(&self) -> Result<(), StoreError> {
        if self.down.load(Ordering::SeqCst) { Err(unreachable()) } else { Ok(()) }
    }
}

/// Counts down; false when nothing was left.
fn take_one(left: &AtomicU32) -> bool {
    left.try_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1)).is_ok()
}

fn unreachable() -> StoreError {
    StoreError::Unreachable { store: "test".into(), message: "switched off".into() }
}

/// The shortest settings that are allowed.
pub(crate) fn quick() -> LeaseSettings {
    LeaseSettings { poll: Duration::from_millis(200), ..LeaseSettings::with_ttl(Duration::from_secs(1)) }
}

#[async_trait]
impl LeaseStore for Faulty {
    async fn try_acquire(&self, claim: &Claim) -> Result<Acquire, StoreError> {
        self.claims.fetch_add(1, Ordering::SeqCst);
        self.check()?;
        if self.slow_claims.load(Ordering::SeqCst) {
            // passes time: longer than an impatient caller waits
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
        let answer = self.inner.try_acquire(claim).await?;
        if take_one(&self.lose_grants) { Err(unreachable()) } else { Ok(answer) }
    }

    async fn renew(&self, grant: &Grant, renewal: &Renewal) -> Result<Renew, StoreError> {
        self.check()?;
        if take_one(&self.hang_renewals) {
            std::future::pending::<()>().await;
        }
        self.inner.renew(grant, renewal).await
    }

    async fn release(&self, grant: &Grant) -> Result<Release, StoreError> {
        self.check()?;
        self.inner.release(grant).await
    }

    async fn observe(&self, name: &LeaseName) -> Result<Option<LeaseRecord>, StoreError> {
        self.check()?;
        self.inner.observe(name).await
    }

    fn presence(&self) -> Option<&dyn Presence> {
        self.inner.presence().filter(|_| self.presence)
    }

    fn vacancy(&self) -> Option<&dyn Vacancy> {
        (self.hints.load(Ordering::SeqCst) || self.lies.load(Ordering::SeqCst)).then_some(self as _)
    }
}

#[async_trait]
impl Vacancy for Faulty {
    async fn watch(&self, name: &LeaseName, term: Term, _: Duration) -> Result<Watch, StoreError> {
        while !self.lies.load(Ordering::SeqCst) {
            let row = self.observe(name).await?;
            if row.is_none_or(|row| row.term != term || row.released_at.is_some()) {
                break;
            }
            tokio::task::yield_now().await;
        }
        Ok(Watch::Fallen)
    }
}
