//! [`KafkaLeases`]: the contract.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use async_trait::async_trait;
use rdkafka::error::RDKafkaErrorCode;
use rdkafka::producer::FutureProducer;
use tenure_core::StoreError;
use tenure_core::contract::{Capabilities, LeaseStore, Vacancy};
use tenure_core::lease::{Acquire, Claim, Grant, LeaseName, LeaseRecord, Release, Renew, Renewal, Term};

use super::answer;
use super::member::{Member, Waiting};
use super::options::KafkaLeaseOptions;
use super::publish;
use super::record::{Sign, What, millis};
use super::state::{Holding, Leave};
use super::tail::{self, Quiet, Tail, View, term_of};
use super::topic;
use crate::clock;
use crate::error::explain_code;

/// How long a lease counts as wanted after it was asked for, at least; a claim with a longer ttl is wanted that long.
pub(crate) const INTEREST_MIN: Duration = Duration::from_secs(5);
/// How long a renewal waits for its own commit before it looks whether an earlier one covers it.
const PATIENCE_MAX: Duration = Duration::from_secs(1);
/// Between proofs that were refused while the group settles.
const SETTLING: Duration = Duration::from_millis(100);
/// How long a renewal waits for its record to be on the topic, after it was proven.
const TELL_MAX: Duration = Duration::from_millis(250);

/// Leases by a consumer group on a topic with one partition.
///
/// Nothing runs before the first claim. Every lease that is claimed or waited for has a member with a thread of its own,
/// and while there are any, one thread reads the topic; they end with the release, or when nobody here wants the lease any
/// more, and at the latest when this is dropped.
#[derive(Debug)]
pub struct KafkaLeases(pub(crate) Arc<Inner>);

/// What calls that run to their end share with the store.
#[derive(Debug)]
pub(crate) struct Inner {
    options: KafkaLeaseOptions,
    label: String,
    producer: tokio::sync::OnceCell<Producer>,
    /// Shared by all members; gone when there is none.
    tail: tokio::sync::Mutex<Weak<Tail>>,
    members: Mutex<BTreeMap<LeaseName, Arc<Member>>>,
    /// One joins at a time.
    joining: tokio::sync::Mutex<()>,
    /// What the terms of the last grants count from.
    epochs: Mutex<BTreeMap<LeaseName, (Term, String)>>,
}

#[derive(Clone)]
struct Producer(FutureProducer<Quiet>);

impl std::fmt::Debug for Producer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Producer")
    }
}

impl KafkaLeases {
    /// Leases as these options say. Nothing is connected yet.
    pub fn new(options: KafkaLeaseOptions) -> Result<Self, StoreError> {
        options.validate()?;
        Ok(Self(Arc::new(Inner {
            label: options.kafka.label(),
            options,
            producer: tokio::sync::OnceCell::new(),
            tail: tokio::sync::Mutex::new(Weak::new()),
            members: Mutex::default(),
            joining: tokio::sync::Mutex::new(()),
            epochs: Mutex::default(),
        })))
    }

    /// The same, once the brokers have answered and the topic is there: what is wrong with them is told at once, and not by
    /// the first claim.
    pub async fn connect(options: KafkaLeaseOptions) -> Result<Self, StoreError> {
        let leases = Self::new(options)?;
        tail::look(&leases.0.options).await?;
        Ok(leases)
    }

    /// Leases as the URL says: see [`KafkaLeaseOptions::from_url`].
    pub fn from_url(url: &str) -> Result<Self, StoreError> {
        Self::new(KafkaLeaseOptions::from_url(url)?)
    }

    /// The options.
    pub fn options(&self) -> &KafkaLeaseOptions {
        &self.0.options
    }
}

impl Inner {
    async fn producer(&self) -> Result<FutureProducer<Quiet>, StoreError> {
        let open = || async { publish::producer(&self.options).map(Producer) };
        self.producer.get_or_try_init(open).await.map(|producer| producer.0.clone())
    }

    /// The reader of the topic; started if there is none, and anew when the topic has to be made again.
    pub(crate) async fn tail(&self) -> Result<Arc<Tail>, StoreError> {
        let mut tail = self.tail.lock().await;
        if let Some(tail) = tail.upgrade().filter(|tail| tail.is_sound()) {
            return Ok(tail);
        }
        let started = Arc::new(Tail::start(&self.options, &self.producer().await?).await?);
        *tail = Arc::downgrade(&started);
        Ok(started)
    }

    /// The member for this lease, if there is one that has not left.
    pub(crate) fn present(&self, name: &LeaseName) -> Option<Arc<Member>> {
        let members = self.members.lock().unwrap_or_else(PoisonError::into_inner);
        let member = members.get(name)?;
        let gone = { member.seat.lock().closed };
        (!gone).then(|| Arc::clone(member))
    }

