//! Messages for people to see: found by walks of a bounded length.

use std::time::SystemTime;

use tenure_core::StoreError;
use tenure_core::outbox::{Details, Filter, LIST_MAX, Listing, MessageId, Selection, State, Summary, Walk};
use tenure_core::time::StoreTime;
use tenure_sql::{Columns as _, Found, Reader};
use tokio_postgres::Row;
use tokio_postgres::types::{ToSql, Type};
use uuid::Uuid;

use super::statements;
use crate::error::store_error;
use crate::rows::{Shown, moment};
use crate::store::Shared;
use crate::writing::Params;

/// How many rows of a smaller table are looked at, at most: each leads to a message elsewhere, on a page of its own.
const STEPS_BESIDE: u32 = 4_000;
/// How many times as many rows as are wanted are looked at first.
const FIRST_STEPS: u32 = 20;

impl Shared {
    /// Messages, the newest first.
    pub(super) async fn list(&self, selection: &Selection) -> Result<Listing, StoreError> {
        let filter = &selection.filter;
        let lists = &self.statements.outbox.list;
        let Ok(id) = named(filter) else { return Ok(Listing::default()) };
        let cause = filter.cause.map(|cause| cause.as_column());
        let state = if cause.is_some() { Some(State::Dead) } else { filter.state };
        let sql = match (&id, cause, filter.state) {
            (_, Some(_), Some(State::Pending | State::Dispatched | State::Discarded)) => {
                return Ok(Listing::default());
            }
            (Some(_), ..) => &lists.by_id,
            (None, Some(_), _) => &lists.of_cause,
            (None, None, None) => &lists.any,
            (None, None, Some(State::Pending)) => &lists.pending,
            (None, None, Some(State::Dispatched)) => &lists.dispatched,
            (None, None, Some(State::Dead)) => &lists.dead,
            (None, None, Some(State::Discarded)) => &lists.discarded,
        };
        let which: Option<Param<'_>> = match (&id, &cause) {
            (Some(id), _) => Some((id, Type::TEXT)),
            (None, Some(cause)) => Some((cause, Type::INT8)),
            (None, None) => None,
        };
        let mut whole = self.walk(selection).await?;
        if !matches!((cause, filter.state), (None, None | Some(State::Dispatched))) {
            whole.steps = whole.steps.min(STEPS_BESIDE);
        }
        // Most searches find enough at once: what is sorted is first kept short.
        let mut walk = Walk { steps: whole.steps.min(whole.limit.saturating_mul(FIRST_STEPS)), ..whole };
        let mut rows = self.run(sql, &Asked::of(&walk, filter).params(which.clone())).await?;
        let enough = rows.len() >= walk.limit as usize || self.found(&rows)?.looked() < walk.steps;
        if !enough && walk.steps < whole.steps {
            walk = whole;
            rows = self.run(sql, &Asked::of(&walk, filter).params(which)).await?;
        }
        if let (Some(_), Some(cause)) = (&id, cause) {
            // Of the one message that was named, the cause is looked at here.
            rows = of_cause(rows, cause);
        }
        let mut listing = self.found(&rows)?.listing(&walk, state);
        if id.is_some() {
            listing.more_before = None;
        }
        Ok(listing)
    }

    /// Messages by their numbers, as a list shows them.
    pub(super) async fn list_rows(&self, numbers: &[i64]) -> Result<Listing, StoreError> {
        let limit = u32::try_from(numbers.len()).unwrap_or(u32::MAX);
        let walk = Walk { before: i64::MAX, floor: i64::MIN, steps: limit, limit: limit.saturating_add(1) };
        let (sql, any) = (&self.statements.outbox.list.rows, Filter::default());
        let rows = self.run(sql, &Asked::of(&walk, &any).params(Some((&numbers, Type::INT8_ARRAY)))).await?;
        Ok(self.found(&rows)?.listing(&walk, None))
    }

    /// Messages by their ids, as a list shows them.
    pub(super) async fn named(&self, ids: &[MessageId]) -> Result<Vec<Summary>, StoreError> {
        let ids: Vec<String> = ids.iter().take(LIST_MAX as usize).map(ToString::to_string).collect();
        let limit = u32::try_from(ids.len()).unwrap_or(LIST_MAX);
        let walk = Walk { before: i64::MAX, floor: i64::MIN, steps: limit, limit: limit.saturating_add(1) };
        let (sql, any) = (&self.statements.outbox.list.named, Filter::default());
        let rows = self.run(sql, &Asked::of(&walk, &any).params(Some((&ids, Type::TEXT_ARRAY)))).await?;
        Ok(self.found(&rows)?.listing(&walk, None).messages)
    }

    /// All about one message.
    pub(super) async fn show(&self, id: &str, payload_max: usize) -> Result<Option<Details>, StoreError> {
        let texts = &self.statements.outbox;
        let Ok(id) = Uuid::try_parse(id) else { return Ok(None) };
        let (id, most) = (id.to_string(), i32::try_from(payload_max).unwrap_or(i32::MAX));
        let walk = Walk { before: i64::MAX, floor: i64::MIN, steps: 1, limit: 1 };
        let any = Filter::default();
        let asked = Asked::of(&walk, &any);
        let mut wanted = asked.params(Some((&id, Type::TEXT)));
        wanted.push((&most, Type::INT4));
        let begin = statements::begin(&self.limits);
        let calls: [(&str, Params<'_>); 2] =
            [(&texts.show, &wanted), (&texts.attempts, &[(&id, Type::TEXT)])];
        let answers = self.run_all(&begin, &calls).await?;
        let [found, attempts] = &answers[..] else { return Ok(None) };
        let reader = Reader { store: &self.label };
        let there = |row: &&Row| Shown(row).number("id").ok().flatten().is_some();
        let Some(row) = found.iter().find(there) else { return Ok(None) };
        let attempts = attempts.iter().map(|row| reader.attempt(&Shown(row)));
        reader.details(&Shown(row), attempts.collect::<Result<_, _>>()?, payload_max).map(Some)
    }

    /// Which rows are looked at.
    async fn walk(&self, selection: &Selection) -> Result<Walk, StoreError> {
        let Filter { from, until, .. } = selection.filter;
        let until = match until {
            Some(until) => Some(self.row_before(until).await?),
            None => None,
        };
        let from = match from {
            Some(from) => Some(self.row_before(from).await?),
            None => None,
        };
        Ok(Walk::of(selection, until, from))
    }

    /// The last row from before a moment.
    async fn row_before(&self, at: StoreTime) -> Result<i64, StoreError> {
        let sql = &self.statements.outbox.row_before;
        let rows = self.run(sql, &[(&moment(at), Type::TIMESTAMPTZ)]).await?;
        let row = rows.first().map_or(Ok(0), |row| row.try_get(0));
        row.map_err(|error| store_error(&self.label, error))
    }

    fn found(&self, rows: &[Row]) -> Result<Found, StoreError> {
        let (reader, mut found) = (Reader { store: &self.label }, Found::default());
        for row in rows {
            reader.found(&Shown(row), &mut found)?;
        }
        Ok(found)
    }
}

fn of_cause(mut rows: Vec<Row>, cause: i64) -> Vec<Row> {
    rows.retain(|row| Shown(row).number("cause").ok().flatten() == Some(cause));
    rows
}

/// A parameter with its type.
pub(super) type Param<'a> = (&'a (dyn ToSql + Sync), Type);

