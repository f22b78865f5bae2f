//! Leases: rows with a term.
//!
//! ```text
//!   begin, the fence's row, the lease's row, the clock, last term ──▶ decide ──▶ lease, fence, history, audit, commit
//!   (one round trip)                                                              (one round trip)
//! ```
//!
//! Whoever changes the holder locks the row in `fences` first, and then the lease's own; whoever only goes on holding takes
//! the lease's row alone. A user's transaction that has checked a fence shares the row in `fences`: so a takeover waits for
//! it and a renewal does not.

use async_trait::async_trait;
use tenure_core::StoreError;
use tenure_core::contract::{Capabilities, LeaseStore, Presence};
use tenure_core::lease::decide::{self, Decision, RenewAnswer, TermError};
use tenure_core::lease::{
    Acquire, Change, Claim, Evidence, Flag, Grant, LeaseName, LeaseRecord, Release, Renew, Renewal, Term,
};
use tenure_core::time::StoreTime;

use crate::batch::in_batches;
use crate::driver::{Call, Session, Turn};
use crate::fault::{Fault, FaultKind};
use crate::store::{Shared, SqlStore};
use crate::value::{Value, micros, trust_millis};
use crate::work::TRIES;

#[async_trait]
impl LeaseStore for SqlStore {
    async fn try_acquire(&self, claim: &Claim) -> Result<Acquire, StoreError> {
        let shared = &self.shared;
        let backend = shared.driver.backend();
        // Most claims find the lease held, and that much can be seen without locking anything. What is seen here can be
        // old by a moment, but "held" is an answer that is old by a moment in any case.
        let (record, now) = shared.lease(Turn::Work, &claim.name).await?;
        if let Ok(Decision { outcome: held @ Acquire::Held(_), .. }) =
            decide::acquire(record.as_ref(), None, claim, backend, now)
        {
            return Ok(held);
        }
        let flag = claim.evidence.map(|Evidence { term, session }| Flag {
            lease: claim.name.clone(),
            term,
            session,
        });
        let change = |locked: &Locked| {
            // The flag may have been watched on another server: an old primary, or a replica. Only this one, which holds
            // the row, can say that it is down.
            let evidence = claim.evidence.filter(|_| locked.flag_is_down);
            let claim = Claim { evidence, ..claim.clone() };
            decide::acquire(locked.record.as_ref(), locked.remembered, &claim, backend, locked.now)
        };
        shared.change(Turn::Work, &claim.name, flag.as_ref(), change, |_| None).await
    }

    async fn renew(&self, grant: &Grant, renewal: &Renewal) -> Result<Renew, StoreError> {
        let shared = &self.shared;
        let presence = renewal.presence.as_ref();
        let params = vec![
            grant.name.as_str().into(),
            grant.term.as_column().into(),
            grant.node.incarnation.to_string().into(),
            i64::try_from(renewal.number).unwrap_or(i64::MAX).into(),
            micros(grant.ttl).into(),
            presence.map(|presence| presence.session.to_string()).into(),
            presence.map(|presence| trust_millis(presence.trust)).into(),
        ];
        let renewed = shared.run(Turn::Heartbeat, &shared.statements.lease_renew, params).await?;
        if renewed.changed > 0 {
            return Ok(Renew::Extended);
        }
        let (record, now) = shared.lease(Turn::Heartbeat, &grant.name).await?;
        let message = match decide::renew(record.as_ref(), grant, renewal, now).outcome {
            RenewAnswer::Is(lost @ Renew::Lost(_)) => return Ok(lost),
            RenewAnswer::OutOfOrder => "a later renewal of this grant was there first",
            RenewAnswer::Is(Renew::Extended) => "the row changed while it was renewed",
        };
        Err(StoreError::Failed { store: shared.label().to_owned(), message: message.into(), source: None })
    }

    async fn release(&self, grant: &Grant) -> Result<Release, StoreError> {
        let change = |locked: &Locked| Ok(decide::release(locked.record.as_ref(), grant, locked.now));
        self.shared.change(Turn::Heartbeat, &grant.name, None, change, |_| None).await
    }

    async fn observe(&self, name: &LeaseName) -> Result<Option<LeaseRecord>, StoreError> {
        Ok(self.shared.lease(Turn::Work, name).await?.0)
    }

