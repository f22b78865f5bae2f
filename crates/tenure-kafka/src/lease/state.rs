//! What is known of one membership: assignment, holding, proofs. Plain data under one lock; no I/O.

use std::time::Duration;

use rdkafka::error::RDKafkaErrorCode;
use rdkafka::producer::DeliveryFuture;
use tenure_core::StoreError;
use tenure_core::lease::{Claim, Grant, Loss};
use tenure_core::time::Monotonic;
use tokio::sync::oneshot;

/// The answer to one proof: when it was begun, and what the coordinator said.
pub(crate) type Proof = (Monotonic, Result<(), RDKafkaErrorCode>);

/// Why a member leaves its group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Leave {
    /// The holder gave the lease back.
    Released,
    /// The holder did not renew in time.
    Expired,
    /// Nobody here wants the lease any more, or the store was dropped.
    Unwanted,
    /// The group will not have it.
    Failed,
}

/// A grant, and how long it can be believed in.
#[derive(Debug)]
pub(crate) struct Holding {
    pub(crate) grant: Grant,
    pub(crate) kind: Option<String>,
    /// The assignment under which it was granted.
    pub(crate) assignment: u64,
    /// When the grant ends unless it is renewed.
    pub(crate) expires: Monotonic,
    /// When the last good proof was begun: from then on, the coordinator keeps our place for a session timeout.
    pub(crate) proven: Monotonic,
    /// The number of the last renewal.
    pub(crate) renewals: u64,
    /// Why it is over, if the group took it away.
    pub(crate) over: Option<Loss>,
}

impl Holding {
    /// Whether this grant answers that claim.
    pub(crate) fn answers(&self, claim: &Claim) -> bool {
        self.over.is_none()
            && self.grant.claim == claim.id
            && self.grant.node.incarnation == claim.node.incarnation
    }

    /// Whether that grant is this one.
    pub(crate) fn is(&self, grant: &Grant) -> bool {
        self.grant.term == grant.term
            && self.grant.claim == grant.claim
            && self.grant.node.incarnation == grant.node.incarnation
    }
}

/// The state of one membership.
pub(crate) struct State {
    /// Counts assignments and revocations.
    serial: u64,
    /// The number of the present assignment of the partition.
    assigned: Option<u64>,
    /// How often the group has said who has the partition.
    pub(crate) words: u64,
    pub(crate) holding: Option<Holding>,
    /// Somebody here wants the lease until then.
    pub(crate) wanted: Monotonic,
    /// How many wait for it without asking again.
    pub(crate) waiting: usize,
    pub(crate) leave: Option<Leave>,
    /// The group will not have us, for this reason.
    pub(crate) failure: Option<String>,
    pub(crate) failure_code: Option<RDKafkaErrorCode>,
    /// The member has left, and all its threads are about to end.
    pub(crate) closed: bool,
    /// The last word on the topic, on its way.
    pub(crate) farewell: Option<DeliveryFuture>,
    /// Those who want a proof, and those whose proof is under way, with the moment it was begun.
    pub(crate) asking: Vec<oneshot::Sender<Proof>>,
    pub(crate) proving: Option<(Monotonic, Vec<oneshot::Sender<Proof>>)>,
}

impl State {
    pub(crate) fn new(wanted: Monotonic) -> Self {
        Self {
            serial: 0,
            assigned: None,
            words: 0,
            holding: None,
            wanted,
            waiting: 0,
            leave: None,
            failure: None,
            failure_code: None,
            closed: false,
            farewell: None,
            asking: Vec::new(),
            proving: None,
        }
    }

    /// The number of the present assignment, unless we are about to leave.
    pub(crate) fn assigned(&self) -> Option<u64> {
        self.assigned.filter(|_| self.leave.is_none() && !self.closed)
    }

    /// Whether the group has given us the partition and not taken it back, also while we leave.
    pub(crate) fn has_partition(&self) -> bool {
        self.assigned.is_some()
    }

    /// The group has spoken; `ours` if it gave us the partition.
    pub(crate) fn spoken(&mut self, ours: bool) {
        self.words += 1;
        if ours {
            self.serial += 1;
            self.assigned = Some(self.serial);
        }
    }

    /// The partition is taken from us. `lost` if others may have it already.
    ///
    /// Tells until when a holder may go on believing in its grant; the partition is not to be given up before.
    pub(crate) fn taken(&mut self, lost: bool) -> Option<Monotonic> {
        self.serial += 1;
        self.assigned = None;
        let leaving = self.leave.is_some();
        let holding = self.holding.as_mut().filter(|holding| holding.over.is_none() && !leaving)?;
        holding.over = Some(if lost { Loss::Expired } else { Loss::Revoked });
        (!lost).then_some(holding.expires)
    }

