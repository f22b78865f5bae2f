//! Leases of another place, when the one or the other store fails, comes late, or goes back.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use tenure::core::contract::{Capabilities, LeaseAdmin, LeaseRegistry, LeaseStore};
use tenure::core::id::Unique;
use tenure::core::lease::{
    Acquire, Cause, Claim, FenceCheck, Grant, LeaseRecord, Loss, Release, Renew, Renewal, Term,
};
use tenure::core::memory::{ManualClock, MemoryStore};
use tenure::core::registry::{Entry, Recorded, Touched};
use tenure::{
    Acquired, FencedLeases, LeaseError, LeaseName, Leases, SteadyStoreClock, Stop, StoreError, local_node,
};
use tokio::sync::Notify;

use crate::faulty::quick;

const TTL: Duration = Duration::from_secs(10);

/// A place that grants leases, and fails when it is told to.
#[derive(Debug)]
struct Place {
    inner: MemoryStore,
    epoch: Mutex<Option<String>>,
    down: AtomicBool,
    /// Only releases fail.
    keeps: AtomicBool,
}

impl Place {
    fn on(inner: MemoryStore) -> Arc<Self> {
        Arc::new(Self {
            inner,
            epoch: Mutex::default(),
            down: AtomicBool::default(),
            keeps: AtomicBool::default(),
        })
    }

    fn check(&self) -> Result<(), StoreError> {
        if self.down.load(Ordering::SeqCst) { Err(away("the place")) } else { Ok(()) }
    }

    async fn is_free(&self) -> bool {
        self.inner.observe(&name()).await.unwrap().is_none_or(|row| row.released_at.is_some())
    }
}

#[async_trait]
impl LeaseStore for Place {
    async fn try_acquire(&self, claim: &Claim) -> Result<Acquire, StoreError> {
        self.check()?;
        self.inner.try_acquire(claim).await
    }

    async fn renew(&self, grant: &Grant, renewal: &Renewal) -> Result<Renew, StoreError> {
        self.check()?;
        self.inner.renew(grant, renewal).await
    }

    async fn release(&self, grant: &Grant) -> Result<Release, StoreError> {
        self.check()?;
        if self.keeps.load(Ordering::SeqCst) {
            return Err(away("the place"));
        }
        self.inner.release(grant).await
    }

    async fn observe(&self, name: &LeaseName) -> Result<Option<LeaseRecord>, StoreError> {
        self.check()?;
        self.inner.observe(name).await
    }

    fn epoch(&self, _: &Grant) -> Option<String> {
        self.epoch.lock().unwrap().clone()
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities { store: "elsewhere".into(), ..Capabilities::default() }
    }
}

/// The protected store's registry, with faults.
#[derive(Debug)]
struct Desk {
    inner: MemoryStore,
    down: AtomicBool,
    /// So many records take effect, and their answers are lost.
    lose_records: AtomicU32,
    /// Records wait here until they are let through.
    gate: Option<Arc<Notify>>,
}

impl Desk {
    fn on(inner: &MemoryStore) -> Arc<Self> {
        let (down, lose_records) = (AtomicBool::default(), AtomicU32::default());
        Arc::new(Self { inner: inner.clone(), down, lose_records, gate: None })
    }

    fn gated(inner: &MemoryStore, gate: &Arc<Notify>) -> Arc<Self> {
        let (down, lose_records) = (AtomicBool::default(), AtomicU32::default());
        Arc::new(Self { inner: inner.clone(), down, lose_records, gate: Some(gate.clone()) })
    }

    fn check(&self) -> Result<(), StoreError> {
        if self.down.load(Ordering::SeqCst) { Err(away("the database")) } else { Ok(()) }
    }
}

#[async_trait]
impl LeaseRegistry for Desk {
    async fn prepare(&self) -> Result<(), StoreError> {
        self.inner.prepare().await
    }