    fn presence(&self) -> Option<&dyn Presence> {
        self.shared.driver.presence()
    }

    fn capabilities(&self) -> Capabilities {
        self.shared.driver.capabilities()
    }
}

/// What a decision about a lease needs to know, under its locks.
pub(crate) struct Locked {
    pub(crate) record: Option<LeaseRecord>,
    pub(crate) remembered: Option<Term>,
    pub(crate) now: StoreTime,
    /// Whether a flag was asked about and is down.
    pub(crate) flag_is_down: bool,
}

/// What an operator did.
pub(crate) struct Audit<'a> {
    pub(crate) actor: &'a str,
    pub(crate) action: &'a str,
    pub(crate) subject: &'a str,
    pub(crate) detail: String,
}

impl Shared {
    /// A lease's row and the clock, without a lock.
    pub(crate) async fn lease(
        &self,
        turn: Turn,
        name: &LeaseName,
    ) -> Result<(Option<LeaseRecord>, StoreTime), StoreError> {
        let rows = self.rows(turn, &self.statements.lease_read, [name.as_str().into()]).await?;
        self.reader().lease_and_now(self.only(&rows)?)
    }

    /// Changes one lease as is decided under its locks.
    ///
    /// In the turn of a heartbeat nobody waits for a fence: a few who give back, each behind an open transaction that has
    /// checked one, would have all the connections, and renewals none. Whoever finds it in use begins anew, in the turn of
    /// those who wait.
    pub(crate) async fn change<'a, O>(
        &self,
        mut turn: Turn,
        name: &LeaseName,
        fallen: Option<&Flag>,
        decide: impl Fn(&Locked) -> Result<Decision<O>, TermError>,
        audit: impl Fn(&O) -> Option<Audit<'a>>,
    ) -> Result<O, StoreError> {
        let mut tried = 1;
        loop {
            let mut lent = self.lend(turn).await?;
            let locked = self.lock(&mut *lent, name, fallen, turn == Turn::Heartbeat).await;
            let locked = match locked {
                Ok(Some(locked)) => locked,
                Ok(None) => {
                    turn = Turn::Work;
                    let undone = lent.run(&Call::new(&self.statements.rollback, [])).await;
                    self.settle(lent, undone).await.map_err(|fault| fault.into_error(self.label()))?;
                    continue;
                }
                Err(fault) if fault.kind == FaultKind::Deadlock && tried < TRIES => {
                    tried += 1;
                    let _ = self.settle(lent, Err::<(), _>(fault)).await;
                    continue;
                }
                Err(fault) => {
                    let fault = self.settle(lent, Err::<(), _>(fault)).await;
                    return fault.map_err(|fault| fault.into_error(self.label())).and(Err(self.no_row()));
                }
            };
            let decided = locked.and_then(|locked| {
                decide(&locked).map_err(|error| StoreError::Corrupt {
                    store: self.label().to_owned(),
                    message: error.to_string(),
                })
            });
            let calls = match &decided {
                Ok(decision) => self.writes(decision, audit(&decision.outcome).as_ref()),
                Err(_) => vec![Call::new(&self.statements.rollback, [])],
            };
            let outcome = lent.run_all(&calls).await;
            match self.settle(lent, outcome).await {
                Ok(_) => return decided.map(|decision| decision.outcome),
                Err(fault) if fault.kind == FaultKind::Deadlock && tried < TRIES => tried += 1,
                Err(fault) => return Err(fault.into_error(self.label())),
            }
        }
    }

    /// Begins a transaction on one name, and reads what a decision needs, under the locks; `None` if the fence was to be had
    /// at once and is in use, or not there.
    async fn lock(
        &self,
        session: &mut dyn Session,
        name: &LeaseName,
        fallen: Option<&Flag>,
        at_once: bool,
    ) -> Result<Option<Result<Locked, StoreError>>, Fault> {
        let texts = &self.statements;
        let named = || vec![Value::from(name.as_str())];
        let fence = if at_once {
            Call::new(&texts.fences_try, [Value::list([name.as_str()])])
        } else {
            Call::new(&texts.fence_lock, named())
        };
        let answers = session
            .run_all(&[
                Call::new(&texts.begin, []),
                fence,
                Call::new(&texts.lease_lock, named()),
                // Statements of their own after the locks: what they see, and the clock, is fresh.
                Call::new(&texts.lease_read, named()),
                Call::new(&texts.history_last_term, named()),
            ])
            .await?;
        if at_once && answers.get(1).is_none_or(|had| had.rows.is_empty()) {
            return Ok(None);
        }
        let flag_is_down = match fallen {
            // Behind the row's lock: what the row says of presence cannot change any more.
            Some(flag) => self.driver.flag_is_down(session, flag).await?,
            None => false,
        };
        let read = || -> Result<Locked, StoreError> {
            let row =
                |at: usize| answers.get(at).map_or(Err(self.no_row()), |answer| self.only(&answer.rows));
            let (record, now) = self.reader().lease_and_now(row(3)?)?;
            let remembered = self.reader().optional_term(row(4)?)?;
            Ok(Locked { record, remembered, now, flag_is_down })
        };
        Ok(Some(read()))
    }

    /// What is written for a decision, up to the commit; or a rollback if that is nothing.
    fn writes<O>(&self, decision: &Decision<O>, audit: Option<&Audit<'_>>) -> Vec<Call<'_>> {
        let texts = &self.statements;
        let mut calls = Vec::new();
        calls.extend(self.write_leases(decision.write.as_slice()));
        calls.extend(self.add_history(&decision.history));
        calls.extend(audit.map(|audit| self.add_audit(audit)));
        let end = if calls.is_empty() { &texts.rollback } else { &texts.commit };
        calls.push(Call::new(end, []));
        calls
    }

    /// Writes leases and their fences. Whoever calls this holds the fences that are there.
    pub(crate) fn write_leases(&self, records: &[LeaseRecord]) -> Vec<Call<'_>> {
        let texts = &self.statements;
        let fences = in_batches(&texts.fence_write, records.iter().map(fence_values));
        fences.into_iter().chain(in_batches(&texts.lease_write, records.iter().map(lease_values))).collect()
    }

    /// Adds lines of history, the oldest first.
    pub(crate) fn add_history(&self, changes: &[Change]) -> Vec<Call<'_>> {
        in_batches(&self.statements.history_add, changes.iter().map(history_values))
    }

    pub(crate) fn add_audit(&self, audit: &Audit<'_>) -> Call<'_> {
        let Audit { actor, action, subject, detail } = audit;
        let values = vec![(*actor).into(), (*action).into(), (*subject).into(), detail.as_str().into()];
        Call::new(&self.statements.audit_add, values)
    }
}

