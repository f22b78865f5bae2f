//! Messages for people to see.
//!
//! A search is two statements: a walk over numbers, bounded by how many rows it looks at, and what is to be shown of those
//! that it found. What the walk says of its end is by the same look at the table as what it found.

use tenure_core::StoreError;
use tenure_core::outbox::{
    Bisect, Details, Filter, LIST_MAX, Listing, MessageId, RowId, Selection, State, Summary, Walk,
};
use tenure_core::time::StoreTime;

use super::cells::Cells;
use super::unit::Stop;
use crate::driver::{Call, Session, Turn};
use crate::limits::{ATTEMPTS_MAX, STATEMENT_ROWS};
use crate::row::Row;
use crate::store::Shared;
use crate::value::Value;

/// The longest text that can be an id in the table.
const ID_MAX_BYTES: usize = 64;

/// How many rows of a smaller table are looked at, at most: each leads to a message elsewhere, on a page of its own.
const STEPS_BESIDE: u32 = 4_000;
/// How many rows a walk looks at first.
const FIRST_STEPS: u32 = 500;
/// So many times more it looks at next.
const MORE_STEPS: u32 = 6;

/// What a walk has found.
struct Walked {
    steps: Vec<Listed>,
    /// How many rows were looked at.
    looked: u32,
    /// The last of them.
    end: Option<(RowId, Option<StoreTime>)>,
}

/// A row that a walk has come by: one that was found, or the last one.
struct Listed {
    id: RowId,
    created_at: Option<StoreTime>,
    fits: bool,
    /// How many rows were looked at up to it.
    looked: u32,
}

impl Shared {
    /// Messages, the newest first, and how far was looked.
    pub(super) async fn list(&self, selection: &Selection) -> Result<Listing, StoreError> {
        let filter = &selection.filter;
        // Only dead messages have a cause.
        let state = filter.cause.map_or(filter.state, |_| Some(State::Dead));
        if filter.state.is_some() && filter.state != state {
            return Ok(Listing::default());
        }
        let Some(mut walk) = self.walk_of(selection).await? else { return Ok(Listing::default()) };
        if !matches!(state, None | Some(State::Dispatched)) {
            walk.steps = walk.steps.min(STEPS_BESIDE);
        }
        let Walked { mut steps, looked, end } = self.walk(filter, state, &walk).await?;
        let Some((end, end_at)) = end else { return Ok(Listing::default()) };
        let found = steps.len();
        let cut = found >= walk.limit as usize;
        steps.truncate(walk.limit.saturating_sub(1) as usize);
        let last = steps.last().map(|step| step.id);
        let far = if cut { steps.last().and_then(|step| step.created_at) } else { end_at };
        let ids: Vec<i64> = steps.iter().map(|step| step.id.0).collect();
        let mut messages = self.summaries(&ids).await?;
        // What has become of them since they were found.
        messages.retain(|message| state.is_none_or(|state| message.state == state));
        let more_before = walk.more_before(found, last, looked, Some(end));
        Ok(Listing {
            messages,
            // There is one message of an id, and it was looked at.
            more_before: more_before.filter(|_| filter.id.is_none()),
            looked_back_to: far,
        })
    }

    /// All about one message.
    pub(super) async fn show(&self, id: &str, payload_max: usize) -> Result<Option<Details>, StoreError> {
        let Some(number) = self.number_of(id).await? else { return Ok(None) };
        let Some(summary) = self.summaries(&[number]).await?.pop() else { return Ok(None) };
        let statements = &self.statements;
        // In characters, of which each is a byte at least.
        let most = i32::try_from(payload_max).unwrap_or(i32::MAX);
        let rows = self.rows(Turn::Work, &statements.outbox_content, [number.into(), most.into()]).await?;
        let Some(content) = rows.first() else { return Ok(None) };
        let params = vec![number.into(), ATTEMPTS_MAX.into()];
        let rows = self.rows(Turn::Work, &statements.attempts_list, params).await?;
        let attempts = rows.iter().map(|row| self.reader().attempt(row)).collect::<Result<_, _>>()?;
        self.reader().content(content, summary, attempts, payload_max).map(Some)
    }

    /// Messages by their ids, as a list shows them.
    pub(super) async fn named(&self, ids: &[MessageId]) -> Result<Vec<Summary>, StoreError> {
        let mut numbers = Vec::new();
        for chunk in ids[..ids.len().min(LIST_MAX as usize)].chunks(STATEMENT_ROWS) {
            let ids = Value::list(chunk.iter().map(ToString::to_string));
            let rows = self.rows(Turn::Work, &self.statements.outbox_numbers, [ids]).await?;
            for row in rows {
                numbers.push(Cells::of(row, self.reader()).whole()?);
            }
        }
        numbers.sort_unstable();
        numbers.dedup();
        self.summaries(&numbers).await
    }

    /// The number of the message with this id.
    pub(super) async fn number_of(&self, id: &str) -> Result<Option<i64>, StoreError> {
        if !id.is_ascii() || id.len() > ID_MAX_BYTES {
            return Ok(None);
        }
        let rows = self.rows(Turn::Work, &self.statements.outbox_number, [id.into()]).await?;
        let row = rows.into_iter().next();
        row.map(|row| Cells::of(row, self.reader()).whole()).transpose()
    }

    /// Messages of these numbers as lists show them, the newest first; those that are gone are not among them.
    pub(super) async fn summaries(&self, numbers: &[i64]) -> Result<Vec<Summary>, StoreError> {
        let mut found = Vec::with_capacity(numbers.len());
        for chunk in numbers.chunks(STATEMENT_ROWS) {
            let numbers = Value::list(chunk.iter().copied());
            let rows = self.rows(Turn::Work, &self.statements.outbox_summaries, [numbers]).await?;
            for row in &rows {
                found.push(self.reader().summary(row)?);
            }
        }
        Ok(found)
    }

