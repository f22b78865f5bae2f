//! Dead messages: which ones are meant, how many, and what they have in common.

use std::collections::HashMap;

use tenure_core::StoreError;
use tenure_core::outbox::{
    CauseId, Count, DeadPass, DeadWalk, GRAVES_MAX, Grave, Graves, RowId, State, Summary,
};

use super::cells::Cells;
use super::list::filter_values;
use super::unit::Stop;
use crate::driver::{Call, Session, Turn};
use crate::store::Shared;
use crate::value::Value;

/// How many dead messages one statement looks at.
const LOOK_BATCH: u32 = 5_000;
/// How many times as many as are wanted are looked at by one statement: most walks meet enough at once.
const LOOK_TIMES: u32 = 20;
/// How many are looked at by one statement at least, where not all fit: a walk that wants one more may have to pass very many.
const LOOK_MIN: u32 = 500;

impl Shared {
    /// Goes through dead messages as far as a walk allows.
    pub(super) async fn find_dead(&self, walk: &DeadWalk) -> Result<DeadPass, StoreError> {
        let (mut pass, filter) = (DeadPass::new(walk), &walk.filter);
        if walk.limit == 0 || filter.state.is_some_and(|state| state != State::Dead) {
            return Ok(pass);
        }
        let (mut after, mut until) = (walk.after(), i64::MAX);
        if let Some(id) = &filter.id {
            let Some(number) = self.number_of(id).await? else { return Ok(pass) };
            (after, until) = (after.max(number.saturating_sub(1)), number);
        }
        while pass.goes_on() {
            let most = at_once(walk.picks(), &pass);
            let mut params = vec![after.into(), until.into(), most.into()];
            params.extend(filter_values(filter));
            let statement = match filter.cause {
                None => &self.statements.dead_find,
                Some(cause) => {
                    params.push(cause.as_column().into());
                    &self.statements.dead_find_cause
                }
            };
            let rows = self.rows(Turn::Work, statement, params).await?;
            let all = rows.len() < most as usize;
            for row in rows {
                let mut cells = Cells::of(row, self.reader());
                let (number, fits) = (cells.whole()?, cells.truth()?);
                after = number;
                if !pass.meets(RowId(number), fits) {
                    return Ok(pass);
                }
            }
            if all {
                break;
            }
        }
        Ok(pass)
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

/// How many the next statement of a walk looks at.
fn at_once(picks: bool, pass: &DeadPass) -> u32 {
    let most = match picks {
        true => pass.wanted().saturating_mul(LOOK_TIMES).max(LOOK_MIN),
        // Where all fit, no more are looked at than are meant.
        false => pass.wanted(),
    };
    most.min(pass.steps_left()).min(LOOK_BATCH)
}

/// Dead messages of one cause, by numbers.
struct Group {
    cause: CauseId,
    few: u64,
    oldest: i64,
    newest: i64,
}

#[cfg(test)]
mod tests {
    use tenure_core::outbox::Filter;

    use super::*;

    /// How many statements a walk takes through a very long list of dead messages, of which the first ones fit.
    fn statements(walk: &DeadWalk, fit: i64) -> u32 {
        let (mut pass, mut number, mut statements) = (DeadPass::new(walk), 0, 0);
        while pass.goes_on() {
            statements += 1;
            for _ in 0..at_once(walk.picks(), &pass) {
                number += 1;
                if !pass.meets(RowId(number), number <= fit) {
                    break;
                }
            }
        }
        statements
    }

    #[test]
    fn looking_for_one_more_takes_few_statements() {
        let walk = |topic: Option<&str>| {
            DeadWalk::of(Filter { topic: topic.map(str::to_owned), ..Filter::default() }, 10)
        };
        let picks = walk(Some("t"));
        assert!(picks.picks() && !walk(None).picks());
        // The limit is met at once, and nothing that fits comes behind it.
        let (took, most) = (statements(&picks, 10), picks.steps().div_ceil(LOOK_MIN));
        assert!(took <= most, "{took} statements, {most} at most");
        assert_eq!(at_once(false, &DeadPass::new(&walk(None))), 11, "where all fit, no more than are meant");
    }
}
