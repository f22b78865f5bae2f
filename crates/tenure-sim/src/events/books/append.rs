//! One append as a transaction, step by step: between any two of them others go on, or it ends without a commit.

use std::sync::Arc;

use tenure_core::event::{
    Append, AppendAnswer, Appended, Expected, Judgement, Position, Recorded, Standing, Version, judge,
    not_again,
};
use tenure_core::memory::OpenInbox;
use tenure_core::mutation::{Rule, off};
use tenure_core::outbox::Accept;
use tenure_core::time::StoreTime;

use super::{Books, Caller};
use crate::oracle::EventFact;

/// How far a transaction has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Stage {
    /// It has looked at which position comes next, and nobody can see that yet.
    Begun,
    /// It shows what none of its positions will be below.
    Shown,
    /// It holds its message's place in the inbox.
    Marked,
    /// It holds its stream, and takes positions.
    Taking,
    /// It has all its positions.
    Taken,
    /// Its dispatches and its mark are written, for itself to see.
    Written,
    /// Everybody sees it, and its locks are still there.
    Committed,
}

/// An append that has begun and not ended.
#[derive(Debug)]
pub(crate) struct Transaction {
    pub(crate) append: Arc<Append>,
    pub(crate) stage: Stage,
    pub(crate) caller: Option<Caller>,
    /// It goes no further than this stage before it is let go.
    pub(crate) hold_at: Option<Stage>,
    /// It waits for another one that holds what it needs.
    pub(crate) waits: bool,
    /// None of its positions is below.
    floor: i64,
    follows: Version,
    rows: Vec<Recorded>,
    /// How many of its events can be seen before its commit: none, while the rules hold.
    shown: usize,
    inbox: OpenInbox,
}

/// What a step has led to.
#[derive(Debug)]
pub(crate) enum Progress {
    /// There is a further step.
    Goes,
    /// It waits: for another one, or to be let go.
    Waits,
    /// It has ended with this answer.
    Ends(Result<AppendAnswer, String>),
}

impl Transaction {
    fn holds_mark(&self) -> bool {
        self.append.mark.is_some() && self.stage >= Stage::Marked
    }

    fn holds_stream(&self) -> bool {
        !self.append.events.is_empty() && self.stage >= Stage::Taking
    }

    /// What it shows to readers: the first position that it may still fill.
    pub(super) fn floor(&self) -> Option<i64> {
        (self.stage >= Stage::Shown).then_some(self.floor)
    }
}

impl Books {
    /// Begins an append.
    pub(crate) fn begin(&mut self, append: Arc<Append>, caller: Option<Caller>) -> u64 {
        let transaction = self.next_serial();
        self.tell(EventFact::Begun { transaction, append: append.clone() });
        self.open.insert(
            transaction,
            Transaction {
                append,
                stage: Stage::Begun,
                caller,
                hold_at: None,
                waits: false,
                floor: self.last_position + 1,
                follows: Version::NONE,
                rows: Vec::new(),
                shown: 0,
                inbox: OpenInbox::default(),
            },
        );
        transaction
    }

    /// Ends a transaction; what it has not made visible is gone. Answers who waited for it.
    pub(crate) fn end(&mut self, transaction: u64) -> Option<Transaction> {
        self.open.remove(&transaction)
    }

    /// Takes the next step of a transaction.
    pub(crate) fn go_on(&mut self, transaction: u64, now: StoreTime) -> Progress {
        let Some(mut open) = self.open.remove(&transaction) else { return Progress::Waits };
        if open.hold_at.is_some_and(|stage| open.stage >= stage) {
            self.open.insert(transaction, open);
            return Progress::Waits;
        }
        let progress = self.take_step(transaction, &mut open, now);
        open.waits = matches!(progress, Progress::Waits);
        if !matches!(progress, Progress::Ends(_)) {
            self.open.insert(transaction, open);
        }
        progress
    }

    fn take_step(&mut self, transaction: u64, open: &mut Transaction, now: StoreTime) -> Progress {
        match open.stage {
            Stage::Begun => {
                open.stage = Stage::Shown;
                Progress::Goes
            }
            Stage::Shown => self.take_mark(open, now),
            Stage::Marked => self.take_stream(open),
            Stage::Taking => {
                self.take_position(open, now);
                Progress::Goes
            }
            Stage::Taken => self.write(transaction, open),
            Stage::Written => {
                self.commit(transaction, open, now);
                open.stage = Stage::Committed;
                Progress::Goes
            }
            Stage::Committed => {
                let version = open.follows.plus(open.rows.len());
                let position = open.rows.last().map(|row| row.position);
                Progress::Ends(Ok(AppendAnswer::Appended(Appended { version, position, repeated: false })))
            }
        }
    }

