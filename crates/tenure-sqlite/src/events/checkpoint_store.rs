//! The checkpoint store: each move is one transaction with the check of the reader's fence.

use async_trait::async_trait;
use rusqlite::{OptionalExtension as _, params};
use tenure_core::StoreError;
use tenure_core::contract::CheckpointStore;
use tenure_core::event::{PAGE_MAX, Position};
use tenure_core::lease::Fence;
use tenure_core::subscription::{
    Advance, Checkpoint, PARKED_COUNT_MAX, Parked, Progress, Rewind, Step, SubscriptionName,
};

use super::checkpoints;
use crate::admin::actor;
use crate::error::Fault;
use crate::outbox::in_office;
use crate::reader::Snapshot;
use crate::rows::{Plain, READER};
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
        step.check().map_err(|back| Fault::from(back).at(self.label()))?;
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

    async fn subscriptions(
        &self,
        after: Option<&SubscriptionName>,
        limit: u32,
    ) -> Result<Vec<Progress>, StoreError> {
        let after = after.map_or_else(String::new, ToString::to_string);
        self.browse(move |snapshot| subscriptions(snapshot, &after, limit.min(PAGE_MAX))).await
    }

    async fn parked(
        &self,
        name: &SubscriptionName,
        after: Option<Position>,
        limit: u32,
    ) -> Result<Vec<Parked>, StoreError> {
        let name = name.clone();
        self.browse(move |snapshot| parked(snapshot, &name, after, limit.min(PAGE_MAX))).await
    }

    async fn rewind(&self, name: &SubscriptionName, to: Position, by: &str) -> Result<Rewind, StoreError> {
        let (name, by) = (name.clone(), actor(by));
        self.run(move |database| database.write(|writing| rewind(writing, &name, to, &by))).await
    }
}

fn rewind(writing: &Writing<'_>, name: &SubscriptionName, to: Position, by: &str) -> Result<Rewind, Fault> {
    let Writing { connection, statements, now } = writing;
    let from = checkpoints::place(connection, &statements.events, name)?.position;
    let end: Option<i64> =
        connection.prepare_cached(&statements.events.head)?.query_row([], |row| row.get(0)).optional()?;
    let judged = Rewind::judge(from, to, Position(end.unwrap_or(0)));
    if judged != Rewind::Moved {
        return Ok(judged);
    }
    let moved = params![name.as_str(), to.0, now.wall.as_micros()];
    connection.prepare_cached(&statements.events.checkpoint_rewind)?.execute(moved)?;
    connection.prepare_cached(&statements.events.parked_drop)?.execute(params![name.as_str(), to.0])?;
    writing.add_audit(by, "subscription rewind", name.as_str(), &format!("from {from} to {to}"))?;
    Ok(Rewind::Moved)
}

fn subscriptions(snapshot: &Snapshot<'_>, after: &str, limit: u32) -> Result<Vec<Progress>, Fault> {
    let mut statement = snapshot.prepare(&snapshot.events().checkpoint_list)?;
    let mut found = statement.query(params![after, limit, PARKED_COUNT_MAX + 1])?;
    let mut subscriptions = Vec::new();
    while let Some(row) = found.next()? {
        subscriptions.push(READER.progress(&Plain::of(row))?);
    }
    Ok(subscriptions)
}

fn parked(
    snapshot: &Snapshot<'_>,
    name: &SubscriptionName,
    after: Option<Position>,
    limit: u32,
) -> Result<Vec<Parked>, Fault> {
    let after = after.map_or(i64::MIN, |after| after.0);
    let mut statement = snapshot.prepare(&snapshot.events().parked_list)?;
    let mut found = statement.query(params![name.as_str(), limit, after])?;
    let mut parked = Vec::new();
    while let Some(row) = found.next()? {
        parked.push(READER.parked(&Plain::of(row))?);
    }
    Ok(parked)
}