/// A row of `fence_write`.
fn fence_values(record: &LeaseRecord) -> Vec<Value> {
    vec![
        record.name.as_str().into(),
        record.term.as_column().into(),
        (record.released_at.is_none() && record.revoked_at.is_none()).into(),
    ]
}

/// A row of `lease_write`.
fn lease_values(record: &LeaseRecord) -> Vec<Value> {
    let node = &record.node;
    let (presence, origin) = (record.presence.as_ref(), record.origin.as_ref());
    vec![
        record.name.as_str().into(),
        record.term.as_column().into(),
        node.name.as_str().into(),
        node.incarnation.to_string().into(),
        record.claim.to_string().into(),
        i64::try_from(record.renewals).unwrap_or(i64::MAX).into(),
        node.machine.as_str().into(),
        i64::from(node.pid).into(),
        record.kind.as_deref().into(),
        record.backend.as_str().into(),
        record.acquired_at.into(),
        record.renewed_at.into(),
        record.expires_at.into(),
        record.released_at.into(),
        record.revoked_at.into(),
        presence.map(|presence| presence.session.to_string()).into(),
        presence.map(|presence| trust_millis(presence.trust)).into(),
        origin.and_then(|origin| origin.epoch.as_deref()).into(),
        origin.map(|origin| origin.term.as_column()).into(),
    ]
}

/// A row of `history_add`.
fn history_values(change: &Change) -> Vec<Value> {
    let node = &change.node;
    vec![
        change.name.as_str().into(),
        change.term.as_column().into(),
        change.cause.as_str().into(),
        node.name.as_str().into(),
        node.incarnation.to_string().into(),
        node.machine.as_str().into(),
        i64::from(node.pid).into(),
        change.at.into(),
    ]
}