    async fn record(&self, entry: &Entry, stale_after: Duration) -> Result<Recorded, StoreError> {
        if let Some(gate) = &self.gate {
            gate.notified().await;
        }
        self.check()?;
        let recorded = self.inner.record(entry, stale_after).await?;
        let lost =
            self.lose_records.try_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1));
        if lost.is_ok() { Err(away("the database")) } else { Ok(recorded) }
    }

    async fn touch(&self, entry: &Entry, term: Term, stale_after: Duration) -> Result<Touched, StoreError> {
        self.check()?;
        self.inner.touch(entry, term, stale_after).await
    }

    async fn stamp_released(&self, entry: &Entry, term: Term) -> Result<bool, StoreError> {
        self.check()?;
        self.inner.stamp_released(entry, term).await
    }

    async fn sweep(&self) -> Result<u64, StoreError> {
        self.inner.sweep().await
    }
}

fn away(store: &str) -> StoreError {
    StoreError::Unreachable { store: store.into(), message: "switched off".into() }
}

fn name() -> LeaseName {
    LeaseName::new("job").unwrap()
}

fn memory() -> MemoryStore {
    MemoryStore::new(Arc::new(SteadyStoreClock::start()))
}

fn claim(node: &str) -> Claim {
    Claim {
        name: name(),
        node: local_node(Some(node)).unwrap(),
        id: Unique::from_u128(u128::from(next_number())),
        ttl: TTL,
        kind: None,
        evidence: None,
    }
}

/// A number of its own for each claim.
fn next_number() -> u64 {
    static NEXT: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(1);
    NEXT.fetch_add(1, Ordering::SeqCst)
}

fn granted(answer: Acquire) -> Grant {
    match answer {
        Acquire::Granted(grant) => grant,
        Acquire::Held(holder) => panic!("held by {holder:?}"),
    }
}

fn renewal(number: u64) -> Renewal {
    Renewal { number, presence: None }
}

/// A place that has granted so often before.
async fn place_at(number: u64) -> Arc<Place> {
    let place = Place::on(memory());
    for _ in 1..number {
        let grant = granted(place.try_acquire(&claim("before")).await.unwrap());
        place.release(&grant).await.unwrap();
    }
    place
}

async fn row(protected: &MemoryStore) -> LeaseRecord {
    protected.observe(&name()).await.unwrap().expect("a row")
}

#[tokio::test]
async fn law2_the_term_is_the_protected_stores_however_far_apart_the_numbers_are() {
    let (place, protected) = (place_at(41).await, memory());
    let leases = |node: &str| {
        let fenced = FencedLeases::new(place.clone(), Arc::new(protected.clone()));
        Leases::new(Arc::new(fenced), local_node(Some(node)).unwrap())
    };
    let (ann, bob) = (leases("ann"), leases("bob"));
    let (first, second) = (ann.lease("job", quick()).unwrap(), bob.lease("job", quick()).unwrap());
    let Acquired::Granted(one) = first.acquire().await.unwrap() else { panic!("not granted") };
    assert_eq!(one.term, Term::FIRST);
    let origin = row(&protected).await.origin.expect("an origin");
    assert_eq!((origin.term.get(), row(&protected).await.backend.as_str()), (41, "elsewhere"));
    assert_eq!(protected.check(&one), FenceCheck::Holds);
    // The other one sees number 41 hold it, and then is granted term 2: that is no term that went back.
    let Acquired::Held(holder) = second.acquire().await.unwrap() else { panic!("granted to two") };
    assert_eq!(holder.term.get(), 41);
    first.release().await.unwrap();
    let two = second.acquire_when_free(&Stop::new()).await.unwrap().expect("a fence");
    assert_eq!(two.term.get(), 2);
    assert!(matches!(protected.check(&one), FenceCheck::Refused(_)));
    assert_eq!(protected.check(&two), FenceCheck::Holds);
}

#[tokio::test]
async fn s16_a_crash_between_the_grant_and_its_record_costs_the_ttl_and_nothing_else() {
    let clock = Arc::new(ManualClock::default());
    let (place, protected) = (Place::on(MemoryStore::new(clock.clone())), MemoryStore::new(clock.clone()));
    let fenced = FencedLeases::new(place.clone(), Arc::new(protected.clone()));
    // Granted, and gone before it was recorded.
    granted(place.try_acquire(&claim("ann")).await.unwrap());
    let bob = claim("bob");
    assert!(matches!(fenced.try_acquire(&bob).await.unwrap(), Acquire::Held(_)));
    assert!(protected.observe(&name()).await.unwrap().is_none(), "nothing was recorded");
    clock.advance(TTL);
    let grant = granted(fenced.try_acquire(&bob).await.unwrap());
    assert_eq!(protected.check(&grant.fence()), FenceCheck::Holds);
}

