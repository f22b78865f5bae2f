//! Leases that are granted elsewhere and fence writes to a database all the same.
//!
//! ```text
//!   claim ──▶ the foreign store ── granted, its number 41 ──▶ the database: 41 is later than what is recorded ──▶ term 8
//!                    ▲                                           │ not later, or no answer
//!                    └────────────── given back ◀────────────────┘
//! ```
//!
//! The term of a grant is always the database's: it goes up with every holder, whatever becomes of the foreign number. Nobody
//! acts before it is written, and whoever is written last is the only one whose fence holds. See `docs/foreign-leases.md`.
//!
//! **How long a fence lasts.** The row is stamped to live for the ttl from the moment of the stamp. A stamp is made after the
//! attempt began that it belongs to, and a holder trusts itself until `attempt + ttl − margin`: so the row outlives the trust
//! by the margin at least, and a holder that stops renewing is refused by the database too, a ttl after its last stamp.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use tenure_core::StoreError;
use tenure_core::contract::{Capabilities, LeaseRegistry, LeaseStore, Vacancy};
use tenure_core::id::{NodeName, Unique};
use tenure_core::lease::{
    Acquire, Claim, Grant, LeaseName, LeaseRecord, Loss, Release, Renew, Renewal, Term,
};
use tenure_core::registry::{Entry, Origin, Recorded, Touched};
use tenure_core::time::{Clock, Monotonic};

use crate::clock::SteadyClock;
use crate::heart;

/// How long a grant that is over, and that nobody gave back, is remembered.
const REMEMBERED: Duration = Duration::from_secs(3600);

/// Leases of a foreign store, whose terms are those of the database that they protect.
///
/// A grant's term, and so its fence, is one of the protected store. The term of a [`Holder`](tenure_core::lease::Holder) is the foreign store's: that is
/// what [`Vacancy`] watches, and what the two kinds say of each other is nothing ([`LeaseStore::one_count`]).
///
/// There is no presence, also where the foreign store has one: a flag names the term of its grant, which the holder knows as
/// the protected store's number and a contender as the foreign one. Stores that are made for this tell of the end of a grant
/// by [`Vacancy`], which proves nothing and so needs no exact number.
#[derive(Debug, Clone)]
pub struct FencedLeases {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    foreign: Arc<dyn LeaseStore>,
    registry: Arc<dyn LeaseRegistry>,
    held: Mutex<BTreeMap<Unique, Held>>,
    /// Grants that were given back without an answer, by their claims: until then the giving back may take effect.
    returning: Mutex<BTreeMap<Unique, (Term, Monotonic)>>,
}

/// A grant as both stores know it.
#[derive(Debug, Clone)]
struct Held {
    foreign: Grant,
    entry: Entry,
    /// The protected store's term.
    term: Term,
    /// When it is over unless it is renewed.
    ends: Monotonic,
}

impl FencedLeases {
    /// Leases that `foreign` grants and `registry`, of the store that they protect, records.
    pub fn new(foreign: Arc<dyn LeaseStore>, registry: Arc<dyn LeaseRegistry>) -> Self {
        Self {
            shared: Arc::new(Shared {
                foreign,
                registry,
                held: Mutex::default(),
                returning: Mutex::default(),
            }),
        }
    }
}

#[async_trait]
impl LeaseStore for FencedLeases {
    async fn try_acquire(&self, claim: &Claim) -> Result<Acquire, StoreError> {
        let (shared, claim) = (self.shared.clone(), claim.clone());
        whole(async move { shared.try_acquire(claim).await }).await
    }

    async fn renew(&self, grant: &Grant, renewal: &Renewal) -> Result<Renew, StoreError> {
        self.shared.renew(grant, renewal).await
    }

    async fn release(&self, grant: &Grant) -> Result<Release, StoreError> {
        let (shared, grant) = (self.shared.clone(), grant.clone());
        whole(async move { shared.release(&grant).await }).await
    }

    /// The lease as the foreign store has it, with its own term.
    async fn observe(&self, name: &LeaseName) -> Result<Option<LeaseRecord>, StoreError> {
        self.shared.foreign.observe(name).await
    }

    async fn forgo(&self, name: &LeaseName) -> Result<(), StoreError> {
        self.shared.foreign.forgo(name).await
    }

    fn vacancy(&self) -> Option<&dyn Vacancy> {
        self.shared.foreign.vacancy()
    }

    /// None: terms of the protected store rise for ever.
    fn epoch(&self, _: &Grant) -> Option<String> {
        None
    }

    fn one_count(&self) -> bool {
        false
    }

    fn capabilities(&self) -> Capabilities {
        let foreign = self.shared.foreign.capabilities();
        Capabilities { presence: false, silence: false, fence_in_transaction: true, ..foreign }
    }
}

/// Runs to its end, also when whoever waits for it goes away: what was granted is recorded or given back.
async fn whole<T: Send + 'static>(
    work: impl Future<Output = Result<T, StoreError>> + Send + 'static,
) -> Result<T, StoreError> {
    let ended = heart::spawn(work).await;
    ended.unwrap_or_else(|error| {
        let message = format!("a call ended without an answer: {error}");
        Err(StoreError::Failed { store: "leases of another place".into(), message, source: None })
    })
}

