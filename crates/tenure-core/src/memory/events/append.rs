//! How events come in: staged in a transaction that takes their positions at once, visible once it has committed.

use std::collections::BTreeSet;

use super::EventTables;
use crate::event::{
    Append, AppendAnswer, AppendProblem, Appended, Expected, Judgement, Position, Recorded, Seen, Standing,
    StreamName, Version, judge, not_again,
};
use crate::time::StoreTime;

/// What a transaction has appended and not committed. Its events have their positions already, as in a database: what
/// commits later may well have the lower one.
#[derive(Debug, Clone, Default)]
pub struct StagedEvents {
    rows: Vec<Staged>,
    /// By what the tables know that it is open; from its first event on.
    open: Option<u64>,
}

#[derive(Debug, Clone)]
struct Staged {
    event: Recorded,
    at_any: bool,
}

/// Another transaction has appended to the same stream meanwhile, which a database would have made wait.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("another transaction has appended to {0} meanwhile")]
pub struct Overtaken(pub String);

impl StagedEvents {
    /// Whether it has appended anything.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// By what [`EventTables::end`] knows it.
    pub fn token(&self) -> Option<u64> {
        self.open
    }

    fn of<'a>(&'a self, stream: &'a StreamName) -> impl Iterator<Item = &'a Recorded> {
        self.rows.iter().map(|row| &row.event).filter(move |event| event.stream == *stream)
    }
}

impl EventTables {
    /// What becomes of an append, as this transaction sees the tables: `Err` is the final answer, and `Ok` the version that
    /// its events follow.
    pub fn judge(
        &self,
        open: &StagedEvents,
        append: &Append,
    ) -> Result<Result<Version, AppendAnswer>, AppendProblem> {
        let version = self.version_of(&append.stream).plus(open.of(&append.stream).count());
        let actual = match judge(append.expected, version) {
            Judgement::Follow(version) if !self.is_known(open, append) => return Ok(Ok(version)),
            Judgement::Follow(actual) | Judgement::Conflict(actual) => actual,
        };
        let there = self.with_ids(open, append).into_iter().map(Standing::from);
        not_again(append, there.collect(), actual).map(Err)
    }

    /// Stages the events of an append after the version that it was judged to follow. Answers where it led.
    pub fn stage(
        &mut self,
        open: &mut StagedEvents,
        append: &Append,
        follows: Version,
        now: StoreTime,
    ) -> Appended {
        let mut position = None;
        for (at, event) in append.events.iter().enumerate() {
            self.last_position += 1;
            position = Some(Position(self.last_position));
            let event = Recorded {
                position: Position(self.last_position),
                stream: append.stream.clone(),
                version: follows.plus(at + 1),
                id: event.id,
                kind: event.kind.clone(),
                schema: event.schema,
                body: event.body.clone(),
                metadata: event.metadata.clone(),
                recorded_at: now,
            };
            if open.open.is_none() {
                self.last_open += 1;
                self.open.insert(self.last_open, event.position);
                open.open = Some(self.last_open);
            }
            open.rows.push(Staged { event, at_any: append.expected == Expected::Any });
        }
        Appended { version: follows.plus(append.events.len()), position, repeated: false }
    }

    /// Whether everything that was staged can still be committed.
    pub fn check(&self, open: &StagedEvents) -> Result<(), Overtaken> {
        let mut first_of = BTreeSet::new();
        for Staged { event, at_any } in &open.rows {
            let follows = Version(event.version.0 - 1);
            let late = first_of.insert(&event.stream) && self.version_of(&event.stream) != follows;
            let lost = open.open.is_none_or(|open| !self.open.contains_key(&open));
            if late || lost || (*at_any && self.ids_at_any.contains(&event.id)) {
                return Err(Overtaken(event.stream.to_string()));
            }
        }
        Ok(())
    }

    /// Makes everything that was staged visible at once, or nothing. The transaction has ended either way.
    pub fn commit(&mut self, open: StagedEvents) -> Result<(), Overtaken> {
        let checked = self.check(&open);
        self.end(open.open);
        checked?;
        for Staged { event, at_any } in open.rows {
            if at_any {
                self.ids_at_any.insert(event.id);
            }
            self.streams.entry(event.stream.clone()).or_default().push(event.position);
            self.rows.insert(event.position, event);
        }
        Ok(())
    }

    /// A transaction has ended: its positions hold nobody up any more. True when they did.
    pub fn end(&mut self, open: Option<u64>) -> bool {
        open.is_some_and(|open| self.open.remove(&open).is_some())
    }

    /// Whether an append at any version was done before, or a part of it: all that the ids can tell without a look at the
    /// stream.
    fn is_known(&self, open: &StagedEvents, append: &Append) -> bool {
        let staged = |id| open.rows.iter().any(|row| row.at_any && row.event.id == id);
        append.expected == Expected::Any
            && append.events.iter().any(|event| self.ids_at_any.contains(&event.id) || staged(event.id))
    }

    /// The events of the stream that have one of the append's ids, by version.
    fn with_ids<'a>(&'a self, open: &'a StagedEvents, append: &'a Append) -> Vec<&'a Recorded> {
        let ids: BTreeSet<_> = append.events.iter().map(|event| event.id).collect();
        let committed = self.streams.get(&append.stream).into_iter().flatten();
        let committed = committed.filter_map(|position| self.rows.get(position));
        committed.chain(open.of(&append.stream)).filter(|event| ids.contains(&event.id)).collect()
    }
}

impl From<&Recorded> for Standing {
    fn from(event: &Recorded) -> Self {
        let (kind, body) = (event.kind.clone(), event.body.clone());
        Self {
            stream: event.stream.as_str().to_owned(),
            position: event.position,
            seen: Seen { id: event.id, version: event.version, kind, body },
        }
    }
}
