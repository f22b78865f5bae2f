//! Between a Lease object and our words.
//!
//! ```text
//!   spec:      holderIdentity        ann_4f0c… (node and incarnation; empty when nobody holds it)
//!              leaseTransitions      term − 1
//!              leaseDurationSeconds  the ttl, in whole seconds
//!              acquireTime, renewTime  by the holder's wall clock, for people
//!   metadata:  annotations tenure.dev/…  which lease it is, and what other clients have no field for
//! ```
//!
//! Other clients keep annotations that they do not know. What stands there counts only as long as the spec still says what
//! it said when they were written.

use std::collections::BTreeMap;
use std::str::FromStr;
use std::time::Duration;

use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;
use k8s_openapi::jiff::Timestamp;
use kube::core::ObjectMeta;
use tenure_core::id::{NODE_NAME_MAX_BYTES, Node, NodeName, Unique};
use tenure_core::lease::{Announced, Claim, LeaseName, LeaseRecord, Renewal};
use tenure_core::time::StoreTime;

use crate::decide::{Entry, Seen, whole_seconds};

/// What granted it, as records say.
pub(crate) const BACKEND: &str = "kubernetes";

/// What a record counts that has no duration: client-go's default.
const DURATION_UNKNOWN_SECS: u64 = 15;

const LEASE: &str = "tenure.dev/lease";
const TERM: &str = "tenure.dev/term";
const NODE: &str = "tenure.dev/node";
const INCARNATION: &str = "tenure.dev/incarnation";
const MACHINE: &str = "tenure.dev/machine";
const PID: &str = "tenure.dev/pid";
const KIND: &str = "tenure.dev/kind";
const CLAIM: &str = "tenure.dev/claim";
/// Only for people: the spec has whole seconds.
const TTL: &str = "tenure.dev/ttl";
const RENEWALS: &str = "tenure.dev/renewals";
const PRESENCE: &str = "tenure.dev/presence";
const RELEASED_AT: &str = "tenure.dev/released-at";

/// A Lease object that is the given lease's, as it was read, and what it says.
#[derive(Debug, Clone)]
pub(crate) struct Object {
    lease: Lease,
    pub(crate) seen: Seen,
}

impl Object {
    /// Reads an object. The error says why it cannot be this lease's.
    pub(crate) fn read(lease: Lease, name: &LeaseName) -> Result<Self, String> {
        let object = lease.metadata.name.as_deref().unwrap_or_default();
        if let Some(other) = annotation(&lease, LEASE).filter(|other| *other != name.as_str()) {
            return Err(format!("the object {object} is the lease {other:?}, not {:?}", name.as_str()));
        }
        let seen = seen(&lease).map_err(|what| format!("the object {object} {what}"))?;
        Ok(Self { lease, seen })
    }

    /// The object with this claim in it, as its grant number `transitions`.
    pub(crate) fn taken(&self, claim: &Claim, transitions: i32, now: StoreTime) -> Result<Lease, String> {
        let mut lease = self.lease.clone();
        fill(&mut lease, claim, transitions, now)?;
        Ok(lease)
    }

    /// The object as it is, but written now.
    pub(crate) fn again(&self, claim: &Claim, now: StoreTime) -> Result<Lease, String> {
        let mut lease = self.lease.clone();
        let renew_time = self.fresh(now)?;
        let spec = lease.spec.get_or_insert_default();
        spec.renew_time = Some(renew_time);
        spec.lease_duration_seconds = Some(whole_seconds(claim.ttl));
        notes(&mut lease).insert(TTL.into(), format!("{:?}", claim.ttl));
        Ok(lease)
    }

    /// The object with this renewal of the grant in it.
    pub(crate) fn renewed(&self, renewal: &Renewal, ttl: Duration, now: StoreTime) -> Result<Lease, String> {
        let mut lease = self.lease.clone();
        let renew_time = self.fresh(now)?;
        let spec = lease.spec.get_or_insert_default();
        spec.renew_time = Some(renew_time);
        spec.lease_duration_seconds = Some(whole_seconds(ttl));
        let notes = notes(&mut lease);
        notes.insert(RENEWALS.into(), renewal.number.to_string());
        match &renewal.presence {
            Some(presence) => {
                notes.insert(PRESENCE.into(), format!("{} {}", presence.session, presence.trust.as_micros()))
            }
            None => notes.remove(PRESENCE),
        };
        Ok(lease)
    }