#[tokio::test]
async fn s16_a_record_whose_answer_was_lost_makes_nobody_lead_and_is_safe_to_repeat() {
    let (place, protected) = (place_at(1).await, memory());
    let desk = Desk::on(&protected);
    let fenced = FencedLeases::new(place.clone(), desk.clone());
    desk.lose_records.store(1, Ordering::SeqCst);
    let ann = claim("ann");
    fenced.try_acquire(&ann).await.expect_err("unknown is not leading");
    let recorded = row(&protected).await;
    assert_eq!(recorded.claim, ann.id, "it had taken effect");
    let grant = granted(fenced.try_acquire(&ann).await.unwrap());
    assert!(grant.term > recorded.term, "it had been given back, and is a new one");
    assert_eq!(protected.check(&grant.fence()), FenceCheck::Holds);
    assert_eq!(fenced.release(&grant).await.unwrap(), Release::Released);
}

/// The giving back of a grant may still take effect when the same claim is made again: nobody leads by that grant.
#[tokio::test]
async fn s16_nobody_leads_by_a_grant_that_may_still_be_given_back() {
    let protected = memory();
    let (place, desk) = (place_at(40).await, Desk::on(&protected));
    let leases = FencedLeases::new(place.clone(), desk.clone());
    let short = Claim { ttl: Duration::from_secs(1), ..claim("a") };
    desk.down.store(true, Ordering::SeqCst);
    place.keeps.store(true, Ordering::SeqCst);
    leases.try_acquire(&short).await.unwrap_err();
    desk.down.store(false, Ordering::SeqCst);
    place.keeps.store(false, Ordering::SeqCst);
    let error = leases.try_acquire(&short).await.unwrap_err();
    assert!(error.is_transient() && error.to_string().contains("given back"), "{error}");
    // passes time: the ttl, within which it takes effect or not at all
    tokio::time::sleep(Duration::from_millis(1100)).await;
    granted(leases.try_acquire(&short).await.unwrap());
}

#[tokio::test]
async fn s01_a_holder_that_comes_late_is_refused_by_its_number() {
    let (place, protected, gate) = (place_at(7).await, memory(), Arc::new(Notify::new()));
    let slow = FencedLeases::new(place.clone(), Desk::gated(&protected, &gate));
    let ann = tokio::spawn(async move { slow.try_acquire(&claim("ann")).await });
    while place.is_free().await {
        tokio::task::yield_now().await;
    }
    // While it stands there, its lease ends, and the next holder is recorded.
    place.inner.revoke(&name(), "ada", true).await.unwrap();
    let fenced = FencedLeases::new(place.clone(), Arc::new(protected.clone()));
    let bob = granted(fenced.try_acquire(&claim("bob")).await.unwrap());
    let before = row(&protected).await;
    gate.notify_one();
    let late = ann.await.unwrap().expect_err("it is not leading");
    assert!(late.is_transient(), "it may stand again: {late}");
    assert_eq!(row(&protected).await, before);
    assert_eq!(protected.check(&bob.fence()), FenceCheck::Holds);
    assert!(!place.is_free().await, "what it gave back is not what another one holds");
    assert_eq!(fenced.renew(&bob, &renewal(1)).await.unwrap(), Renew::Extended);
}

