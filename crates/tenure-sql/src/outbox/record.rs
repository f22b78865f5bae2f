//! Writing down what came of attempts: one transaction in two round trips, mostly, under the fence of whoever made them.
//!
//! Rows are held in the order of their numbers before anything is decided, by everyone who decides about them: see
//! [`adopt`](super::adopt). What was delivered, as nearly all is, is deleted from the queue at once.

use std::collections::{HashMap, HashSet};

use tenure_core::StoreError;
use tenure_core::id::NodeName;
use tenure_core::lease::{Fence, FenceError};
use tenure_core::outbox::{Next, Outcome, Recorded, RowId};

use super::arrivals::{Run, runs};
use super::cells::{Cells, LISTED};
use super::unit::Stop;
use crate::driver::{Answer, Call, Session};
use crate::limits::STATEMENT_ROWS;
use crate::store::Shared;
use crate::value::{Value, micros};

impl Shared {
    /// Records what can be recorded. `None` when the quick way found a row that was not as it should be; nothing was
    /// written then.
    pub(super) async fn record_on(
        &self,
        session: &mut dyn Session,
        office: Option<&Fence>,
        node: &NodeName,
        outcomes: &[Outcome],
        quick: bool,
    ) -> Result<Option<Recorded>, Stop> {
        let statements = &self.statements;
        let mut outcomes: Vec<&Outcome> = outcomes.iter().collect();
        outcomes.sort_by_key(|outcome| outcome.id);
        let quick = quick && all_done(&outcomes);
        let mut calls = vec![Call::new(&statements.begin, [])];
        calls.extend(office.into_iter().flat_map(|fence| self.hold_fence(fence)));
        let asked = calls.len();
        let term = office.map(|fence| fence.term.as_column());
        let noted = if quick { noted_by_run(&outcomes) } else { Vec::new() };
        match quick {
            true => calls.extend(self.finishing(&outcomes, &noted, node, term)),
            false => calls.extend(outcomes.chunks(STATEMENT_ROWS).map(|chunk| {
                let ids = Value::list(chunk.iter().map(|outcome| outcome.id.0));
                Call::new(&statements.outbox_lock, vec![ids])
            })),
        }
        let mut answers = session.run_all(&calls).await?;
        let held = answers.split_off(asked.min(answers.len()));
        if !self.in_office(&answers[1.min(answers.len())..], office)? {
            session.run(&Call::new(&statements.rollback, [])).await?;
            return Ok(Some(Recorded::Fenced));
        }
        let mut writes = Vec::new();
        let mut to_note = outcomes.clone();
        if quick {
            let (by_run, removed) = held.split_at(noted.len().min(held.len()));
            let mut finished: u64 = removed.iter().map(|answer| answer.changed).sum();
            // What of a run was not on the list may stand in lanes.
            let short = noted.iter().zip(removed).filter(|(run, removed)| removed.changed < run.count());
            let short: Vec<_> = short.map(|(run, _)| *run).collect();
            let in_short = |outcome: &&&Outcome| short.iter().any(|run| run.holds(outcome.id));
            let rest: Vec<_> = outcomes.iter().filter(in_short).copied().collect();
            if !rest.is_empty() {
                let answers = session.run_all(&self.finishing_lanes(&rest)).await?;
                finished += answers.iter().map(|answer| answer.changed).sum::<u64>();
            }
            if finished != outcomes.len() as u64 {
                session.run(&Call::new(&statements.rollback, [])).await?;
                return Ok(None);
            }
            // Of a run that was not whole each is noted by itself, and what is noted already stays.
            let whole = by_run.iter().zip(&noted).filter(|(answer, run)| answer.changed == run.count());
            let whole: Vec<_> = whole.map(|(_, run)| *run).collect();
            to_note.retain(|outcome| !whole.iter().any(|run| run.holds(outcome.id)));
        } else {
            let rows = self.held(held)?;
            outcomes.retain(|outcome| {
                rows.get(&outcome.id)
                    .is_some_and(|row| row.waits && row.attempts + 1 == i64::from(outcome.attempt))
            });
            // Of two outcomes of one row, one is of its next attempt.
            outcomes.dedup_by_key(|outcome| outcome.id);
            self.settle_each(&outcomes, &rows, &mut writes);
            to_note.clone_from(&outcomes);
        }
        for chunk in to_note.chunks(STATEMENT_ROWS) {
            let rows = chunk.iter().map(|outcome| attempt_values(outcome, node, term)).collect();
            writes.push(Call::new(&statements.attempts_add, vec![Value::Rows(rows)]));
        }
        writes.push(Call::new(&statements.commit, []));
        session.run_all(&writes).await?;
        Ok(Some(Recorded::Applied(outcomes.iter().map(|outcome| outcome.id).collect())))
    }

