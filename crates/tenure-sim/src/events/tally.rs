//! What a run of the world of events has seen, in numbers.

use std::fmt;
use std::ops::AddAssign;

use tenure_core::event::AppendAnswer;
use tenure_core::subscription::Advance;

use crate::oracle::{EventFact, Fact};

macro_rules! tally {
    ($($(#[$doc:meta])* $field:ident),* $(,)?) => {
        /// Numbers of one run, or of many.
        #[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
        pub struct EventTally {
            $($(#[$doc])* pub $field: u64,)*
        }

        impl AddAssign for EventTally {
            fn add_assign(&mut self, other: Self) {
                $(self.$field += other.$field;)*
            }
        }
    };
}

tally! {
    /// Events that became visible.
    visible,
    /// Events that became visible after one with a higher position.
    overtaken,
    /// Appends that happened.
    appended,
    /// Appends that had happened before.
    repeated,
    /// Appends at another version than the stream's.
    conflicts,
    /// Appends for a message that had taken effect before.
    duplicates,
    /// Appends for a message that had been refused before.
    refused_again,
    /// Transactions that ended without a commit.
    rolled_back,
    /// Messages that took effect.
    effects,
    /// Messages that were refused.
    refused,
    /// Messages that were refused by what a host had in memory, and would have been accepted by what the stream says.
    refused_by_old_state,
    /// Dispatches that entities and writers sent.
    sent,
    /// Deliveries that reached a host.
    deliveries,
    /// Pages that ended early because of an open transaction.
    stalls,
    /// Events handled one by one.
    handled,
    /// Events that projections took in.
    applied,
    /// Events put aside.
    parked,
    /// Steps of checkpoints.
    advanced,
    /// Steps of a reader that was no longer in office.
    fenced,
    /// Steps from where the checkpoint was not.
    moved,
    /// Checkpoints moved by operators.
    rewinds,
    /// Processes that died.
    crashes,
    /// The highest position that became visible, for the count of those that were overtaken.
    highest,
    /// Steps of the world.
    steps,
}

impl EventTally {
    /// Counts what happened in one step.
    pub(super) fn count(&mut self, facts: &[Fact]) {
        for fact in facts {
            let Fact::Event(fact) = fact else { continue };
            match fact {
                EventFact::Visible { event, .. } => {
                    let position = event.position.0.unsigned_abs();
                    self.visible += 1;
                    self.overtaken += u64::from(position < self.highest);
                    self.highest = self.highest.max(position);
                }
                EventFact::Sent { .. } => self.sent += 1,
                EventFact::Marked { refused: None, .. } => self.effects += 1,
                EventFact::Marked { .. } => self.refused += 1,
                EventFact::Handled { .. } => self.handled += 1,
                EventFact::Applied { .. } => self.applied += 1,
                EventFact::Stepped { parked, .. } => self.parked += parked.len() as u64,
                _ => {}
            }
        }
    }

    pub(super) fn answer(&mut self, answer: &Result<AppendAnswer, String>) {
        match answer {
            Ok(AppendAnswer::Appended(appended)) if appended.repeated => self.repeated += 1,
            Ok(AppendAnswer::Appended(_)) => self.appended += 1,
            Ok(AppendAnswer::Conflict { .. }) => self.conflicts += 1,
            Ok(AppendAnswer::Duplicate) => self.duplicates += 1,
            Ok(AppendAnswer::Refused { .. }) => self.refused_again += 1,
            Ok(AppendAnswer::Differs) | Err(_) => {}
        }
    }

    pub(super) fn step(&mut self, answer: &Advance) {
        match answer {
            Advance::Advanced => self.advanced += 1,
            Advance::Fenced => self.fenced += 1,
            Advance::Moved { .. } => self.moved += 1,
        }
    }
}

impl fmt::Display for EventTally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { visible, overtaken, appended, repeated, conflicts, duplicates, rolled_back, .. } = self;
        write!(f, "events: {} steps, {visible} visible, {overtaken} of them late; ", self.steps)?;
        write!(f, "appends {appended} done, {repeated} repeated, {conflicts} conflicts, ")?;
        write!(f, "{duplicates} duplicates, {rolled_back} rolled back; ")?;
        let Self { effects, refused, refused_again, sent, deliveries, crashes, .. } = self;
        write!(f, "messages {sent} sent, {deliveries} deliveries, {effects} effects, {refused} refused, ")?;
        write!(f, "{} of them by an old state, ", self.refused_by_old_state)?;
        write!(f, "{refused_again} refused again; {crashes} crashes; ")?;
        let Self { stalls, handled, applied, parked, advanced, fenced, moved, rewinds, .. } = self;
        write!(f, "readers {handled} handled, {applied} projected, {parked} parked, {stalls} held up; ")?;
        write!(f, "checkpoints {advanced} advanced, {fenced} fenced, {moved} elsewhere, {rewinds} rewound")
    }
}
