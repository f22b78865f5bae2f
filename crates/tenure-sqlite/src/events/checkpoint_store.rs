//! The checkpoint store: each move is one transaction with the check of the reader's fence.

use async_trait::async_trait;
use rusqlite::params;
use tenure_core::StoreError;
use tenure_core::contract::CheckpointStore;
use tenure_core::event::{PAGE_MAX, Position, Version};
use tenure_core::lease::Fence;
use tenure_core::subscription::{Advance, Aside, Checkpoint, Parked, Progress, Step, SubscriptionName};
use tenure_core::time::StoreTime;

use super::{checkpoints, rows};
use crate::admin::actor;
use crate::error::Fault;
use crate::outbox::in_office;
use crate::reader::Snapshot;
use crate::rows::{Columns, need, nonsense};
use crate::store::SqliteStore;
use crate::writing::Writing;

#[async_trait]
impl CheckpointStore for SqliteStore {
    async fn checkpoint(&self, name: &SubscriptionName) -> Result<Checkpoint, StoreError> {
        let name = name.clone();
        self.read_events(move |snapshot| {
            checkpoints::read(snapshot.prepare(&snapshot.events().checkpoint_read)?, &name)
        })
        .await
    }

    async fn advance(&self, office: Option<&Fence>, step: &Step) -> Result<Advance, StoreError> {
        checkpoints::forward(step).map_err(|fault| fault.at(self.label()))?;
        let (office, step) = (office.cloned(), step.clone());
        let fenced = office.is_some().then_some(Advance::Fenced);
        self.run_in_office(fenced, move |database| {
            database.write(|writing| {
                if !in_office(writing, office.as_ref())? {
                    return Ok(Advance::Fenced);
                }
                let Writing { connection, statements, now } = writing;
                checkpoints::advance(connection, &statements.events, &step, now.wall)
            })
        })
        .await
    }

    async fn subscriptions(&self) -> Result<Vec<Progress>, StoreError> {
        self.browse(subscriptions).await
    }

    async fn parked(&self, name: &SubscriptionName, limit: u32) -> Result<Vec<Parked>, StoreError> {
        let name = name.clone();
        self.browse(move |snapshot| parked(snapshot, &name, limit.min(PAGE_MAX))).await
    }

    async fn rewind(&self, name: &SubscriptionName, to: Position, by: &str) -> Result<(), StoreError> {
        let (name, by) = (name.clone(), actor(by));
        self.run(move |database| database.write(|writing| rewind(writing, &name, to, &by))).await
    }
}

fn rewind(writing: &Writing<'_>, name: &SubscriptionName, to: Position, by: &str) -> Result<(), Fault> {
    let Writing { connection, statements, now } = writing;
    let from = checkpoints::place(connection, &statements.events, name)?.position;
    let moved = params![name.as_str(), to.0, now.wall.as_micros()];
    connection.prepare_cached(&statements.events.checkpoint_rewind)?.execute(moved)?;
    connection.prepare_cached(&statements.events.parked_drop)?.execute(params![name.as_str(), to.0])?;
    writing.add_audit(by, "subscription rewind", name.as_str(), &format!("from {from} to {to}"))
}

fn subscriptions(snapshot: &Snapshot<'_>) -> Result<Vec<Progress>, Fault> {
    let mut statement = snapshot.prepare(&snapshot.events().checkpoint_list)?;
    let mut found = statement.query([])?;
    let mut subscriptions = Vec::new();
    while let Some(row) = found.next()? {
        subscriptions.push(Progress {
            name: SubscriptionName::new(need(row.text(0)?, "name")?).map_err(|_| nonsense("name"))?,
            position: Position(need(row.integer(1)?, "position")?),
            moved_at: StoreTime::from_micros(need(row.integer(2)?, "moved_at")?),
            parked: u64::try_from(need(row.integer(3)?, "position")?).unwrap_or_default(),
        });
    }
    Ok(subscriptions)
}

fn parked(snapshot: &Snapshot<'_>, name: &SubscriptionName, limit: u32) -> Result<Vec<Parked>, Fault> {
    let mut statement = snapshot.prepare(&snapshot.events().parked_list)?;
    let mut found = statement.query(params![name.as_str(), limit])?;
    let mut parked = Vec::new();
    while let Some(row) = found.next()? {
        let attempts = need(row.integer(4)?, "attempts")?;
        parked.push(Parked {
            aside: Aside {
                position: Position(need(row.integer(0)?, "position")?),
                // Of an event whose row does not tell it, nothing stands there.
                stream: row
                    .text(1)?
                    .filter(|text| !text.is_empty())
                    .map(|text| rows::stream(Some(text)))
                    .transpose()?,
                version: Version(need(row.integer(2)?, "version")?),
                kind: need(row.text(3)?, "type")?,
                reason: need(row.text(6)?, "reason")?,
                attempts: u32::try_from(attempts).map_err(|_| nonsense("attempts"))?,
            },
            parked_at: StoreTime::from_micros(need(row.integer(5)?, "parked_at")?),
        });
    }
    Ok(parked)
}