    /// The statements that take messages out of the queue that are all done, by the same attempt, as nearly all are: it is seen
    /// by the number of rows whether all of them were there. Before them those that note the attempts of runs, which are taken to be on
    /// the list. The list before lanes, as everyone does.
    fn finishing(
        &self,
        outcomes: &[&Outcome],
        noted: &[Run],
        node: &NodeName,
        term: Option<i64>,
    ) -> Vec<Call<'_>> {
        let texts = &self.statements;
        let Some(first) = outcomes.first() else { return Vec::new() };
        let (attempt, kind) = (first.attempt, first.kind);
        let note = |run: &Run| {
            let ends = [run.first.into(), run.last.into(), kind.as_str().into(), run.took_us.into()];
            let params = ends.into_iter().chain([node.as_str().into(), term.into()]).collect::<Vec<_>>();
            Call::new(&texts.attempts_add_run, params)
        };
        let mut calls: Vec<_> = noted.iter().map(note).collect();
        let remove = |run: &Run| {
            let params = vec![run.first.into(), (run.last - 1).into(), run.last.into()];
            Call::new(&texts.arrivals_remove_run, params)
        };
        calls.extend(noted.iter().map(remove));
        let alone = outcomes.iter().filter(|outcome| !noted.iter().any(|run| run.holds(outcome.id)));
        let alone: Vec<_> = alone.copied().collect();
        // On the list stands only what was never tried.
        if attempt == 1 {
            for some in alone.chunks(STATEMENT_ROWS) {
                let ids = Value::list(some.iter().map(|outcome| outcome.id.0));
                calls.push(Call::new(&texts.arrivals_remove, vec![ids]));
            }
        }
        if attempt > 1 || self.checks_lanes() {
            calls.extend(self.finishing_lanes(&alone));
        }
        calls
    }

    /// The statements that take those of these messages out of the queue that stand in lanes. They are all of one attempt.
    fn finishing_lanes(&self, outcomes: &[&Outcome]) -> Vec<Call<'_>> {
        let finish = |some: &[&Outcome]| {
            let ids = Value::list(some.iter().map(|outcome| outcome.id.0));
            let before = some.first().map_or(0, |outcome| i64::from(outcome.attempt) - 1);
            Call::new(&self.statements.outbox_finish, vec![ids, before.into()])
        };
        outcomes.chunks(STATEMENT_ROWS).map(finish).collect()
    }

    /// Whether the relay or sweeper is in office, by what was answered to the statements that hold its fence.
    pub(super) fn in_office(&self, answers: &[Answer], office: Option<&Fence>) -> Result<bool, StoreError> {
        let Some(fence) = office else { return Ok(true) };
        match self.judge_fence(answers, fence) {
            Ok(()) => Ok(true),
            Err(FenceError::Fenced(_)) => Ok(false),
            Err(FenceError::Store(error)) => Err(error),
            Err(error) => {
                let message = error.to_string();
                Err(StoreError::Failed { store: self.label().to_owned(), message, source: None })
            }
        }
    }

    /// The rows that are held.
    fn held(&self, answers: Vec<Answer>) -> Result<HashMap<RowId, Held>, StoreError> {
        let mut rows = HashMap::new();
        for row in answers.into_iter().flat_map(|answer| answer.rows) {
            let mut cells = Cells::of(row, self.reader());
            let id = RowId(cells.whole()?);
            let (queued, attempts) = (cells.whole()?, cells.whole()?);
            let listed = queued == LISTED;
            rows.insert(id, Held { waits: listed || queued == 1, listed, attempts, ordered: cells.truth()? });
        }
        Ok(rows)
    }

    /// Moves each message to where its attempt has brought it.
    fn settle_each<'s>(
        &'s self,
        outcomes: &[&Outcome],
        rows: &HashMap<RowId, Held>,
        writes: &mut Vec<Call<'s>>,
    ) {
        let statements = &self.statements;
        let (mut finished, mut halted): (HashMap<u32, Vec<i64>>, _) = (HashMap::new(), Vec::new());
        let mut dead = Vec::new();
        // What goes on needs a place in its lane.
        let (mut laid, mut done) = (Vec::new(), Vec::new());
        for outcome in outcomes.iter().filter(|outcome| rows.get(&outcome.id).is_some_and(|row| row.listed)) {
            if outcome.next == Next::Done { &mut done } else { &mut laid }.push(outcome.id.0);
        }
        for ids in laid.chunks(STATEMENT_ROWS) {
            writes.extend(self.laying(ids));
        }
        for ids in done.chunks(STATEMENT_ROWS) {
            writes.push(Call::new(&statements.arrivals_remove, vec![Value::list(ids.iter().copied())]));
        }
        let done: HashSet<i64> = done.into_iter().collect();
        for outcome in outcomes.iter().filter(|outcome| !done.contains(&outcome.id.0)) {
            match outcome.next {
                Next::Again { after } => {
                    let params = vec![outcome.id.0.into(), micros(after).into()];
                    writes.push(Call::new(&statements.outbox_again, params));
                }
                Next::Done => finished.entry(outcome.attempt).or_default().push(outcome.id.0),
                Next::Dead { halt } => {
                    let halts = halt && rows.get(&outcome.id).is_some_and(|row| row.ordered);
                    dead.push(dead_values(outcome, halts));
                    match halts {
                        true => halted.push(outcome.id.0),
                        false => finished.entry(outcome.attempt).or_default().push(outcome.id.0),
                    }
                }
            }
        }
        for (attempt, ids) in finished {
            for ids in ids.chunks(STATEMENT_ROWS) {
                let params = vec![Value::list(ids.iter().copied()), (i64::from(attempt) - 1).into()];
                writes.push(Call::new(&statements.outbox_finish, params));
            }
        }
        for ids in halted.chunks(STATEMENT_ROWS) {
            writes.push(Call::new(&statements.outbox_halt, vec![Value::list(ids.iter().copied())]));
        }
        for rows in dead.chunks(STATEMENT_ROWS) {
            // What was left behind by another hand is no reason to stand still.
            let ids = Value::list(rows.iter().filter_map(|row| row.first()).cloned());
            writes.push(Call::new(&statements.dead_delete, vec![ids]));
            writes.push(Call::new(&statements.dead_add, vec![Value::Rows(rows.to_vec())]));
        }
    }
}