    /// Begins a proof for all who ask, unless one is under way.
    pub(crate) fn begin_proof(&mut self, now: Monotonic) -> bool {
        if self.proving.is_some() || self.asking.is_empty() || self.assigned.is_none() {
            return false;
        }
        self.proving = Some((now, std::mem::take(&mut self.asking)));
        true
    }

    /// Notes what the coordinator said to the proof under way.
    pub(crate) fn end_proof(&mut self, answer: Result<(), RDKafkaErrorCode>) {
        let Some((begun, asked)) = self.proving.take() else { return };
        let assigned = self.assigned;
        if let Some(holding) = self.holding.as_mut()
            && answer.is_ok()
            && holding.over.is_none()
            && Some(holding.assignment) == assigned
        {
            holding.proven = holding.proven.max(begun);
        }
        for one in asked {
            // Whoever asked may have gone.
            let _ = one.send((begun, answer));
        }
    }

    /// Extends a grant for a renewal that was begun then, if a proof covers all of it.
    ///
    /// A proof covers what lies within `cover` of its beginning: a commit counts as a sign of life, so the coordinator keeps our
    /// place for a whole session timeout from the moment it answered, and that was later. (It would also put out a member that
    /// does not rejoin within `max.poll.interval.ms` of a rebalance; that is five minutes at least, and the client rejoins by
    /// itself with the next heartbeat.) So a renewal needs no commit of its own while the group settles and takes none.
    pub(crate) fn extend(&mut self, grant: &Grant, number: u64, begun: Monotonic, cover: Duration) -> bool {
        let assigned = self.assigned();
        let Some(holding) = self.holding.as_mut().filter(|holding| holding.is(grant)) else { return false };
        let until = begun.after(grant.ttl);
        let sound = holding.over.is_none() && Some(holding.assignment) == assigned;
        if !sound || holding.proven.after(cover) < until {
            return false;
        }
        holding.expires = holding.expires.max(until);
        holding.renewals = holding.renewals.max(number);
        true
    }

    /// As what the member leaves when this grant is given back; `None` if it is not the one that is held.
    ///
    /// A process that was stopped wakes up with its grant, and gives back what may be another's by now.
    pub(crate) fn give_back(&self, grant: &Grant, now: Monotonic) -> Option<Leave> {
        let holding = self.holding.as_ref().filter(|holding| holding.is(grant))?;
        let held = holding.over.is_none() && now < holding.expires;
        Some(if held { Leave::Released } else { Leave::Expired })
    }

    /// The topic is gone: leaves, so that another member begins on the next one. One that holds stays as long as it does.
    pub(crate) fn strand(&mut self) -> bool {
        if self.holding.is_none() {
            self.leave.get_or_insert(Leave::Unwanted);
        }
        self.leave.is_some()
    }

    /// Whether, and why, it is time to leave.
    pub(crate) fn time_to_leave(&mut self, now: Monotonic) -> Option<Leave> {
        if self.leave.is_none() {
            self.leave = match &self.holding {
                _ if self.failure.is_some() => Some(Leave::Failed),
                Some(holding) if holding.over.is_none() && now >= holding.expires => Some(Leave::Expired),
                // What the group took away is kept until its holder has been told or must have stopped.
                Some(holding) if now < holding.expires => None,
                Some(_) => {
                    self.holding = None;
                    None
                }
                None if self.waiting == 0 && now >= self.wanted => Some(Leave::Unwanted),
                None => None,
            };
        }
        self.leave
    }

