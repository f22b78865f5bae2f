//! Producers: their transactions insert early, and end early or late, well or badly, or nobody knows how.

use std::sync::Arc;
use std::time::Duration;

use tenure_core::memory::{PlainRow, Staged};
use tenure_core::outbox::{
    Limits, MessageId, NewMessage, Place, RowId, SOURCE_MAX_BYTES, Sequence, deterministic_id,
};

use super::super::{Event, World};
use super::Outbox;
use super::receiver::UNWELCOME;
use crate::oracle::{Commitment, Fact, Mover};
use crate::plan::{Traffic, Wakeups};

/// Larger than what a look carries along.
const LARGE: usize = 17 * 1024;

/// What a transaction inserts.
#[derive(Debug, Clone)]
pub(crate) enum Draft {
    Message(NewMessage),
    /// A foreign program's row.
    Plain(PlainRow),
}

/// How a transaction ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ending {
    Commit,
    Rollback,
    /// The producer does not learn how it ended, and does everything again.
    Doubt {
        committed: bool,
    },
}

/// A transaction that has inserted and not ended.
#[derive(Debug)]
pub(super) struct Transaction {
    drafts: Vec<Draft>,
    staged: Staged,
    ending: Ending,
}

impl Outbox {
    fn serial(&mut self) -> u64 {
        self.serial += 1;
        self.serial
    }

    fn fresh_id(&mut self) -> MessageId {
        let serial = self.serial();
        deterministic_id("chance", serial as i64, 0)
    }

    /// Draws the messages of one transaction.
    fn draw(&mut self) -> Vec<Draft> {
        let traffic = self.plan.traffic.clone();
        let source = if self.rng.u32(0..1000) < traffic.unordered {
            None
        } else {
            Some(self.rng.u64(0..traffic.sources))
        };
        let version = source.map_or(0, |source| {
            let version = &mut self.versions[source as usize];
            *version += 1;
            *version
        });
        (0..self.rng.i32(1..=3)).map(|index| self.draft(&traffic, source, version, index)).collect()
    }

    fn draft(&mut self, traffic: &Traffic, source: Option<u64>, version: i64, index: i32) -> Draft {
        let id = self.fresh_id();
        let mut hit = |chance: u32| chance > 0 && self.rng.u32(0..1000) < chance;
        let (poison, large, unwelcome, delayed) =
            (hit(traffic.poison), hit(traffic.large), hit(traffic.unwelcome), hit(traffic.delayed));
        let name = source.map(|source| format!("s{source}"));
        let sequence = if traffic.versions { Sequence { version, index } } else { Sequence::default() };
        if poison {
            return Draft::Plain(self.poisoned(name, sequence, id));
        }
        let body = match (large, unwelcome) {
            (true, _) => "x".repeat(LARGE),
            (_, true) => UNWELCOME.to_owned(),
            _ => format!("{version}/{index}"),
        };
        let message = NewMessage::bytes("topic", "Type", "text/plain", body);
        let message = match name {
            Some(source) if traffic.versions => message.from_version(source, version, index),
            Some(source) => message.from_source(source).with_id(id),
            None => message.with_id(id),
        };
        let delay =
            if delayed { Duration::from_micros(self.rng.u64(1000..3_000_000)) } else { Duration::ZERO };
        Draft::Message(message.delayed(delay))
    }

    /// A row that no relay can read.
    fn poisoned(&mut self, source: Option<String>, sequence: Sequence, id: MessageId) -> PlainRow {
        let row = PlainRow {
            message_id: Some(id.to_string()),
            source,
            sequence,
            topic: "topic".into(),
            kind: "Type".into(),
            ..PlainRow::default()
        };
        match self.rng.u32(0..5) {
            0 => PlainRow { topic: String::new(), ..row },
            1 => PlainRow { message_id: Some(format!("no uuid {}", self.serial())), ..row },
            2 => PlainRow { headers: Some("[]".into()), ..row },
            3 => PlainRow { payload: Some("a".into()), payload_bytes: Some(vec![1]), ..row },
            // Such a source is no lane.
            _ => PlainRow { source: Some("s".repeat(SOURCE_MAX_BYTES + 1)), ..row },
        }
    }

    fn ending(&mut self) -> (Ending, Duration) {
        let Traffic { slow_commit, rollback, doubtful, .. } = self.plan.traffic;
        let rng = &mut self.rng;
        let mut hit = |chance: u32| chance > 0 && rng.u32(0..1000) < chance;
        let ending = match (hit(rollback), hit(doubtful)) {
            (true, _) => Ending::Rollback,
            (_, true) => Ending::Doubt { committed: hit(600) },
            _ => Ending::Commit,
        };
        let lasts = if hit(slow_commit) { rng.u64(20_000..3_000_000) } else { rng.u64(100..8000) };
        (ending, Duration::from_micros(lasts))
    }
}

