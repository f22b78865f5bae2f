//! What has just come: the half of the queue that is a list of numbers.
//!
//! ```text
//!   enqueue ──▶ list ──── look ──▶ delivered ──── record ──▶ off the list, with those beside it
//!                 │
//!                 └─ its source has something in its lane, or the relay wants it there ──▶ lane (outbox_pending)
//! ```
//!
//! A message is in one of the two. Who puts it into its lane takes it off the list in the same transaction, behind the lock of its row there.
//!
//! # Order
//!
//! On the list stands only what its number alone gives its place in its source; what was given a place of its own stands in its
//! lane from the beginning. So the list is read in the order of its numbers. By the same snapshot it is seen whether a source has
//! anything in its lane, which then goes first: what is on the list is laid behind it. So it is where it has anything that is to be
//! put into the queue ([`adopt`](super::adopt)): there nothing goes before that is done.
//!
//! A relay that does not ask for the list (it drains a part, and most of the list would be others') has all of it laid before it
//! looks.

use std::collections::HashSet;
use std::sync::atomic::Ordering;

use tenure_core::outbox::{Arrivals, ArrivalsLook, Outcome, Page, RowId, Stored};

use super::cells::{Cells, Stand, stored};
use super::look::FRESH_MAX;
use super::unit::Stop;
use crate::driver::{Answer, Call, Session};
use crate::limits::STATEMENT_ROWS;
use crate::store::Shared;
use crate::value::Value;
use tenure_core::StoreError;

/// How many steps of laying one look makes that does not ask for the list; the next one goes on.
const STEPS: usize = 20;
/// So many numbers without a gap are worth statements of their own.
const RUN_MIN: usize = 32;
/// Deliveries that take less than this are noted with the longest of those beside them: one statement notes them all.
const ALIKE_US: u128 = 1_000;

/// What was asked for, and in which order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    Ahead { checked: bool },
    Again,
    Behind,
}

/// What one look at the list came to.
#[derive(Debug, Default)]
pub(super) struct Seen {
    pub(super) found: Arrivals,
    /// What is to be laid into lanes.
    pub(super) lay: Vec<i64>,
    /// What has no message.
    pub(super) orphans: Vec<i64>,
    /// It cannot be gone by: there is something in lanes.
    pub(super) unchecked: bool,
}

impl Shared {
    /// The statements of a look at the list.
    pub(super) fn arrivals_calls(&self, look: &ArrivalsLook, checked: bool) -> Vec<(Part, Call<'_>)> {
        let texts = &self.statements;
        let mut calls = Vec::new();
        if look.limit > 0 {
            let text = if checked { &texts.arrivals_check } else { &texts.arrivals_look };
            let after = look.after.map_or(i64::MIN, |after| after.0);
            let params = vec![after.into(), look.limit.into(), FRESH_MAX.into()];
            calls.push((Part::Ahead { checked }, Call::new(text, params)));
        }
        for some in look.again.chunks(STATEMENT_ROWS) {
            let params = vec![Value::list(some.iter().map(|id| id.0)), FRESH_MAX.into()];
            calls.push((Part::Again, Call::new(&texts.arrivals_again, params)));
        }
        if let Some((limit, to)) = look.behind.zip(look.after) {
            calls.push((Part::Behind, Call::new(&texts.arrivals_behind, vec![to.0.into(), limit.into()])));
        }
        calls
    }

    /// Whether each row is to be looked at for what is in its lane: as long as there was anything in lanes of late.
    pub(super) fn checks_lanes(&self) -> bool {
        self.laned.load(Ordering::Relaxed)
    }

    /// There is something in lanes.
    pub(super) fn note_laned(&self, laned: bool) {
        self.laned.store(laned, Ordering::Relaxed);
    }

