//! What the runners of this process say, and of others that share the store.

use std::collections::BTreeMap;
use std::time::Duration;

use async_trait::async_trait;

use super::store::MemoryStore;
use crate::contract::RunnerStore;
use crate::error::StoreError;
use crate::id::Node;
use crate::observe::{RUNNER_ROWS_MAX, RunnerReport, RunnerRow, Runners};

/// Node, incarnation, kind and name, in the order of their texts.
type Key = (String, String, &'static str, String);

/// The rows.
pub(super) type RunnerTable = BTreeMap<Key, RunnerRow>;

/// How many rows are forgotten at once.
const FORGET_MAX: usize = 1_000;

#[async_trait]
impl RunnerStore for MemoryStore {
    async fn report(&self, node: &Node, reports: &[RunnerReport]) -> Result<(), StoreError> {
        let now = self.now();
        let table = &mut self.state().runners;
        let (name, incarnation) = (node.name.as_str().to_owned(), node.incarnation.to_string());
        let key = |report: &RunnerReport| {
            (name.clone(), incarnation.clone(), report.kind.as_str(), report.name.clone())
        };
        let said: BTreeMap<Key, &RunnerReport> = reports.iter().map(|report| (key(report), report)).collect();
        table.retain(|key, _| key.0 != name || key.1 != incarnation || said.contains_key(key));
        for (key, report) in said {
            let started_at = table.get(&key).map_or(now, |row| row.started_at);
            let row = RunnerRow { node: node.clone(), report: report.clone(), started_at, seen_at: now };
            table.insert(key, row);
        }
        Ok(())
    }

    async fn runners(&self, within: Duration, limit: u32) -> Result<Runners, StoreError> {
        let (now, limit) = (self.now(), limit.min(RUNNER_ROWS_MAX) as usize);
        let state = self.state();
        let fresh = state.runners.values().filter(|row| row.seen_at.until(now) <= within);
        let mut rows: Vec<RunnerRow> = fresh.take(limit + 1).cloned().collect();
        let more = rows.len() > limit;
        rows.truncate(limit);
        Ok(Runners { rows, more, now })
    }

    async fn forget(&self, after: Duration) -> Result<u64, StoreError> {
        let now = self.now();
        let table = &mut self.state().runners;
        let old = table.iter().filter(|(_, row)| row.seen_at.until(now) > after);
        let old: Vec<Key> = old.take(FORGET_MAX).map(|(key, _)| key.clone()).collect();
        for key in &old {
            table.remove(key);
        }
        Ok(old.len() as u64)
    }
}