    /// What a failure is told as.
    pub(crate) fn failure(&self, store: &str) -> Option<StoreError> {
        let message = self.failure.clone()?;
        Some(match self.failure_code {
            Some(code) => crate::error::explain_code(store, "joining the lease's group", code),
            None => StoreError::Failed { store: store.to_owned(), message, source: None },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tenure_core::id::{Node, NodeName, Unique};
    use tenure_core::lease::{LeaseName, Term};
    use tenure_core::time::StoreTime;

    fn at(millis: u64) -> Monotonic {
        Monotonic::from_origin(Duration::from_millis(millis))
    }

    fn grant() -> Grant {
        Grant {
            name: LeaseName::new("l").unwrap(),
            term: Term::FIRST,
            node: Node {
                name: NodeName::new("n").unwrap(),
                incarnation: Unique::from_u128(1),
                machine: String::new(),
                pid: 1,
            },
            claim: Unique::from_u128(2),
            ttl: Duration::from_millis(6000),
            acquired_at: StoreTime::from_micros(0),
        }
    }

    /// Holds since 0 under the first assignment.
    fn holding() -> State {
        let mut state = State::new(at(0));
        state.spoken(true);
        state.holding = Some(Holding {
            grant: grant(),
            kind: None,
            assignment: 1,
            expires: at(6000),
            proven: at(0),
            renewals: 0,
            over: None,
        });
        state
    }

    const COVER: Duration = Duration::from_millis(27_000);

    #[test]
    fn a_renewal_is_covered_by_a_proof_or_it_is_none() {
        let mut state = holding();
        assert!(state.extend(&grant(), 1, at(2000), COVER), "proven at 0, covered until 27 s");
        assert!(state.extend(&grant(), 2, at(21_000), COVER));
        assert!(!state.extend(&grant(), 3, at(21_001), COVER), "no proof covers the last millisecond");
        assert_eq!(state.holding.as_ref().map(|holding| holding.expires), Some(at(27_000)));
    }

    #[test]
    fn s22_a_member_that_was_put_out_extends_nothing_whatever_it_is_told_later() {
        let mut state = holding();
        assert_eq!(state.taken(true), None, "lost: nothing to wait for");
        assert!(!state.extend(&grant(), 1, at(1000), COVER));
        state.spoken(true);
        let (ask, _answer) = oneshot::channel();
        state.asking.push(ask);
        assert!(state.begin_proof(at(1500)));
        state.end_proof(Ok(()));
        assert!(!state.extend(&grant(), 1, at(2000), COVER), "assigned anew is another term");
        assert_eq!(state.holding.as_ref().and_then(|holding| holding.over.clone()), Some(Loss::Expired));
    }

    #[test]
    fn a_partition_that_is_asked_back_is_kept_until_trust_has_ended() {
        let mut state = holding();
        assert_eq!(state.taken(false), Some(at(6000)));
        assert!(!state.extend(&grant(), 1, at(1000), COVER));
        assert_eq!(state.time_to_leave(at(5999)), None);
        assert!(state.holding.is_some());
        let mut leaving = holding();
        leaving.leave = Some(Leave::Released);
        assert_eq!(leaving.taken(false), None, "who leaves by himself waits for nothing");
    }

    #[test]
    fn who_does_not_renew_leaves_and_so_does_who_wants_nothing() {
        let mut state = holding();
        assert_eq!(state.time_to_leave(at(5999)), None);
        assert_eq!(state.time_to_leave(at(6000)), Some(Leave::Expired));
        let mut idle = State::new(at(100));
        assert_eq!(idle.time_to_leave(at(99)), None);
        idle.waiting = 1;
        assert_eq!(idle.time_to_leave(at(100)), None, "someone waits");
        idle.waiting = 0;
        assert_eq!(idle.time_to_leave(at(100)), Some(Leave::Unwanted));
    }

    #[test]
    fn what_is_given_back_when_its_time_is_over_was_not_held() {
        let state = holding();
        assert_eq!(state.give_back(&grant(), at(5999)), Some(Leave::Released));
        assert_eq!(state.give_back(&grant(), at(6000)), Some(Leave::Expired));
        let other = Grant { claim: Unique::from_u128(9), ..grant() };
        assert_eq!(state.give_back(&other, at(1)), None);
        let mut lost = holding();
        lost.taken(true);
        assert_eq!(lost.give_back(&grant(), at(1)), Some(Leave::Expired));
    }

    #[test]
    fn without_a_topic_who_waits_leaves_and_who_holds_stays() {
        let mut waits = State::new(at(10_000));
        waits.waiting = 1;
        assert!(waits.strand());
        assert_eq!(waits.time_to_leave(at(0)), Some(Leave::Unwanted));
        let mut holds = holding();
        assert!(!holds.strand());
        assert_eq!(holds.time_to_leave(at(0)), None);
    }

    #[test]
    fn a_refused_proof_proves_nothing_and_one_proof_serves_all_who_asked() {
        let mut state = holding();
        let (first, mut told_first) = oneshot::channel();
        let (second, mut told_second) = oneshot::channel();
        state.asking.extend([first, second]);
        assert!(state.begin_proof(at(10)) && !state.begin_proof(at(11)), "one at a time");
        state.end_proof(Err(RDKafkaErrorCode::IllegalGeneration));
        assert_eq!(state.holding.as_ref().map(|holding| holding.proven), Some(at(0)));
        assert!(told_first.try_recv().is_ok_and(|(begun, answer)| begun == at(10) && answer.is_err()));
        assert!(told_second.try_recv().is_ok());
    }
}
