//! Recording attempts, and deleting what is old: writes of the one in office.

use std::time::Duration;

use tenure_core::StoreError;
use tenure_core::id::NodeName;
use tenure_core::lease::Fence;
use tenure_core::outbox::{Kind, Next, Outcome, Recorded, Retention, RowId, Swept};
use tenure_sql::micros;
use tokio_postgres::error::SqlState;
use tokio_postgres::types::Type;
use tokio_postgres::{Error, Row};

use crate::error::{store_error, unreachable};
use crate::store::Shared;
use crate::transaction::Unanswered;
use crate::writing::Params;

/// Outcomes as lists of columns, in the order of their rows: whoever writes the same rows queues up in that order.
#[derive(Default)]
struct Columns<'a> {
    ids: Vec<i64>,
    attempts: Vec<i32>,
    took: Vec<i64>,
    kinds: Vec<&'static str>,
    next: Vec<i16>,
    pauses: Vec<i64>,
    reasons: Vec<Option<&'a str>>,
    causes: Vec<i64>,
}

impl<'a> Columns<'a> {
    fn of(outcomes: &'a [Outcome]) -> Self {
        let mut sorted: Vec<&Outcome> = outcomes.iter().collect();
        sorted.sort_unstable_by_key(|outcome| outcome.id);
        let mut columns = Self::default();
        for outcome in sorted {
            columns.ids.push(outcome.id.0);
            columns.attempts.push(i32::try_from(outcome.attempt).unwrap_or(i32::MAX));
            columns.took.push(micros(outcome.took));
            columns.kinds.push(outcome.kind.as_str());
            let (next, pause) = match outcome.next {
                Next::Done => (0, 0),
                Next::Again { after } => (1, micros(after)),
                Next::Dead { halt: false } => (2, 0),
                Next::Dead { halt: true } => (3, 0),
            };
            columns.next.push(next);
            columns.pauses.push(pause);
            columns.reasons.push(outcome.reason.as_deref());
            columns.causes.push(outcome.cause().as_column());
        }
        columns
    }
}

impl Shared {
    pub(super) async fn record(
        &self,
        office: Option<&Fence>,
        node: &NodeName,
        outcomes: &[Outcome],
    ) -> Result<Recorded, StoreError> {
        let columns = Columns::of(outcomes);
        let lease = office.map(|fence| fence.lease.as_str());
        let term = office.map(|fence| fence.term.as_column());
        let node = node.as_str();
        let params: Params<'_> = &[
            (&lease, Type::TEXT),
            (&term, Type::INT8),
            (&node, Type::TEXT),
            (&columns.ids, Type::INT8_ARRAY),
            (&columns.attempts, Type::INT4_ARRAY),
            (&columns.took, Type::INT8_ARRAY),
            (&columns.kinds, Type::TEXT_ARRAY),
            (&columns.next, Type::INT2_ARRAY),
            (&columns.pauses, Type::INT8_ARRAY),
            (&columns.reasons, Type::TEXT_ARRAY),
            (&columns.causes, Type::INT8_ARRAY),
        ];
        let statements = &self.statements.outbox;
        let all_done = outcomes.iter().all(|outcome| {
            outcome.next == Next::Done && outcome.kind == Kind::Success && outcome.reason.is_none()
        });
        let mut rows = None;
        if let (true, Some(few)) = (all_done, params.get(..6)) {
            rows = match self.try_run(&statements.record_done, few).await? {
                Ok(rows) => Some(rows),
                // An attempt of that number is there although its row did not know: someone has written to the tables by
                // hand. The longer statement passes over it, so that one such row does not hold up all others.
                Err(error) if error.code() == Some(&SqlState::UNIQUE_VIOLATION) => None,
                Err(error) => return Err(self.explain(Unanswered::No(error))),
            };
        }
        let rows = match rows {
            Some(rows) => rows,
            None => self.run(&statements.record, params).await?,
        };
        let row = self.only(&rows)?;
        let read = || -> Result<Recorded, Error> {
            if !row.try_get::<_, bool>(0)? {
                return Ok(Recorded::Fenced);
            }
            let applied: Option<Vec<i64>> = row.try_get(1)?;
            Ok(Recorded::Applied(applied.unwrap_or_default().into_iter().map(RowId).collect()))
        };
        read().map_err(|error| store_error(&self.label, error))
    }

    pub(super) async fn sweep_step(
        &self,
        office: Option<&Fence>,
        retention: &Retention,
        resume: Option<i64>,
    ) -> Result<Swept, StoreError> {
        let span = |keep: Option<Duration>| keep.map(micros);
        let batch = i64::from(retention.batch);
        let params: Params<'_> = &[
            (&office.map(|fence| fence.lease.as_str()), Type::TEXT),
            (&office.map(|fence| fence.term.as_column()), Type::INT8),
            (&resume.unwrap_or(i64::MIN), Type::INT8),
            (&batch, Type::INT8),
            (&span(retention.dispatched), Type::INT8),
            (&span(retention.dead), Type::INT8),
            (&span(retention.discarded), Type::INT8),
            (&span(retention.inbox), Type::INT8),
        ];
        let rows = self.run(&self.statements.outbox.sweep, params).await?;
        let row = self.only(&rows)?;
        let count = |column| row.try_get::<_, i64>(column).map(|count| count.unsigned_abs());
        let read = || -> Result<Swept, Error> {
            let inbox = count(4)?;
            let (seen, last, young): (i64, Option<i64>, bool) =
                (row.try_get(5)?, row.try_get(6)?, row.try_get(7)?);
            // A full step means that there may be more. When only inboxes have more, the outbox is at its end.
            let more = last.filter(|_| seen >= batch && !young);
            let more_inbox = (inbox >= batch.unsigned_abs()).then_some(i64::MAX);
            Ok(Swept {
                dispatched: count(1)?,
                dead: count(2)?,
                discarded: count(3)?,
                inbox,
                resume: more.or(more_inbox),
                fenced: !row.try_get::<_, bool>(0)?,
            })
        };
        read().map_err(|error| store_error(&self.label, error))
    }

    fn only<'r>(&self, rows: &'r [Row]) -> Result<&'r Row, StoreError> {
        rows.first().ok_or_else(|| unreachable(&self.label, "the server answered with no row"))
    }
}