    /// The member for this lease; joins if there is none, and waits for one that is leaving.
    async fn member(&self, claim: &Claim) -> Result<Arc<Member>, StoreError> {
        let _one = self.joining.lock().await;
        let wanted = clock::now().after(claim.ttl.max(INTEREST_MIN));
        if let Some(member) = self.present(&claim.name) {
            let leaving = {
                let mut state = member.seat.lock();
                state.wanted = state.wanted.max(wanted);
                state.leave.is_some()
            };
            // A member that waits would wait for ever: its group has no partition to give any more.
            let stranded = !member.tail.is_sound() && member.seat.lock().strand();
            if !leaving && !stranded {
                return Ok(member);
            }
            member.seat.notify();
            self.left(&member).await?;
        }
        let (tail, producer) = (self.tail().await?, self.producer().await?);
        let member = Arc::new(Member::join(&self.options, &claim.name, tail, producer, wanted)?);
        let mut members = self.members.lock().unwrap_or_else(PoisonError::into_inner);
        members.retain(|_, member| !member.seat.lock().closed);
        members.insert(claim.name.clone(), Arc::clone(&member));
        Ok(member)
    }

    /// Waits until a member that is leaving has left.
    async fn left(&self, member: &Member) -> Result<(), StoreError> {
        let mut changes = member.seat.follow();
        let leaving = async { while !member.seat.lock().closed && changes.changed().await.is_ok() {} };
        let limit = self.options.kafka.request_timeout;
        tokio::time::timeout(limit, leaving).await.map_err(|_| StoreError::Unreachable {
            store: self.label.clone(),
            message: format!("the group of the lease {} was not left in time", member.seat.lease),
        })
    }

    /// Waits until the group has given us the partition, or has given it to another who has claimed.
    async fn settled(&self, member: &Member) -> Result<View, StoreError> {
        let until = tokio::time::Instant::now() + self.options.join_timeout;
        let (mut changes, mut follower) = (member.seat.follow(), member.tail.follow());
        let mut view = member.tail.caught_up().await?;
        loop {
            {
                let state = member.seat.lock();
                if let Some(failure) = state.failure(&self.label) {
                    return Err(failure);
                }
                let known = state.words > 0 && answer::is_held(&view, &member.seat.lease, clock::now());
                if known || state.assigned().is_some() || state.holding.is_some() || state.leave.is_some() {
                    return Ok(view);
                }
            }
            tokio::select! {
                _ = changes.changed() => {}
                _ = follower.changed() => {}
                () = tokio::time::sleep(SETTLING) => {}
            }
            if tokio::time::Instant::now() >= until {
                return Ok(view);
            }
            view = member.tail.view().clone();
        }
    }

    /// Claims what the group has given us.
    async fn claim(&self, member: &Member, claim: &Claim, view: &View) -> Result<Acquire, StoreError> {
        let _one = member.claiming.lock().await;
        let held = || answer::holder(view, &claim.name, clock::now()).map(Acquire::Held);
        let (assignment, again) = {
            let state = member.seat.lock();
            let Some(assignment) = state.assigned() else { return held() };
            match &state.holding {
                None => (assignment, None),
                Some(holding) if holding.answers(claim) => (assignment, Some(holding.grant.clone())),
                Some(holding) => {
                    return Ok(Acquire::Held(tenure_core::lease::Holder {
                        node: holding.grant.node.clone(),
                        term: holding.grant.term,
                        expires_in: clock::now().until(holding.expires),
                        presence: None,
                    }));
                }
            }
        };
        let (grant, epoch) = match again {
            Some(grant) => (grant, None),
            None => self.write_claim(member, claim).await?,
        };
        let proof = self.prove(member).await;
        let kept = member.seat.lock().assigned() == Some(assignment);
        if epoch.is_some() && !(proof.is_ok() && kept) {
            // Whoever was put out of the group has claimed what another holds: that one must not stay hidden behind it.
            let sign = Sign::of(&grant, What::Void, claim.kind.as_deref(), self.options.session_timeout);
            self.tell(&claim.name, &sign).await;
        }
        let begun = proof?;
        let mut state = member.seat.lock();
        if !kept || state.assigned() != Some(assignment) {
            drop(state);
            return held();
        }
        if let Some(holding) = &mut state.holding {
            holding.expires = holding.expires.max(begun.after(grant.ttl));
            return Ok(Acquire::Granted(grant));
        }
        state.holding = Some(Holding {
            grant: grant.clone(),
            kind: claim.kind.clone(),
            assignment,
            expires: begun.after(grant.ttl),
            proven: begun,
            renewals: 0,
            over: None,
        });
        drop(state);
        if let Some(epoch) = epoch {
            let mut epochs = self.epochs.lock().unwrap_or_else(PoisonError::into_inner);
            epochs.insert(claim.name.clone(), (grant.term, epoch));
        }
        Ok(Acquire::Granted(grant))
    }

