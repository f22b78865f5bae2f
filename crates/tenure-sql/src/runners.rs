//! What the runners of all processes say of themselves.

use std::collections::BTreeMap;
use std::time::Duration;

use async_trait::async_trait;
use tenure_core::StoreError;
use tenure_core::contract::RunnerStore;
use tenure_core::id::Node;
use tenure_core::observe::{RUNNER_ROWS_MAX, RunnerReport, Runners};
use tenure_core::outbox::shorten;

use crate::batch::in_batches;
use crate::driver::{Call, Session, Turn};
use crate::fault::{Fault, FaultKind};
use crate::reader::Columns as _;
use crate::store::{Shared, SqlStore};
use crate::value::{Value, micros};
use crate::work::TRIES;

/// How many rows are forgotten at once.
const FORGET_MAX: u32 = 1_000;

#[async_trait]
impl RunnerStore for SqlStore {
    async fn report(&self, node: &Node, reports: &[RunnerReport]) -> Result<(), StoreError> {
        let shared = &self.shared;
        // Of two that are called the same, the last one counts. They are written in order, as everyone does.
        let said: BTreeMap<String, &RunnerReport> =
            reports.iter().map(|report| (format!("{}/{}", report.kind, report.name), report)).collect();
        let rows: Vec<Vec<Value>> = said.values().map(|report| runner_values(node, report)).collect();
        let mut tried = 1;
        loop {
            let mut lent = shared.lend(Turn::Work).await?;
            let outcome = shared.report_on(&mut *lent, node, said.keys(), &rows).await;
            match shared.settle(lent, outcome).await {
                Err(fault) if fault.kind == FaultKind::Deadlock && tried < TRIES => tried += 1,
                settled => return settled.map_err(|fault| fault.into_error(shared.label())),
            }
        }
    }

    async fn runners(&self, within: Duration, limit: u32) -> Result<Runners, StoreError> {
        let (shared, reader) = (&self.shared, self.shared.reader());
        let limit = limit.min(RUNNER_ROWS_MAX);
        let params = vec![micros(within).into(), (limit + 1).into()];
        let rows = shared.rows(Turn::Work, &shared.statements.runners_list, params).await?;
        let now = reader.need(shared.only(&rows)?.moment("now_us"), "now")?;
        let more = rows.len() > limit as usize;
        let mut found = Vec::with_capacity(rows.len());
        for row in rows.iter().take(limit as usize) {
            found.extend(reader.runner(row)?);
        }
        Ok(Runners { rows: found, more, now })
    }

    async fn forget(&self, after: Duration) -> Result<u64, StoreError> {
        let shared = &self.shared;
        let params = vec![micros(after).into(), FORGET_MAX.into()];
        Ok(shared.run(Turn::Work, &shared.statements.runners_forget, params).await?.changed)
    }
}

impl Shared {
    async fn report_on(
        &self,
        session: &mut dyn Session,
        node: &Node,
        kept: impl Iterator<Item = &String> + Send,
        rows: &[Vec<Value>],
    ) -> Result<(), Fault> {
        let texts = &self.statements;
        // No runner is called like that; a list without anything would leave all of them.
        let kept = std::iter::once("").chain(kept.map(String::as_str));
        let keep = vec![node.name.as_str().into(), node.incarnation.to_string().into(), Value::list(kept)];
        let mut calls = vec![Call::new(&texts.begin, []), Call::new(&texts.runners_keep, keep)];
        calls.extend(in_batches(&texts.runners_write, rows.iter().cloned()));
        calls.push(Call::new(&texts.commit, []));
        session.run_all(&calls).await.map(|_| ())
    }
}

/// A row of `runners_write`.
fn runner_values(node: &Node, report: &RunnerReport) -> Vec<Value> {
    let millis = |span: Duration| i64::try_from(span.as_millis()).unwrap_or(i64::MAX);
    vec![
        node.name.as_str().into(),
        node.incarnation.to_string().into(),
        report.kind.as_str().into(),
        report.name.as_str().into(),
        node.machine.as_str().into(),
        i64::from(node.pid).into(),
        shorten(&report.state).into(),
        report.trouble.as_deref().map(shorten).into(),
        millis(report.every).into(),
        report.cycled_ago.map(millis).into(),
        report.advanced_ago.map(millis).into(),
        serde_json::to_string(&report.counters).unwrap_or_else(|_| "{}".into()).into(),
    ]
}