impl World {
    /// A producer begins a transaction.
    pub(in crate::world) fn produce(&mut self) {
        let Some(outbox) = self.outbox.as_mut().filter(|outbox| outbox.stormy) else { return };
        let pause = outbox.plan.traffic.pause.as_micros() as u64;
        // In bursts: transactions that overlap are what tells.
        let pause =
            if outbox.rng.u32(0..3) == 0 { outbox.rng.u64(100..5000) } else { outbox.rng.u64(5000..pause) };
        let drafts = outbox.draw();
        let (ending, lasts) = outbox.ending();
        self.transact(drafts, ending, lasts);
        self.schedule(Duration::from_micros(pause), Event::Produce);
    }

    /// Inserts now, and ends after so long.
    pub(crate) fn transact(&mut self, drafts: Vec<Draft>, ending: Ending, lasts: Duration) {
        let now = self.now;
        let Some(outbox) = &mut self.outbox else { return };
        let number = outbox.serial();
        let mut staged = Staged::default();
        for draft in &drafts {
            let id = outbox.fresh_id();
            match draft {
                Draft::Message(message) => {
                    let one = std::slice::from_ref(message);
                    if outbox.tables.stage(&mut staged, one, &Limits::default(), now, || id).is_err() {
                        self.store.tally.conflicts += 1;
                    }
                }
                // A plain insert of an id that is there fails; what a foreign program makes of that is its affair.
                Draft::Plain(row) => drop(outbox.tables.stage_plain(&mut staged, row.clone(), id, now)),
            }
        }
        outbox.open.insert(number, Transaction { drafts, staged, ending });
        self.schedule(lasts, Event::End(number));
    }

    /// A transaction ends.
    pub(in crate::world) fn end(&mut self, number: u64) {
        let Some(outbox) = &mut self.outbox else { return };
        let Some(Transaction { drafts, staged, ending }) = outbox.open.remove(&number) else { return };
        if let Ending::Doubt { .. } = ending {
            let pause = Duration::from_micros(outbox.rng.u64(1000..1_500_000));
            let again = outbox.serial();
            outbox
                .open
                .insert(again, Transaction { drafts, staged: Staged::default(), ending: Ending::Commit });
            self.schedule(pause, Event::Again(again));
        }
        if matches!(ending, Ending::Rollback | Ending::Doubt { committed: false }) {
            self.note_store(format_args!("producer: rolls back"));
            return;
        }
        let Some(outbox) = &mut self.outbox else { return };
        let rows = outbox.tables.commit(staged).unwrap_or_default();
        for row in &rows {
            if let Some(commitment) = commitment(outbox, *row) {
                outbox.committed.push((*row, commitment.id));
                self.store.facts.push(Fact::Committed(commitment));
            }
            outbox.moved(*row, Mover::Producer, &mut self.store.facts);
            self.store.tally.committed += 1;
        }
        let numbers: Vec<_> = rows.iter().map(|row| row.0).collect();
        self.note_store(format_args!("producer: commits rows {numbers:?}"));
        self.nudge_relays();
    }

    /// A producer in doubt does the same again.
    pub(in crate::world) fn produce_again(&mut self, number: u64) {
        let Some(transaction) = self.outbox.as_mut().and_then(|outbox| outbox.open.remove(&number)) else {
            return;
        };
        self.transact(transaction.drafts, Ending::Commit, Duration::from_millis(1));
    }

    /// Wakes relays that want to be woken, as this world does it.
    pub(super) fn nudge_relays(&mut self) {
        let Some(outbox) = &mut self.outbox else { return };
        let copies = match outbox.plan.wakeups {
            Wakeups::Lost => return,
            Wakeups::Prompt => 1,
            Wakeups::Storm => outbox.rng.u32(1..=4),
        };
        for node in 0..self.hosts.len() {
            if !self.hosts[node].actor.is_armed() {
                continue;
            }
            for _ in 0..copies {
                let after = self.outbox_mut().rng.u64(200..4000);
                let life = self.hosts[node].life;
                self.schedule(Duration::from_micros(after), Event::Nudge { node, life });
            }
        }
    }

    /// One wake-up, here and now.
    pub(crate) fn nudge(&mut self, node: usize) {
        let life = self.hosts[node].life;
        self.schedule(Duration::ZERO, Event::Nudge { node, life });
    }

    /// Wake-ups for nothing.
    pub(in crate::world) fn gale(&mut self) {
        let Some(outbox) = self.outbox.as_mut().filter(|outbox| outbox.stormy) else { return };
        let pause = Duration::from_micros(outbox.rng.u64(100_000..4_000_000));
        self.nudge_relays();
        self.schedule(pause, Event::Gale);
    }

    /// Whether some transaction has not ended.
    pub(crate) fn is_transacting(&self) -> bool {
        !self.outbox().open.is_empty()
    }
}

fn commitment(outbox: &Outbox, row: RowId) -> Option<Commitment> {
    let summary = outbox.tables.summary_of(row)?;
    let lane = summary.source.filter(|source| !source.is_empty() && source.len() <= SOURCE_MAX_BYTES);
    Some(Commitment {
        row,
        id: summary.id.parse().ok(),
        lane: lane.map(Arc::from),
        place: Place { sequence: summary.sequence, id: row },
    })
}