    /// Writes the claim to the topic, and reads it there: its place is the term.
    async fn write_claim(
        &self,
        member: &Member,
        claim: &Claim,
    ) -> Result<(Grant, Option<String>), StoreError> {
        let sign = Sign {
            what: What::Claim,
            term: None,
            node: claim.node.name.clone(),
            incarnation: claim.node.incarnation,
            machine: claim.node.machine.clone(),
            pid: claim.node.pid,
            claim: claim.id,
            kind: claim.kind.clone(),
            ttl_ms: millis(claim.ttl),
            session_ms: millis(self.options.session_timeout),
            acquired_at: None,
            renewed_at: None,
            renewals: 0,
        };
        let producer = self.producer().await?;
        let sending = publish::say(&producer, &self.options, &claim.name, &sign)?;
        let offset = publish::delivered(&self.options, sending).await?;
        let view = member.tail.reached(offset).await?;
        let ours = view.leases.get(&claim.name).filter(|seen| seen.offset == offset && seen.sign == sign);
        let (Some(seen), Some((_, epoch))) = (ours, &view.epoch) else {
            return Err(StoreError::Failed {
                store: self.label.clone(),
                message: format!("the topic {} was changed while a claim was written", self.options.topic),
                source: None,
            });
        };
        let grant = Grant {
            name: claim.name.clone(),
            term: term_of(offset),
            node: claim.node.clone(),
            claim: claim.id,
            ttl: claim.ttl,
            acquired_at: seen.at,
        };
        Ok((grant, Some(epoch.clone())))
    }

    /// Proves that we are in the group; tells when the proof was begun.
    async fn prove(&self, member: &Member) -> Result<tenure_core::time::Monotonic, StoreError> {
        let until = clock::now().after(self.options.kafka.request_timeout);
        let doing = "proving that the member is still in the lease's group";
        loop {
            let asked = tokio::time::timeout(clock::now().until(until), member.seat.prove()).await;
            let code = match asked {
                Ok(Ok((begun, Ok(())))) => return Ok(begun),
                Ok(Ok((_, Err(code)))) => code,
                Ok(Err(_)) => RDKafkaErrorCode::AssignmentLost,
                Err(_) => RDKafkaErrorCode::OperationTimedOut,
            };
            let settles =
                matches!(code, RDKafkaErrorCode::IllegalGeneration | RDKafkaErrorCode::RebalanceInProgress);
            if !settles || clock::now() >= until {
                return Err(explain_code(&self.label, doing, code));
            }
            tokio::time::sleep(SETTLING).await;
        }
    }

    /// Renews a grant that a member of ours holds.
    async fn extend(&self, member: &Member, grant: &Grant, renewal: &Renewal) -> Result<Renew, StoreError> {
        let begun = clock::now();
        let ours = {
            let state = member.seat.lock();
            match &state.holding {
                Some(holding) if holding.is(grant) => {
                    if let Some(loss) = holding.over.clone() {
                        return Ok(Renew::Lost(loss));
                    }
                    if begun >= holding.expires {
                        return Ok(Renew::Lost(tenure_core::lease::Loss::Expired));
                    }
                    if renewal.number <= holding.renewals {
                        return Err(StoreError::Failed {
                            store: self.label.clone(),
                            message: "a later renewal was there first".into(),
                            source: None,
                        });
                    }
                    Some(holding.kind.clone())
                }
                _ => None,
            }
        };
        let Some(kind) = ours else {
            let view = member.tail.caught_up().await?;
            return Ok(Renew::Lost(answer::loss(&view, grant)));
        };
        let (cover, until) = (self.options.longest_ttl(), begun.after(self.options.kafka.request_timeout));
        let mut code = RDKafkaErrorCode::OperationTimedOut;
        let mut patience = (grant.ttl / 4).min(PATIENCE_MAX);
        loop {
            let asked = tokio::time::timeout(patience, member.seat.prove()).await;
            if let Ok(Ok((_, Err(refused)))) = asked {
                code = refused;
            }
            let extended = {
                let mut state = member.seat.lock();
                let over = state
                    .holding
                    .as_ref()
                    .filter(|holding| holding.is(grant))
                    .map(|holding| holding.over.clone());
                match over {
                    None => return Ok(Renew::Lost(tenure_core::lease::Loss::Expired)),
                    Some(Some(loss)) => return Ok(Renew::Lost(loss)),
                    Some(None) => state.extend(grant, renewal.number, begun, cover),
                }
            };
            if extended {
                let mut sign = Sign::of(grant, What::Renewed, kind.as_deref(), self.options.session_timeout);
                sign.renewals = renewal.number;
                self.tell(&grant.name, &sign).await;
                return Ok(Renew::Extended);
            }
            if clock::now() >= until {
                return Err(explain_code(&self.label, "renewing under the member's generation", code));
            }
            patience = clock::now().until(until).min(PATIENCE_MAX).max(SETTLING);
            tokio::time::sleep(SETTLING).await;
        }
    }