impl Shared {
    async fn try_acquire(&self, claim: Claim) -> Result<Acquire, StoreError> {
        let started = SteadyClock.now();
        let foreign = match self.foreign.try_acquire(&claim).await? {
            Acquire::Granted(foreign) => foreign,
            held @ Acquire::Held(_) => return Ok(held),
        };
        let lasts = foreign.ttl.max(claim.ttl);
        if self.is_returning(&foreign, started) {
            // The same claim, made again after its grant was given back without an answer. Whoever led by it could lose it to
            // that at any moment, and would not notice before its next renewal.
            let message = format!("a grant of lease {} is being given back", foreign.name);
            return Err(StoreError::Busy { store: self.backend(), message });
        }
        let (term, entry) = self.record(&foreign, &claim, started.after(lasts), lasts).await?;
        let grant = Grant { term, ..foreign.clone() };
        self.remember(Held { foreign, entry, term, ends: started.after(lasts) });
        Ok(Acquire::Granted(grant))
    }

    /// Writes down a grant of the foreign store; gives it back in any doubt.
    async fn record(
        &self,
        foreign: &Grant,
        claim: &Claim,
        ends: Monotonic,
        lasts: Duration,
    ) -> Result<(Term, Entry), StoreError> {
        let origin = Origin { epoch: self.foreign.epoch(foreign), term: foreign.term };
        let entry = Entry {
            name: foreign.name.clone(),
            node: foreign.node.clone(),
            claim: foreign.claim,
            backend: self.backend(),
            kind: claim.kind.clone(),
            origin: Some(origin.clone()),
        };
        if SteadyClock.now() >= ends {
            self.give_back(foreign).await;
            return Err(self.failed("the grant was over before it could be recorded"));
        }
        match self.registry.record(&entry, lasts).await {
            Ok(Recorded::At(term)) => Ok((term, entry)),
            Ok(Recorded::Anew { term, before }) => {
                tracing::warn!(
                    lease = %entry.name, place = %entry.backend, %before, now = %origin, %term,
                    "the place that grants this lease counts anew (deleted and made again, reset, or another one): whether \
                     this holder is the latest cannot be told by its number. The database's own term has gone up; whoever \
                     was recorded before is refused from now on"
                );
                Ok((term, entry))
            }
            Ok(Recorded::Behind { recorded, by }) => Err(self.behind(foreign, &origin, &recorded, &by).await),
            Ok(Recorded::NameTaken { by, place }) => {
                self.give_back(foreign).await;
                let (name, store) = (&entry.name, entry.backend.clone());
                let message = if place.as_ref() == Some(&store) {
                    // The lease was deleted there, or the place set up anew, while its holder lived.
                    format!(
                        "lease {name} is counted anew, and {by} holds it by the former count still, until it notices or its \
                         ttl ends"
                    )
                } else {
                    format!(
                        "it granted lease {name}, but {by} holds it in the protected database, granted by {}; give all of \
                         them the same --lease. (If --lease names the database itself by another URL, leave it out.)",
                        place.as_deref().unwrap_or("that database itself")
                    )
                };
                Err(StoreError::Busy { store, message })
            }
            // It may have been written. That does no harm: the next holder's record is later, and so is our own.
            Err(error) => {
                self.give_back(foreign).await;
                Err(error)
            }
        }
    }

    /// A later holding is recorded. Whoever still holds the lease there has not come late: the count has gone back.
    async fn behind(&self, foreign: &Grant, origin: &Origin, recorded: &Origin, by: &NodeName) -> StoreError {
        let (lease, store) = (&foreign.name, self.backend());
        match self.foreign.release(foreign).await {
            Ok(Release::Released) => {}
            Ok(Release::NotHeld) => {
                tracing::warn!(%lease, %origin, %recorded, %by, "came late: a later holder is recorded; not leading");
                return self.failed("the grant was over, and a later one recorded, before this one could be");
            }
            // Which of the two it is cannot be told. If the count has gone back, the next try finds out.
            Err(error) => {
                self.note_returning(foreign);
                return error;
            }
        }
        tracing::error!(
            %lease, place = %store, granted = %origin, %recorded, %by,
            "REFUSING TO LEAD: the place that grants this lease has gone back behind what the database has recorded; it was \
             given back"
        );
        StoreError::Corrupt {
            message: format!(
                "it granted lease {lease} as number {origin}, but number {recorded} (of {by}) is recorded in the protected \
                 database: its count has gone back, because it was deleted, restored from a backup, or is another one than \
                 before. This node refuses to lead. Take leases from the former place again; or, when no holder of the \
                 former count is left, set origin_term of this lease to NULL in the database's table of leases"
            ),
            store,
        }
    }