    /// The object with nobody in it. Its number stays: it is the memory of the last term.
    pub(crate) fn released(&self, now: StoreTime) -> Result<Lease, String> {
        let mut lease = self.lease.clone();
        let renew_time = self.fresh(now)?;
        let spec = lease.spec.get_or_insert_default();
        spec.holder_identity = Some(String::new());
        spec.renew_time = Some(renew_time);
        let notes = notes(&mut lease);
        notes.remove(PRESENCE);
        notes.insert(RELEASED_AT.into(), now.as_micros().to_string());
        Ok(lease)
    }

    /// The record for people.
    pub(crate) fn record(&self, name: &LeaseName) -> Option<LeaseRecord> {
        let seen = &self.seen;
        let entry = match &seen.entry {
            Some(entry) => entry.clone(),
            // Another client's: of one that is not held, nothing is known but its number.
            None => {
                seen.holder.as_ref()?;
                let spec = self.lease.spec.as_ref();
                let renewed_at = StoreTime::from_micros(seen.renew_time.unwrap_or_default());
                Entry {
                    claim: Unique::from_u128(0),
                    renewals: 0,
                    kind: None,
                    presence: None,
                    acquired_at: spec.and_then(|spec| spec.acquire_time.as_ref()).map_or(renewed_at, micros),
                    renewed_at,
                    released_at: None,
                }
            }
        };
        Some(LeaseRecord {
            name: name.clone(),
            term: seen.term()?,
            node: seen.node.clone(),
            claim: entry.claim,
            renewals: entry.renewals,
            kind: entry.kind,
            backend: BACKEND.into(),
            acquired_at: entry.acquired_at,
            renewed_at: entry.renewed_at,
            expires_at: entry.renewed_at.after(seen.duration),
            released_at: entry.released_at,
            revoked_at: None,
            presence: entry.presence,
            origin: None,
        })
    }

    /// A time to write that is not the one in the object: other clients tell a renewal by it.
    fn fresh(&self, now: StoreTime) -> Result<MicroTime, String> {
        let same = self.seen.renew_time == Some(now.as_micros());
        time(if same { now.after(Duration::from_micros(1)) } else { now })
    }
}

/// A new object for this claim.
pub(crate) fn created(
    object: &str,
    claim: &Claim,
    transitions: i32,
    now: StoreTime,
) -> Result<Lease, String> {
    let metadata = ObjectMeta { name: Some(object.to_owned()), ..ObjectMeta::default() };
    let mut lease = Lease { metadata, spec: None };
    fill(&mut lease, claim, transitions, now)?;
    Ok(lease)
}

/// Writes a holder into an object.
fn fill(lease: &mut Lease, claim: &Claim, transitions: i32, now: StoreTime) -> Result<(), String> {
    let time = time(now)?;
    lease.spec = Some(LeaseSpec {
        holder_identity: Some(identity(&claim.node)),
        lease_transitions: Some(transitions),
        lease_duration_seconds: Some(whole_seconds(claim.ttl)),
        acquire_time: Some(time.clone()),
        renew_time: Some(time),
        ..lease.spec.take().unwrap_or_default()
    });
    let notes = notes(lease);
    for stale in [KIND, PRESENCE, RELEASED_AT] {
        notes.remove(stale);
    }
    notes.extend([
        (LEASE.into(), claim.name.to_string()),
        (TERM.into(), (i64::from(transitions) + 1).to_string()),
        (NODE.into(), claim.node.name.to_string()),
        (INCARNATION.into(), claim.node.incarnation.to_string()),
        (MACHINE.into(), claim.node.machine.clone()),
        (PID.into(), claim.node.pid.to_string()),
        (CLAIM.into(), claim.id.to_string()),
        (TTL.into(), format!("{:?}", claim.ttl)),
        (RENEWALS.into(), "0".into()),
    ]);
    if let Some(kind) = &claim.kind {
        notes.insert(KIND.into(), kind.clone());
    }
    Ok(())
}

/// What `kubectl get lease` shows as the holder.
fn identity(node: &Node) -> String {
    format!("{}_{}", node.name, node.incarnation)
}