    /// Takes the answers to the statements of [`arrivals_calls`](Self::arrivals_calls).
    pub(super) fn take_arrivals(
        &self,
        look: &ArrivalsLook,
        answers: Vec<(Part, Answer)>,
    ) -> Result<Seen, StoreError> {
        let mut seen = Seen::default();
        for (part, answer) in answers {
            match part {
                Part::Behind => {
                    for row in answer.rows {
                        seen.found.behind.push(RowId(Cells::of(row, self.reader()).whole()?));
                    }
                }
                Part::Again => {
                    self.take_listed(look, answer, &mut seen)?;
                }
                Part::Ahead { checked } => {
                    let taken = self.take_listed(look, answer, &mut seen)?;
                    self.note_laned(taken.laned);
                    seen.unchecked |= taken.laned && !checked;
                    seen.found.read_to = taken.read_to;
                    seen.found.more = taken.listed >= look.limit;
                }
            }
        }
        seen.found.rows.sort_by_key(|row| row.id);
        seen.found.rows.dedup_by_key(|row| row.id);
        Ok(seen)
    }

    fn take_listed(&self, look: &ArrivalsLook, answer: Answer, seen: &mut Seen) -> Result<Taken, StoreError> {
        let mut taken = Taken::default();
        let mut rows: Vec<(Stored, Stand)> = Vec::with_capacity(answer.rows.len());
        let (mut fresh, mut fresh_rows) = (HashSet::new(), 0);
        for row in answer.rows {
            let (stored, stand) = stored(row, self.reader())?;
            match stand {
                Stand::Laned => taken.laned = true,
                Stand::Fresh => {
                    fresh_rows += 1;
                    fresh.extend(stored.source.filter(|_| stored.ordered));
                }
                _ => rows.push((stored, stand)),
            }
        }
        // With so many it is not known whose they all are: nothing that has a source goes, and all is read again once they are fewer.
        let unclear = fresh_rows >= FRESH_MAX;
        for (row, stand) in rows {
            let id = row.id.0;
            if !unclear {
                taken.listed += 1;
                taken.read_to = taken.read_to.max(Some(row.id));
            }
            let laid = |source| {
                stand == Stand::Behind || fresh.contains(source) || look.lay.iter().any(|lay| lay == source)
            };
            match row.lane() {
                _ if stand == Stand::Orphan => seen.orphans.push(id),
                Some(_) if unclear => {}
                // In its lane it stands where it belongs, whatever is put into the queue before it.
                Some(source) if laid(source) => seen.lay.push(id),
                _ => seen.found.rows.push(row),
            }
        }
        Ok(taken)
    }

    /// Lays messages into their lanes that are on the list. Waits for whoever is about to take one of them off it.
    pub(super) async fn lay(&self, session: &mut dyn Session, numbers: &[i64]) -> Result<(), Stop> {
        let texts = &self.statements;
        for some in numbers.chunks(STATEMENT_ROWS) {
            let all = vec![Value::list(some.iter().copied())];
            let hold = [Call::new(&texts.begin, []), Call::new(&texts.arrivals_hold, all)];
            let held = session.run_all(&hold).await?.pop().unwrap_or_default();
            let held = self.numbers(held)?;
            let mut writes = Vec::new();
            if !held.is_empty() {
                writes.extend(self.laying(&held));
            }
            writes.push(Call::new(&texts.commit, []));
            session.run_all(&writes).await?;
        }
        Ok(())
    }

    /// The statements that lay messages into their lanes whose rows on the list are held.
    pub(super) fn laying(&self, held: &[i64]) -> [Call<'_>; 2] {
        self.note_laned(true);
        let all = || vec![Value::list(held.iter().copied())];
        [Call::new(&self.statements.pending_lay, all()), Call::new(&self.statements.arrivals_remove, all())]
    }

    /// Lays all that has just come into its lane, for a relay that does not ask for the list. Answers how far it has come if there
    /// may be more.
    pub(super) async fn lay_all(&self, session: &mut dyn Session) -> Result<Option<RowId>, Stop> {
        let mut after = i64::MIN;
        for _ in 0..STEPS {
            let params = vec![after.into(), i64::try_from(STATEMENT_ROWS).unwrap_or(i64::MAX).into()];
            let next = session.run(&Call::new(&self.statements.arrivals_next, params)).await?;
            let numbers = self.numbers(next)?;
            self.lay(session, &numbers).await?;
            match numbers.last() {
                Some(last) if numbers.len() == STATEMENT_ROWS => after = *last,
                _ => return Ok(None),
            }
        }
        Ok(Some(RowId(after)))
    }

