//! The lease store: each call is one job on the connection's thread, decided by the core.

use async_trait::async_trait;
use tenure_core::StoreError;
use tenure_core::contract::{Capabilities, LeaseStore, Presence};
use tenure_core::lease::decide::{self, RenewAnswer};
use tenure_core::lease::{Acquire, Claim, Grant, LeaseName, LeaseRecord, Loss, Release, Renew, Renewal};

use crate::database::Database;
use crate::error::Fault;
use crate::store::{BACKEND, SqliteStore};
use crate::writing::read_lease;

#[async_trait]
impl LeaseStore for SqliteStore {
    async fn try_acquire(&self, claim: &Claim) -> Result<Acquire, StoreError> {
        let claim = claim.clone();
        self.run(move |database| {
            if let Some(held) = held_by_another(database, &claim)? {
                return Ok(held);
            }
            database.write(|writing| {
                writing.decide(&claim.name, |record, now| {
                    let remembered = writing.last_term(&claim.name)?;
                    Ok(decide::acquire(record, remembered, &claim, BACKEND, now)?)
                })
            })
        })
        .await
    }

    async fn renew(&self, grant: &Grant, renewal: &Renewal) -> Result<Renew, StoreError> {
        let (grant, renewal) = (grant.clone(), renewal.clone());
        self.run_or(Renew::Lost(Loss::Unknown), move |database| {
            if database.renew_remembered(&grant, &renewal)? {
                return Ok(Renew::Extended);
            }
            let (answer, row) = database.write(|writing| {
                writing
                    .decide_row(&grant.name, |record, now| Ok(decide::renew(record, &grant, &renewal, now)))
            })?;
            // Only now that it is committed.
            row.into_iter().for_each(|row| database.remembered.set(row));
            match answer {
                RenewAnswer::Is(answer) => Ok(answer),
                RenewAnswer::OutOfOrder => {
                    Err(Fault::Failed("a later renewal of this grant was there first".into()))
                }
            }
        })
        .await
    }

    async fn release(&self, grant: &Grant) -> Result<Release, StoreError> {
        let grant = grant.clone();
        self.run_or(Release::NotHeld, move |database| {
            database.remembered.take(&grant.name);
            database.write(|writing| {
                writing.decide(&grant.name, |record, now| Ok(decide::release(record, &grant, now)))
            })
        })
        .await
    }

    async fn observe(&self, name: &LeaseName) -> Result<Option<LeaseRecord>, StoreError> {
        let name = name.clone();
        self.run(move |database| {
            let row = read_lease(&database.connection, &database.statements, &name)?;
            let now = database.clocks.read();
            Ok(row.map(|row| row.shown_at(&now)))
        })
        .await
    }

    fn presence(&self) -> Option<&dyn Presence> {
        Some(self.file_presence())
    }

    fn capabilities(&self) -> Capabilities {
        let mut notes = Vec::new();
        if self.clocks().read().steady.is_none() {
            notes.push(
                "no steady clock is shared here: a step of the wall clock moves the end of leases".to_owned(),
            );
        }
        Capabilities {
            store: BACKEND.to_owned(),
            presence: true,
            silence: false,
            fence_in_transaction: true,
            notes,
        }
    }
}

/// A plain look first: those who wait ask often, and a write lock would hold up the holder's renewals.
fn held_by_another(database: &Database, claim: &Claim) -> Result<Option<Acquire>, Fault> {
    let Some(row) = read_lease(&database.connection, &database.statements, &claim.name)? else {
        return Ok(None);
    };
    let now = database.clocks.read();
    match decide::acquire(Some(&row.seen_at(&now)), None, claim, BACKEND, now.wall) {
        Ok(decision) if matches!(decision.outcome, Acquire::Held(_)) => Ok(Some(decision.outcome)),
        // Whatever else it is, the transaction says so with the history at hand.
        _ => Ok(None),
    }
}
