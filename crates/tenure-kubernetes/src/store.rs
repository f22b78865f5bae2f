//! The lease contract over objects that are compared and swapped.
//!
//! ```text
//!   look ──▶ decide ──▶ write if the object is still the one we saw ──▶ done
//!     ▲                          │ 409
//!     └──────────────────────────┘   a few times, within one deadline
//! ```
//!
//! A renewal begins with the object as we wrote it last, so that a quiet lease costs one request; what is decided against
//! the holder is decided only on a fresh look.
//!
//! A request that is answered late, or never, may have taken effect. It extends nothing for its caller: who holds a lease
//! counts its trust from when the attempt **began**, and others count from when they saw the change, which is later.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use k8s_openapi::api::coordination::v1::Lease;
use tenure_core::StoreError;
use tenure_core::contract::{Capabilities, LeaseStore, Vacancy};
use tenure_core::id::Unique;
use tenure_core::lease::{
    Acquire, Claim, Grant, Holder, LeaseName, LeaseRecord, Loss, Release, Renew, Renewal, Term,
};
use tenure_core::time::{Clock, StoreTime};
use tokio::time::Instant;

use crate::clock::{SteadyClock, wall};
use crate::decide::{self, Claimed, Numbers, Renewed, Seen};
use crate::names::{is_label, object_name};
use crate::object::{BACKEND, Object, created};
use crate::options::KubernetesOptions;
use crate::requests::{Requests, Written};
use crate::sight::{Ours, Sights};

/// How often a call meets another writer before it answers that the store is busy.
const CONFLICTS_MAX: u32 = 24;
/// The longest pause after a conflict. Each conflict is another's success: there is no need to wait long.
const PAUSE_MAX: Duration = Duration::from_millis(20);

/// Leases as `Lease` objects in one namespace of a cluster.
///
/// A clone shares what was seen; another value counts every wait from its own first look. The connections live on the
/// runtime on which it was opened.
#[derive(Debug, Clone)]
pub struct KubernetesStore {
    pub(crate) shared: Arc<Shared>,
}

#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) requests: Requests,
    prefix: String,
    timeout: Duration,
    clock: Arc<dyn Clock>,
    sights: Mutex<Sights>,
}

impl KubernetesStore {
    /// Finds the cluster's address and credentials. The API is not asked anything yet: the rights that a store needs are
    /// for single Leases, and there is none to ask for.
    pub async fn connect(options: KubernetesOptions) -> Result<Self, StoreError> {
        let config = options.config().await?;
        let namespace = match &options.namespace {
            Some(namespace) => namespace.clone(),
            None => config.default_namespace.trim().to_owned(),
        };
        if !is_label(&namespace) {
            let message =
                "the context or the service account names no namespace; put one into the URL".into();
            return Err(StoreError::Refused { store: BACKEND.into(), message });
        }
        let address = config.cluster_url.authority().map(|authority| {
            let port = authority.port_u16().map(|port| format!(":{port}")).unwrap_or_default();
            format!("{}{port}", authority.host())
        });
        let (calls, watches) = options.clients(config)?;
        let label = match options.prefix.as_str() {
            "" => format!("{BACKEND}://{namespace}"),
            prefix => format!("{BACKEND}://{namespace}/{prefix}"),
        };
        Ok(Self {
            shared: Arc::new(Shared {
                requests: Requests::new(calls, watches, namespace, label, address.unwrap_or_default()),
                prefix: options.prefix,
                timeout: options.timeout,
                clock: Arc::new(SteadyClock::start()),
                sights: Mutex::default(),
            }),
        })
    }

    /// Asks the API something, to learn whether it is there and knows who we are.
    ///
    /// Whether we may do what a lease needs is not asked: a role may be for some names alone.
    pub async fn reach(&self) -> Result<(), StoreError> {
        self.shared.requests.reach(Instant::now() + self.shared.timeout).await
    }

    /// What the object of a lease is called, for people who look with `kubectl`.
    pub fn object_name(&self, name: &LeaseName) -> String {
        object_name(&self.shared.prefix, name)
    }
}

impl Shared {
    pub(crate) fn object_name(&self, name: &LeaseName) -> String {
        object_name(&self.prefix, name)
    }

    pub(crate) fn timeout(&self) -> Duration {
        self.timeout
    }

    fn sights(&self) -> MutexGuard<'_, Sights> {
        // A panic cannot leave what was seen half changed: every note is one assignment after another of plain values.
        self.sights.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads an object and notes the sight of it, dated after its answer came. Also what its holder has left.
    pub(crate) fn see(&self, name: &LeaseName, lease: Lease) -> Result<(Object, Duration), StoreError> {
        let object = Object::read(lease, name).map_err(|message| self.corrupt(message))?;
        let left = self.sights().note(name, &object.seen, self.clock.now());
        Ok((object, left))
    }

