//! Dead messages: which ones are meant, how many, and what they have in common.

use std::collections::HashMap;

use tenure_core::StoreError;
use tenure_core::outbox::{CauseId, Count, DEAD_LOOK_MAX, Filter, GRAVES_MAX, Grave, Graves, State, Summary};

use super::cells::Cells;
use super::list::filter_values;
use super::unit::Stop;
use crate::driver::{Call, Session, Turn};
use crate::store::Shared;
use crate::value::Value;

/// How many dead messages one statement looks at.
const LOOK_BATCH: u32 = 5_000;

/// A search among dead messages, from the lowest number on.
pub(super) struct DeadSearch<'a> {
    filter: &'a Filter,
    /// The number of the one message that is meant, if one is.
    number: Option<i64>,
    /// `None` at the end.
    after: Option<i64>,
    /// How many were looked at.
    pub(super) looked: u32,
}

impl Shared {
    /// Begins a search; `None` when none can fit.
    pub(super) async fn dead_search<'a>(
        &self,
        filter: &'a Filter,
    ) -> Result<Option<DeadSearch<'a>>, StoreError> {
        if filter.state.is_some_and(|state| state != State::Dead) {
            return Ok(None);
        }
        let number = match &filter.id {
            None => None,
            Some(id) => match self.number_of(id).await? {
                None => return Ok(None),
                number => number,
            },
        };
        Ok(Some(DeadSearch { filter, number, after: Some(i64::MIN), looked: 0 }))
    }

    /// Goes on with a search: the numbers of those that fit among the next ones, at most `most` of them looked at. `None`
    /// when there are no more.
    pub(super) async fn find_dead(
        &self,
        search: &mut DeadSearch<'_>,
        most: u32,
    ) -> Result<Option<Vec<i64>>, StoreError> {
        let Some(after) = search.after else { return Ok(None) };
        let most = most.clamp(1, LOOK_BATCH);
        let mut params = vec![after.into(), search.number.into(), most.into()];
        params.extend(filter_values(search.filter));
        let statement = match search.filter.cause {
            None => &self.statements.dead_find,
            Some(cause) => {
                params.push(cause.as_column().into());
                &self.statements.dead_find_cause
            }
        };
        let rows = self.rows(Turn::Work, statement, params).await?;
        let looked = u32::try_from(rows.len()).unwrap_or(u32::MAX);
        search.looked = search.looked.saturating_add(looked);
        search.after = None;
        let mut found = Vec::new();
        for row in rows {
            let mut cells = Cells::of(row, self.reader());
            let id = cells.whole()?;
            search.after = Some(id).filter(|_| looked == most);
            if cells.truth()? {
                found.push(id);
            }
        }
        Ok(Some(found))
    }

    /// How many dead messages fit, counted up to a bound, and looking at no more than [`DEAD_LOOK_MAX`].
    pub(super) async fn count_dead(&self, filter: &Filter, at_most: u32) -> Result<Count, StoreError> {
        let Some(mut search) = self.dead_search(filter).await? else { return Ok(Count::default()) };
        let mut found = 0_u64;
        while found <= u64::from(at_most) {
            let left = DEAD_LOOK_MAX.saturating_sub(search.looked);
            if left == 0 {
                // What was not looked at may fit as well.
                return Ok(Count { number: found, or_more: true });
            }
            // Where all fit, no more are looked at than are counted.
            let wanted = u32::try_from(u64::from(at_most) + 1 - found).unwrap_or(u32::MAX);
            let most = if picks(filter) { left } else { left.min(wanted) };
            let Some(next) = self.find_dead(&mut search, most).await? else { break };
            found += next.len() as u64;
        }
        Ok(Count::up_to(at_most.into(), found))
    }

    /// Dead messages by cause.
    pub(super) async fn graves(
        &self,
        after: Option<CauseId>,
        limit: u32,
        count_max: u32,
    ) -> Result<Graves, StoreError> {
        let limit = limit.min(GRAVES_MAX) as usize;
        let mut lent = self.lend(Turn::Work).await?;
        let found = self.graves_on(&mut *lent, after, limit, count_max).await;
        let (groups, more_after) = self.end_reading(lent, found).await?;
        let ids: Vec<i64> = groups.iter().flat_map(|group| [group.oldest, group.newest]).collect();
        let shown = self.summaries(&ids).await?;
        let shown: HashMap<i64, Summary> = shown.into_iter().map(|one| (one.row.0, one)).collect();
        let grave = |group: Group| {
            let (oldest, newest) = (shown.get(&group.oldest)?, shown.get(&group.newest)?);
            let messages = Count::up_to(count_max.into(), group.few);
            Some(Grave { cause: group.cause, messages, newest: newest.clone(), oldest: oldest.clone() })
        };
        Ok(Graves { graves: groups.into_iter().filter_map(grave).collect(), more_after })
    }

    /// The causes of a page, and from which one on the next begins.
    async fn graves_on(
        &self,
        session: &mut dyn Session,
        after: Option<CauseId>,
        limit: usize,
        count_max: u32,
    ) -> Result<(Vec<Group>, Option<CauseId>), Stop> {
        let statements = &self.statements;
        // A column holds no number below 0 unless by another hand.
        let mut at = after.map_or(-1, CauseId::as_column);
        let (mut causes, mut more) = (Vec::new(), false);
        loop {
            let answer = session.run(&Call::new(&statements.dead_cause_next, [at.into()])).await?;
            let Some(row) = answer.rows.into_iter().next() else { break };
            at = Cells::of(row, self.reader()).whole()?;
            if causes.len() == limit {
                more = true;
                break;
            }
            causes.push(at);
        }
        if causes.is_empty() {
            return Ok((Vec::new(), None));
        }
        let bound = i64::from(count_max) + 1;
        let more_after = causes.last().filter(|_| more).map(|cause| CauseId::from_column(*cause));
        let each = causes.into_iter().map(|cause| vec![cause.into(), bound.into()]).collect();
        let branches = Value::Branches { one: statements.dead_cause.clone(), each };
        let answer = session.run(&Call::new(&statements.dead_causes, [branches])).await?;
        let mut groups = Vec::new();
        for row in answer.rows {
            let mut cells = Cells::of(row, self.reader());
            let cause = CauseId::from_column(cells.whole()?);
            let few = u64::try_from(cells.whole()?).unwrap_or_default();
            // The last of a cause may have been retried since.
            if let (Some(oldest), Some(newest)) = (cells.number()?, cells.number()?) {
                groups.push(Group { cause, few, oldest, newest });
            }
        }
        groups.sort_by_key(|group| group.cause);
        Ok((groups, more_after))
    }
}

/// Dead messages of one cause, by numbers.
struct Group {
    cause: CauseId,
    few: u64,
    oldest: i64,
    newest: i64,
}

/// Whether not every dead message, or not every one of the cause, fits.
fn picks(filter: &Filter) -> bool {
    let Filter { state: _, topic, source, kind, id, from, until, cause: _ } = filter;
    topic.is_some() || source.is_some() || kind.is_some() || id.is_some() || from.is_some() || until.is_some()
}
