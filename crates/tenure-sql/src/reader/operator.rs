//! Rows that only operators see: an audit with how far it was looked, and runners as columns hold them.

use std::collections::BTreeMap;
use std::time::Duration;

use tenure_core::StoreError;
use tenure_core::observe::{AuditId, AuditLine, RUNNER_NAME_MAX_BYTES, RunnerReport};
use tenure_core::outbox::shorten;

use super::message::counted;
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
        let Some(id) = self.maybe(row.number("id"), "id")? else { return Ok(()) };
        let text = |column| self.maybe(row.text(column), column).map(Option::unwrap_or_default);
        found.lines.push(AuditLine {
            id: AuditId(id),
            at: self.need(row.moment("at_us"), "at")?,
            actor: text("actor")?,
            action: text("action")?,
            subject: text("subject")?,
            detail: text("detail")?,
        });
        Ok(())
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
