//! A flight of a relay: rows are read, decoded and given to the sink one helping after another, until one stops it.

use std::collections::VecDeque;
use std::sync::Arc;

use tenure_core::outbox::{Found, Landing, Stored, Verdict, decode};
use tenure_core::time::Monotonic;

use super::super::turn::Turn;
use super::{Errand, Relay};
use crate::oracle::Fact;
use crate::world::message::{Answer, Request};

/// A flight under way.
#[derive(Debug)]
pub(super) struct Airborne {
    pub(super) lane: Option<Arc<str>>,
    pub(super) rows: VecDeque<Stored>,
    /// With the sink at this moment.
    pub(super) under_way: Vec<Stored>,
    pub(super) since: Monotonic,
    pub(super) landings: Vec<Landing>,
}

impl Relay {
    /// Gives the next rows of a flight to the sink, or lands it.
    pub(super) fn fly(&mut self, number: u64, turn: &mut Turn<'_>) {
        let Some(mut flight) = self.flights.remove(&number) else { return };
        flight.since = turn.now;
        let mut messages = Vec::new();
        while messages.len() < self.plan.sink_batch {
            let Some(row) = flight.rows.pop_front() else { break };
            if row.body == Found::Large {
                let id = row.id;
                flight.rows.push_front(row);
                if messages.is_empty() {
                    let request = Request::Load(id, self.drain.settings().limits);
                    self.ask(request, Errand::Load(number), self.patience, turn);
                    self.flights.insert(number, flight);
                    return;
                }
                break;
            }
            match decode(row.clone(), &self.drain.settings().limits, Some(self.term().get())) {
                Ok(message) => {
                    messages.push(message);
                    flight.under_way.push(row);
                }
                // What is under way before it lands first.
                Err(_) if !messages.is_empty() => {
                    flight.rows.push_front(row);
                    break;
                }
                Err(poison) => {
                    if !self.land(&mut flight, &row, Verdict::Poison { reason: poison.0 }, turn) {
                        self.come_home(flight);
                        return;
                    }
                }
            }
        }
        if messages.is_empty() {
            self.come_home(flight);
            return;
        }
        turn.facts.extend(flight.under_way.iter().map(|row| Fact::Sent { row: row.id }));
        self.flights.insert(number, flight);
        let deadline = self.drain.settings().deadline;
        self.ask(Request::Deliver(messages.into()), Errand::Deliver(number), deadline, turn);
    }

    /// Notes what came of a row; answers whether its flight goes on.
    fn land(&mut self, flight: &mut Airborne, row: &Stored, verdict: Verdict, turn: &mut Turn<'_>) -> bool {
        let attempt = row.attempts + 1;
        let settings = self.drain.settings();
        let goes_on = flight.lane.is_none() || verdict.kind().is_some_and(|kind| settings.goes_on(kind));
        if verdict != Verdict::Withheld {
            turn.facts.push(Fact::Tried { term: self.term(), row: row.id, attempt });
        }
        if goes_on && matches!(verdict, Verdict::Poison { .. }) {
            turn.facts.push(Fact::PassedOver { row: row.id });
        }
        flight.landings.push(Landing {
            id: row.id,
            attempt,
            forgiven: row.forgiven,
            verdict,
            took: flight.since.until(turn.now),
        });
        goes_on
    }

    fn come_home(&mut self, flight: Airborne) {
        let Airborne { lane, rows, landings, .. } = flight;
        let rng = &mut self.rng;
        self.drain.landed(lane, landings, rows.into(), || rng.f64());
    }

    pub(super) fn delivered(&mut self, number: u64, answer: Option<Answer>, turn: &mut Turn<'_>) {
        let Some(mut flight) = self.flights.remove(&number) else { return };
        let under_way = std::mem::take(&mut flight.under_way);
        let verdicts = match answer {
            Some(Answer::Verdicts(verdicts)) => verdicts,
            // Which of several were tried is not known: in a source, the first one counts as tried.
            _ => {
                let ordered = flight.lane.is_some();
                let verdict = |index| match index {
                    1.. if ordered => Verdict::Withheld,
                    _ => Verdict::transient("no answer"),
                };
                (0..under_way.len()).map(verdict).collect()
            }
        };
        let mut goes_on = true;
        for (row, verdict) in under_way.into_iter().zip(verdicts) {
            goes_on &= self.land(&mut flight, &row, verdict, turn);
        }
        if goes_on {
            self.flights.insert(number, flight);
            self.fly(number, turn);
        } else {
            self.come_home(flight);
        }
    }

    pub(super) fn loaded(&mut self, number: u64, answer: Option<Answer>, turn: &mut Turn<'_>) {
        let Some(mut flight) = self.flights.remove(&number) else { return };
        let Some(mut row) = flight.rows.pop_front() else { return self.come_home(flight) };
        let loaded = match answer {
            Some(Answer::Body(loaded)) => loaded.read(&self.drain.settings().limits),
            _ => None,
        };
        let goes_on = match loaded {
            Some(Ok(body)) => {
                row.body = Found::Body(body);
                flight.rows.push_front(row);
                true
            }
            Some(Err(poison)) => self.land(&mut flight, &row, Verdict::Poison { reason: poison.0 }, turn),
            // Gone, or nobody knows: it is read again.
            None => {
                self.land(&mut flight, &row, Verdict::Withheld, turn);
                false
            }
        };
        if goes_on {
            self.flights.insert(number, flight);
            self.fly(number, turn);
        } else {
            self.come_home(flight);
        }
    }
}