/// What a walk is given, as the server takes it.
struct Asked<'a> {
    filter: &'a Filter,
    before: i64,
    floor: i64,
    limit: i64,
    steps: i64,
    from: Option<SystemTime>,
    until: Option<SystemTime>,
}

impl<'a> Asked<'a> {
    fn of(walk: &Walk, filter: &'a Filter) -> Self {
        Self {
            filter,
            before: walk.before,
            floor: walk.floor,
            limit: walk.limit.into(),
            steps: walk.steps.into(),
            from: filter.from.map(moment),
            until: filter.until.map(moment),
        }
    }

    fn params<'p>(&'p self, which: Option<Param<'p>>) -> Vec<Param<'p>> {
        let mut params: Vec<Param<'p>> = vec![
            (&self.before, Type::INT8),
            (&self.filter.topic, Type::TEXT),
            (&self.filter.source, Type::TEXT),
            (&self.filter.kind, Type::TEXT),
            (&self.limit, Type::INT8),
            (&self.floor, Type::INT8),
            (&self.steps, Type::INT8),
            (&self.from, Type::TIMESTAMPTZ),
            (&self.until, Type::TIMESTAMPTZ),
        ];
        params.extend(which);
        params
    }
}

/// The id that is asked for, as the server writes it. A text that is no UUID stands in no row.
pub(super) fn named(filter: &Filter) -> Result<Option<String>, uuid::Error> {
    filter.id.as_deref().map(|id| Uuid::try_parse(id).map(|id| id.to_string())).transpose()
}
