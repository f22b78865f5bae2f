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
//! Lanes are read before the list ([`look`](super::look)): what stands behind something on the list, and was seen in its lane, finds
//! that there. Where a look lays something, it tells nothing that it has seen in that lane, for this may belong before it.
//!
//! Where the numbers on the list have no gap, and nothing is to be put into the queue, they are counted and not read, and the messages come by
//! one pass over theirs. A message does not change, so it need not be read by the same snapshot. Nor need be seen by it what is in lanes,
//! as long as that is seen later ([`beside`](super::beside)).
//!
//! A relay that does not ask for the list (it drains a part, and most of the list would be others') has all of it laid before it
//! looks, and what it puts into the queue goes into lanes. What has come on the list since then is seen by the same snapshot as lanes,
//! and stops its source at its place.

use std::collections::{BTreeSet, HashSet};
use std::ops::RangeInclusive;
use std::sync::atomic::Ordering;

use tenure_core::outbox::{Arrivals, ArrivalsLook, Outcome, Page, RowId, Stored};

use super::cells::{Cells, Stand, arrived, stored};
use super::look::FRESH_MAX;
use super::unit::Stop;
use crate::driver::{Answer, Call, Session};
use crate::limits::STATEMENT_ROWS;
use crate::reader::Columns as _;
use crate::store::Shared;
use crate::value::Value;
use tenure_core::StoreError;

/// How many a look lays that does not ask for the list; the next one goes on.
const LAY_MAX: u32 = 10_000;
/// So many numbers without a gap are worth statements of their own.
const RUN_MIN: usize = 32;
/// So many of them one statement notes or removes at most: SQL Server locks whole tables from 5,000 on.
const RUN_MAX: usize = 4_000;
/// Deliveries that take less than this are noted with the longest of those beside them: one statement notes them all.
const ALIKE_US: u128 = 1_000;

/// What one look at the list came to.
#[derive(Debug, Default)]
pub(super) struct Seen {
    pub(super) found: Arrivals,
    /// What is to be laid into lanes.
    pub(super) lay: Vec<i64>,
    /// Sources of which nothing is told that was seen in lanes.
    pub(super) held_up: HeldUp,
    /// What has no message.
    pub(super) orphans: Vec<i64>,
    /// It cannot be gone by: there is something in lanes, and no row was looked at for that.
    pub(super) unchecked: bool,
}

impl Seen {
    /// What is of these sources is to be laid behind what is in their lanes.
    fn lay_behind(&mut self, sources: &BTreeSet<Vec<u8>>) {
        let behind = |row: &Stored| row.lane().is_some_and(|source| sources.contains(source.as_bytes()));
        let laid: Vec<_> = self.found.rows.extract_if(.., |row| behind(row)).collect();
        self.lay = laid.iter().map(|row| row.id.0).collect();
        self.held_up = HeldUp::Some(laid.into_iter().filter_map(|row| row.source).collect());
    }
}

/// Sources of which nothing may go.
#[derive(Debug)]
pub(super) enum HeldUp {
    Some(HashSet<String>),
    All,
}

impl Default for HeldUp {
    fn default() -> Self {
        Self::Some(HashSet::new())
    }
}

impl HeldUp {
    /// Whether this one is held up; what has no source never is.
    pub(super) fn holds(&self, row: &Stored) -> bool {
        row.lane().is_some_and(|source| match self {
            Self::Some(sources) => sources.contains(source),
            Self::All => true,
        })
    }
}

