//! Several appends in one transaction, in one round trip.
//!
//! ```text
//!   begin, streams free?, streams, slot, events, where they were placed, dispatches, marks, commit
//! ```
//!
//! A stream that somebody else holds, say a user's transaction that stays open, is not waited for: the group comes to nothing at once,
//! and whoever appends to that stream waits by himself. So a group never holds some streams while it waits for another one that
//! is there, and neither keeps others waiting nor meets a user's transaction in a deadlock. Where the server makes one statement of several, all
//! of it is one.
//!
//! Each kind of row has one statement for all of them, in the order of the streams. Whatever speaks against one of them fails a
//! statement, and so undoes all: a stream that has another version, a key that is there. The order of the statements is that of
//! a single append, and the proof in `horizon` speaks of transactions, whatever is in them: the slot's row is taken before the
//! first position, one row for all, and stands until all of it has ended.

use std::collections::HashMap;

use tenure_core::StoreError;
use tenure_core::event::{Position, Version};

use super::portion::Portion;
use crate::driver::{Call, Lent};
use crate::fault::{Fault, FaultKind};
use crate::outbox::Queues;
use crate::reader::Columns as _;
use crate::row::Row;
use crate::store::Shared;
use crate::value::Value;

/// What came of a group.
pub(super) enum Written {
    /// All was done; the position of the last event of each.
    Done(Vec<Position>),
    /// Nothing was done; or else all of it, and an error came behind that: a limit that ran out, or a hand that ended the statement. Whoever
    /// appends the same once more hears what came of it.
    Undone,
    /// Nobody knows.
    Lost(Fault),
}

impl Shared {
    /// Writes portions, of which no two are of one stream.
    pub(super) async fn write_together(&self, mut lent: Box<dyn Lent>, portions: &mut [Portion]) -> Written {
        let calls = self.calls_together(portions, Queues::of(&*lent));
        let placed = lent.run_as_one(&calls).await;
        match self.settle(lent, placed).await {
            Ok(placed) => {
                // It is done; only where is unknown.
                self.given(&placed, portions).map_or_else(
                    |error| Written::Lost(Fault::new(FaultKind::Gone, error.to_string())),
                    Written::Done,
                )
            }
            Err(fault) if fault.kind == FaultKind::Gone => Written::Lost(fault),
            Err(fault) => {
                tracing::debug!(error = %fault.message, appends = portions.len(), "appends go each by itself");
                Written::Undone
            }
        }
    }

    fn calls_together(&self, portions: &mut [Portion], queues: Queues) -> Vec<Call<'_>> {
        let texts = &self.statements;
        let last = |portion: &Portion| vec![portion.stream.as_str().into(), portion.last.0.into()];
        let last = || Value::Rows(portions.iter().map(last).collect());
        let moves = |portion: &Portion| {
            vec![portion.stream.as_str().into(), portion.base.0.into(), portion.last.0.into()]
        };
        let moves = Value::Rows(portions.iter().map(moves).collect());
        let (moved, placed) = ([last(), moves], [last()]);
        let begun = portions.iter().filter(|portion| portion.base == Version::NONE).count() as i64;
        let found = portions.len() as i64 - begun;
        let there = portions.iter().filter(|portion| portion.base != Version::NONE);
        let there: Vec<_> = there.map(|portion| Value::from(portion.stream.as_str())).collect();
        let mut all = |rows: fn(&mut Portion) -> Vec<Vec<Value>>| -> Vec<Vec<Value>> {
            portions.iter_mut().flat_map(rows).collect()
        };
        let events = all(|portion| std::mem::take(&mut portion.events));
        let dispatches = all(|portion| std::mem::take(&mut portion.dispatches));
        let marks = all(|portion| portion.mark.take().into_iter().collect());

        let mut calls = vec![Call::new(&texts.begin, [])];
        if !there.is_empty() && !self.driver.moves_at_once() {
            calls.push(Call::new(&texts.streams_free, [Value::list(there)]));
        }
        calls.extend([
            Call::new(&texts.streams_move, moved),
            Call::new(&texts.slot_take, [begun.into(), found.into()]),
            Call::new(&texts.slot_had, []),
            Call::new(&texts.events_add, [Value::Rows(events)]),
            Call::new(&texts.events_given, placed),
        ]);
        if !dispatches.is_empty() {
            calls.extend(self.insertion(dispatches, queues));
        }
        if !marks.is_empty() {
            calls.push(Call::new(&texts.marks_add, [Value::Rows(marks)]));
        }
        calls.push(Call::new(&texts.commit, []));
        calls
    }

    /// The position of the last event of each.
    fn given(&self, rows: &[Row], portions: &[Portion]) -> Result<Vec<Position>, StoreError> {
        let reader = self.reader();
        let read = |row: &Row| -> Result<_, StoreError> {
            let position = reader.need(row.number("position"), "position")?;
            Ok((reader.need(row.text("stream"), "stream")?, Position(position)))
        };
        let placed = rows.iter().map(read).collect::<Result<HashMap<_, _>, _>>()?;
        let of = |portion: &Portion| placed.get(&portion.stream).copied();
        portions.iter().map(|portion| of(portion).ok_or_else(|| self.no_row())).collect()
    }
}