    /// Leaves out of a page what came behind something that is on the list still, after this number.
    pub(super) fn leave_out_unlaid(page: &mut Page, laid_to: RowId) {
        let mut cut: HashSet<String> = HashSet::new();
        page.rows.retain(|row| {
            let Some(source) = row.lane() else { return true };
            if row.id > laid_to {
                cut.insert(source.to_owned());
            }
            !cut.contains(source)
        });
    }

    pub(super) fn numbers(&self, answer: Answer) -> Result<Vec<i64>, StoreError> {
        answer.rows.into_iter().map(|row| Cells::of(row, self.reader()).whole()).collect()
    }
}

/// What one statement told of the list.
#[derive(Debug, Default)]
struct Taken {
    listed: u32,
    read_to: Option<RowId>,
    laned: bool,
}

/// Outcomes in the order of their numbers, as runs of numbers without a gap, and the rest.
///
/// What is noted by the two ends of such a run can be nothing else, whatever else comes on the list meanwhile. (Not removed: where it
/// is most of a small list, servers would read that through, and wait for everyone who has a row of it under way.)
pub(super) fn runs<'o>(outcomes: &[&'o Outcome]) -> (Vec<Run>, Vec<&'o Outcome>) {
    let (mut runs, mut rest) = (Vec::new(), Vec::new());
    let follows = |one: &&Outcome, next: &&Outcome| {
        let quick = |outcome: &Outcome| outcome.took.as_micros() < ALIKE_US;
        one.id.0 + 1 == next.id.0 && quick(one) && quick(next)
    };
    for group in outcomes.chunk_by(follows) {
        match group {
            [first, .., last] if group.len() >= RUN_MIN => {
                let took = group.iter().map(|outcome| outcome.took.as_micros()).max().unwrap_or_default();
                let took_us = i64::try_from(took).unwrap_or(i64::MAX);
                runs.push(Run { first: first.id.0, last: last.id.0, took_us });
            }
            _ => rest.extend(group),
        }
    }
    (runs, rest)
}

/// A run of numbers without a gap.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Run {
    pub(super) first: i64,
    pub(super) last: i64,
    /// How long the longest of the deliveries took.
    pub(super) took_us: i64,
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tenure_core::outbox::{Kind, Next};

    use super::*;

    fn outcome(id: i64, took_us: u64) -> Outcome {
        let took = Duration::from_micros(took_us);
        Outcome { id: RowId(id), attempt: 1, kind: Kind::Success, next: Next::Done, reason: None, took }
    }

    #[test]
    fn only_numbers_without_a_gap_are_a_run() {
        let few = i64::try_from(RUN_MIN).unwrap();
        let dense = (1..=few).map(|id| outcome(id, 5));
        let broken = (few + 2..=2 * few).map(|id| outcome(id, 7));
        let outcomes: Vec<_> = dense.chain(broken).collect();
        let (runs, rest) = runs(&outcomes.iter().collect::<Vec<_>>());
        assert_eq!(runs, [Run { first: 1, last: few, took_us: 5 }]);
        assert_eq!(rest.len(), RUN_MIN - 1);
    }

    #[test]
    fn what_took_its_time_is_noted_by_itself() {
        let many = i64::try_from(2 * RUN_MIN).unwrap();
        let outcomes: Vec<_> = (1..=many).map(|id| outcome(id, if id == 1 { 1_000 } else { 999 })).collect();
        let (runs, rest) = runs(&outcomes.iter().collect::<Vec<_>>());
        assert_eq!(runs, [Run { first: 2, last: many, took_us: 999 }]);
        assert_eq!(rest.len(), 1);
    }
}
