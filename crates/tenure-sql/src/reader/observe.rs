//! Rows for those who watch: lines of audit, and what runners say of themselves.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::time::Duration;

use tenure_core::StoreError;
use tenure_core::observe::{AuditId, AuditLine, RunnerReport, RunnerRow};

use super::{Columns, Reader};

impl Reader<'_> {
    /// A line of audit. The columns are `id`, `at_us`, `actor`, `action`, `subject` and `detail`.
    pub fn audit_line(self, row: &impl Columns) -> Result<AuditLine, StoreError> {
        let text = |column| self.need(row.text(column), column);
        Ok(AuditLine {
            id: AuditId(self.need(row.number("id"), "id")?),
            at: self.need(row.moment("at_us"), "at")?,
            actor: text("actor")?,
            action: text("action")?,
            subject: text("subject")?,
            detail: text("detail")?,
        })
    }

    /// What a runner said, if a row has one; `None` also for a kind that only a later version of Tenure knows. The columns
    /// are those of the table, and `started_us` and `seen_us`.
    pub fn runner(self, row: &impl Columns) -> Result<Option<RunnerRow>, StoreError> {
        let text = |column| self.need(row.text(column), column);
        let Some(kind) = self.maybe(row.text("kind"), "kind")? else { return Ok(None) };
        let Ok(kind) = kind.parse() else { return Ok(None) };
        let span = |column| -> Result<Option<Duration>, StoreError> {
            let millis = self.maybe(row.number(column), column)?;
            Ok(millis.map(|millis| Duration::from_millis(u64::try_from(millis).unwrap_or_default())))
        };
        let counters: BTreeMap<String, u64> = serde_json::from_str(&text("counters")?)
            .map_err(|_| self.corrupt("column counters holds nothing that Tenure wrote".into()))?;
        Ok(Some(RunnerRow {
            node: self.node(row)?,
            report: RunnerReport {
                kind,
                name: text("name")?,
                state: text("state")?,
                trouble: self.maybe(row.text("trouble"), "trouble")?,
                cycled_ago: span("cycled_ms")?,
                advanced_ago: span("advanced_ms")?,
                every: span("every_ms")?.unwrap_or_default(),
                counters: counters.into_iter().map(|(name, number)| (Cow::Owned(name), number)).collect(),
            },
            started_at: self.need(row.moment("started_us"), "started_at")?,
            seen_at: self.need(row.moment("seen_us"), "seen_at")?,
        }))
    }
}
