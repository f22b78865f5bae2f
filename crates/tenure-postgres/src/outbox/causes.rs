//! Dead messages: what they have in common, how many there are, and what an operator decides about them.

use std::collections::BTreeMap;
use std::time::SystemTime;

use tenure_core::StoreError;
use tenure_core::outbox::{
    CauseId, Count, DEAD_LOOK_MAX, Filter, GRAVES_MAX, Grave, Graves, Selection, State, Summary, shorten,
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

    /// How many dead messages there are, counted up to a bound.
    pub(super) async fn count_dead(&self, filter: &Filter, at_most: u32) -> Result<Count, StoreError> {
        if !may_be_dead(filter) {
            return Ok(Count::default());
        }
        if filter.id.is_some() {
            let filter = Filter { state: Some(State::Dead), ..filter.clone() };
            let listing = self.list(&Selection { filter, limit: 1, ..Selection::default() }).await?;
            return Ok(Count::up_to(at_most.into(), listing.messages.len() as u64));
        }
        let Filter { topic, source, kind, from, until, .. } = filter;
        let wanted = i64::from(at_most) + 1;
        let any = topic.is_none() && source.is_none() && kind.is_none() && from.is_none() && until.is_none();
        let most = i64::from(DEAD_LOOK_MAX);
        let steps = if any { wanted.min(most) } else { most };
        let given = Given::of(filter);
        let (sql, params) =
            given.params(&self.statements.outbox.count_dead, &None, &wanted, (&steps, Type::INT8));
        let rows = self.run(sql, &params).await?;
        let read = |row: &Row| -> Result<(i64, i64), Error> { Ok((row.try_get(0)?, row.try_get(1)?)) };
        let counted =
            rows.first().map_or(Ok((0, 0)), read).map_err(|error| store_error(&self.label, error))?;
        let (found, looked) = (counted.0.unsigned_abs(), counted.1);
        let count = Count::up_to(at_most.into(), found);
        Ok(Count { or_more: count.or_more || looked >= most, ..count })
    }

    /// Changes dead messages, and wakes a relay: what was changed may be due, or let others go.
    pub(super) async fn decide(
        &self,
        sql: &Dead,
        filter: &Filter,
        by: &str,
        limit: u32,
    ) -> Result<Vec<String>, StoreError> {
        let (true, Ok(id)) = (may_be_dead(filter), named(filter)) else { return Ok(Vec::new()) };
        let (given, limit, by) = (Given::of(filter), i64::from(limit), shorten(by));
        let (sql, params) = given.params(sql, &id, &limit, (&by, Type::TEXT));
        let begin = statements::begin(&self.limits);
        let wake = &self.statements.outbox.wake;
        let answers = self.run_all(&begin, &[(sql, &params), (wake, &[])]).await?;
        let changed = answers.first().map_or(&[][..], |rows| rows);
        let ids = changed.iter().map(|row| row.try_get::<_, Id>(0).map(|id| id.0.to_string()));
        ids.collect::<Result<_, Error>>().map_err(|error| store_error(&self.label, error))
    }
}

/// A filter as the server takes it.
struct Given<'a> {
    filter: &'a Filter,
    from: Option<SystemTime>,
    until: Option<SystemTime>,
    cause: Option<i64>,
}

impl<'a> Given<'a> {
    fn of(filter: &'a Filter) -> Self {
        let (from, until) = (filter.from.map(moment), filter.until.map(moment));
        Self { filter, from, until, cause: filter.cause.map(CauseId::as_column) }
    }

    /// The statement for this filter, and its parameters.
    fn params<'p>(
        &'p self,
        sql: &'p Dead,
        id: &'p Option<String>,
        limit: &'p i64,
        sixth: Param<'p>,
    ) -> (&'p str, Vec<Param<'p>>) {
        let mut params: Vec<Param<'p>> = vec![
            (&self.filter.topic, Type::TEXT),
            (&self.filter.source, Type::TEXT),
            (&self.filter.kind, Type::TEXT),
            (id, Type::TEXT),
            (limit, Type::INT8),
            sixth,
            (&self.from, Type::TIMESTAMPTZ),
            (&self.until, Type::TIMESTAMPTZ),
        ];
        match &self.cause {
            None => (&sql.any, params),
            Some(cause) => {
                params.push((cause, Type::INT8));
                (&sql.of_cause, params)
            }
        }
    }
}

fn may_be_dead(filter: &Filter) -> bool {
    filter.state.is_none_or(|state| state == State::Dead)
}
