//! Stores that are wrong on purpose, each in one way that a real store has been wrong in.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use tenure_conformance::{Backend, Need};
use tenure_core::StoreError;
use tenure_core::contract::{LeaseAdmin, LeaseRegistry, LeaseStore, Presence, SessionLocks};
use tenure_core::id::Unique;
use tenure_core::lease::{
    Acquire, Change, Claim, Fence, FenceCheck, Forgotten, Grant, HistoryId, LeaseName, LeasePageOf,
    LeaseRecord, Loss, Release, Renew, Renewal, Revoke,
};
use tenure_core::memory::MemoryStore;
use tenure_core::time::StoreTime;

use crate::broken_locks::{BrokenLocks, LockFlaw};
use crate::broken_presence::{BrokenPresence, PresenceFlaw};
use crate::broken_registry::{BrokenRegistry, RegistryFlaw};
use crate::memory::MemoryBackend;

/// One way of being wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Flaw {
    /// A claim that is repeated counts as another claim.
    SameClaimIgnored,
    /// The store's clock stands still: nothing ever expires.
    ExpiryIgnored,
    /// An expired grant can be renewed as long as nobody took the lease.
    ExpiredRenews,
    /// A renewal is never refused.
    LostIsExtended,
    /// A release is never refused.
    NotHeldIsReleased,
    /// A release deletes the row.
    ReleaseDeletes,
    /// Whoever asks, gets it.
    EarlyTakeover,
    /// A lease counts as expired once the contender's own ttl has passed.
    ContendersTtl,
    /// Changes of holder are not written down.
    HistoryMissing,
    /// The history comes oldest first.
    HistoryReversed,
    /// Forgetting spares no line, not even those of the last term.
    ForgetsAll,
    /// Forgetting takes every line for young, however old it is.
    ForgetsNothing,
    /// Names are told apart without regard to case.
    CaseFolded,
    /// Names are cut at 128 bytes.
    NamesCut,
    /// Every error counts as a grant.
    ErrorIsGrant,
    /// A renewal forgets to announce the presence.
    PresenceForgotten,
    /// A session is broken in this way.
    Presence(PresenceFlaw),
    /// The registry is broken in this way.
    Registry(RegistryFlaw),
    /// A session lock is broken in this way.
    Locks(LockFlaw),
}

pub(crate) struct BrokenBackend {
    inner: MemoryBackend,
    flaw: Flaw,
}

impl BrokenBackend {
    pub(crate) fn start(flaw: Flaw) -> Self {
        Self { inner: MemoryBackend::start(), flaw }
    }

    fn broken(&self) -> BrokenStore {
        let inner = self.inner.store.clone();
        let presence = match self.flaw {
            Flaw::Presence(flaw) => Some(BrokenPresence { inner: inner.clone(), flaw }),
            _ => None,
        };
        BrokenStore { inner, presence, flaw: self.flaw }
    }
}

#[async_trait]
impl Backend for BrokenBackend {
    async fn store(&self) -> Arc<dyn LeaseStore> {
        Arc::new(self.broken())
    }

    async fn pass(&self, span: Duration) {
        if self.flaw != Flaw::ExpiryIgnored {
            self.inner.pass(span).await;
        }
    }

    async fn admin(&self) -> Option<Arc<dyn LeaseAdmin>> {
        Some(Arc::new(self.broken()))
    }

    async fn registry(&self) -> Option<Arc<dyn LeaseRegistry>> {
        match self.flaw {
            Flaw::Registry(flaw) => Some(Arc::new(BrokenRegistry { inner: self.inner.store.clone(), flaw })),
            _ => self.inner.registry().await,
        }
    }

    async fn locks(&self) -> Option<Arc<dyn SessionLocks>> {
        let locks = self.inner.locks().await?;
        match self.flaw {
            Flaw::Locks(flaw) => Some(Arc::new(BrokenLocks::new(locks, flaw))),
            _ => Some(locks),
        }
    }

    async fn check_fence(&self, fence: &Fence) -> Option<FenceCheck> {
        self.inner.check_fence(fence).await
    }

    async fn delete_row(&self, name: &LeaseName) -> bool {
        self.inner.delete_row(name).await
    }

    async fn regress_term(&self, name: &LeaseName) -> bool {
        self.inner.regress_term(name).await
    }

    async fn kill_sessions(&self) -> bool {
        self.inner.kill_sessions().await
    }

    /// Of what would else be skipped, what a flaw takes away.
    fn promises(&self) -> &'static [Need] {
        &[Need::Forgetting]
    }
}

#[derive(Debug)]
struct BrokenStore {
    inner: MemoryStore,
    presence: Option<BrokenPresence>,
    flaw: Flaw,
}

