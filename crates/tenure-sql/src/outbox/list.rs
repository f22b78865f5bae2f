//! Messages for people to see.

use tenure_core::StoreError;
use tenure_core::outbox::{Details, LIST_MAX, Listing, RowId, Selection, Sequence, State, Summary};
use tenure_core::time::StoreTime;

use super::cells::{Cells, HALTS, index};
use crate::driver::Turn;
use crate::limits::ATTEMPTS_MAX;
use crate::not_built;
use crate::reader::counted;
use crate::row::Row;
use crate::store::Shared;

/// The longest text that can be an id in the table.
const ID_MAX_BYTES: usize = 64;

impl Shared {
    /// Messages, the newest first.
    pub(super) async fn list(&self, selection: &Selection) -> Result<Listing, StoreError> {
        let Selection { filter, before, limit, steps: _ } = selection;
        if filter.from.is_some() || filter.until.is_some() || filter.cause.is_some() {
            return Err(not_built(self.label()));
        }
        let mut number = None;
        if let Some(id) = &filter.id {
            number = self.number_of(id).await?;
            if number.is_none() {
                return Ok(Listing::default());
            }
        }
        let statements = &self.statements;
        let (statement, only) = match filter.state {
            None => (&statements.outbox_list, false),
            Some(State::Dispatched) => (&statements.outbox_list, true),
            Some(State::Pending) => (&statements.outbox_list_pending, false),
            Some(State::Dead) => (&statements.outbox_list_dead, false),
            Some(State::Discarded) => (&statements.outbox_list_dead, true),
        };
        let params = vec![
            before.map_or(i64::MAX, |before| before.0).into(),
            number.into(),
            filter.topic.as_deref().into(),
            filter.source.as_deref().into(),
            filter.kind.as_deref().into(),
            only.into(),
            (*limit).min(LIST_MAX).into(),
        ];
        let rows = self.rows(Turn::Work, statement, params).await?;
        let messages = rows.into_iter().map(|row| self.summary(row)).collect::<Result<Vec<_>, _>>()?;
        let full = messages.len() == (*limit).min(LIST_MAX) as usize;
        let last = messages.last();
        Ok(Listing {
            more_before: last.filter(|_| full).map(|last| last.row),
            looked_back_to: last.map(|last| last.created_at),
            messages,
        })
    }

    /// All about one message.
    pub(super) async fn show(&self, id: &str, payload_max: usize) -> Result<Option<Details>, StoreError> {
        let Some(number) = self.number_of(id).await? else { return Ok(None) };
        let statements = &self.statements;
        let nothing = || None::<i64>.into();
        let params =
            vec![i64::MAX.into(), number.into(), nothing(), nothing(), nothing(), false.into(), 1_i64.into()];
        let rows = self.rows(Turn::Work, &statements.outbox_list, params).await?;
        let Some(row) = rows.into_iter().next() else { return Ok(None) };
        let summary = self.summary(row)?;
        let rows = self.rows(Turn::Work, &statements.outbox_content, [number.into()]).await?;
        let Some(row) = rows.into_iter().next() else { return Ok(None) };
        let mut cells = Cells::of(row, self.reader());
        let (content_type, headers) = (cells.text()?, cells.text()?);
        let (text, bytes) = (cells.bytes()?, cells.bytes()?);
        let params = vec![number.into(), ATTEMPTS_MAX.into()];
        let rows = self.rows(Turn::Work, &statements.attempts_list, params).await?;
        let attempts = rows.iter().map(|row| self.reader().attempt(row)).collect::<Result<_, _>>()?;
        let is_text = text.is_some();
        let mut payload = text.or(bytes);
        let payload_bytes = payload.as_ref().map_or(0, |payload| payload.len() as u64);
        if let Some(payload) = &mut payload {
            payload.truncate(payload_max);
        }
        Ok(Some(Details { summary, content_type, headers, payload, payload_bytes, is_text, attempts }))
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

    /// Reads the columns of `outbox_summary_columns`.
    fn summary(&self, row: Row) -> Result<Summary, StoreError> {
        let mut cells = Cells::of(row, self.reader());
        let (row, id) = (RowId(cells.whole()?), cells.word()?);
        let queued = cells.whole()?;
        let source = cells.text()?;
        let sequence = Sequence { version: cells.whole()?, index: index(cells.whole()?) };
        let (topic, kind) = (cells.word()?, cells.word()?);
        let created_at = StoreTime::from_micros(cells.whole()?);
        let (due_at, attempts) = (cells.moment()?, counted(cells.whole()?));
        let (dead, halts, reason) = (cells.truth()?, cells.truth()?, cells.text()?);
        let (died_at, discarded_at) = (cells.moment()?, cells.moment()?);
        let (tried_at, last_error) = (cells.moment()?, cells.text()?);
        let state = match (dead, queued) {
            (true, _) if discarded_at.is_some() => State::Discarded,
            (true, _) => State::Dead,
            (false, 0) if tried_at.is_some() => State::Dispatched,
            // Neither queued nor tried: someone took it out of the queue by hand.
            (false, _) => State::Pending,
        };
        let finished_at = match state {
            State::Pending => None,
            State::Dispatched => tried_at,
            State::Dead => died_at,
            State::Discarded => discarded_at,
        };
        Ok(Summary {
            row,
            id,
            state,
            source,
            sequence,
            topic,
            kind,
            created_at,
            attempts,
            due_at: due_at.filter(|_| state == State::Pending && queued != HALTS),
            finished_at,
            last_error: last_error.or(reason),
            halts: state == State::Dead && halts,
        })
    }
}