#[tokio::test]
async fn with_the_protected_store_away_nobody_leads_and_the_lease_is_free() {
    let (place, protected) = (place_at(1).await, memory());
    let desk = Desk::on(&protected);
    let fenced = FencedLeases::new(place.clone(), desk.clone());
    desk.down.store(true, Ordering::SeqCst);
    fenced.try_acquire(&claim("ann")).await.expect_err("not leading");
    assert!(place.is_free().await, "given back");
    desk.down.store(false, Ordering::SeqCst);
    let grant = granted(fenced.try_acquire(&claim("ann")).await.unwrap());
    // A renewal that only the place has answered is none.
    desk.down.store(true, Ordering::SeqCst);
    fenced.renew(&grant, &renewal(1)).await.expect_err("unknown");
    desk.down.store(false, Ordering::SeqCst);
    assert_eq!(fenced.renew(&grant, &renewal(2)).await.unwrap(), Renew::Extended);
    // A release that only the place has answered is repeated, and lets others in meanwhile.
    desk.down.store(true, Ordering::SeqCst);
    fenced.release(&grant).await.expect_err("unknown");
    assert!(place.is_free().await);
    desk.down.store(false, Ordering::SeqCst);
    assert_eq!(fenced.release(&grant).await.unwrap(), Release::Released);
    assert!(row(&protected).await.released_at.is_some());
    assert_eq!(fenced.release(&grant).await.unwrap(), Release::NotHeld);
}

#[tokio::test]
async fn with_the_place_away_nothing_is_recorded() {
    let (place, protected) = (place_at(1).await, memory());
    let fenced = FencedLeases::new(place.clone(), Arc::new(protected.clone()));
    place.down.store(true, Ordering::SeqCst);
    fenced.try_acquire(&claim("ann")).await.expect_err("unknown");
    assert!(protected.observe(&name()).await.unwrap().is_none());
    place.down.store(false, Ordering::SeqCst);
    let grant = granted(fenced.try_acquire(&claim("ann")).await.unwrap());
    place.down.store(true, Ordering::SeqCst);
    fenced.renew(&grant, &renewal(1)).await.expect_err("unknown");
    fenced.release(&grant).await.expect_err("unknown");
    assert!(
        matches!(protected.check(&grant.fence()), FenceCheck::Refused(_)),
        "its fence is over all the same"
    );
}

#[tokio::test]
async fn a_place_that_went_back_makes_nobody_lead_and_it_is_said() {
    let (place, protected) = (place_at(7).await, memory());
    let fenced = FencedLeases::new(place, Arc::new(protected.clone()));
    let grant = granted(fenced.try_acquire(&claim("ann")).await.unwrap());
    fenced.release(&grant).await.unwrap();
    let before = row(&protected).await;
    // Deleted and made again: its numbers begin anew, and it does not know.
    let again = place_at(1).await;
    let fenced: Arc<dyn LeaseStore> = Arc::new(FencedLeases::new(again.clone(), Arc::new(protected.clone())));
    let refused = fenced.try_acquire(&claim("bob")).await.expect_err("it refuses to lead");
    assert!(matches!(refused, StoreError::Corrupt { .. }) && !refused.is_transient(), "{refused}");
    let said = refused.to_string();
    for part in ["elsewhere", "lease job", "number 1,", "number 7 (of ann)", "refuses to lead", "origin_term"]
    {
        assert!(said.contains(part), "{part} in {said}");
    }
    assert!(again.is_free().await, "given back");
    assert_eq!(row(&protected).await, before, "nothing was written");
    // Waiting for it is no use, and says so.
    let leases = Leases::new(fenced, local_node(Some("bob")).unwrap());
    let waited = leases.lease("job", quick()).unwrap().acquire_when_free(&Stop::new()).await;
    assert!(matches!(waited, Err(LeaseError::Store(StoreError::Corrupt { .. }))), "{waited:?}");
}

#[tokio::test]
async fn a_place_that_says_it_counts_anew_gets_a_higher_term() {
    let clock = Arc::new(ManualClock::default());
    let (place, protected) = (place_at(7).await, MemoryStore::new(clock.clone()));
    *place.epoch.lock().unwrap() = Some("one".into());
    let fenced = FencedLeases::new(place, Arc::new(protected.clone()));
    let old = granted(fenced.try_acquire(&claim("ann")).await.unwrap());
    let again = place_at(1).await;
    *again.epoch.lock().unwrap() = Some("two".into());
    let other = FencedLeases::new(again.clone(), Arc::new(protected.clone()));
    // As long as the former holder lives it is waited for: only its own place could say that it is gone.
    let wait = other.try_acquire(&claim("bob")).await.expect_err("ann lives");
    assert!(wait.is_transient() && wait.to_string().contains("ann holds it by the former count"), "{wait}");
    assert!(again.is_free().await, "given back");
    assert_eq!(protected.check(&old.fence()), FenceCheck::Holds);
    clock.advance(TTL);
    let new = granted(other.try_acquire(&claim("bob")).await.unwrap());
    assert!(new.term > old.term);
    assert!(matches!(protected.check(&old.fence()), FenceCheck::Refused(_)));
    assert_eq!(protected.check(&new.fence()), FenceCheck::Holds);
    // The former holder, whose place goes on extending it, is told.
    let lost = fenced.renew(&old, &renewal(1)).await.unwrap();
    assert_eq!(lost, Renew::Lost(Loss::Taken { term: new.term, by: new.node.name.clone() }));
    assert_eq!(other.renew(&new, &renewal(1)).await.unwrap(), Renew::Extended);
}