    async fn renew(&self, grant: &Grant, renewal: &Renewal) -> Result<Renew, StoreError> {
        let Some(held) = self.known(grant) else { return self.why_lost(grant).await };
        let started = SteadyClock.now();
        if let lost @ Renew::Lost(_) = self.foreign.renew(&held.foreign, renewal).await? {
            // The fence need not wait for the next holder, or for the end of its row.
            if let Err(error) = self.registry.stamp_released(&held.entry, held.term).await {
                tracing::debug!(lease = %grant.name, %error, "the fence of a lost grant ends with its row");
            }
            return Ok(lost);
        }
        let lasts = held.foreign.ttl.max(grant.ttl);
        // Without an answer from here the renewal counts as none: the fence may end before the foreign grant does.
        match self.registry.touch(&held.entry, held.term, lasts).await? {
            Touched::Living => {
                self.remember(Held { ends: started.after(lasts), ..held });
                Ok(Renew::Extended)
            }
            Touched::Over(loss) => Ok(Renew::Lost(loss)),
        }
    }

    /// Why a grant that is not known here does not hold.
    async fn why_lost(&self, grant: &Grant) -> Result<Renew, StoreError> {
        let loss = match self.foreign.observe(&grant.name).await? {
            None => Loss::Unknown,
            Some(record) if !is_of(&record, grant) || self.held().contains_key(&grant.claim) => {
                Loss::Taken { term: record.term, by: record.node.name }
            }
            Some(record) if record.released_at.is_some() => Loss::Released,
            Some(_) => Loss::Unknown,
        };
        Ok(Renew::Lost(loss))
    }

    async fn release(&self, grant: &Grant) -> Result<Release, StoreError> {
        let Some(held) = self.known(grant) else { return self.release_unknown(grant).await };
        // First in the protected store, where the fence ends with it, and then where it was granted. The second is tried
        // whatever comes of the first: the next holder's record ends the fence as well.
        let stamped = self.registry.stamp_released(&held.entry, held.term).await;
        let released = self.foreign.release(&held.foreign).await?;
        let stamped = stamped?;
        self.forget(grant);
        Ok(if stamped { Release::Released } else { released })
    }

    /// Releases a grant that is not remembered: a claim whose answer was lost. Only exactly that one, by the protected term
    /// or, where it was never recorded, by the foreign one.
    async fn release_unknown(&self, grant: &Grant) -> Result<Release, StoreError> {
        let record = self.foreign.observe(&grant.name).await?.filter(|record| is_of(record, grant));
        let Some(record) = record.filter(|_| !self.held().contains_key(&grant.claim)) else {
            return Ok(Release::NotHeld);
        };
        let entry = Entry {
            name: grant.name.clone(),
            node: grant.node.clone(),
            claim: grant.claim,
            backend: self.backend(),
            kind: None,
            origin: None,
        };
        let stamped = self.registry.stamp_released(&entry, grant.term).await;
        if !matches!(stamped, Ok(true)) && record.term != grant.term {
            return stamped.map(|_| Release::NotHeld);
        }
        self.foreign.release(&record.grant(grant.ttl)).await
    }

    async fn give_back(&self, foreign: &Grant) {
        if let Err(error) = self.foreign.release(foreign).await {
            tracing::warn!(lease = %foreign.name, %error, "a grant that was not recorded ends with its ttl");
            self.note_returning(foreign);
        }
    }

    /// Notes a grant whose giving back had no answer. It takes effect within a ttl, or not at all: no call lasts as long.
    fn note_returning(&self, foreign: &Grant) {
        let now = SteadyClock.now();
        let mut returning = self.returning.lock().unwrap_or_else(PoisonError::into_inner);
        returning.retain(|_, (_, until)| *until > now);
        returning.insert(foreign.claim, (foreign.term, now.after(foreign.ttl)));
    }

    fn is_returning(&self, foreign: &Grant, now: Monotonic) -> bool {
        let returning = self.returning.lock().unwrap_or_else(PoisonError::into_inner);
        returning.get(&foreign.claim).is_some_and(|(term, until)| *term == foreign.term && now < *until)
    }

    fn backend(&self) -> String {
        self.foreign.capabilities().store
    }

    fn failed(&self, message: &str) -> StoreError {
        StoreError::Failed { store: self.backend(), message: message.into(), source: None }
    }

    fn known(&self, grant: &Grant) -> Option<Held> {
        let exact = |held: &&Held| {
            let foreign = &held.foreign;
            held.term == grant.term
                && foreign.name == grant.name
                && foreign.node.incarnation == grant.node.incarnation
        };
        self.held().get(&grant.claim).filter(exact).cloned()
    }

    fn remember(&self, held: Held) {
        let (now, mut all) = (SteadyClock.now(), self.held());
        all.retain(|_, held| now < held.ends.after(REMEMBERED));
        all.insert(held.entry.claim, held);
    }

    fn forget(&self, grant: &Grant) {
        let mut all = self.held();
        if all.get(&grant.claim).is_some_and(|held| held.term == grant.term) {
            all.remove(&grant.claim);
        }
    }

    fn held(&self) -> MutexGuard<'_, BTreeMap<Unique, Held>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether a row of the foreign store is about the claim of a grant.
fn is_of(record: &LeaseRecord, grant: &Grant) -> bool {
    record.claim == grant.claim && record.node.incarnation == grant.node.incarnation
}
