//! Appending: a unit of work that stops at the first thing that speaks against it, and what is asked then.
//!
//! ```text
//!   begin, move the stream, take a slot, events, dispatches, mark, positions, commit ──▶ Appended
//!      │ ▲  └── the stream has another version, or a key is taken: undo, look ─┬─ the mark is there ─▶ Duplicate, Refused …
//!      │ │                                                                     ├─ it is known ──────▶ Appended before, Conflict …
//!      │ │                                                                     └─ a dispatch is there: the same? leave it out ─┐
//!      │ └── again ◀───────────────────────────────────────────────────────────────────────────────────────────────────────┘
//!      └─ error
//! ```
//!
//! With an expected version all of it is one round trip. Without one, the version must be known before the events are
//! written, and it is two.

use std::collections::HashMap;

use tenure_core::StoreError;
use tenure_core::contract::AppendError;
use tenure_core::event::{
    Append, AppendAnswer, Appended, Expected, Judgement, Position, Standing, Version, judge, not_again,
};
use tenure_core::outbox::{Existing, MessageError, MessageId, NewMessage};
use tenure_core::time::StoreTime;

use super::content;
use super::place::{Place, Unit};
use crate::driver::{Answer, Call};
use crate::fault::{Fault, FaultKind};
use crate::outbox::Queues;
use crate::reader::{Before, Columns as _};
use crate::row::Row;
use crate::store::Shared;
use crate::value::Value;
use crate::work::TRIES;

/// What came of one attempt.
enum Attempt {
    Done(Appended),
    /// Something speaks against it. Nothing was written.
    Refused,
}

/// What there is when nothing was written.
struct There {
    actual: Version,
    before: Option<Before>,
    standing: Vec<Standing>,
}

impl Shared {
    /// Appends. What can be checked without the store has been checked.
    pub(super) async fn append(
        &self,
        place: &mut Place<'_>,
        append: &Append,
    ) -> Result<AppendAnswer, AppendError> {
        self.one_counter()?;
        let mut dispatches = distinct(&append.dispatches)?;
        for _ in 0..TRIES {
            if let Attempt::Done(appended) = self.append_once(place, append, &dispatches).await? {
                return Ok(AppendAnswer::Appended(appended));
            }
            let there = self.look(place, append).await?;
            if let Some(before) = there.before {
                let print = append.mark.as_ref().and_then(|mark| mark.fingerprint);
                let accept = before.judge(print.map(|print| print.to_string()).as_deref());
                return Ok(AppendAnswer::to_settled(accept).unwrap_or(AppendAnswer::Duplicate));
            }
            if !there.is_free(append) {
                return Ok(not_again(append, there.standing, there.actual)?);
            }
            // What else can be there are dispatches; only now do they count, for those of one who comes second in the stream
            // may well have the ids of the first one's.
            let known = self.known(place, &dispatches).await?;
            leave_out(&mut dispatches, &known)?;
            if known.is_empty() && matches!(place, Place::Own) {
                self.slots_are_there().await?;
            }
        }
        Err(self.restless().into())
    }

    /// One attempt, begun anew after a deadlock where the transaction is our own.
    async fn append_once(
        &self,
        place: &mut Place<'_>,
        append: &Append,
        dispatches: &[&NewMessage],
    ) -> Result<Attempt, StoreError> {
        let mut tried = 1;
        loop {
            let now = self.now_for(place, dispatches).await?;
            let own = matches!(place, Place::Own);
            let mut unit = place.open(self).await?;
            let written = self.write(&mut unit, append, dispatches, now).await;
            let fault = match written {
                Ok(Some(answer)) => {
                    let settled = unit.settle(self, Ok(answer)).await;
                    let answer = settled.map_err(|fault| fault.into_error(self.label()))?;
                    return self.appended(append, &answer).map(Attempt::Done);
                }
                Ok(None) => {
                    unit.undo(self).await.map_err(|fault| fault.into_error(self.label()))?;
                    return Ok(Attempt::Refused);
                }
                Err(fault) => fault,
            };
            let fault = match unit.settle(self, Err::<(), _>(fault)).await {
                Err(fault) => fault,
                Ok(()) => return Err(self.no_row()),
            };
            match fault.kind {
                FaultKind::Duplicate | FaultKind::Unmet => {
                    tracing::debug!(error = %fault.message, "an append meets what is there already");
                    return Ok(Attempt::Refused);
                }
                FaultKind::Deadlock if own && tried < TRIES => tried += 1,
                _ => return Err(fault.into_error(self.label())),
            }
        }
    }

