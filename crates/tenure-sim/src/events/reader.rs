//! A reader of a subscription: the driver around the core's [`Cursor`], as the real one is.
//!
//! It learns that it is out of office late or never, and a crash may come between any two of its steps: the fence and the
//! checkpoint's own place have to make that harmless.

use std::sync::Arc;
use std::time::Duration;

use tenure_core::event::{Position, Recorded};
use tenure_core::subscription::{Advance, Cursor, Fate, Front, Lost, Step, SubscriptionName};

use super::actor::{Input, Turn};
use super::message::{Answer, Request, Stride};
use crate::oracle::EventFact;
use crate::plan::SubscriptionPlan;

/// How long it waits after a call that had no answer, and before it begins anew.
const AGAIN: Duration = Duration::from_millis(100);
/// How soon it looks again at first when there was nothing new.
const LOOK_AGAIN: Duration = Duration::from_millis(5);
/// How often it looks whether an operator has moved the checkpoint of a subscription that stands still.
const HALTED_LOOK: Duration = Duration::from_millis(500);

#[derive(Debug)]
pub(crate) struct Reader {
    pub(crate) subscription: usize,
    name: SubscriptionName,
    plan: SubscriptionPlan,
    /// The term of its office, as far as it knows.
    term: Option<u64>,
    cursor: Option<Cursor>,
    doing: Doing,
    quiet: Duration,
}

/// What it waits for.
#[derive(Debug)]
enum Doing {
    /// For its timer.
    Resting,
    /// For the checkpoint, to begin at.
    Beginning,
    Reading,
    /// The handler is at work.
    Handling,
    Saving(Step),
    Projecting {
        step: Step,
        count: usize,
    },
    /// For the checkpoint, to learn what came of a step; of a projection's, how many events were in it.
    Checking {
        step: Step,
        count: Option<usize>,
    },
    /// For the checkpoint, while it stands still.
    Halted,
}

impl Reader {
    pub(crate) fn new(subscription: usize, name: SubscriptionName, plan: SubscriptionPlan) -> Self {
        Self { subscription, name, plan, term: None, cursor: None, doing: Doing::Resting, quiet: LOOK_AGAIN }
    }

    pub(crate) fn restart(&mut self) {
        *self = Self::new(self.subscription, self.name.clone(), self.plan.clone());
    }

    /// Where it stands still, and why.
    pub(crate) fn halted_at(&self) -> Option<Position> {
        let cursor = self.cursor.as_ref()?;
        cursor.halted().and_then(|_| cursor.oldest())
    }

    pub(crate) fn drive(&mut self, input: Input, turn: &mut Turn<'_>) {
        match input {
            Input::Wake => match std::mem::replace(&mut self.doing, Doing::Resting) {
                Doing::Resting => self.go_on(turn),
                Doing::Handling => self.handled(turn),
                doing @ Doing::Checking { .. } => {
                    self.doing = doing;
                    turn.ask = Some(Request::Checkpoint(self.subscription));
                }
                doing => self.doing = doing,
            },
            Input::Answer(answer) => self.answered(answer, turn),
            Input::Elected(term) => {
                // A new time in office begins anew; what was asked in a former one concerns it no more.
                (self.term, self.cursor, self.doing) = (Some(term), None, Doing::Resting);
                turn.wake = Some(Duration::ZERO);
            }
            Input::Deposed(term) if self.term == Some(term) => {
                (self.term, self.cursor, self.doing) = (None, None, Doing::Resting);
            }
            _ => {}
        }
    }

