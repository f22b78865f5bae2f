//! What the runners of all processes say of themselves.

use std::time::Duration;

use async_trait::async_trait;
use rusqlite::params;
use tenure_core::StoreError;
use tenure_core::contract::RunnerStore;
use tenure_core::id::Node;
use tenure_core::observe::{RUNNER_ROWS_MAX, RunnerReport, Runners};
use tenure_core::outbox::shorten;
use tenure_core::time::StoreTime;
use tenure_sql::{RunnerColumns, micros};

use crate::error::Fault;
use crate::reader::Snapshot;
use crate::rows::{Plain, READER};
use crate::store::SqliteStore;
use crate::writing::Writing;

/// How many rows are forgotten at once.
const FORGET_MAX: u32 = 1_000;

#[async_trait]
impl RunnerStore for SqliteStore {
    async fn report(&self, node: &Node, reports: &[RunnerReport]) -> Result<(), StoreError> {
        let (node, rows) = (node.clone(), RunnerColumns::of(reports));
        self.run(move |database| database.write(|writing| write(writing, &node, &rows))).await
    }

    async fn runners(&self, within: Duration, limit: u32) -> Result<Runners, StoreError> {
        self.sample(move |snapshot| list(snapshot, within, limit.min(RUNNER_ROWS_MAX))).await
    }

    async fn forget(&self, after: Duration) -> Result<u64, StoreError> {
        self.run(move |database| {
            database.write(|writing| {
                let since = before(writing.now.wall, after);
                let mut statement = writing.connection.prepare_cached(&writing.statements.runners_forget)?;
                Ok(statement.execute(params![since, FORGET_MAX])? as u64)
            })
        })
        .await
    }
}

fn before(now: StoreTime, span: Duration) -> i64 {
    now.as_micros().saturating_sub(micros(span))
}

fn write(writing: &Writing<'_>, node: &Node, rows: &[RunnerColumns]) -> Result<(), Fault> {
    let Writing { connection, statements, now } = writing;
    let (name, incarnation) = (node.name.as_str(), node.incarnation.to_string());
    let mut own = connection.prepare_cached(&statements.runners_own)?;
    let known = own.query_map(params![name, incarnation], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let known = known.collect::<Result<Vec<(String, String)>, _>>()?;
    let mut drop = connection.prepare_cached(&statements.runners_drop)?;
    let said = |kind: &str, name: &str| rows.iter().any(|row| row.kind == kind && row.name == name);
    for (kind, runner) in known.iter().filter(|(kind, runner)| !said(kind, runner)) {
        drop.execute(params![name, incarnation, kind, runner])?;
    }
    let mut write = connection.prepare_cached(&statements.runners_write)?;
    for row in rows {
        write.execute(params![
            name,
            incarnation,
            row.kind,
            row.name,
            shorten(&node.machine),
            node.pid,
            row.state,
            row.trouble,
            row.every_ms,
            row.cycled_ms,
            row.advanced_ms,
            row.counters,
            now.wall.as_micros(),
        ])?;
    }
    Ok(())
}

fn list(snapshot: &Snapshot<'_>, within: Duration, limit: u32) -> Result<Runners, Fault> {
    let now = snapshot.now();
    let mut statement = snapshot.prepare(&snapshot.statements().runners_list)?;
    let mut found = statement.query(params![before(now, within), limit + 1])?;
    let (mut rows, mut count) = (Vec::new(), 0);
    while let Some(row) = found.next()? {
        count += 1;
        if count <= limit {
            rows.extend(READER.runner(&Plain::of(row))?);
        }
    }
    Ok(Runners { rows, more: count > limit, now })
}