    /// Notes that there is no object.
    pub(crate) fn see_none(&self, name: &LeaseName) {
        self.sights().note_gone(name);
    }

    pub(crate) async fn look(
        &self,
        name: &LeaseName,
        until: Instant,
    ) -> Result<Option<(Object, Duration)>, StoreError> {
        match self.requests.get(&self.object_name(name), until).await? {
            Some(lease) => self.see(name, lease).map(Some),
            None => {
                self.see_none(name);
                Ok(None)
            }
        }
    }

    /// Writes over the object that was looked at, and notes what came of it as ours. `None`: look again.
    async fn write(
        &self,
        (name, claim): (&LeaseName, Unique),
        lease: &Lease,
        until: Instant,
    ) -> Result<Option<Seen>, StoreError> {
        let written = match &lease.metadata.resource_version {
            Some(_) => self.requests.replace(lease, until).await?,
            None => self.requests.create(lease, until).await?,
        };
        let Written::Done(lease) = written else { return Ok(None) };
        let (object, _) = self.see(name, *lease)?;
        let seen = object.seen.clone();
        let ours = Ours { claim, uid: seen.uid.clone(), object };
        self.sights().note_ours(name, ours);
        Ok(Some(seen))
    }

    fn corrupt(&self, message: String) -> StoreError {
        StoreError::Corrupt { store: self.requests.label().to_owned(), message }
    }

    fn wrong_numbers(&self, name: &LeaseName, numbers: &Numbers) -> StoreError {
        let object = self.object_name(name);
        self.corrupt(match numbers {
            Numbers::Exhausted => format!("lease {name} has used up all terms that leaseTransitions of {object} can count"),
            Numbers::WentBack { found, seen } => format!(
                "lease {name} stands at term {found}, but term {seen} was seen in the same object: it was edited or restored \
                 from a backup; set leaseTransitions of {object} to at least {} by hand, or delete it",
                seen.get().saturating_sub(1)
            ),
        })
    }

    fn busy(&self, name: &LeaseName) -> StoreError {
        let message = format!("the object of lease {name} changed at every one of {CONFLICTS_MAX} tries");
        StoreError::Busy { store: self.requests.label().to_owned(), message }
    }

    fn deadline(&self, at_most: Duration) -> Instant {
        Instant::now() + self.timeout.min(at_most)
    }
}

/// Waits a little after a conflict, longer with each, so that writers do not go on in step.
async fn pause(conflicts: u32) {
    let micros = u64::from(conflicts).saturating_mul(1500);
    tokio::time::sleep(Duration::from_micros(micros).min(PAUSE_MAX)).await;
}

fn grant(claim: &Claim, term: Term, acquired_at: StoreTime) -> Grant {
    Grant {
        name: claim.name.clone(),
        term,
        node: claim.node.clone(),
        claim: claim.id,
        ttl: claim.ttl,
        acquired_at,
    }
}

#[async_trait]
impl LeaseStore for KubernetesStore {
    async fn try_acquire(&self, claim: &Claim) -> Result<Acquire, StoreError> {
        let this = &self.shared;
        let until = this.deadline(this.timeout);
        for conflicts in 1..=CONFLICTS_MAX {
            // Read before the look: what another task sees meanwhile may be newer than what this look shows.
            let highest = this.sights().highest(&claim.name).cloned();
            let found = this.look(&claim.name, until).await?;
            let (object, left) = found.as_ref().map_or((None, Duration::ZERO), |(o, left)| (Some(o), *left));
            let decided = decide::claim(object.map(|o| &o.seen), left, highest.as_ref(), claim)
                .map_err(|numbers| this.wrong_numbers(&claim.name, &numbers))?;
            let now = wall();
            let lease = match (&decided, object) {
                (Claimed::Held(left), Some(object)) => return held(this, object, *left),
                (Claimed::Create(transitions), _) => {
                    created(&this.object_name(&claim.name), claim, *transitions, now)
                }
                (Claimed::Take(transitions), Some(object)) => object.taken(claim, *transitions, now),
                (Claimed::Again, Some(object)) => object.again(claim, now),
                // Without an object there is nothing to decide but to make one.
                (_, None) => continue,
            };
            let lease = lease.map_err(|message| this.corrupt(message))?;
            if let Some(seen) = this.write((&claim.name, claim.id), &lease, until).await? {
                let granted = seen.entry.as_ref().zip(seen.term());
                let Some((entry, term)) = granted else {
                    return Err(this.corrupt("the API gave back another object than was written".into()));
                };
                return Ok(Acquire::Granted(grant(claim, term, entry.acquired_at)));
            }
            pause(conflicts).await;
        }
        Err(this.busy(&claim.name))
    }