    /// Writes everything up to the end of the unit. Answers the version that the events follow and where they were placed;
    /// `None` when the stream has another version.
    async fn write(
        &self,
        unit: &mut Unit<'_>,
        append: &Append,
        dispatches: &[&NewMessage],
        now: Option<StoreTime>,
    ) -> Result<Option<Written>, Fault> {
        let mut calls = unit.beginning(self);
        // In a transaction of our own, the slot's statement fails if the stream was not moved.
        calls.extend(self.moving(append, matches!(unit, Unit::Own(_))));
        let known = match append.expected {
            Expected::Exact(version) if !append.events.is_empty() => Some(version),
            _ => None,
        };
        let base = match known {
            Some(version) => version,
            None => {
                let answers = unit.run_all(&std::mem::take(&mut calls)).await?;
                let version = self.version_of(answers.last())?;
                match self.follows(append, version) {
                    Some(base) => base,
                    None => return Ok(None),
                }
            }
        };
        if !append.events.is_empty() {
            // After the stream's row, for which it may have to wait: nobody is held up meanwhile.
            calls.extend(unit.shows(self));
        }
        calls.extend(self.writing(append, base, (dispatches, unit.queues()), now));
        let placed = self.places(append, &calls);
        calls.push(unit.end(self));
        let mut answers = unit.run_all(&calls).await?;
        let placed = placed.filter(|at| *at < answers.len()).map(|at| answers.swap_remove(at));
        Ok(Some(Written { base, placed }))
    }

    /// The statements that move the stream, if there are events, or look at it.
    fn moving(&self, append: &Append, own: bool) -> Vec<Call<'_>> {
        let texts = &self.statements;
        let stream = || Value::from(append.stream.as_str());
        let count = i64::try_from(append.events.len()).unwrap_or(i64::MAX);
        let version = || Call::new(&texts.stream_version, vec![stream()]);
        match append.expected {
            _ if append.events.is_empty() => vec![version()],
            Expected::Any => {
                vec![Call::new(&texts.stream_raise, vec![stream(), count.into()]), version()]
            }
            Expected::NONE => vec![Call::new(&texts.stream_first, vec![stream(), count.into()])],
            Expected::Exact(Version(expected)) => {
                let moves = Call::new(&texts.stream_move, vec![stream(), expected.into(), count.into()]);
                if own { vec![moves] } else { vec![moves, Call::new(&texts.must_have_met, [])] }
            }
        }
    }

    /// The version that the events follow, by the one that was read after the stream was moved.
    fn follows(&self, append: &Append, read: Version) -> Option<Version> {
        let moved = i64::try_from(append.events.len()).unwrap_or(i64::MAX);
        match judge(append.expected, Version(read.0.saturating_sub(moved))) {
            Judgement::Follow(base) => Some(base),
            Judgement::Conflict(_) => None,
        }
    }

    /// Which of the calls tells where the events were placed: the last one asks, or the one that inserts a single event is
    /// told.
    fn places(&self, append: &Append, calls: &[Call<'_>]) -> Option<usize> {
        let is = |text: &str| calls.iter().rposition(|call| call.sql == text);
        let asked = is(&self.statements.events_placed);
        asked.or_else(|| is(&self.statements.events_add)).filter(|_| !append.events.is_empty())
    }

    /// The statements that write everything, the rows of stream and slot apart.
    fn writing(
        &self,
        append: &Append,
        base: Version,
        (dispatches, queues): (&[&NewMessage], Queues),
        now: Option<StoreTime>,
    ) -> Vec<Call<'_>> {
        let texts = &self.statements;
        let mut calls = Vec::new();
        let rows = content::events(append, base).into_iter();
        calls.extend(rows.map(|rows| Call::new(&texts.events_add, vec![rows])));
        for rows in content::dispatches(dispatches, now) {
            calls.extend(self.insertion(rows, queues));
        }
        calls.extend(append.mark.as_ref().map(|mark| Call::new(&texts.mark_add, content::mark(mark))));
        if append.events.len() > 1 || (!append.events.is_empty() && !self.driver.tells_given()) {
            let last = base.plus(append.events.len());
            let params = vec![append.stream.as_str().into(), base.plus(1).0.into(), last.0.into()];
            calls.push(Call::new(&texts.events_placed, params));
        }
        calls
    }

    fn appended(&self, append: &Append, written: &Written) -> Result<Appended, StoreError> {
        let position = match &written.placed {
            None => None,
            Some(Answer { given: Some(given), .. }) if append.events.len() == 1 => Some(Position(*given)),
            Some(answer) => {
                let row = self.only(&answer.rows)?;
                Some(Position(self.reader().need(row.number("last"), "position")?))
            }
        };
        Ok(Appended { version: written.base.plus(append.events.len()), position, repeated: false })
    }

    /// The version of a stream, by the row that was read.
    fn version_of(&self, answer: Option<&Answer>) -> Result<Version, Fault> {
        let row = answer.and_then(|answer| answer.rows.first());
        let version = row.map_or(Ok(None), |row| row.number("version"));
        let version =
            version.map_err(|error| Fault::new(FaultKind::Other, format!("column version: {error}")));
        Ok(Version(version?.unwrap_or_default()))
    }

    /// The server's clock, where a dispatch has a delay.
    async fn now_for(
        &self,
        place: &mut Place<'_>,
        dispatches: &[&NewMessage],
    ) -> Result<Option<StoreTime>, StoreError> {
        if dispatches.iter().all(|message| message.delay.is_zero()) {
            return Ok(None);
        }
        let rows = place.rows(self, &self.statements.outbox_clock, Vec::new()).await?;
        Ok(Some(StoreTime::from_micros(self.reader().need(self.only(&rows)?.number("now_us"), "now_us")?)))
    }

    /// What there is: the mark, the stream's version, and the events that may be those of the append.
    async fn look(&self, place: &mut Place<'_>, append: &Append) -> Result<There, StoreError> {
        let (texts, reader) = (&self.statements, self.reader());
        let mut before = None;
        if let Some(mark) = &append.mark {
            let params = vec![mark.consumer.as_str().into(), mark.id.to_string().into()];
            let rows = place.rows(self, &texts.inbox_read, params).await?;
            before = rows.first().map(|row| reader.before(row)).transpose()?;
        }
        let stream = || Value::from(append.stream.as_str());
        let rows = place.rows(self, &texts.stream_version, vec![stream()]).await?;
        let actual = rows.first().map(|row| reader.need(row.number("version"), "version")).transpose()?;
        let rows = match append.expected {
            _ if append.events.is_empty() => Vec::new(),
            Expected::Any => {
                let ids = Value::list(append.events.iter().map(|event| event.id.to_string()));
                place.rows(self, &texts.events_known, vec![ids]).await?
            }
            Expected::Exact(version) => {
                let last = version.plus(append.events.len());
                place
                    .rows(self, &texts.events_standing, vec![stream(), version.0.into(), last.0.into()])
                    .await?
            }
        };
        let standing = rows.iter().map(|row| reader.standing(row)).collect::<Result<Vec<_>, _>>()?;
        let standing = standing.into_iter().flatten().collect();
        Ok(There { actual: Version(actual.unwrap_or_default()), before, standing })
    }

    /// What messages say that are there already.
    async fn known(
        &self,
        place: &mut Place<'_>,
        dispatches: &[&NewMessage],
    ) -> Result<HashMap<MessageId, Existing>, StoreError> {
        let ids = Value::list(dispatches.iter().filter_map(|message| message.id).map(|id| id.to_string()));
        let rows = place.rows(self, &self.statements.outbox_existing, vec![ids]).await?;
        let read = |row: &Row| Ok((self.reader().message_id(row)?, self.reader().existing(row)?));
        rows.iter().map(read).collect()
    }

    fn restless(&self) -> StoreError {
        let message = "others write to the stream, or the same messages, all the time".into();
        StoreError::Busy { store: self.label().to_owned(), message }
    }
}

