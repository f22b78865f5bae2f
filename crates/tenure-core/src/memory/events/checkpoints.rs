//! How far each subscription has come, and what it has put aside.

use std::collections::BTreeMap;

use crate::event::Position;
use crate::memory::AuditLine;
use crate::mutation::{Rule, off};
use crate::outbox::Count;
use crate::subscription::{
    Advance, Backward, Checkpoint, PARKED_COUNT_MAX, Parked, Progress, Rewind, Step, SubscriptionName,
};
use crate::time::StoreTime;

/// The tables of checkpoints, in memory.
#[derive(Debug, Clone, Default)]
pub struct CheckpointTables {
    places: BTreeMap<SubscriptionName, Place>,
    parked: BTreeMap<(SubscriptionName, Position), Parked>,
    audit: Vec<AuditLine>,
}

#[derive(Debug, Clone, Copy)]
struct Place {
    checkpoint: Checkpoint,
    moved_at: StoreTime,
}

impl CheckpointTables {
    /// How far a subscription has come.
    pub fn checkpoint(&self, name: &SubscriptionName) -> Checkpoint {
        self.places.get(name).map_or_else(Checkpoint::default, |place| place.checkpoint)
    }

    /// Moves a checkpoint, if its reader is in office and knows where it is.
    pub fn advance(&mut self, in_office: bool, step: &Step, now: StoreTime) -> Result<Advance, Backward> {
        step.check()?;
        let Step { name, from, rewinds, to, parked } = step;
        if !in_office {
            return Ok(Advance::Fenced);
        }
        let there = self.checkpoint(name);
        let elsewhere = there.position != *from && !off(Rule::CheckpointFrom);
        let rewound = there.rewinds != *rewinds && !off(Rule::CheckpointRewinds);
        if elsewhere || rewound {
            return Ok(Advance::Moved { at: there.position });
        }
        let checkpoint = Checkpoint { position: *to, ..there };
        self.places.insert(name.clone(), Place { checkpoint, moved_at: now });
        for aside in parked {
            let key = (name.clone(), aside.position);
            self.parked.insert(key, Parked { aside: aside.clone(), parked_at: now });
        }
        Ok(Advance::Advanced)
    }

    /// Subscriptions that ever moved, by name, after one.
    pub fn subscriptions(&self, after: Option<&SubscriptionName>, limit: u32) -> Vec<Progress> {
        let progress = |(name, place): (&SubscriptionName, &Place)| Progress {
            name: name.clone(),
            position: place.checkpoint.position,
            moved_at: place.moved_at,
            parked: Count::up_to(PARKED_COUNT_MAX.into(), self.parked_of(name).count() as u64),
        };
        let rest = self.places.iter().filter(|(name, _)| after.is_none_or(|after| *name > after));
        rest.take(limit as usize).map(progress).collect()
    }

    /// The events that a subscription has put aside, the oldest first.
    pub fn parked(&self, name: &SubscriptionName, after: Option<Position>, limit: u32) -> Vec<Parked> {
        let rest =
            self.parked_of(name).filter(|parked| after.is_none_or(|after| parked.aside.position > after));
        rest.take(limit as usize).cloned().collect()
    }

    /// Moves a checkpoint to any place up to the `end` of the log, and forgets what was put aside after it.
    pub fn rewind(
        &mut self,
        name: &SubscriptionName,
        to: Position,
        end: Position,
        by: &str,
        now: StoreTime,
    ) -> Rewind {
        let Checkpoint { position: from, rewinds } = self.checkpoint(name);
        let judged = Rewind::judge(from, to, end);
        if judged != Rewind::Moved {
            return judged;
        }
        let checkpoint = Checkpoint { position: to, rewinds: rewinds.saturating_add(1) };
        self.places.insert(name.clone(), Place { checkpoint, moved_at: now });
        self.parked.retain(|(whose, position), _| whose != name || *position <= to);
        self.audit.push(AuditLine {
            at: now,
            by: by.to_owned(),
            action: "subscription rewind".to_owned(),
            subject: name.to_string(),
            detail: format!("from {from} to {to}"),
        });
        Rewind::Moved
    }

    /// What operators did, the first one first.
    pub fn audit(&self) -> &[AuditLine] {
        &self.audit
    }

    fn parked_of(&self, name: &SubscriptionName) -> impl Iterator<Item = &Parked> {
        let places = (name.clone(), Position(i64::MIN))..=(name.clone(), Position(i64::MAX));
        self.parked.range(places).map(|(_, parked)| parked)
    }
}
