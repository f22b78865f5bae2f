//! Where a reader stands: what it has read, handled and saved, and what it does next. No I/O.

use std::collections::VecDeque;

use super::{Advance, Aside, Checkpoint, OnFailure, Step, SubscriptionName, SubscriptionSettings};
use crate::event::{AllPage, Position, Recorded};
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
    waiting: VecDeque<Recorded>,
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
        for event in page.events {
            if event.position > self.read_to {
                self.read_to = event.position;
                self.waiting.push_back(event);
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
        let Some(event) = self.waiting.front() else { return Front::Empty };
        match (&self.halted, self.retry_at) {
            (Some(reason), _) => Front::Halted(reason),
            (None, Some(at)) if at > now => Front::Wait(at),
            _ => Front::Handle(event),
        }
    }

    /// The events that are handled next, for a handler that takes several: at most so many, and one that may have failed
    /// before by itself.
    pub fn batch(&self, most: usize) -> impl Iterator<Item = &Recorded> {
        let suspect = self.waiting.front().is_some_and(|event| event.position <= self.alone_to);
        let most = if self.attempts > 0 || suspect { 1 } else { most };
        self.waiting.iter().take(most)
    }

    /// The first `count` events failed together: they are tried one by one, so that only the one that is to blame bears
    /// the consequences.
    pub fn failed_together(&mut self, count: usize) {
        if let Some(last) = count.checked_sub(1).and_then(|last| self.waiting.get(last)) {
            self.alone_to = last.position;
        }
    }

    /// The front was handled.
    pub fn handled(&mut self) {
        if let Some(event) = self.waiting.pop_front() {
            self.pass(event.position);
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
                if let Some(event) = self.waiting.pop_front() {
                    self.aside.push(Aside {
                        position: event.position,
                        stream: event.stream,
                        version: event.version,
                        kind: event.kind,
                        reason: shorten(reason),
                        attempts: self.attempts,
                    });
                    self.pass(event.position);
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
        let to = if count == self.waiting.len() { self.read_to } else { last.position };
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
                while self.waiting.front().is_some_and(|event| event.position <= step.to) {
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

    /// The event that waits for longest.
    pub fn oldest(&self) -> Option<&Recorded> {
        self.waiting.front()
    }

    /// Why the subscription stands still, if it does.
    pub fn halted(&self) -> Option<&str> {
        self.halted.as_deref()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use uuid::Uuid;

    use super::*;
    use crate::event::{Metadata, StreamName, Version};
    use crate::outbox::{Body, RetryPolicy};
    use crate::time::StoreTime;

    fn at(millis: u64) -> Monotonic {
        Monotonic::from_origin(Duration::from_millis(millis))
    }

    fn event(position: i64) -> Recorded {
        Recorded {
            position: Position(position),
            stream: StreamName::new("s").unwrap(),
            version: Version(position),
            id: Uuid::from_u128(position as u128),
            kind: "K".into(),
            schema: 1,
            body: Body::Text("1".into()),
            metadata: Metadata::default(),
            recorded_at: StoreTime::from_micros(0),
        }
    }

    fn page(positions: &[i64], read_to: i64, head: i64) -> AllPage {
        let events = positions.iter().copied().map(event).collect();
        AllPage { events, read_to: Position(read_to), head: Position(head), stall: None }
    }

    fn cursor(on_failure: OnFailure) -> Cursor {
        let settings = SubscriptionSettings {
            checkpoint_every: 2,
            on_failure,
            retry: RetryPolicy { max_attempts: 2, ..RetryPolicy::default() },
            ..SubscriptionSettings::default()
        };
        Cursor::new(SubscriptionName::new("n").unwrap(), settings, Checkpoint::default(), at(0))
    }

    #[test]
    fn s30_a_checkpoint_moves_only_to_what_is_proven() {
        let mut cursor = cursor(OnFailure::Halt);
        // 3 may still appear.
        assert_eq!(cursor.took(page(&[1, 2], 2, 5)), Ok(2));
        cursor.handled();
        cursor.handled();
        assert_eq!(cursor.step(at(0)).unwrap().to, Position(2));
        assert_eq!(cursor.wants(), Some((Position(2), 512)));
        // 3 was rolled back: the gap is passed over.
        cursor.took(page(&[4], 5, 5)).unwrap();
        assert_eq!(cursor.done(), Position(2), "4 is not handled");
        cursor.handled();
        assert_eq!((cursor.done(), cursor.behind()), (Position(5), 0));
    }

    #[test]
    fn a_checkpoint_moves_after_so_many_or_so_long() {
        let mut cursor = cursor(OnFailure::Halt);
        cursor.took(page(&[1, 2, 3], 3, 3)).unwrap();
        cursor.handled();
        assert_eq!(cursor.step(at(10)), None);
        assert!(cursor.step(at(1000)).is_some());
        cursor.handled();
        let step = cursor.step(at(10)).unwrap();
        assert_eq!((step.from, step.to), (Position(0), Position(2)));
        cursor.stepped(&step, Advance::Advanced, at(10)).unwrap();
        assert_eq!((cursor.step(at(20)), cursor.step_due(), cursor.saved()), (None, None, Position(2)));
    }

    #[test]
    fn a_failure_is_tried_again_and_then_put_aside_or_halts() {
        let mut parks = cursor(OnFailure::Park);
        parks.took(page(&[1, 2], 2, 2)).unwrap();
        let Fate::Again(when) = parks.failed("no", false, 0.5, at(0)) else { panic!("it is tried again") };
        assert!(matches!(parks.front(at(0)), Front::Wait(then) if then == when));
        assert!(matches!(parks.front(when), Front::Handle(event) if event.position == Position(1)));
        assert_eq!(parks.failed("no\0", false, 0.5, when), Fate::Parked);
        let step = parks.step(when).unwrap();
        assert_eq!(
            (step.to, step.parked[0].attempts, step.parked[0].position),
            (Position(1), 2, Position(1))
        );
        parks.stepped(&step, Advance::Advanced, when).unwrap();
        assert!(parks.last_step().is_none(), "it is put aside once");
        let mut halts = cursor(OnFailure::Halt);
        halts.took(page(&[1, 2], 2, 2)).unwrap();
        assert_eq!(halts.failed("the type is unknown", true, 0.5, at(0)), Fate::Halted);
        assert!(matches!(halts.front(at(99_999)), Front::Halted("the type is unknown")));
        assert_eq!((halts.wants(), halts.last_step()), (None, None));
    }

    #[test]
    fn a_checkpoint_ahead_of_the_store_is_said_loudly() {
        let settings = SubscriptionSettings::default();
        let name = SubscriptionName::new("n").unwrap();
        let mut cursor =
            Cursor::new(name, settings, Checkpoint { position: Position(100), rewinds: 0 }, at(0));
        let error = cursor.took(page(&[], 40, 40)).unwrap_err().to_string();
        assert!(error.contains("at 100") && error.contains("beyond 40"), "{error}");
    }

    #[test]
    fn who_is_deposed_or_overtaken_stops() {
        let mut cursor = cursor(OnFailure::Halt);
        cursor.took(page(&[1], 1, 1)).unwrap();
        cursor.handled();
        let step = cursor.last_step().unwrap();
        assert!(matches!(cursor.stepped(&step, Advance::Fenced, at(0)), Err(Lost::Fenced { .. })));
        let moved = cursor.stepped(&step, Advance::Moved { at: Position(9) }, at(0));
        assert!(matches!(moved, Err(Lost::Moved { at: Position(9), known: Position(0), .. })));
    }

    #[test]
    fn a_batch_s_step_ends_at_its_last_event_or_at_all_that_was_read() {
        let mut cursor = cursor(OnFailure::Halt);
        cursor.took(page(&[1, 3, 7], 9, 9)).unwrap();
        assert_eq!(cursor.step_of(2).unwrap().to, Position(3));
        assert_eq!(cursor.step_of(3).unwrap().to, Position(9));
        assert_eq!((cursor.step_of(0), cursor.step_of(4)), (None, None));
        let step = cursor.step_of(2).unwrap();
        cursor.stepped(&step, Advance::Advanced, at(0)).unwrap();
        assert_eq!((cursor.saved(), cursor.done()), (Position(3), Position(3)));
        assert_eq!(cursor.batch(10).map(|event| event.position.0).collect::<Vec<_>>(), [7]);
        let _ = cursor.failed("no", false, 0.5, at(0));
        assert_eq!(cursor.batch(10).count(), 1);
    }

    #[test]
    fn a_batch_that_failed_is_tried_one_by_one() {
        let mut cursor = cursor(OnFailure::Park);
        cursor.took(page(&[1, 2, 3, 4], 4, 4)).unwrap();
        cursor.failed_together(2);
        for _ in 0..2 {
            assert_eq!(cursor.batch(10).count(), 1);
            cursor.handled();
        }
        assert_eq!(cursor.batch(10).count(), 2);
    }
}