    /// Does what is due.
    fn go_on(&mut self, turn: &mut Turn<'_>) {
        if self.plan.office && self.term.is_none() {
            return;
        }
        let Some(cursor) = &mut self.cursor else {
            self.doing = Doing::Beginning;
            turn.ask = Some(Request::Checkpoint(self.subscription));
            return;
        };
        if let Some(step) = cursor.step(turn.now) {
            return self.save(step, Vec::new(), turn);
        }
        match cursor.front(turn.now) {
            Front::Handle(_) if self.plan.projects.is_some() => self.project(turn),
            Front::Handle(_) => {
                self.doing = Doing::Handling;
                turn.wake = Some(turn.up_to(self.plan.takes));
            }
            Front::Unreadable(_) => {
                self.fail_front("the row cannot be read", true, turn);
                // It takes a moment, whatever comes of it.
                self.rest(Duration::from_micros(50), turn);
            }
            Front::Wait(at) => {
                let span = turn.now.until(at);
                self.rest(span, turn);
            }
            Front::Halted(_) => {
                self.doing = Doing::Halted;
                turn.ask = Some(Request::Checkpoint(self.subscription));
            }
            Front::Empty => {
                let Some((after, limit)) = cursor.wants() else { return self.rest(AGAIN, turn) };
                self.doing = Doing::Reading;
                turn.ask = Some(Request::ReadAll { after, limit });
            }
        }
    }

    fn answered(&mut self, answer: Option<Answer>, turn: &mut Turn<'_>) {
        match (std::mem::replace(&mut self.doing, Doing::Resting), answer) {
            (Doing::Beginning, Some(Answer::Checkpoint(at))) => {
                turn.notes.push(format!("begins at {}", at.position));
                let settings = self.plan.settings.clone();
                self.cursor = Some(Cursor::new(self.name.clone(), settings, at, turn.now));
                self.go_on(turn);
            }
            (Doing::Reading, Some(Answer::Page(page))) => {
                let Some(cursor) = &mut self.cursor else { return };
                match cursor.took(page) {
                    Err(lost) => self.lose(&lost, turn),
                    Ok(0) => {
                        let sleep = self.quiet.min(self.plan.settings.poll);
                        self.quiet = (self.quiet * 2).min(self.plan.settings.poll);
                        self.rest(sleep, turn);
                    }
                    Ok(_) => {
                        self.quiet = LOOK_AGAIN;
                        self.go_on(turn);
                    }
                }
            }
            (Doing::Saving(step) | Doing::Projecting { step, .. }, Some(Answer::Advance(answer))) => {
                self.stepped(&step, answer, turn);
            }
            // Unknown means that it may have moved after all.
            (Doing::Saving(step), _) => self.check(step, None, turn),
            (Doing::Projecting { step, count }, _) => self.check(step, Some(count), turn),
            (Doing::Checking { step, count }, Some(Answer::Checkpoint(at))) => {
                if step.is_taken(at) {
                    return self.stepped(&step, Advance::Advanced, turn);
                }
                if let Some(count) = count {
                    self.failed(count, "nobody knows", false, turn);
                }
                self.go_on(turn);
            }
            (Doing::Checking { step, count }, _) => self.check(step, count, turn),
            (Doing::Halted, Some(Answer::Checkpoint(at))) => {
                let known = self.cursor.as_ref().map_or(at, Cursor::checkpoint);
                if at == known {
                    return self.rest(HALTED_LOOK, turn);
                }
                let (at, known) = (at.position, known.position);
                self.lose(&Lost::Moved { name: self.name.clone(), at, known }, turn);
            }
            _ => self.rest(AGAIN, turn),
        }
    }

    fn save(&mut self, step: Step, applies: Vec<Position>, turn: &mut Turn<'_>) {
        turn.ask = Some(Request::Advance(Arc::new(Stride {
            subscription: self.subscription,
            term: self.term,
            step: step.clone(),
            applies: applies.clone(),
        })));
        self.doing = match applies.len() {
            0 => Doing::Saving(step),
            count => Doing::Projecting { step, count },
        };
    }

    fn check(&mut self, step: Step, count: Option<usize>, turn: &mut Turn<'_>) {
        self.doing = Doing::Checking { step, count };
        turn.wake = Some(AGAIN);
    }

    fn stepped(&mut self, step: &Step, answer: Advance, turn: &mut Turn<'_>) {
        let Some(cursor) = &mut self.cursor else { return };
        match cursor.stepped(step, answer, turn.now) {
            Ok(()) => self.go_on(turn),
            Err(lost) => self.lose(&lost, turn),
        }
    }