    /// Lets the topic know; for those who look, not for safety.
    async fn tell(&self, lease: &LeaseName, sign: &Sign) {
        let Ok(producer) = self.producer().await else { return };
        match publish::say(&producer, &self.options, lease, sign) {
            Ok(sending) => {
                // The record goes on its way by itself; only the wait for it has an end.
                let _ = tokio::time::timeout(TELL_MAX, sending).await;
            }
            Err(error) => tracing::debug!(%lease, what = ?sign.what, %error, "the topic is not told"),
        }
    }
}

#[async_trait]
impl LeaseStore for KafkaLeases {
    async fn try_acquire(&self, claim: &Claim) -> Result<Acquire, StoreError> {
        self.0.options.check_ttl(claim.ttl)?;
        // A claim runs to its end, also when its caller has gone: half of one would stand on the topic for good.
        let (inner, claim) = (Arc::clone(&self.0), claim.clone());
        let claiming = tokio::spawn(async move {
            let member = inner.member(&claim).await?;
            let _waiting = Waiting::begin(&member.seat);
            let view = inner.settled(&member).await?;
            inner.claim(&member, &claim, &view).await
        });
        claiming.await.unwrap_or_else(|_| Err(topic::stopping(&self.0.label)))
    }

    async fn renew(&self, grant: &Grant, renewal: &Renewal) -> Result<Renew, StoreError> {
        match self.0.present(&grant.name) {
            Some(member) => self.0.extend(&member, grant, renewal).await,
            None => {
                let view = self.0.tail().await?.caught_up().await?;
                Ok(Renew::Lost(answer::loss(&view, grant)))
            }
        }
    }

    async fn release(&self, grant: &Grant) -> Result<Release, StoreError> {
        let Some(member) = self.0.present(&grant.name) else { return Ok(Release::NotHeld) };
        let Some(how) = member.seat.lock().give_back(grant, clock::now()) else {
            return Ok(Release::NotHeld);
        };
        member.seat.leave(how);
        self.0.left(&member).await?;
        let farewell = member.seat.lock().farewell.take();
        if let Some(farewell) = farewell {
            // Without it those who wait learn of the release by their next heartbeat.
            if let Err(error) = publish::delivered(&self.0.options, farewell).await {
                tracing::debug!(lease = %grant.name, %error, "the topic is not told of a release");
            }
        }
        Ok(if how == Leave::Released { Release::Released } else { Release::NotHeld })
    }

    async fn observe(&self, name: &LeaseName) -> Result<Option<LeaseRecord>, StoreError> {
        let view = self.0.tail().await?.caught_up().await?;
        Ok(view.leases.get(name).map(|seen| answer::record(name, seen)))
    }

    /// Leaves the group, unless the lease is held here or others here wait for it: a member that dies keeps a group from
    /// settling until its session has ended.
    async fn forgo(&self, name: &LeaseName) -> Result<(), StoreError> {
        let Some(member) = self.0.present(name) else { return Ok(()) };
        let _no_claim = member.claiming.lock().await;
        let needed = {
            let state = member.seat.lock();
            state.holding.is_some() || state.waiting > 0
        };
        if needed {
            return Ok(());
        }
        member.seat.leave(Leave::Unwanted);
        self.0.left(&member).await
    }

    fn vacancy(&self) -> Option<&dyn Vacancy> {
        Some(self)
    }

    fn epoch(&self, grant: &Grant) -> Option<String> {
        let epochs = self.0.epochs.lock().unwrap_or_else(PoisonError::into_inner);
        epochs.get(&grant.name).filter(|(term, _)| *term == grant.term).map(|(_, epoch)| epoch.clone())
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            store: "kafka".into(),
            notes: vec![format!(
                "a dead holder is replaced when its session timeout of {:?} has ended",
                self.0.options.session_timeout
            )],
            ..Capabilities::default()
        }
    }
}