    /// Where a search goes; `None` when nothing can be there.
    async fn walk_of(&self, selection: &Selection) -> Result<Option<Walk>, StoreError> {
        let filter = &selection.filter;
        if let Some(id) = &filter.id {
            let Some(number) = self.number_of(id).await? else { return Ok(None) };
            let walk = Walk::of(selection, None, None);
            let before = walk.before.min(number.saturating_add(1));
            return Ok(Some(Walk { before, floor: number.saturating_sub(1), ..walk }));
        }
        if filter.from.is_none() && filter.until.is_none() {
            return Ok(Some(Walk::of(selection, None, None)));
        }
        let mut lent = self.lend(Turn::Work).await?;
        let edges = self.edges_on(&mut *lent, filter).await;
        let (until, from) = self.end_reading(lent, edges).await?;
        Ok(Some(Walk::of(selection, until, from)))
    }

    /// The rows next to the end and to the beginning of a range of time.
    async fn edges_on(
        &self,
        session: &mut dyn Session,
        filter: &Filter,
    ) -> Result<(Option<i64>, Option<i64>), Stop> {
        let newest = self.row_before(session, i64::MAX).await?.map_or(0, |(id, _)| id);
        let mut edges = [filter.until, filter.from].map(|moment| moment.map(|at| Bisect::new(at, newest)));
        for bisect in edges.iter_mut().flatten() {
            while let Some(asked) = bisect.next() {
                bisect.found(self.row_before(session, asked).await?);
            }
        }
        Ok((edges[0].as_ref().map(Bisect::row), edges[1].as_ref().map(Bisect::row)))
    }

    async fn row_before(
        &self,
        session: &mut dyn Session,
        number: i64,
    ) -> Result<Option<(i64, StoreTime)>, Stop> {
        let answer = session.run(&Call::new(&self.statements.outbox_row_before, [number.into()])).await?;
        let Some(row) = answer.rows.into_iter().next() else { return Ok(None) };
        let mut cells = Cells::of(row, self.reader());
        Ok(Some((cells.whole()?, StoreTime::from_micros(cells.whole()?))))
    }

    /// Walks until enough is found, or as far as it may: a few rows first, for mostly they hold a page, and ever more then.
    async fn walk(&self, filter: &Filter, state: Option<State>, walk: &Walk) -> Result<Walked, StoreError> {
        let mut walked = Walked { steps: Vec::new(), looked: 0, end: None };
        let (mut before, mut portion) = (walk.before, FIRST_STEPS);
        loop {
            let steps = portion.min(walk.steps - walked.looked);
            let found = u32::try_from(walked.steps.len()).unwrap_or(u32::MAX);
            let next = Walk { before, steps, limit: walk.limit.saturating_sub(found), ..*walk };
            let mut listed = self.portion(filter, state, &next).await?;
            let Some(end) = listed.pop() else { return Ok(walked) };
            walked.looked += end.looked;
            walked.end = Some((end.id, end.created_at));
            before = end.id.0;
            let short = end.looked < steps;
            walked.steps.extend(listed);
            walked.steps.extend(Some(end).filter(|end| end.fits));
            if short || walked.steps.len() >= walk.limit as usize || walked.looked >= walk.steps {
                return Ok(walked);
            }
            portion = portion.saturating_mul(MORE_STEPS);
        }
    }

    /// What was found in one portion of a walk, and behind it, or last among it, the last row that was looked at.
    async fn portion(
        &self,
        filter: &Filter,
        state: Option<State>,
        walk: &Walk,
    ) -> Result<Vec<Listed>, StoreError> {
        let statements = &self.statements;
        let mut params = vec![walk.before.into(), walk.floor.into(), walk.steps.into()];
        params.extend(filter_values(filter));
        params.push(walk.limit.into());
        let statement = match (state, filter.cause) {
            (_, Some(cause)) => {
                params.push(cause.as_column().into());
                &statements.outbox_list_cause
            }
            (None | Some(State::Dispatched), None) => {
                params.push(state.is_some().into());
                &statements.outbox_list
            }
            (Some(State::Pending), None) => &statements.outbox_list_pending,
            (Some(State::Dead), None) => &statements.outbox_list_dead,
            (Some(State::Discarded), None) => &statements.outbox_list_discarded,
        };
        let rows = self.rows(Turn::Work, statement, params).await?;
        rows.into_iter().map(|row| self.listed(row, walk.limit)).collect()
    }

    /// Reads the columns of `listed_columns`.
    fn listed(&self, row: Row, limit: u32) -> Result<Listed, StoreError> {
        let mut cells = Cells::of(row, self.reader());
        let (id, created_at) = (RowId(cells.whole()?), cells.moment()?);
        let (fits, looked, found) = (cells.truth()?, cells.whole()?, cells.whole()?);
        // The last row is there also when enough were found before it.
        let fits = fits && found <= i64::from(limit);
        Ok(Listed { id, created_at, fits, looked: u32::try_from(looked).unwrap_or(u32::MAX) })
    }
}

/// The parameters of `outbox_fits_fragment`.
pub(super) fn filter_values(filter: &Filter) -> [Value; 5] {
    [
        filter.topic.as_deref().into(),
        filter.source.as_deref().into(),
        filter.kind.as_deref().into(),
        filter.from.into(),
        filter.until.into(),
    ]
}