fn seen(lease: &Lease) -> Result<Seen, String> {
    let meta = &lease.metadata;
    let (Some(uid), Some(version)) = (&meta.uid, &meta.resource_version) else {
        return Err("has no uid or no resourceVersion".into());
    };
    let spec = lease.spec.clone().unwrap_or_default();
    let transitions = spec.lease_transitions.unwrap_or(0);
    let seconds = spec.lease_duration_seconds.map_or(Ok(DURATION_UNKNOWN_SECS), u64::try_from);
    let (0.., Ok(seconds)) = (transitions, seconds) else {
        return Err("has a negative duration or number of transitions".into());
    };
    let holder = spec.holder_identity.filter(|holder| !holder.is_empty());
    let renew_time = spec.renew_time.as_ref().map(|time| micros(time).as_micros());
    let (node, entry) = match written(lease, &holder, transitions) {
        Some((node, entry)) => (node, Some(entry)),
        None => (foreign(holder.as_deref().unwrap_or_default())?, None),
    };
    let duration = Duration::from_secs(seconds);
    let (uid, version) = (uid.clone(), version.clone());
    Ok(Seen { uid, version, holder, node, renew_time, transitions, duration, entry })
}

/// What Tenure wrote, if nobody else has written since.
fn written(lease: &Lease, holder: &Option<String>, transitions: i32) -> Option<(Node, Entry)> {
    let spec = lease.spec.as_ref()?;
    if parsed::<i64>(lease, TERM)? != i64::from(transitions) + 1 {
        return None;
    }
    let node = Node {
        name: NodeName::new(annotation(lease, NODE)?).ok()?,
        incarnation: parsed(lease, INCARNATION)?,
        machine: annotation(lease, MACHINE)?.to_owned(),
        pid: parsed(lease, PID)?,
    };
    if holder.as_ref().is_some_and(|holder| *holder != identity(&node)) {
        return None;
    }
    let renewed_at = micros(spec.renew_time.as_ref()?);
    let released_at = parsed(lease, RELEASED_AT).map_or(renewed_at, StoreTime::from_micros);
    let entry = Entry {
        claim: parsed(lease, CLAIM)?,
        renewals: parsed(lease, RENEWALS)?,
        kind: annotation(lease, KIND).map(str::to_owned),
        presence: presence(lease),
        acquired_at: micros(spec.acquire_time.as_ref()?),
        renewed_at,
        released_at: holder.is_none().then_some(released_at),
    };
    Some((node, entry))
}

fn presence(lease: &Lease) -> Option<Announced> {
    let (session, trust) = annotation(lease, PRESENCE)?.split_once(' ')?;
    Some(Announced { session: session.parse().ok()?, trust: Duration::from_micros(trust.parse().ok()?) })
}

/// One who is only known by an identity of any form.
fn foreign(identity: &str) -> Result<Node, String> {
    let mut name: String = identity.chars().filter(|c| !c.is_control()).collect();
    while name.len() > NODE_NAME_MAX_BYTES {
        name.pop();
    }
    let name =
        NodeName::new(name).or_else(|_| NodeName::new("unknown")).map_err(|error| error.to_string())?;
    Ok(Node { name, incarnation: Unique::from_u128(0), machine: String::new(), pid: 0 })
}

fn notes(lease: &mut Lease) -> &mut BTreeMap<String, String> {
    lease.metadata.annotations.get_or_insert_default()
}

fn annotation<'a>(lease: &'a Lease, key: &str) -> Option<&'a str> {
    lease.metadata.annotations.as_ref()?.get(key).map(String::as_str)
}

fn parsed<T: FromStr>(lease: &Lease, key: &str) -> Option<T> {
    annotation(lease, key)?.parse().ok()
}

fn micros(time: &MicroTime) -> StoreTime {
    StoreTime::from_micros(time.0.as_microsecond())
}

fn time(at: StoreTime) -> Result<MicroTime, String> {
    let time = Timestamp::from_microsecond(at.as_micros());
    time.map(MicroTime)
        .map_err(|_| "cannot be stamped: this machine's clock stands outside of all calendars".into())
}

#[cfg(test)]
#[path = "object_tests.rs"]
mod tests;
