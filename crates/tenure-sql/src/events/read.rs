//! Reading: one stream, or all of them as far as nothing can appear any more.

use std::time::Duration;

use tenure_core::StoreError;
use tenure_core::event::{
    AllPage, Direction, PAGE_BYTES, PAGE_MAX, PageRows, Position, StreamPage, StreamRead, Version,
};

use super::horizon::{Horizon, Slot};
use crate::driver::{Call, Turn};
use crate::reader::{Columns as _, recorded};
use crate::row::Row;
use crate::store::Shared;

/// How many bytes of payload a page takes before it takes no more.
const BYTES: i64 = PAGE_BYTES as i64;

impl Shared {
    pub(super) async fn read_stream(&self, read: &StreamRead) -> Result<StreamPage, StoreError> {
        let texts = &self.statements;
        let (sql, from) = match read.direction {
            Direction::Forward => (&texts.events_forward, read.from.map_or(1, |version| version.0)),
            Direction::Backward => (&texts.events_backward, read.from.map_or(i64::MAX, |version| version.0)),
        };
        let limit = read.limit.clamp(1, PAGE_MAX);
        let params = vec![read.stream.as_str().into(), from.into(), limit.into(), BYTES.into()];
        let rows = self.rows(Turn::Traffic, sql, params).await?;
        let reader = self.reader();
        let actual = reader.need(self.only(&rows)?.number("actual"), "version")?;
        let events = rows.iter().filter_map(recorded);
        let events = events.map(|row| row.map_err(|row| reader.corrupt(row.to_string())));
        Ok(StreamPage { events: events.collect::<Result<_, _>>()?, version: Version(actual) })
    }

    /// The order of the statements is what makes it right: see the file about the horizon.
    pub(super) async fn read_all(&self, after: Position, limit: u32) -> Result<AllPage, StoreError> {
        self.one_counter()?;
        let texts = &self.statements;
        let limit = limit.clamp(1, PAGE_MAX);
        let calls = [
            Call::new(&texts.events_top, []),
            Call::new(&texts.slots_settled, []),
            Call::new(&texts.slots_unsettled, []),
            Call::new(&texts.slots_seen, []),
            Call::new(&texts.events_all, vec![after.0.into(), limit.into(), BYTES.into()]),
        ];
        let mut lent = self.lend(Turn::Traffic).await?;
        let answers = lent.run_all(&calls).await;
        let answers = self.settle(lent, answers).await.map_err(|fault| fault.into_error(self.label()))?;
        let [top, settled, _, seen, events] = &answers[..] else { return Err(self.no_row()) };
        let reader = self.reader();
        let top = reader.need(self.only(&top.rows)?.number("top"), "position")?;
        let settled = settled.rows.iter().map(|row| self.settled(row)).collect::<Result<_, _>>()?;
        let seen = seen.rows.iter().map(|row| self.slot(row)).collect::<Result<Vec<_>, _>>()?;
        let horizon = Horizon::new(top, &settled, &seen);
        let mut found = PageRows::default();
        events.rows.iter().filter_map(recorded).for_each(|row| found.push(row));
        found.end_at(Position(horizon.settled));
        let full = found.full(limit);
        Ok(AllPage {
            events: found.events,
            unreadable: found.unreadable,
            read_to: full.unwrap_or_else(|| horizon.read_to(after)),
            head: horizon.head(),
            stall: if full.is_some() { None } else { horizon.stall(after) },
        })
    }

    /// There are no events where positions may not rise in time.
    pub(super) fn one_counter(&self) -> Result<(), StoreError> {
        let Some(why) = self.driver.several_counters() else { return Ok(()) };
        Err(StoreError::Refused { store: self.label().to_owned(), message: why.to_owned() })
    }

    fn settled(&self, row: &Row) -> Result<(i64, i64), StoreError> {
        let reader = self.reader();
        Ok((reader.need(row.number("slot"), "slot")?, reader.need(row.number("uses"), "uses")?))
    }

    fn slot(&self, row: &Row) -> Result<Slot, StoreError> {
        let reader = self.reader();
        let (slot, uses) = self.settled(row)?;
        let lasts = reader.need(row.number("lasts_us"), "taken_at")?;
        Ok(Slot {
            slot,
            uses,
            floor: reader.need(row.number("floor"), "floor")?,
            holder: reader.need(row.number("holder"), "holder")?,
            lasts: Duration::from_micros(lasts.max(0).unsigned_abs()),
        })
    }
}
