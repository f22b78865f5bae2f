//! Operators, who retry and discard what is dead; often two at once.

use std::time::Duration;

use tenure_core::outbox::{DeadWalk, Filter, State};

use super::super::{Event, World};
use crate::oracle::{Fact, Mover};

/// More than there ever is.
const ALL: u32 = 1000;

impl World {
    /// One or two operators do something about what is dead.
    pub(in crate::world) fn visit_operators(&mut self) {
        let Some(outbox) = self.outbox.as_mut().filter(|outbox| outbox.stormy) else { return };
        let Some(pause) = outbox.plan.operators else { return };
        let pause = Duration::from_micros(outbox.rng.u64(200_000..pause.as_micros() as u64));
        let wishes: Vec<_> = (0..outbox.rng.u32(1..=2)).map(|_| outbox.rng.u32(0..3) > 0).collect();
        let source =
            outbox.rng.bool().then(|| format!("s{}", outbox.rng.u64(0..outbox.plan.traffic.sources)));
        let limit = if outbox.rng.bool() { ALL } else { outbox.rng.u32(1..=3) };
        for retry in wishes {
            let filter = Filter { source: source.clone(), ..Filter::default() };
            self.steer(&filter, retry, limit);
        }
        self.schedule(pause, Event::Operators);
    }

    /// An operator retries (or discards) dead messages; answers how many changed.
    pub(crate) fn steer(&mut self, filter: &Filter, retry: bool, limit: u32) -> usize {
        let now = self.now;
        let Some(outbox) = &mut self.outbox else { return 0 };
        let dead: Vec<_> = outbox
            .standings
            .iter()
            .filter(|(_, standing)| standing.state == State::Dead)
            .map(|(row, _)| *row)
            .collect();
        let lines = outbox.tables.audit().len();
        let walk = DeadWalk::of(filter.clone(), limit);
        let told = if retry {
            outbox.tables.retry(&walk, "operator", now)
        } else {
            outbox.tables.discard(&walk, "operator", now)
        };
        let told = told.ids.len();
        let by = if retry { Mover::Retry } else { Mover::Discard };
        let mut changed = 0;
        for row in dead {
            changed += usize::from(outbox.moved(row, by, &mut self.store.facts));
        }
        let audited = outbox.tables.audit().len() - lines;
        self.store.tally.steered += changed as u64;
        self.store.facts.push(Fact::Steered { changed, told, audited });
        self.note_store(format_args!("operator: {by:?} of {changed} messages"));
        self.nudge_relays();
        changed
    }

    /// Retries everything that is dead.
    pub(crate) fn retry_all(&mut self) -> usize {
        self.steer(&Filter::default(), true, ALL)
    }

    /// Discards everything that is dead.
    pub(crate) fn discard_all(&mut self) -> usize {
        self.steer(&Filter::default(), false, ALL)
    }
}