    async fn renew(&self, grant: &Grant, renewal: &Renewal) -> Result<Renew, StoreError> {
        let this = &self.shared;
        // What comes after the ttl helps nobody.
        let until = this.deadline(grant.ttl);
        let (granted_in, mut known) = {
            let sights = this.sights();
            let ours = sights.ours(&grant.name, grant.claim);
            let object = ours.map(|ours| ours.object.clone());
            let left = object.as_ref().map(|o| sights.left(&grant.name, &o.seen, this.clock.now()));
            (ours.map(|ours| ours.uid.clone()), object.zip(left))
        };
        for conflicts in 1..=CONFLICTS_MAX {
            let fresh = known.is_none();
            let found = match known.take() {
                Some(known) => Some(known),
                None => this.look(&grant.name, until).await?,
            };
            let (object, left) = found.as_ref().map_or((None, Duration::ZERO), |(o, left)| (Some(o), *left));
            let decided = decide::renew(object.map(|o| &o.seen), left, granted_in.as_deref(), grant, renewal);
            match (decided, object) {
                (Renewed::Write, Some(object)) => {
                    let lease = object.renewed(renewal, grant.ttl, wall());
                    let lease = lease.map_err(|message| this.corrupt(message))?;
                    if this.write((&grant.name, grant.claim), &lease, until).await?.is_some() {
                        return Ok(Renew::Extended);
                    }
                    pause(conflicts - 1).await;
                }
                // From memory: the holder learns the reason from the object as it is.
                _ if !fresh => {}
                (Renewed::Lost(loss), _) => return Ok(Renew::Lost(loss)),
                (Renewed::OutOfOrder, _) => {
                    let message = "a later renewal of this grant was there first".into();
                    let store = this.requests.label().to_owned();
                    return Err(StoreError::Failed { store, message, source: None });
                }
                (Renewed::Write, None) => return Ok(Renew::Lost(Loss::Unknown)),
            }
        }
        Err(this.busy(&grant.name))
    }

    async fn release(&self, grant: &Grant) -> Result<Release, StoreError> {
        let this = &self.shared;
        let until = this.deadline(this.timeout);
        let granted_in = this.sights().ours(&grant.name, grant.claim).map(|ours| ours.uid.clone());
        for conflicts in 1..=CONFLICTS_MAX {
            let found = this.look(&grant.name, until).await?;
            let object = found.as_ref().map(|(object, _)| object);
            if !decide::may_release(object.map(|o| &o.seen), granted_in.as_deref(), grant) {
                return Ok(Release::NotHeld);
            }
            let Some(object) = object else { return Ok(Release::NotHeld) };
            let lease = object.released(wall()).map_err(|message| this.corrupt(message))?;
            if this.write((&grant.name, grant.claim), &lease, until).await?.is_some() {
                return Ok(Release::Released);
            }
            // A renewal under way was faster: it is still our grant, and is given back on the next try.
            pause(conflicts - 1).await;
        }
        Err(this.busy(&grant.name))
    }

    async fn observe(&self, name: &LeaseName) -> Result<Option<LeaseRecord>, StoreError> {
        let until = self.shared.deadline(self.shared.timeout);
        let found = self.shared.look(name, until).await?;
        Ok(found.and_then(|(object, _)| object.record(name)))
    }

    fn vacancy(&self) -> Option<&dyn Vacancy> {
        Some(self)
    }

    /// The object's uid: one that was deleted and made again counts anew.
    fn epoch(&self, grant: &Grant) -> Option<String> {
        self.shared.sights().ours(&grant.name, grant.claim).map(|ours| ours.uid.clone())
    }

    fn capabilities(&self) -> Capabilities {
        let notes = [
            "a holder that dies is noticed when its Lease has not changed for its whole duration",
            "terms are counted in leaseTransitions, and begin anew when the Lease is deleted",
        ];
        let notes = notes.map(str::to_owned).into();
        Capabilities { store: BACKEND.into(), notes, ..Capabilities::default() }
    }
}

fn held(this: &Shared, object: &Object, left: Duration) -> Result<Acquire, StoreError> {
    let seen = &object.seen;
    let Some(term) = seen.term() else { return Err(this.corrupt("an object has no term".into())) };
    let presence = seen.entry.as_ref().and_then(|entry| entry.presence.clone());
    Ok(Acquire::Held(Holder { node: seen.node.clone(), term, expires_in: left, presence }))
}
