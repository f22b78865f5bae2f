//! What stands in lanes while the list of what has just come is counted ([`arrivals`](super::arrivals)).
//!
//! To look for each message on the list whether there is anything in the lane of its source costs more than to read it. Mostly lanes
//! are few: those of sources that have failed. So their names are known from the last look, and a look asks two things only: which of
//! them are there still, by a step in the index each, and whether there is another one between two of them. Neither costs more
//! however much stands in a lane. Where there is another one, which is rare, all lanes are walked through.
//!
//! # Order
//!
//! Lanes are seen *after* the list, by a younger snapshot. A message goes only if by then nothing is in the lane of its source. What
//! was there when the list was seen, and is no more, was delivered, or given up, or taken out by an operator: nothing goes from a
//! lane back to the list by anything but a hand that says `fresh = 1` (docs/databases.md). What has come into the lane since makes the
//! message wait, which it may always do.

use std::collections::BTreeSet;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::cells::Cells;
use super::unit::Stop;
use crate::driver::{Answer, Call, Session};
use crate::row::Row;
use crate::store::Shared;
use crate::value::Value;

/// With more lanes than this, each message is looked at for its lane.
const LANES_MAX: usize = 64;
/// How many steps the round trips of a walk through all lanes take: the last one comes behind the last of so many, or they are too many.
const WALKS: [u32; 2] = [8, LANES_MAX as u32 + 1];
/// So many messages come for each lane at least, or to ask for lanes is not worth it.
const ROWS_EACH: i64 = 8;
/// After so many looks it is tried again whether lanes have become few.
const AGAIN: u32 = 64;
/// Behind the name of every source: no text in UTF-8 has this byte.
const BEHIND_ALL: &[u8] = &[0xff];
/// The lane of what has no source: before all others.
const NO_SOURCE: &[u8] = &[];

/// What lanes there were by the last look. A hint: each look sees for itself.
#[derive(Debug, Default)]
pub(crate) struct Beside(Mutex<Known>);

#[derive(Debug, Default)]
struct Known {
    sources: Vec<Vec<u8>>,
    /// For so many looks, lanes are taken to be too many.
    crowded: u32,
}

/// What is in lanes.
#[derive(Debug, Default)]
pub(super) struct Lanes {
    /// The sources, all of them.
    pub(super) sources: BTreeSet<Vec<u8>>,
    /// Whether there is anything, also without a source.
    pub(super) any: bool,
}

impl Beside {
    /// The sources to ask for; `None` where that is not worth it.
    pub(super) fn guess(&self) -> Option<Vec<Vec<u8>>> {
        let mut known = self.lock();
        match known.crowded.checked_sub(1) {
            None => Some(known.sources.clone()),
            Some(left) => {
                known.crowded = left;
                None
            }
        }
    }

    /// Takes note of what was found beside so many messages; `None` if that was too much.
    pub(super) fn note(&self, found: Option<Lanes>, rows: i64) -> Option<Lanes> {
        let mut known = self.lock();
        known.sources.clear();
        match &found {
            Some(lanes) => {
                known.sources.extend(lanes.sources.iter().cloned());
                let worth = i64::try_from(lanes.sources.len()).is_ok_and(|lanes| lanes * ROWS_EACH <= rows);
                known.crowded = if worth { 0 } else { AGAIN };
            }
            None => known.crowded = AGAIN,
        }
        drop(known);
        found
    }

    fn lock(&self) -> MutexGuard<'_, Known> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Shared {
    /// The statements that tell which of these sources have anything in their lanes, and what else is there.
    pub(super) fn lanes_calls(&self, known: &[Vec<u8>]) -> [Call<'_>; 2] {
        let named = std::iter::once(NO_SOURCE).chain(known.iter().map(Vec::as_slice));
        let each = named.map(|source| vec![source.into()]).collect();
        let heads = Value::Branches { one: self.statements.outbox_head.clone(), each };
        [Call::new(&self.statements.outbox_heads, vec![heads]), self.between(known)]
    }

    /// The statement that finds a source in each of the gaps between these, which are in order.
    fn between(&self, known: &[Vec<u8>]) -> Call<'_> {
        let before = std::iter::once(NO_SOURCE).chain(known.iter().map(Vec::as_slice));
        let behind = known.iter().map(Vec::as_slice).chain([BEHIND_ALL]);
        let each = before.zip(behind).map(|(one, next)| vec![one.into(), next.into()]).collect();
        let between = Value::Branches { one: self.statements.outbox_between.clone(), each };
        Call::new(&self.statements.outbox_heads, vec![between])
    }

    /// All that is in lanes, by the answers to [`lanes_calls`](Self::lanes_calls); `None` if that is too much to be told. Where others
    /// than the known ones were found, all are walked through: those behind them are not known either.
    pub(super) async fn see_lanes(
        &self,
        session: &mut dyn Session,
        heads: Answer,
        between: Answer,
    ) -> Result<Option<Lanes>, Stop> {
        let (found, others) = (self.sources(heads.rows)?, !between.rows.is_empty());
        let any = others || !found.is_empty();
        let mut sources: BTreeSet<_> = found.into_iter().filter(|source| source != NO_SOURCE).collect();
        let mut at = others.then(|| NO_SOURCE.to_vec());
        for steps in WALKS {
            let Some(from) = at else { break };
            let walked = self.driver.walk(session, &self.statements, &from, steps).await?;
            sources.extend(self.sources(walked.heads)?);
            at = walked.at;
        }
        let told = at.is_none() && sources.len() <= LANES_MAX;
        Ok(told.then_some(Lanes { sources, any }))
    }

    /// The sources that these rows begin with.
    fn sources(&self, rows: Vec<Row>) -> Result<Vec<Vec<u8>>, Stop> {
        let source = |row| Ok(Cells::of(row, self.reader()).bytes()?.unwrap_or_default());
        rows.into_iter().map(source).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lanes(count: usize) -> Option<Lanes> {
        let sources = (0..count).map(|n| format!("s{n:03}").into_bytes()).collect();
        Some(Lanes { sources, any: count > 0 })
    }

    #[test]
    fn what_was_there_is_asked_for_again() {
        let beside = Beside::default();
        assert_eq!(beside.guess(), Some(Vec::new()));
        assert!(beside.note(lanes(2), 100).is_some());
        assert_eq!(beside.guess(), Some(vec![b"s000".to_vec(), b"s001".to_vec()]));
        assert!(beside.note(lanes(0), 100).is_some());
        assert_eq!(beside.guess(), Some(Vec::new()), "and no more once it is gone");
    }

    #[test]
    fn where_lanes_are_too_many_it_is_tried_again_now_and_then() {
        let few = i64::try_from(LANES_MAX).unwrap() * ROWS_EACH - 1;
        for (found, rows) in [(None, 10_000), (lanes(LANES_MAX), few)] {
            let (beside, told) = (Beside::default(), found.is_some());
            assert_eq!(beside.note(found, rows).is_some(), told, "what was found is told all the same");
            for look in 0..AGAIN {
                assert_eq!(beside.guess(), None, "{look}");
            }
            assert!(beside.guess().is_some());
        }
        let beside = Beside::default();
        beside.note(lanes(LANES_MAX), few + 1);
        assert_eq!(
            beside.guess().map(|known| known.len()),
            Some(LANES_MAX),
            "with so many rows they are few"
        );
    }
}
