//! The outbox of the world: the core's tables, with everything that happens to them told to the oracle.

mod books;
mod operators;
mod producers;
mod receiver;

use std::collections::{BTreeMap, HashSet};

use fastrand::Rng;
use tenure_core::memory::OutboxTables;
use tenure_core::outbox::{MessageId, RowId, State};
use tenure_core::time::StoreTime;

pub(crate) use producers::{Draft, Ending};

use super::message::{Answer, Request};
use super::{Event, World};
use crate::faults::Mood;
use crate::oracle::{Fact, Standing};
use crate::plan::{OutboxPlan, Wakeups};
use producers::Transaction;
use receiver::Receiver;

/// The tables and everyone around them.
#[derive(Debug)]
pub(crate) struct Outbox {
    pub(crate) plan: OutboxPlan,
    pub(crate) tables: OutboxTables,
    /// Where each row stood when it was last looked at.
    standings: BTreeMap<RowId, Standing>,
    /// What was committed, ever.
    committed: Vec<(RowId, Option<MessageId>)>,
    /// Where rows stood that retention has deleted.
    swept: BTreeMap<RowId, State>,
    /// Transactions that have not ended.
    open: BTreeMap<u64, Transaction>,
    serial: u64,
    /// The next version of each source.
    versions: Vec<i64>,
    pub(crate) receiver: Receiver,
    pub(crate) rng: Rng,
    /// Whether producers, operators and moods go on.
    stormy: bool,
}

impl Outbox {
    pub(super) fn new(plan: OutboxPlan) -> Self {
        Self {
            tables: OutboxTables::new(),
            standings: BTreeMap::new(),
            committed: Vec::new(),
            swept: BTreeMap::new(),
            open: BTreeMap::new(),
            serial: 0,
            versions: vec![0; plan.traffic.sources as usize],
            receiver: Receiver::new(),
            rng: Rng::with_seed(plan.relay.seed ^ 0x0b5e_0b5e_0b5e_0b5e),
            stormy: true,
            plan,
        }
    }

    /// Where a message stands.
    pub(crate) fn standing(&self, row: RowId) -> Option<Standing> {
        self.standings.get(&row).copied()
    }

    /// Whether nothing waits but what was told to, or stands behind a dead message.
    pub(crate) fn has_no_lag(&self, now: StoreTime) -> bool {
        let stats = self.tables.stats(now);
        stats.lag.is_none() && stats.delayed == 0
    }

    /// A committed message that has not come to a good end; `None` when all have.
    pub(crate) fn unfinished(&self) -> Option<String> {
        let applied: HashSet<_> = self.receiver.ledger.iter().collect();
        self.committed.iter().find_map(|(row, id)| {
            let state = self.tables.state_of(*row).or_else(|| self.swept.get(row).copied());
            let seen = self.standings.get(row).map(|standing| standing.state);
            let took_effect = id.is_some_and(|id| applied.contains(&id));
            match state {
                Some(State::Dead | State::Discarded) => None,
                Some(State::Dispatched) if took_effect => None,
                _ => Some(format!("row {} is {state:?} ({seen:?}), took effect: {took_effect}", row.0)),
            }
        })
    }

    /// Where the message with this id stands.
    pub(crate) fn state_of(&self, id: &MessageId) -> Option<State> {
        self.tables.row_of(id).and_then(|row| self.tables.state_of(row))
    }

    /// How many attempts at it were written down.
    pub(crate) fn attempts_at(&self, id: &MessageId) -> usize {
        self.tables.row_of(id).map_or(0, |row| self.tables.attempts_of(row).len())
    }
}

impl World {
    /// Lets the life around the outbox begin.
    pub(super) fn open_outbox(&mut self) {
        let Some(outbox) = &self.outbox else { return };
        let budget = outbox.plan.relay.settings.retry.max_attempts;
        let (sends, visited) = (!outbox.plan.traffic.pause.is_zero(), outbox.plan.operators.is_some());
        let storm = outbox.plan.wakeups == Wakeups::Storm;
        self.store.facts.push(Fact::Budget(budget));
        self.schedule(std::time::Duration::ZERO, Event::Mood);
        if sends {
            self.schedule(std::time::Duration::from_millis(500), Event::Produce);
        }
        if visited {
            self.schedule(std::time::Duration::from_secs(5), Event::Operators);
        }
        if storm {
            self.schedule(std::time::Duration::from_secs(1), Event::Gale);
        }
    }

    /// The outbox of a world that has one.
    pub(crate) fn outbox(&self) -> &Outbox {
        match &self.outbox {
            Some(outbox) => outbox,
            None => unreachable!("this world has an outbox"),
        }
    }

    pub(crate) fn outbox_mut(&mut self) -> &mut Outbox {
        match &mut self.outbox {
            Some(outbox) => outbox,
            None => unreachable!("this world has an outbox"),
        }
    }

    /// The next mood of the receiver.
    pub(super) fn change_mood(&mut self) {
        let Some(outbox) = &mut self.outbox else { return };
        let temper = outbox.plan.temper;
        outbox.receiver.mood = temper.mood(&mut outbox.rng);
        if outbox.stormy {
            let lasts = outbox.rng.u64(300_000..6_000_000);
            self.schedule(std::time::Duration::from_micros(lasts), Event::Mood);
        }
    }

    /// Ends all trouble around the outbox: nobody sends by himself any more, and the receiver is kind.
    pub(super) fn calm_outbox(&mut self) {
        let Some(outbox) = &mut self.outbox else { return };
        outbox.stormy = false;
        outbox.plan.temper = crate::faults::Temper::KIND;
        outbox.receiver.mood = Mood::KIND;
    }

    /// A relay's call arrives.
    pub(super) fn arrive_at_outbox(&mut self, node: usize, request: &Request) -> Option<Answer> {
        match request {
            Request::Deliver(messages) => self.receive(node, messages),
            _ => self.ask_books(node, request),
        }
    }
}
