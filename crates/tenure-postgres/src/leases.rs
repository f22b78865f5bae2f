//! Leases: rows with a term.
//!
//! Whoever changes the holder locks the row FOR UPDATE first; whoever only goes on holding does not. A user's transaction
//! that has checked a fence holds the row FOR KEY SHARE, so a takeover waits for it and a renewal does not.

use async_trait::async_trait;
use tenure_core::StoreError;
use tenure_core::contract::{Capabilities, LeaseStore, Presence};
use tenure_core::lease::decide::{self, Decision, RenewAnswer};
use tenure_core::lease::{
    Acquire, Claim, Evidence, Flag, Grant, LeaseName, LeaseRecord, Release, Renew, Renewal,
};
use tenure_core::time::StoreTime;
use tenure_sql::{Reader, micros, trust_millis};
use tokio_postgres::types::Type;

use crate::error::{corrupt, unreachable};
use crate::rows::Plain;
use crate::store::{BACKEND, PostgresStore, Shared};
use crate::writing::Params;

#[async_trait]
impl LeaseStore for PostgresStore {
    async fn try_acquire(&self, claim: &Claim) -> Result<Acquire, StoreError> {
        // Most claims find the lease held, and that much can be seen without locking anything. What is seen here can be
        // old by a moment, but "held" is an answer that is old by a moment in any case.
        let (record, now) = self.shared.lease(&claim.name).await?;
        if let Ok(Decision { outcome: held @ Acquire::Held(_), .. }) =
            decide::acquire(record.as_ref(), None, claim, BACKEND, now)
        {
            return Ok(held);
        }
        let flag = claim.evidence.map(|Evidence { term, session }| Flag {
            lease: claim.name.clone(),
            term,
            session,
        });
        let (transaction, locked) = self.shared.begin(&claim.name, flag.as_ref()).await?;
        // The flag may have been watched on another server: an old primary, or a standby. Only this one, which holds the
        // row, can say that it is down.
        let evidence = claim.evidence.filter(|_| locked.flag_is_down);
        let claim = Claim { evidence, ..claim.clone() };
        match decide::acquire(locked.record.as_ref(), locked.remembered, &claim, BACKEND, locked.now) {
            Ok(decision) => transaction.apply(decision, None).await,
            Err(error) => {
                transaction.rollback().await;
                Err(corrupt(&self.shared.label, &error))
            }
        }
    }

    async fn renew(&self, grant: &Grant, renewal: &Renewal) -> Result<Renew, StoreError> {
        let (session, trust) = match &renewal.presence {
            Some(presence) => (Some(presence.session.to_string()), Some(trust_millis(presence.trust))),
            None => (None, None),
        };
        let renewed = self
            .shared
            .write_at_once(
                &self.shared.statements.lease_renew,
                &[
                    (&grant.name.as_str(), Type::TEXT),
                    (&grant.term.as_column(), Type::INT8),
                    (&grant.node.incarnation.to_string(), Type::TEXT),
                    (&i64::try_from(renewal.number).unwrap_or(i64::MAX), Type::INT8),
                    (&micros(grant.ttl), Type::INT8),
                    (&session, Type::TEXT),
                    (&trust, Type::INT4),
                ],
            )
            .await?;
        if !renewed.is_empty() {
            return Ok(Renew::Extended);
        }
        self.shared.why_not_renewed(grant, renewal).await
    }

    async fn release(&self, grant: &Grant) -> Result<Release, StoreError> {
        let released = self
            .shared
            .write_at_once(
                &self.shared.statements.lease_release,
                &[
                    (&grant.name.as_str(), Type::TEXT),
                    (&grant.term.as_column(), Type::INT8),
                    (&grant.node.incarnation.to_string(), Type::TEXT),
                ],
            )
            .await?;
        Ok(if released.is_empty() { Release::NotHeld } else { Release::Released })
    }

    async fn observe(&self, name: &LeaseName) -> Result<Option<LeaseRecord>, StoreError> {
        Ok(self.shared.lease(name).await?.0)
    }

    fn presence(&self) -> Option<&dyn Presence> {
        if self.shared.pooled { None } else { Some(self) }
    }

    fn capabilities(&self) -> Capabilities {
        self.shared.capabilities.clone()
    }
}

impl Shared {
    /// A lease's row and the clock, without a lock.
    pub(crate) async fn lease(
        &self,
        name: &LeaseName,
    ) -> Result<(Option<LeaseRecord>, StoreTime), StoreError> {
        let _turn = self.turn().await?;
        self.lease_at_once(name).await
    }

    /// The same without waiting for a turn: only as part of a renewal.
    pub(crate) async fn lease_at_once(
        &self,
        name: &LeaseName,
    ) -> Result<(Option<LeaseRecord>, StoreTime), StoreError> {
        let params: Params<'_> = &[(&name.as_str(), Type::TEXT)];
        let rows = self.read_at_once(&self.statements.lease_read, params).await?;
        let row = rows.first().ok_or_else(|| unreachable(&self.label, "the server did not tell the time"))?;
        Reader { store: &self.label }.lease_and_now(&Plain(row))
    }

    /// Reads why a renewal changed nothing.
    async fn why_not_renewed(&self, grant: &Grant, renewal: &Renewal) -> Result<Renew, StoreError> {
        let (record, now) = self.lease_at_once(&grant.name).await?;
        let message = match decide::renew(record.as_ref(), grant, renewal, now).outcome {
            RenewAnswer::Is(lost @ Renew::Lost(_)) => return Ok(lost),
            RenewAnswer::OutOfOrder => "a later renewal of this grant was there first",
            RenewAnswer::Is(Renew::Extended) => "the row changed while it was renewed",
        };
        Err(StoreError::Failed { store: self.label.clone(), message: message.into(), source: None })
    }
}
