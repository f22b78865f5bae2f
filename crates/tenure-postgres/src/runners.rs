//! What the runners of all processes say of themselves.

use std::time::Duration;

use async_trait::async_trait;
use tenure_core::StoreError;
use tenure_core::contract::RunnerStore;
use tenure_core::id::Node;
use tenure_core::observe::{RUNNER_ROWS_MAX, RunnerReport, Runners};
use tenure_core::outbox::shorten;
use tenure_core::time::StoreTime;
use tenure_sql::{Columns as _, Reader, RunnerColumns, micros};
use tokio_postgres::types::Type;

use crate::error::unreachable;
use crate::rows::Plain;
use crate::store::PostgresStore;
use crate::writing::Params;

/// How many rows are forgotten at once.
const FORGET_MAX: i64 = 1_000;

#[async_trait]
impl RunnerStore for PostgresStore {
    async fn report(&self, node: &Node, reports: &[RunnerReport]) -> Result<(), StoreError> {
        let rows = RunnerColumns::of(reports);
        let kinds: Vec<&str> = rows.iter().map(|row| row.kind).collect();
        let names: Vec<&str> = rows.iter().map(|row| row.name.as_str()).collect();
        let states: Vec<&str> = rows.iter().map(|row| row.state.as_str()).collect();
        let troubles: Vec<Option<&str>> = rows.iter().map(|row| row.trouble.as_deref()).collect();
        let every: Vec<i64> = rows.iter().map(|row| row.every_ms).collect();
        let cycled: Vec<Option<i64>> = rows.iter().map(|row| row.cycled_ms).collect();
        let advanced: Vec<Option<i64>> = rows.iter().map(|row| row.advanced_ms).collect();
        let counters: Vec<&str> = rows.iter().map(|row| row.counters.as_str()).collect();
        let params: Params<'_> = &[
            (&node.name.as_str(), Type::TEXT),
            (&node.incarnation.to_string(), Type::TEXT),
            (&shorten(&node.machine), Type::TEXT),
            (&i64::from(node.pid), Type::INT8),
            (&kinds, Type::TEXT_ARRAY),
            (&names, Type::TEXT_ARRAY),
            (&states, Type::TEXT_ARRAY),
            (&troubles, Type::TEXT_ARRAY),
            (&every, Type::INT8_ARRAY),
            (&cycled, Type::INT8_ARRAY),
            (&advanced, Type::INT8_ARRAY),
            (&counters, Type::TEXT_ARRAY),
        ];
        self.shared.run(&self.shared.statements.runners_write, params).await.map(|_| ())
    }

    async fn runners(&self, within: Duration, limit: u32) -> Result<Runners, StoreError> {
        let (shared, limit) = (&self.shared, limit.min(RUNNER_ROWS_MAX));
        let params: Params<'_> = &[(&micros(within), Type::INT8), (&(i64::from(limit) + 1), Type::INT8)];
        let found = shared.run(&shared.statements.runners_list, params).await?;
        let now = found.first().and_then(|row| Plain(row).moment("now_us").ok().flatten());
        let now: StoreTime =
            now.ok_or_else(|| unreachable(&shared.label, "the server did not tell the time"))?;
        let there = |row: &&tokio_postgres::Row| !matches!(Plain(row).text("node"), Ok(None));
        let more = found.iter().filter(there).count() > limit as usize;
        let mut rows = Vec::new();
        for row in found.iter().filter(there).take(limit as usize) {
            rows.extend(Reader { store: &shared.label }.runner(&Plain(row))?);
        }
        Ok(Runners { rows, more, now })
    }

    async fn forget(&self, after: Duration) -> Result<u64, StoreError> {
        let params: Params<'_> = &[(&micros(after), Type::INT8), (&FORGET_MAX, Type::INT8)];
        let gone = self.shared.run(&self.shared.statements.runners_forget, params).await?;
        Ok(gone.len() as u64)
    }
}
