//! Rows that only operators see: audit, runners, streams in a list.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::time::Duration;

use tenure_core::StoreError;
use tenure_core::event::{StreamLine, StreamName, Version};
use tenure_core::observe::{AuditId, AuditLine, RUNNER_NAME_MAX_BYTES, RunnerReport, RunnerRow};
use tenure_core::outbox::shorten;

use super::message::{amount, counted};
use super::{Columns, Reader};

/// Lines of audit that were found, and how far was looked.
#[derive(Debug, Default)]
pub struct AuditFound {
    /// The lines, the newest first.
    pub lines: Vec<AuditLine>,
    /// How many lines were looked at.
    pub looked: u32,
    /// The last of them.
    pub end: Option<AuditId>,
}

impl Reader<'_> {
    /// A row of an audit. The columns are `id`, `at_us`, `actor`, `action`, `subject` and `detail`, empty where nothing was
    /// found, and `looked` and `end_id`.
    pub fn audit(self, row: &impl Columns, found: &mut AuditFound) -> Result<(), StoreError> {
        found.looked = counted(self.need(row.number("looked"), "looked")?);
        found.end = self.maybe(row.number("end_id"), "end_id")?.map(AuditId);
        if self.maybe(row.number("id"), "id")?.is_some() {
            found.lines.push(self.audit_line(row)?);
        }
        Ok(())
    }

    /// A line of audit. The columns are `id`, `at_us`, `actor`, `action`, `subject` and `detail`.
    pub fn audit_line(self, row: &impl Columns) -> Result<AuditLine, StoreError> {
        let text = |column| self.maybe(row.text(column), column).map(Option::unwrap_or_default);
        Ok(AuditLine {
            id: AuditId(self.need(row.number("id"), "id")?),
            at: self.need(row.moment("at_us"), "at")?,
            actor: text("actor")?,
            action: text("action")?,
            subject: text("subject")?,
            detail: text("detail")?,
        })
    }

    /// A runner; `None` for one of a kind that only a newer program knows. The columns are `node`, `incarnation`, `machine`,
    /// `pid`, `kind`, `name`, `state`, `trouble`, `every_ms`, `cycled_ms`, `advanced_ms`, `counters`, `started_us` and
    /// `seen_us`.
    pub fn runner(self, row: &impl Columns) -> Result<Option<RunnerRow>, StoreError> {
        let Ok(kind) = self.need(row.text("kind"), "kind")?.parse() else { return Ok(None) };
        let span = |column| -> Result<Option<Duration>, StoreError> {
            Ok(self.maybe(row.number(column), column)?.map(|span| Duration::from_millis(amount(span))))
        };
        let counters = self.need(row.text("counters"), "counters")?;
        let counters: BTreeMap<Cow<'static, str>, u64> = serde_json::from_str(&counters).unwrap_or_default();
        let report = RunnerReport {
            kind,
            name: self.need(row.text("name"), "name")?,
            state: self.need(row.text("state"), "state")?,
            trouble: self.maybe(row.text("trouble"), "trouble")?,
            cycled_ago: span("cycled_ms")?,
            advanced_ago: span("advanced_ms")?,
            every: span("every_ms")?.unwrap_or_default(),
            counters,
        };
        Ok(Some(RunnerRow {
            node: self.node(row)?,
            report,
            started_at: self.need(row.moment("started_us"), "started_at")?,
            seen_at: self.need(row.moment("seen_us"), "seen_at")?,
        }))
    }

    /// A stream in a list. The columns are `stream`, `version` and `snapshot`.
    pub fn stream_line(self, row: &impl Columns) -> Result<StreamLine, StoreError> {
        let stream = StreamName::new(self.need(row.text("stream"), "stream")?);
        Ok(StreamLine {
            stream: stream.map_err(|error| self.corrupt(format!("column stream: {error}")))?,
            version: Version(self.need(row.number("version"), "version")?),
            snapshot: self.maybe(row.number("snapshot"), "snapshot")?.map(Version),
        })
    }
}

/// A report as columns hold it: texts cut to what is kept, spans in whole milliseconds.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct RunnerColumns {
    /// The word for its kind.
    pub kind: &'static str,
    /// Its name.
    pub name: String,
    /// Its state.
    pub state: String,
    /// Its trouble.
    pub trouble: Option<String>,
    /// How often it goes round.
    pub every_ms: i64,
    /// How long ago it went round.
    pub cycled_ms: Option<i64>,
    /// How long ago it got on.
    pub advanced_ms: Option<i64>,
    /// Its counters, as JSON.
    pub counters: String,
}

impl RunnerColumns {
    /// The rows of what a process says, each kind and name once: of two that say the same name, the later one counts.
    pub fn of(reports: &[RunnerReport]) -> Vec<Self> {
        let columns = |report: &RunnerReport| {
            let millis = |span: Duration| i64::try_from(span.as_millis()).unwrap_or(i64::MAX);
            Self {
                kind: report.kind.as_str(),
                name: cut(&shorten(&report.name)),
                state: shorten(&report.state),
                trouble: report.trouble.as_deref().map(shorten),
                every_ms: millis(report.every),
                cycled_ms: report.cycled_ago.map(millis),
                advanced_ms: report.advanced_ago.map(millis),
                counters: serde_json::to_string(&report.counters).unwrap_or_else(|_| "{}".into()),
            }
        };
        let rows = reports.iter().map(columns).map(|row| ((row.kind, row.name.clone()), row));
        rows.collect::<BTreeMap<_, _>>().into_values().collect()
    }
}

fn cut(name: &str) -> String {
    let mut end = name.len().min(RUNNER_NAME_MAX_BYTES);
    while !name.is_char_boundary(end) {
        end -= 1;
    }
    name[..end].to_owned()
}