    fn take_mark(&mut self, open: &mut Transaction, now: StoreTime) -> Progress {
        if let Some(mark) = &open.append.mark {
            let same = |other: &Transaction| {
                let theirs = other.append.mark.as_ref();
                other.holds_mark() && theirs.is_some_and(|m| (&m.consumer, m.id) == (&mark.consumer, mark.id))
            };
            if self.open.values().any(same) {
                return Progress::Waits;
            }
            match open.inbox.on(&self.inbox).mark(mark, now) {
                Accept::Fresh => {}
                Accept::Duplicate => return Progress::Ends(Ok(AppendAnswer::Duplicate)),
                Accept::Refused { reason } => return Progress::Ends(Ok(AppendAnswer::Refused { reason })),
                Accept::Differs => return Progress::Ends(Ok(AppendAnswer::Differs)),
            }
        }
        open.stage = Stage::Marked;
        Progress::Goes
    }

    /// Waits for the stream, and judges by the version that it has then.
    fn take_stream(&mut self, open: &mut Transaction) -> Progress {
        let append = open.append.clone();
        let same = |other: &Transaction| other.holds_stream() && other.append.stream == append.stream;
        if !append.events.is_empty() && self.open.values().any(same) {
            return Progress::Waits;
        }
        let actual = self.version_of(&append.stream);
        let known = append.expected == Expected::Any
            && append.events.iter().any(|event| self.ids_at_any.contains(&event.id));
        match judge(append.expected, actual) {
            Judgement::Follow(version) if !known => {
                open.follows = version;
                open.stage = if append.events.is_empty() { Stage::Taken } else { Stage::Taking };
                Progress::Goes
            }
            Judgement::Follow(actual) | Judgement::Conflict(actual) => {
                Progress::Ends(self.happened_before(&append, actual))
            }
        }
    }

    fn happened_before(&self, append: &Append, actual: Version) -> Result<AppendAnswer, String> {
        let of_stream = self.streams.get(&append.stream).into_iter().flatten();
        let there = of_stream.filter_map(|position| self.rows.get(position));
        let there = there.map(|row| Standing::from(&**row)).collect();
        not_again(append, there, actual).map_err(|problem| problem.to_string())
    }

    fn take_position(&mut self, open: &mut Transaction, now: StoreTime) {
        let at = open.rows.len();
        if let Some(event) = open.append.events.get(at) {
            self.last_position += 1;
            open.rows.push(Recorded {
                position: Position(self.last_position),
                stream: open.append.stream.clone(),
                version: open.follows.plus(at + 1),
                id: event.id,
                kind: event.kind.clone(),
                schema: event.schema,
                body: event.body.clone(),
                metadata: event.metadata.clone(),
                recorded_at: now,
            });
        }
        if open.rows.len() == open.append.events.len() {
            open.stage = Stage::Taken;
        }
    }

    fn write(&mut self, transaction: u64, open: &mut Transaction) -> Progress {
        for message in &open.append.dispatches {
            let there = message.id.and_then(|id| self.sent.get(&id));
            if there.is_some_and(|there| there != message) {
                return Progress::Ends(Err(format!("dispatch {:?} says something else", message.id)));
            }
        }
        if off(Rule::AppendWhole) {
            // The events first, and the rest if nothing comes between.
            self.show_events(transaction, open);
        }
        open.stage = Stage::Written;
        Progress::Goes
    }

    fn show_events(&mut self, transaction: u64, open: &mut Transaction) {
        let at_any = open.append.expected == Expected::Any;
        for row in &open.rows[open.shown..] {
            self.insert_event(transaction, row.clone(), at_any);
        }
        open.shown = open.rows.len();
    }

    /// Everything at once.
    fn commit(&mut self, transaction: u64, open: &mut Transaction, now: StoreTime) {
        self.show_events(transaction, open);
        for message in &open.append.dispatches {
            self.insert_dispatch(transaction, message, now);
        }
        if let Some(mark) = &open.append.mark {
            self.inbox.merge(std::mem::take(&mut open.inbox));
            let (consumer, id, refused) = (mark.consumer.clone(), mark.id, mark.refused.clone());
            self.tell(EventFact::Marked { transaction, consumer, id, refused });
        }
    }
}
