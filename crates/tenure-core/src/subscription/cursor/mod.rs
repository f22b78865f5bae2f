//! Where a reader stands: what it has read, handled and saved, and what it does next. No I/O.

mod entry;
#[cfg(test)]
mod tests;

use std::collections::VecDeque;

use self::entry::Entry;
use super::{Advance, Aside, Checkpoint, OnFailure, Step, SubscriptionName, SubscriptionSettings};
use crate::event::{AllPage, Position, Recorded, Unreadable};
use crate::mutation::{Rule, off};
use crate::outbox::shorten;
use crate::time::Monotonic;

/// A reader's place. Driven from outside: pages and verdicts go in, steps come out.
#[derive(Debug)]
pub struct Cursor {
    name: SubscriptionName,
    settings: SubscriptionSettings,
    /// Where the checkpoint is.
    saved: Position,
    /// How often an operator had moved it when this reader began.
    rewinds: u64,
    /// Everything up to here was handled or put aside.
    done: Position,
    /// Nothing up to here is still to be read.
    read_to: Position,
    /// The last position that was given out, as far as is known.
    head: Position,
    /// Read, and not handled.
    waiting: VecDeque<Entry>,
    /// How often the front was tried.
    attempts: u32,
    /// Up to here events are handled one by one: a batch with one of them has failed, and which it was is not known.
    alone_to: Position,
    /// Not before then.
    retry_at: Option<Monotonic>,
    /// The front cannot be handled, and the subscription stands still.
    halted: Option<String>,
    aside: Vec<Aside>,
    since_save: u32,
    saved_at: Monotonic,
}

/// What is to be done with the event at the front.
#[derive(Debug)]
pub enum Front<'a> {
    /// It is handled.
    Handle(&'a Recorded),
    /// Its row cannot be read: it has [failed](Cursor::failed) for good, without being tried.
    Unreadable(&'a Unreadable),
    /// It failed, and is tried again then.
    Wait(Monotonic),
    /// It cannot be handled. An operator has to decide; it is tried again when the subscription starts anew.
    Halted(&'a str),
    /// There is none: more is to be read.
    Empty,
}

/// What becomes of an event that failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fate {
    /// It is tried again at this moment.
    Again(Monotonic),
    /// It is put aside.
    Parked,
    /// The subscription stands still at it.
    Halted,
}

/// Why a reader has to stop.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Lost {
    /// The checkpoint lies beyond all that was ever appended.
    #[error(
        "the checkpoint of {name} is at {checkpoint}, but the store has given out no position beyond {head}: it was \
         restored from an older backup, or is another store. Nothing is read, for what is appended now would be \
         skipped; put the checkpoint where the restored store ends (or before), and start again"
    )]
    Ahead {
        /// Whose checkpoint.
        name: SubscriptionName,
        /// Where it is.
        checkpoint: Position,
        /// The last position of the store.
        head: Position,
    },
    /// The reader is no longer in office.
    #[error("another reader of {name} is in office")]
    Fenced {
        /// Whose checkpoint.
        name: SubscriptionName,
    },
    /// Someone else moved the checkpoint.
    #[error("the checkpoint of {name} was moved to {at}; this reader knew it at {known}")]
    Moved {
        /// Whose checkpoint.
        name: SubscriptionName,
        /// Where it is.
        at: Position,
        /// Where this reader knew it.
        known: Position,
    },
}

impl Cursor {
    /// Begins at a checkpoint.
    pub fn new(
        name: SubscriptionName,
        settings: SubscriptionSettings,
        checkpoint: Checkpoint,
        now: Monotonic,
    ) -> Self {
        let Checkpoint { position, rewinds } = checkpoint;
        Self {
            name,
            settings,
            saved: position,
            rewinds,
            done: position,
            read_to: position,
            head: position,
            waiting: VecDeque::new(),
            attempts: 0,
            alone_to: Position::START,
            retry_at: None,
            halted: None,
            aside: Vec::new(),
            since_save: 0,
            saved_at: now,
        }
    }

    /// After which position to read, and how many; `None` while there is enough to handle.
    pub fn wants(&self) -> Option<(Position, u32)> {
        let few = self.waiting.len() * 2 <= self.settings.page as usize;
        (few && self.halted.is_none()).then_some((self.read_to, self.settings.page))
    }

    /// Takes a page that was read after [`Cursor::wants`]. Answers how many events are new.
    pub fn took(&mut self, page: AllPage) -> Result<usize, Lost> {
        if page.head < self.saved {
            return Err(Lost::Ahead { name: self.name.clone(), checkpoint: self.saved, head: page.head });
        }
        self.head = self.head.max(page.head);
        let before = self.waiting.len();
        let mut events = page.events.into_iter().map(Entry::Event).peekable();
        let mut unreadable = page.unreadable.into_iter().map(Entry::Unreadable).peekable();
        while let Some(entry) = match (events.peek(), unreadable.peek()) {
            (Some(event), Some(row)) if row.position() < event.position() => unreadable.next(),
            (None, _) => unreadable.next(),
            _ => events.next(),
        } {
            if entry.position() > self.read_to {
                self.read_to = entry.position();
                self.waiting.push_back(entry);
            }
        }
        // Gaps up to what is proven are passed over; what is not proven is read again.
        let proven = if off(Rule::CheckpointProven) { page.head } else { page.read_to };
        self.read_to = self.read_to.max(proven);
        self.settle();
        Ok(self.waiting.len() - before)
    }

    /// With nothing left to handle, all that was read is done.
    fn settle(&mut self) {
        self.done = match self.waiting.front() {
            None => self.read_to,
            Some(_) => self.done,
        };
    }