impl Shared {
    /// The statement of a look at the list. `checked`: each row is looked at for what is in its lane.
    pub(super) fn arrivals_call(&self, look: &ArrivalsLook, checked: bool) -> Call<'_> {
        let number = |id: Option<RowId>| Value::from(id.map_or(i64::MIN, |id| id.0));
        let params = vec![
            number(look.after),
            look.limit.into(),
            number(look.missed.before),
            Value::list(look.missed.numbers.iter().map(|id| id.0)),
            look.missed.limit.into(),
            FRESH_MAX.into(),
            checked.into(),
        ];
        Call::new(&self.statements.arrivals_look, params)
    }

    /// Whether each row is to be looked at for what is in its lane: as long as there was anything in lanes of late.
    pub(super) fn checks_lanes(&self) -> bool {
        self.laned.load(Ordering::Relaxed)
    }

    /// There is something in lanes.
    pub(super) fn note_laned(&self, laned: bool) {
        self.laned.store(laned, Ordering::Relaxed);
    }

    /// The statements of a look at a list that is likely to have no gap. They follow one another: what the first one has counted is there
    /// for the second, and what goes before it is in its lane for the last ones.
    pub(super) fn count_calls(&self, look: &ArrivalsLook) -> Option<[Call<'_>; 4]> {
        let after = look.after.filter(|_| self.gapless.load(Ordering::Relaxed))?;
        if !look.lay.is_empty() {
            return None;
        }
        let lanes = self.beside.guess()?;
        let before = look.missed.before.map_or(i64::MIN, |before| before.0);
        let missed = Value::list(look.missed.numbers.iter().map(|id| id.0));
        let stretch = || vec![Value::from(after.0), look.limit.into()];
        let count = stretch().into_iter().chain([before.into(), missed]).collect::<Vec<_>>();
        let texts = &self.statements;
        let [heads, between] = self.lanes_calls(&lanes);
        let calls = [
            Call::new(&texts.arrivals_count, count),
            Call::new(&texts.arrivals_rows, stretch()),
            heads,
            between,
        ];
        Some(calls)
    }

    /// Takes the answers to [`count_calls`](Self::count_calls). `None`: there is more to be considered than a count.
    pub(super) async fn take_counted(
        &self,
        session: &mut dyn Session,
        look: &ArrivalsLook,
        answers: Vec<Answer>,
    ) -> Result<Option<Seen>, Stop> {
        let [count, rows, heads, between] = <[Answer; 4]>::try_from(answers).map_err(|_| self.no_row())?;
        let (reader, row) = (self.reader(), self.only(&count.rows)?);
        let listed = reader.need(row.number("listed"), "listed")?;
        let beside = reader.need(row.number("beside"), "beside")? != 0;
        let more = reader.need(row.number("more"), "more")? != 0;
        let after = look.after.map_or(0, |after| after.0);
        let last = reader.maybe(row.number("last"), "last")?.unwrap_or(after);
        let gapless = !beside && listed > 0 && last - after == listed;
        self.note_gapless(gapless);
        if !gapless {
            return Ok(None);
        }
        let lanes = self.see_lanes(session, heads, between).await?;
        let Some(lanes) = self.beside.note(lanes, listed) else { return Ok(None) };
        self.note_laned(lanes.any);
        let rows = rows.rows.into_iter().map(|row| arrived(row, self.reader()));
        let rows = rows.collect::<Result<Vec<_>, _>>()?;
        let mut seen = meet(after + 1..=last, rows, more);
        if !lanes.sources.is_empty() {
            seen.lay_behind(&lanes.sources);
        }
        Ok(Some(seen))
    }

    /// Whether the next look at the list may go by a count.
    fn note_gapless(&self, gapless: bool) {
        self.gapless.store(gapless, Ordering::Relaxed);
    }

    /// Takes the answer to [`arrivals_call`](Self::arrivals_call).
    pub(super) fn take_arrivals(
        &self,
        look: &ArrivalsLook,
        answer: Answer,
        checked: bool,
    ) -> Result<Seen, StoreError> {
        let mut rows: Vec<(Stored, Stand)> = Vec::with_capacity(answer.rows.len());
        let (mut fresh, mut fresh_rows, mut laned) = (HashSet::new(), 0, false);
        for row in answer.rows {
            let (stored, stand) = stored(row, self.reader())?;
            match stand {
                Stand::Laned => laned = true,
                Stand::Fresh => {
                    fresh_rows += 1;
                    fresh.extend(stored.source.filter(|_| stored.ordered));
                }
                _ => rows.push((stored, stand)),
            }
        }
        self.note_laned(laned);
        let mut seen = Seen { unchecked: laned && !checked, ..Seen::default() };
        // The server need not give them in any order.
        rows.sort_by_key(|(row, _)| row.id);
        let missed = rows.partition_point(|(row, _)| look.after.is_some_and(|after| row.id <= after));
        let alone = missed == 0 && fresh_rows == 0;
        self.note_gapless(alone && stretch(&rows, look) == rows.len() as u64);
        let limit = look.missed.limit as usize;
        seen.found.more_missed = limit > 0 && missed >= limit;
        seen.found.more = rows.len() - missed >= look.limit as usize;
        rows.drain(limit.min(missed)..missed);
        // With so many it is not known whose they all are: nothing that has a source goes, and all is read again once they are fewer.
        let unclear = fresh_rows >= FRESH_MAX;
        if unclear {
            rows.retain(|(row, _)| row.lane().is_none());
            seen.found.more = true;
            seen.held_up = HeldUp::All;
        }
        let mut laid = HashSet::new();
        for (row, stand) in rows {
            let id = row.id;
            seen.found.seen.push(id);
            let lays = |source| {
                stand == Stand::Behind || fresh.contains(source) || look.lay.iter().any(|lay| lay == source)
            };
            match row.lane() {
                _ if stand == Stand::Orphan => seen.orphans.push(id.0),
                // In its lane it stands where it belongs, whatever is put into the queue before it.
                Some(source) if lays(source) => {
                    seen.lay.push(id.0);
                    if !laid.contains(source) {
                        laid.insert(source.to_owned());
                    }
                }
                _ => seen.found.rows.push(row),
            }
        }
        if !unclear {
            seen.held_up = HeldUp::Some(laid);
        }
        Ok(seen)
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
    /// may be more. All is seen by one snapshot, or what came late could be left on the list while what stands behind it is laid. What
    /// comes later is seen beside lanes ([`listed_max`](super::look::listed_max)).
    pub(super) async fn lay_all(&self, session: &mut dyn Session) -> Result<Option<RowId>, Stop> {
        self.note_laned(true);
        let first = Call::new(&self.statements.arrivals_first, vec![LAY_MAX.into()]);
        let numbers = self.numbers(session.run(&first).await?)?;
        self.lay(session, &numbers).await?;
        let last = numbers.last().copied().map(RowId);
        Ok(last.filter(|_| numbers.len() >= LAY_MAX as usize))
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

/// Puts the messages of a stretch to the numbers of it that are on the list, which is all of them. Both are in order.
fn meet(listed: RangeInclusive<i64>, rows: Vec<Stored>, more: bool) -> Seen {
    let mut seen = Seen::default();
    seen.found.more = more;
    let mut rows = rows.into_iter().peekable();
    for id in listed {
        seen.found.seen.push(RowId(id));
        match rows.next_if(|row| row.id.0 == id) {
            Some(row) => seen.found.rows.push(row),
            None => seen.orphans.push(id),
        }
    }
    seen
}

/// On how many numbers these stand, from where the list was read to.
fn stretch(rows: &[(Stored, Stand)], look: &ArrivalsLook) -> u64 {
    match (rows.first(), rows.last()) {
        (Some((first, _)), Some((last, _))) => {
            last.id.0.abs_diff(look.after.map_or(first.id.0 - 1, |after| after.0))
        }
        _ => u64::MAX,
    }
}

/// Outcomes in the order of their numbers: those that are runs of numbers without a gap, and were quick.
///
/// What is noted and removed by the two ends of such a run can be nothing else, whatever else comes on the list meanwhile.
pub(super) fn runs(outcomes: &[&Outcome]) -> Vec<Run> {
    let follows = |one: &&Outcome, next: &&Outcome| {
        let quick = |outcome: &Outcome| outcome.took.as_micros() < ALIKE_US;
        one.id.0 + 1 == next.id.0 && quick(one) && quick(next)
    };
    let mut runs = Vec::new();
    for group in outcomes.chunk_by(follows).flat_map(|group| group.chunks(RUN_MAX)) {
        if let [first, .., last] = group
            && group.len() >= RUN_MIN
        {
            let took = group.iter().map(|outcome| outcome.took.as_micros()).max().unwrap_or_default();
            let took_us = i64::try_from(took).unwrap_or(i64::MAX);
            runs.push(Run { first: first.id.0, last: last.id.0, took_us });
        }
    }
    runs
}

/// A run of numbers without a gap.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Run {
    pub(super) first: i64,
    pub(super) last: i64,
    /// How long the longest of the deliveries took.
    pub(super) took_us: i64,
}

impl Run {
    /// How many there are.
    pub(super) fn count(self) -> u64 {
        self.last.abs_diff(self.first) + 1
    }

    pub(super) fn holds(self, id: RowId) -> bool {
        (self.first..=self.last).contains(&id.0)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tenure_core::outbox::{Found, Kind, Next, Sequence};
    use tenure_core::time::StoreTime;

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
        let runs = runs(&outcomes.iter().collect::<Vec<_>>());
        assert_eq!(runs, [Run { first: 1, last: few, took_us: 5 }]);
        assert_eq!(runs[0].count(), RUN_MIN as u64);
        assert!(runs[0].holds(RowId(few)) && !runs[0].holds(RowId(few + 1)));
    }

    #[test]
    fn no_run_is_longer_than_what_one_statement_may_take() {
        let many = i64::try_from(2 * RUN_MAX).unwrap() + 40;
        let outcomes: Vec<_> = (1..=many).map(|id| outcome(id, 5)).collect();
        let runs = runs(&outcomes.iter().collect::<Vec<_>>());
        let counts: Vec<_> = runs.iter().map(|run| run.count()).collect();
        assert_eq!(counts, [RUN_MAX as u64, RUN_MAX as u64, 40]);
        assert!(runs.windows(2).all(|pair| pair[0].last + 1 == pair[1].first));
    }

    fn rows(numbers: impl IntoIterator<Item = i64>) -> Vec<Stored> {
        let row = |id| Stored {
            id: RowId(id),
            message_id: String::new(),
            ordered: true,
            source: Some("s".into()),
            sequence: Sequence::default(),
            topic: "t".into(),
            kind: "k".into(),
            body: Found::Large,
            content_type: None,
            headers: None,
            created_at: StoreTime::from_micros(0),
            due_at: StoreTime::from_micros(0),
            attempts: 0,
            forgiven: 0,
        };
        numbers.into_iter().map(row).collect()
    }

    fn numbers(rows: &[Stored]) -> Vec<i64> {
        rows.iter().map(|row| row.id.0).collect()
    }

    #[test]
    fn a_number_without_a_message_is_an_orphan() {
        let seen = meet(3..=7, rows([3, 4, 6, 7, 8, 9]), true);
        assert_eq!(
            (numbers(&seen.found.rows), seen.orphans, seen.found.more),
            (vec![3, 4, 6, 7], vec![5], true)
        );
        assert_eq!(seen.found.seen, [3, 4, 5, 6, 7].map(RowId));
    }

    #[test]
    fn what_took_its_time_is_noted_by_itself() {
        let many = i64::try_from(2 * RUN_MIN).unwrap();
        let outcomes: Vec<_> = (1..=many).map(|id| outcome(id, if id == 1 { 1_000 } else { 999 })).collect();
        let runs = runs(&outcomes.iter().collect::<Vec<_>>());
        assert_eq!(runs, [Run { first: 2, last: many, took_us: 999 }]);
    }
}
