//! Relays' calls to the tables, each one step, with what it changed told to the oracle.

use std::sync::Arc;

use tenure_core::lease::{Fence, FenceCheck, decide};
use tenure_core::mutation::{Rule, off};
use tenure_core::outbox::{Outcome, Recorded, RowId, State};
use tenure_core::time::StoreTime;

use super::super::World;
use super::super::message::{Answer, Request};
use super::Outbox;
use crate::oracle::{Fact, Mover, Standing};

impl Outbox {
    /// Tells the oracle where a row stands, if that has changed.
    pub(super) fn moved(&mut self, row: RowId, by: Mover, facts: &mut Vec<Fact>) -> bool {
        let after = self.tables.summary_of(row).map(|summary| Standing {
            state: summary.state,
            attempts: summary.attempts,
            due_at: summary.due_at,
            halts: summary.halts,
        });
        let before = match after {
            Some(after) => self.standings.insert(row, after),
            None => self.standings.remove(&row).inspect(|before| {
                self.swept.insert(row, before.state);
            }),
        };
        if before != after {
            facts.push(Fact::Moved { row, by, before, after });
        }
        before != after
    }

    fn attempts(&self, row: RowId) -> Fact {
        let numbers = self.tables.attempts_of(row).iter().map(|attempt| attempt.number).collect();
        Fact::Attempts { row, numbers }
    }
}

impl World {
    pub(super) fn ask_books(&mut self, node: usize, request: &Request) -> Option<Answer> {
        // Expiry is judged by the store's clock, if the rules are kept.
        let judged =
            if off(Rule::StoreClock) { self.hosts[node].plan.clock.wall(self.now) } else { self.now };
        let now = self.now;
        Some(match request {
            Request::Look(look) => {
                self.store.tally.looks += 1;
                Answer::Page(Arc::new(self.outbox_mut().tables.look(look, now)))
            }
            Request::Load(row, limits) => Answer::Body(self.outbox().tables.load(*row, limits)),
            Request::Record(fence, outcomes) => {
                let holds = self.check(fence, judged);
                Answer::Recorded(self.record(node, fence, holds, outcomes, now))
            }
            Request::Sweep(fence, from) => {
                let holds = self.check(fence, judged);
                self.sweep(fence, holds, *from, now)
            }
            _ => return None,
        })
    }

    fn check(&self, fence: &Fence, now: StoreTime) -> bool {
        decide::check(self.store.row.as_ref(), fence, now) == FenceCheck::Holds
    }

    fn record(
        &mut self,
        node: usize,
        fence: &Fence,
        holds: bool,
        outcomes: &[Outcome],
        now: StoreTime,
    ) -> Recorded {
        let name = self.hosts[node].name.clone();
        let (term, tally) = (fence.term, &mut self.store.tally);
        let Some(outbox) = &mut self.outbox else { return Recorded::Fenced };
        let answer = outbox.tables.record(holds, Some(term.get()), &name, outcomes, now);
        let accepted = answer != Recorded::Fenced;
        *if accepted { &mut tally.records_accepted } else { &mut tally.records_refused } += 1;
        self.store.facts.push(Fact::Recorded { term, accepted });
        for outcome in outcomes {
            if outbox.moved(outcome.id, Mover::Relay, &mut self.store.facts) {
                tally.attempts += 1;
                let state = outbox.standing(outcome.id).map(|standing| standing.state);
                tally.dead += u64::from(state == Some(State::Dead));
            }
            self.store.facts.push(outbox.attempts(outcome.id));
        }
        for outcome in outcomes {
            let (row, attempt, next) = (outcome.id.0, outcome.attempt, outcome.next);
            let applied = matches!(&answer, Recorded::Applied(rows) if rows.contains(&outcome.id));
            self.note_store(format_args!(
                "attempt {attempt} of row {row} by n{node} under term {term}: {next:?}, applied {applied}"
            ));
        }
        answer
    }

    fn sweep(&mut self, fence: &Fence, holds: bool, from: Option<i64>, now: StoreTime) -> Answer {
        let Some(outbox) = &mut self.outbox else { return Answer::Doubt };
        let swept = outbox.tables.sweep(holds, &outbox.plan.retention, from, now);
        self.store.facts.push(Fact::Recorded { term: fence.term, accepted: !swept.fenced });
        let gone: Vec<_> =
            outbox.standings.keys().copied().filter(|row| outbox.tables.state_of(*row).is_none()).collect();
        for row in gone {
            outbox.moved(row, Mover::Sweeper, &mut self.store.facts);
            self.store.tally.swept += 1;
        }
        Answer::Swept(swept)
    }
}
