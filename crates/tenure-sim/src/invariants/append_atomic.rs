//! An append is there as a whole or not at all: events, dispatches and mark become visible in one moment. Who was told that
//! it happened finds it there once; who was told of a conflict has left nothing.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use tenure_core::event::{Append, AppendAnswer, Expected, Recorded, StreamName, Version};
use uuid::Uuid;

use super::Invariant;
use crate::oracle::{EventFact, Fact, Moment};

/// All of an append, once, or nothing.
#[derive(Debug, Default)]
pub struct AppendAtomic {
    begun: HashMap<u64, Arc<Append>>,
    /// Where each event is.
    places: HashMap<(StreamName, Uuid), Version>,
}

/// What one transaction has made visible in one moment.
#[derive(Debug, Default)]
struct Shown {
    events: usize,
    dispatches: usize,
    marks: usize,
}

impl Invariant for AppendAtomic {
    fn name(&self) -> &'static str {
        "append_atomic"
    }

    fn check(&mut self, moment: &Moment<'_>) -> Result<(), String> {
        let mut shown: BTreeMap<u64, Shown> = BTreeMap::new();
        for fact in moment.facts {
            let Fact::Event(fact) = fact else { continue };
            match fact {
                EventFact::Begun { transaction, append } => {
                    self.begun.insert(*transaction, append.clone());
                }
                EventFact::Visible { transaction, event } => {
                    shown.entry(*transaction).or_default().events += 1;
                    self.appeared(event)?;
                }
                EventFact::Sent { transaction, .. } => {
                    shown.entry(*transaction).or_default().dispatches += 1;
                }
                EventFact::Marked { transaction, .. } => shown.entry(*transaction).or_default().marks += 1,
                EventFact::Told { append, answer } => self.told(append, answer)?,
                EventFact::Problem(problem) => return Err(problem.clone()),
                _ => {}
            }
        }
        shown.into_iter().try_for_each(|(transaction, shown)| self.whole(transaction, &shown))
    }
}

impl AppendAtomic {
    /// What became visible of a transaction is all that it meant to write, and it is the last of it.
    fn whole(&mut self, transaction: u64, shown: &Shown) -> Result<(), String> {
        let Some(append) = self.begun.remove(&transaction) else {
            return Err(format!("transaction {transaction} has become visible a second time: {shown:?}"));
        };
        let Append { events, dispatches, mark, .. } = &*append;
        let whole = (shown.events, shown.dispatches, shown.marks)
            == (events.len(), dispatches.len(), usize::from(mark.is_some()));
        if whole {
            return Ok(());
        }
        Err(format!(
            "of transaction {transaction} there is {shown:?}, and should be {} events, {} dispatches, mark {}",
            events.len(),
            dispatches.len(),
            mark.is_some()
        ))
    }

    fn appeared(&mut self, event: &Recorded) -> Result<(), String> {
        let place = (event.stream.clone(), event.id);
        match self.places.insert(place, event.version) {
            None => Ok(()),
            Some(before) => Err(format!(
                "event {} is in {} twice, as {before} and {}",
                event.id, event.stream, event.version
            )),
        }
    }

    fn told(&self, append: &Append, answer: &AppendAnswer) -> Result<(), String> {
        let place = |id: Uuid| self.places.get(&(append.stream.clone(), id)).copied();
        match answer {
            AppendAnswer::Appended(appended) => {
                let first = appended.version.0 - append.events.len() as i64 + 1;
                for (event, version) in append.events.iter().zip(first..) {
                    if place(event.id) != Some(Version(version)) {
                        return Err(format!(
                            "an append to {} is said to end at {}, but {} is at {:?}",
                            append.stream,
                            appended.version,
                            event.id,
                            place(event.id)
                        ));
                    }
                }
                Ok(())
            }
            AppendAnswer::Conflict { actual } => match (append.expected, append.events.first()) {
                (Expected::Exact(version), Some(first)) if place(first.id) == Some(version.plus(1)) => {
                    Err(format!(
                        "an append to {} was told of a conflict with {actual}, and it has happened",
                        append.stream
                    ))
                }
                _ => Ok(()),
            },
            _ => Ok(()),
        }
    }
}
