//! Dead messages: what they have in common, how many there are, and what an operator decides about them.

use std::collections::BTreeMap;
use std::time::SystemTime;

use tenure_core::StoreError;
use tenure_core::outbox::{
    Acted, CauseId, Count, Counted, DeadWalk, Filter, GRAVES_MAX, Grave, Graves, RowId, State, Summary,
    shorten,
};
use tokio_postgres::types::Type;
use tokio_postgres::{Error, Row};

use super::search::{Param, named};
use super::statements::{self, Dead};
use crate::error::store_error;
use crate::rows::moment;
use crate::store::Shared;
use crate::wire::Id;
use crate::writing::Params;

impl Shared {
    /// Dead messages by cause.
    pub(super) async fn graves(
        &self,
        after: Option<CauseId>,
        limit: u32,
        count_max: u32,
    ) -> Result<Graves, StoreError> {
        let limit = limit.min(GRAVES_MAX);
        if limit == 0 {
            return Ok(Graves::default());
        }
        let params: Params<'_> = &[
            (&after.map_or(-1, CauseId::as_column), Type::INT8),
            (&i64::from(limit + 1), Type::INT8),
            (&(i64::from(count_max) + 1), Type::INT8),
        ];
        let rows = self.run(&self.statements.outbox.causes, params).await?;
        let read = |row: &Row| -> Result<(i64, i64, i64, i64), Error> {
            Ok((row.try_get(0)?, row.try_get(1)?, row.try_get(2)?, row.try_get(3)?))
        };
        let mut found = rows
            .iter()
            .map(read)
            .collect::<Result<Vec<_>, _>>()
            .map_err(|error| store_error(&self.label, error))?;
        let more = found.len() > limit as usize;
        found.truncate(limit as usize);
        let mut numbers: Vec<i64> = found.iter().flat_map(|(_, _, first, last)| [*first, *last]).collect();
        numbers.sort_unstable();
        numbers.dedup();
        let shown = self.list_rows(&numbers).await?.messages;
        let shown: BTreeMap<i64, Summary> =
            shown.into_iter().map(|message| (message.row.0, message)).collect();
        let more_after = found.last().filter(|_| more).map(|(cause, ..)| CauseId::from_column(*cause));
        // What was swept away meanwhile is no group any more.
        let grave = |(cause, messages, first, last): (i64, i64, i64, i64)| {
            Some(Grave {
                cause: CauseId::from_column(cause),
                messages: Count::up_to(count_max.into(), messages.unsigned_abs()),
                newest: shown.get(&last)?.clone(),
                oldest: shown.get(&first)?.clone(),
            })
        };
        Ok(Graves { graves: found.into_iter().filter_map(grave).collect(), more_after })
    }

    /// How many dead messages of a walk fit.
    pub(super) async fn count_dead(&self, walk: &DeadWalk) -> Result<Counted, StoreError> {
        let Some(given) = Given::of(walk) else { return Ok(Counted::default()) };
        let (sql, params) = given.params(&self.statements.outbox.count_dead);
        let rows = self.run(sql, &params).await?;
        let Some(row) = rows.first() else { return Ok(Counted::default()) };
        let passed = passed(row, 0, walk).map_err(|error| store_error(&self.label, error))?;
        Ok(Counted { number: passed.met, looked: passed.looked, more_after: passed.more_after })
    }

    /// Changes dead messages, and wakes a relay: what was changed may be due, or let others go.
    pub(super) async fn decide(&self, sql: &Dead, walk: &DeadWalk, by: &str) -> Result<Acted, StoreError> {
        let walk = walk.to_change();
        let Some(given) = Given::of(&walk) else { return Ok(Acted::default()) };
        let by = shorten(by);
        let (sql, mut params) = given.params(sql);
        params.push((&by, Type::TEXT));
        let begin = statements::begin(&self.limits);
        let wake = &self.statements.outbox.wake;
        let answers = self.run_all(&begin, &[(sql, &params), (wake, &[])]).await?;
        let rows = answers.first().map_or(&[][..], |rows| rows);
        // There is one row at least, which says how far it has come.
        let read = || -> Result<Acted, Error> {
            let Some(first) = rows.first() else { return Ok(Acted::default()) };
            let Passed { looked, more_after, .. } = passed(first, 1, &walk)?;
            let mut ids = Vec::new();
            for row in rows {
                ids.extend(row.try_get::<_, Option<Id>>(0)?.map(|id| id.0.to_string()));
            }
            Ok(Acted { ids, looked, more_after })
        };
        read().map_err(|error| store_error(&self.label, error))
    }
}

/// How far a statement has come.
struct Passed {
    met: u64,
    looked: u32,
    more_after: Option<RowId>,
}

/// Reads `fit`, `met_at`, `met_last`, `looked` and `last` of `dead_passed`, from one column on.
fn passed(row: &Row, from: usize, walk: &DeadWalk) -> Result<Passed, Error> {
    let fit: i64 = row.try_get(from)?;
    let (met, limit) = (fit.unsigned_abs(), u64::from(walk.limit));
    // One more than is meant: it stays for the next call.
    let (looked, more_after): (i64, Option<i64>) = match met > limit {
        true => (row.try_get(from + 1)?, row.try_get(from + 2)?),
        false => (row.try_get(from + 3)?, row.try_get(from + 4)?),
    };
    let looked = u32::try_from(looked).unwrap_or(u32::MAX);
    let more_after = more_after.filter(|_| met > limit || looked >= walk.steps()).map(RowId);
    Ok(Passed { met: met.min(limit), looked, more_after })
}

/// A walk as the server takes it.
struct Given<'a> {
    filter: &'a Filter,
    id: Option<String>,
    limit: i64,
    after: i64,
    from: Option<SystemTime>,
    until: Option<SystemTime>,
    cause: Option<i64>,
    steps: i64,
}

impl<'a> Given<'a> {
    /// `None` when none can fit.
    fn of(walk: &'a DeadWalk) -> Option<Self> {
        let filter = &walk.filter;
        if walk.limit == 0 || filter.state.is_some_and(|state| state != State::Dead) {
            return None;
        }
        Some(Self {
            filter,
            id: named(filter).ok()?,
            limit: walk.limit.into(),
            after: walk.after(),
            from: filter.from.map(moment),
            until: filter.until.map(moment),
            cause: filter.cause.map(CauseId::as_column),
            steps: walk.steps().into(),
        })
    }

    /// The statement for this walk, and its parameters.
    fn params<'p>(&'p self, sql: &'p Dead) -> (&'p str, Vec<Param<'p>>) {
        let params: Vec<Param<'p>> = vec![
            (&self.filter.topic, Type::TEXT),
            (&self.filter.source, Type::TEXT),
            (&self.filter.kind, Type::TEXT),
            (&self.id, Type::TEXT),
            (&self.limit, Type::INT8),
            (&self.after, Type::INT8),
            (&self.from, Type::TIMESTAMPTZ),
            (&self.until, Type::TIMESTAMPTZ),
            (&self.cause, Type::INT8),
            (&self.steps, Type::INT8),
        ];
        let sql = match (&self.id, self.cause) {
            (Some(_), _) => &sql.of_id,
            (None, Some(_)) => &sql.of_cause,
            (None, None) => &sql.any,
        };
        (sql, params)
    }
}