#[tokio::test]
async fn an_operator_of_the_protected_store_has_a_holder_out_of_office() {
    for force in [false, true] {
        let (place, protected) = (place_at(3).await, memory());
        let fenced = FencedLeases::new(place.clone(), Arc::new(protected.clone()));
        let grant = granted(fenced.try_acquire(&claim("ann")).await.unwrap());
        protected.revoke(&name(), "ada", force).await.unwrap();
        assert!(matches!(protected.check(&grant.fence()), FenceCheck::Refused(_)), "at once");
        let loss = if force { Loss::Released } else { Loss::Revoked };
        assert_eq!(fenced.renew(&grant, &renewal(1)).await.unwrap(), Renew::Lost(loss));
        assert!(!place.is_free().await, "not before the holder has stopped");
        assert_eq!(fenced.release(&grant).await.unwrap(), Release::Released);
        assert!(place.is_free().await);
        let last = protected.history(Some(&name()), None, 1).await.unwrap();
        assert_eq!(last[0].cause, if force { Cause::Fenced } else { Cause::Resigned });
    }
}

/// The row outlives the holder's trust, and not by more than the ttl.
#[tokio::test]
async fn a_fence_lasts_for_the_ttl_after_the_last_renewal() {
    let clock = Arc::new(ManualClock::default());
    // The place's own clock stands still: it never ends the grant.
    let (place, protected) = (place_at(1).await, MemoryStore::new(clock.clone()));
    let fenced = FencedLeases::new(place, Arc::new(protected.clone()));
    let grant = granted(fenced.try_acquire(&claim("ann")).await.unwrap());
    let instant = Duration::from_micros(1);
    for number in 1..4 {
        clock.advance(TTL - instant);
        assert_eq!(protected.check(&grant.fence()), FenceCheck::Holds);
        assert_eq!(fenced.renew(&grant, &renewal(number)).await.unwrap(), Renew::Extended);
    }
    clock.advance(TTL - instant);
    assert_eq!(protected.check(&grant.fence()), FenceCheck::Holds, "trust has ended a margin ago");
    clock.advance(instant);
    assert!(matches!(protected.check(&grant.fence()), FenceCheck::Refused(_)));
    // Nobody has taken office since, and the place says that it holds: it is in office again.
    assert_eq!(fenced.renew(&grant, &renewal(9)).await.unwrap(), Renew::Extended);
    assert_eq!(protected.check(&grant.fence()), FenceCheck::Holds);
}

#[tokio::test]
async fn a_lease_of_the_database_itself_is_not_taken_from_its_holder() {
    let (place, protected) = (place_at(1).await, memory());
    let fenced = FencedLeases::new(place.clone(), Arc::new(protected.clone()));
    let native = granted(protected.try_acquire(&claim("native")).await.unwrap());
    let busy = fenced.try_acquire(&claim("ann")).await.expect_err("not leading");
    assert!(busy.is_transient() && busy.to_string().contains("the same --lease"), "{busy}");
    assert!(place.is_free().await, "given back");
    assert_eq!(protected.check(&native.fence()), FenceCheck::Holds);
    protected.release(&native).await.unwrap();
    let grant = granted(fenced.try_acquire(&claim("ann")).await.unwrap());
    assert!(grant.term > native.term);
    // And the other way round: who takes the database's own lease finds it held.
    assert!(matches!(protected.try_acquire(&claim("native")).await.unwrap(), Acquire::Held(_)));
}