impl BrokenStore {
    /// What this store takes `name` for.
    fn read(&self, name: &LeaseName) -> LeaseName {
        let text = name.as_str();
        let read = match self.flaw {
            Flaw::CaseFolded => text.to_lowercase(),
            Flaw::NamesCut => text.chars().scan(0, cut).collect(),
            _ => return name.clone(),
        };
        LeaseName::new(read).expect("still a name")
    }

    /// Whether this store lets `claim` depose a holder that it finds.
    async fn deposes(&self, claim: &Claim) -> bool {
        match self.flaw {
            Flaw::EarlyTakeover => true,
            Flaw::ContendersTtl => {
                let (rows, now) = self.inner.list(&LeasePageOf::first(u32::MAX)).await.expect("a list");
                rows.iter().any(|row| row.name == claim.name && row.renewed_at.until(now) >= claim.ttl)
            }
            _ => false,
        }
    }
}

fn cut(bytes: &mut usize, c: char) -> Option<char> {
    *bytes += c.len_utf8();
    (*bytes <= 128).then_some(c)
}

#[async_trait]
impl LeaseStore for BrokenStore {
    async fn try_acquire(&self, claim: &Claim) -> Result<Acquire, StoreError> {
        let mut claim = Claim { name: self.read(&claim.name), ..claim.clone() };
        if self.flaw == Flaw::SameClaimIgnored {
            claim.id = Unique::from_u128(fastrand::u128(..));
        }
        if self.deposes(&claim).await {
            self.inner.revoke(&claim.name, "nobody", true).await?;
        }
        match self.inner.try_acquire(&claim).await {
            Err(_) if self.flaw == Flaw::ErrorIsGrant => {
                let row = self.inner.observe(&claim.name).await?.expect("a row");
                Ok(Acquire::Granted(row.grant(claim.ttl)))
            }
            answer => answer,
        }
    }

    async fn renew(&self, grant: &Grant, renewal: &Renewal) -> Result<Renew, StoreError> {
        let grant = Grant { name: self.read(&grant.name), ..grant.clone() };
        let mut renewal = renewal.clone();
        if self.flaw == Flaw::PresenceForgotten {
            renewal.presence = None;
        }
        match self.inner.renew(&grant, &renewal).await? {
            Renew::Lost(Loss::Expired) if self.flaw == Flaw::ExpiredRenews => Ok(Renew::Extended),
            Renew::Lost(_) if self.flaw == Flaw::LostIsExtended => Ok(Renew::Extended),
            answer => Ok(answer),
        }
    }

    async fn release(&self, grant: &Grant) -> Result<Release, StoreError> {
        let answer = self.inner.release(&Grant { name: self.read(&grant.name), ..grant.clone() }).await?;
        match self.flaw {
            Flaw::NotHeldIsReleased => return Ok(Release::Released),
            Flaw::ReleaseDeletes => self.inner.delete_row(&grant.name),
            _ => {}
        }
        Ok(answer)
    }

    async fn observe(&self, name: &LeaseName) -> Result<Option<LeaseRecord>, StoreError> {
        self.inner.observe(&self.read(name)).await
    }

    fn presence(&self) -> Option<&dyn Presence> {
        match &self.presence {
            Some(presence) => Some(presence),
            None => self.inner.presence(),
        }
    }
}

#[async_trait]
impl LeaseAdmin for BrokenStore {
    async fn list(&self, page: &LeasePageOf) -> Result<(Vec<LeaseRecord>, StoreTime), StoreError> {
        self.inner.list(page).await
    }

    async fn history(
        &self,
        name: Option<&LeaseName>,
        before: Option<HistoryId>,
        limit: u32,
    ) -> Result<Vec<Change>, StoreError> {
        let mut changes = self.inner.history(name, before, limit).await?;
        match self.flaw {
            Flaw::HistoryMissing => changes.clear(),
            Flaw::HistoryReversed => changes.reverse(),
            _ => {}
        }
        Ok(changes)
    }

    async fn forget_history(
        &self,
        keep: Duration,
        after: Option<HistoryId>,
        limit: u32,
    ) -> Result<Forgotten, StoreError> {
        if self.flaw == Flaw::ForgetsNothing {
            return Ok(Forgotten::default());
        }
        let forgotten = self.inner.forget_history(keep, after, limit).await?;
        if self.flaw == Flaw::ForgetsAll && forgotten.lines > 0 {
            self.inner.lose_history();
        }
        Ok(forgotten)
    }

    async fn revoke(&self, name: &LeaseName, by: &str, force: bool) -> Result<Revoke, StoreError> {
        self.inner.revoke(name, by, force).await
    }
}