    /// What is to be done next.
    pub fn front(&self, now: Monotonic) -> Front<'_> {
        let Some(entry) = self.waiting.front() else { return Front::Empty };
        match (&self.halted, self.retry_at) {
            (Some(reason), _) => Front::Halted(reason),
            (None, Some(at)) if at > now => Front::Wait(at),
            _ => match entry {
                Entry::Event(event) => Front::Handle(event),
                Entry::Unreadable(row) => Front::Unreadable(row),
            },
        }
    }

    /// The events that are handled next, for a handler that takes several: at most so many, and one that may have failed
    /// before by itself. It ends before a row that cannot be read.
    pub fn batch(&self, most: usize) -> impl Iterator<Item = &Recorded> {
        let suspect = self.waiting.front().is_some_and(|entry| entry.position() <= self.alone_to);
        let most = if self.attempts > 0 || suspect { 1 } else { most };
        self.waiting.iter().take(most).map_while(Entry::event)
    }

    /// The first `count` events failed together: they are tried one by one, so that only the one that is to blame bears
    /// the consequences.
    pub fn failed_together(&mut self, count: usize) {
        if let Some(last) = count.checked_sub(1).and_then(|last| self.waiting.get(last)) {
            self.alone_to = last.position();
        }
    }

    /// The front was handled.
    pub fn handled(&mut self) {
        if let Some(entry) = self.waiting.pop_front() {
            self.pass(entry.position());
        }
    }

    fn pass(&mut self, position: Position) {
        self.done = position;
        self.attempts = 0;
        self.retry_at = None;
        self.since_save = self.since_save.saturating_add(1);
        self.settle();
    }

    /// The front failed. `poison` says that no further try can help; `chance` is uniform in `[0, 1)`.
    pub fn failed(&mut self, reason: &str, poison: bool, chance: f64, now: Monotonic) -> Fate {
        self.attempts = self.attempts.saturating_add(1);
        if !poison && self.attempts < self.settings.retry.max_attempts {
            let at = now.after(self.settings.retry.pause(self.attempts, chance, None));
            self.retry_at = Some(at);
            return Fate::Again(at);
        }
        match self.settings.on_failure {
            // It may pass yet: it stands still, and goes on trying.
            OnFailure::Halt if !poison => {
                let at = now.after(self.settings.retry.cap);
                self.retry_at = Some(at);
                Fate::Again(at)
            }
            OnFailure::Halt => {
                self.halted = Some(shorten(reason));
                Fate::Halted
            }
            OnFailure::Park => {
                if let Some(entry) = self.waiting.pop_front() {
                    let position = entry.position();
                    self.aside.push(entry.aside(reason, self.attempts));
                    self.pass(position);
                }
                Fate::Parked
            }
        }
    }

    /// The step that is due: after so many events, after so long, or at once when something was put aside.
    pub fn step(&self, now: Monotonic) -> Option<Step> {
        let enough = self.since_save >= self.settings.checkpoint_every;
        let long = self.saved_at.until(now) >= self.settings.checkpoint_after;
        if self.done > self.saved && (enough || long || !self.aside.is_empty()) {
            self.last_step()
        } else {
            None
        }
    }

    /// When a step may be due without anything else happening; `None` when there is nothing to save.
    pub fn step_due(&self) -> Option<Monotonic> {
        (self.done > self.saved).then(|| self.saved_at.after(self.settings.checkpoint_after))
    }

    /// The step that saves all that was done, due or not.
    pub fn last_step(&self) -> Option<Step> {
        if self.done <= self.saved && self.aside.is_empty() {
            return None;
        }
        Some(self.step_to(self.done))
    }

    /// The step that a handler takes in its own transaction for the first `count` events that wait.
    pub fn step_of(&self, count: usize) -> Option<Step> {
        let last = self.waiting.get(count.checked_sub(1)?)?;
        // With nothing behind them, all that was read is done.
        let to = if count == self.waiting.len() { self.read_to } else { last.position() };
        Some(self.step_to(to))
    }

    fn step_to(&self, to: Position) -> Step {
        let (name, parked) = (self.name.clone(), self.aside.clone());
        Step { name, from: self.saved, rewinds: self.rewinds, to, parked }
    }

    /// The store has answered a step.
    pub fn stepped(&mut self, step: &Step, answer: Advance, now: Monotonic) -> Result<(), Lost> {
        match answer {
            Advance::Advanced => {
                self.saved = step.to;
                self.saved_at = now;
                self.since_save = 0;
                self.aside.retain(|aside| aside.position > step.to);
                while self.waiting.front().is_some_and(|entry| entry.position() <= step.to) {
                    self.waiting.pop_front();
                    (self.attempts, self.retry_at) = (0, None);
                }
                self.done = self.done.max(step.to);
                Ok(())
            }
            Advance::Fenced => Err(Lost::Fenced { name: self.name.clone() }),
            Advance::Moved { at } => Err(Lost::Moved { name: self.name.clone(), at, known: self.saved }),
        }
    }

    /// Where the checkpoint is.
    pub fn saved(&self) -> Position {
        self.saved
    }

    /// The checkpoint as this reader knows it.
    pub fn checkpoint(&self) -> Checkpoint {
        Checkpoint { position: self.saved, rewinds: self.rewinds }
    }

    /// How far everything is handled.
    pub fn done(&self) -> Position {
        self.done
    }

    /// How far it is from what is handled to the last position that was given out: at most so many events wait.
    pub fn behind(&self) -> u64 {
        u64::try_from(self.head.0.saturating_sub(self.done.0)).unwrap_or(0)
    }

    /// Where the event stands that waits for longest.
    pub fn oldest(&self) -> Option<Position> {
        self.waiting.front().map(Entry::position)
    }

    /// Why the subscription stands still, if it does.
    pub fn halted(&self) -> Option<&str> {
        self.halted.as_deref()
    }
}