    /// Begins anew at the checkpoint, in a while; who is out of office waits to be elected.
    fn lose(&mut self, lost: &Lost, turn: &mut Turn<'_>) {
        turn.notes.push(lost.to_string());
        match lost {
            Lost::Fenced { .. } => self.term = None,
            Lost::Ahead { .. } => turn.tell(EventFact::Problem(lost.to_string())),
            _ => {}
        }
        self.cursor = None;
        self.doing = Doing::Resting;
        turn.wake = Some(AGAIN);
    }

    /// The handler has ended: well, or not, or well and nobody knows.
    fn handled(&mut self, turn: &mut Turn<'_>) {
        let Some(cursor) = &mut self.cursor else { return };
        let Some(event) = cursor.batch(1).next() else { return self.go_on(turn) };
        let (subscription, position) = (self.subscription, event.position);
        if self.plan.is_poison(event) || (turn.stormy && turn.hit(self.plan.fail)) {
            let poison = self.plan.is_poison(event) && turn.rng.bool();
            self.fail_front("it failed", poison, turn);
        } else {
            turn.tell(EventFact::Handled { subscription, position });
            if turn.stormy && turn.hit(self.plan.fail / 4) {
                self.fail_front("it came too late", false, turn);
            } else if let Some(cursor) = &mut self.cursor {
                cursor.handled();
            }
        }
        self.go_on(turn);
    }

    fn project(&mut self, turn: &mut Turn<'_>) {
        let (Some(cursor), Some(most)) = (&self.cursor, self.plan.projects) else { return };
        let events: Vec<&Recorded> = cursor.batch(most).collect();
        let Some(step) = cursor.step_of(events.len()) else { return self.rest(AGAIN, turn) };
        let applies: Vec<Position> = events.iter().map(|event| event.position).collect();
        let poison = events.iter().any(|event| self.plan.is_poison(event));
        if poison || (turn.stormy && turn.hit(self.plan.fail)) {
            self.failed(applies.len(), "the projection failed", poison, turn);
            // It takes a moment, whatever comes of it.
            self.rest(Duration::from_micros(50), turn);
        } else {
            self.save(step, applies, turn);
        }
    }

    fn failed(&mut self, count: usize, reason: &str, poison: bool, turn: &mut Turn<'_>) {
        match (&mut self.cursor, count) {
            (Some(_), 1) => self.fail_front(reason, poison, turn),
            (Some(cursor), count) => cursor.failed_together(count),
            (None, _) => {}
        }
    }

    fn fail_front(&mut self, reason: &str, poison: bool, turn: &mut Turn<'_>) {
        let Some(cursor) = &mut self.cursor else { return };
        let at = cursor.oldest().map(|position| position.0);
        let fate = cursor.failed(reason, poison, turn.rng.f64(), turn.now);
        if !matches!(fate, Fate::Again(_)) {
            turn.notes.push(format!("event {at:?}: {fate:?}"));
        }
    }

    /// Sleeps, at most until a step is due.
    fn rest(&mut self, span: Duration, turn: &mut Turn<'_>) {
        let due = self.cursor.as_ref().and_then(Cursor::step_due).map(|due| turn.now.until(due));
        self.doing = Doing::Resting;
        turn.wake = Some(due.map_or(span, |due| span.min(due.max(Duration::from_micros(100)))));
    }
}

impl std::fmt::Display for Reader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (saved, done) = self.cursor.as_ref().map(|cursor| (cursor.saved().0, cursor.done().0)).unzip();
        write!(f, "term {:?}, saved {saved:?}, done {done:?}, {:?}", self.term, self.doing)
    }
}

impl SubscriptionPlan {
    /// Whether an event can never be handled.
    fn is_poison(&self, event: &Recorded) -> bool {
        u32::try_from(event.id.as_u128() % 1000).is_ok_and(|number| number < self.poison)
    }
}