/// A row that is held.
struct Held {
    waits: bool,
    /// It is on the list of what has just come, and in no lane.
    listed: bool,
    attempts: i64,
    ordered: bool,
}

/// Those of them whose attempts are noted by runs: only first ones are, for only these are on the list.
fn noted_by_run(outcomes: &[&Outcome]) -> Vec<Run> {
    if outcomes.first().is_some_and(|first| first.attempt == 1) { runs(outcomes) } else { Vec::new() }
}

/// Whether all are done, by the same attempt, and each row is named once.
fn all_done(outcomes: &[&Outcome]) -> bool {
    let Some(first) = outcomes.first() else { return false };
    first.attempt > 0
        && outcomes.iter().all(|outcome| outcome.next == Next::Done && outcome.attempt == first.attempt)
        && outcomes.windows(2).all(|pair| pair[0].id != pair[1].id)
}

/// A row of `attempts_add`.
fn attempt_values(outcome: &Outcome, node: &NodeName, term: Option<i64>) -> Vec<Value> {
    vec![
        outcome.id.0.into(),
        outcome.attempt.into(),
        outcome.kind.as_str().into(),
        i64::try_from(outcome.took.as_micros()).unwrap_or(i64::MAX).into(),
        node.as_str().into(),
        term.into(),
        outcome.reason.as_deref().into(),
    ]
}

/// A row of `dead_add`.
fn dead_values(outcome: &Outcome, halts: bool) -> Vec<Value> {
    vec![
        outcome.id.0.into(),
        outcome.kind.as_str().into(),
        outcome.reason.as_deref().into(),
        outcome.attempt.into(),
        halts.into(),
        outcome.cause().as_column().into(),
    ]
}