/// What was written.
struct Written {
    /// The version that the events follow.
    base: Version,
    /// Where they were placed.
    placed: Option<Answer>,
}

impl There {
    /// Whether the append can still happen as far as the stream is concerned: nothing there speaks against it.
    fn is_free(&self, append: &Append) -> bool {
        match append.expected {
            Expected::Any => self.standing.is_empty(),
            Expected::Exact(version) => version == self.actual,
        }
    }
}

/// Each dispatch once; a second one with the same id must say the same.
fn distinct(dispatches: &[NewMessage]) -> Result<Vec<&NewMessage>, MessageError> {
    let mut first: HashMap<MessageId, &NewMessage> = HashMap::new();
    let mut kept = Vec::with_capacity(dispatches.len());
    for message in dispatches {
        match message.id.map(|id| (id, first.insert(id, message))) {
            Some((id, Some(earlier))) => message.is_same(id, &Existing::from(earlier))?,
            _ => kept.push(message),
        }
    }
    Ok(kept)
}

/// Leaves out what is there already and says the same; what says something else is an error.
fn leave_out(
    dispatches: &mut Vec<&NewMessage>,
    known: &HashMap<MessageId, Existing>,
) -> Result<(), MessageError> {
    for message in dispatches.iter() {
        if let Some((id, there)) = message.id.and_then(|id| known.get(&id).map(|there| (id, there))) {
            message.is_same(id, there)?;
        }
    }
    dispatches.retain(|message| message.id.is_none_or(|id| !known.contains_key(&id)));
    Ok(())
}
