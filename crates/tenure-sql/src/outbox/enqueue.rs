//! Enqueueing: in the user's own transaction, so that a message is sent exactly if the data it speaks of is there.
//!
//! An id stands for one message for ever. A plain insert tells of an id that is there already, by an error or by leaving it
//! out, as the database has it; what is there is then read and compared, and the rest inserted.
//!
//! A message is two rows: the message, and its place in the queue, which stands there until it is finished. Several messages stand behind a
//! savepoint in the user's transaction, so that all or none are there; one alone needs none ([`alone`](super::alone)).

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use tenure_core::StoreError;
use tenure_core::contract::EnqueueError;
use tenure_core::outbox::{Body, Enqueued, Existing, Limits, MessageError, MessageId, NewMessage};
use tenure_core::time::StoreTime;

use super::unit::Stop;
use crate::batch::{divided, size};
use crate::driver::{Call, Session};
use crate::fault::FaultKind;
use crate::ids::fresh_id;
use crate::limits::INSERT_BYTES;
use crate::reader::Columns as _;
use crate::span::enqueueing;
use crate::store::{Shared, SqlStore};
use crate::value::Value;

/// How often messages are inserted anew among which some came or went between two looks.
pub(super) const TRIES: usize = 5;

/// From so many bytes on, the opening goes to the server by itself: a driver may refuse what is larger than the server takes
/// before it sends it, and then it must be known whether there is a way back. Drivers ask from four times as much on, for values
/// may be written in twice their size.
pub(super) const APART_BYTES: usize = 128 * 1024;

/// Enqueues messages in transactions. Each database's crate wraps it for its own driver.
#[derive(Debug, Clone)]
pub struct Outbox {
    shared: Arc<Shared>,
    limits: Limits,
}

impl SqlStore {
    /// What enqueues messages in transactions; cheap to clone.
    pub fn outbox(&self) -> Outbox {
        Outbox { shared: Arc::clone(&self.shared), limits: Limits::default() }
    }
}

impl Outbox {
    /// The same with other limits than the default ones.
    #[must_use]
    pub fn with_limits(&self, limits: Limits) -> Self {
        Self { shared: Arc::clone(&self.shared), limits }
    }

    /// Enqueues a message in the transaction that is open on this session.
    pub async fn enqueue(
        &self,
        session: &mut dyn Session,
        message: &NewMessage,
    ) -> Result<Enqueued, EnqueueError> {
        let enqueued = self.enqueue_all(session, std::slice::from_ref(message)).await?;
        enqueued.into_iter().next().ok_or_else(|| self.shared.no_row().into())
    }

    /// Enqueues messages in the transaction that is open on this session: all, or none and the transaction is as before.
    pub async fn enqueue_all(
        &self,
        session: &mut dyn Session,
        messages: &[NewMessage],
    ) -> Result<Vec<Enqueued>, EnqueueError> {
        enqueueing(messages.len(), self.insert_joined(session, messages)).await
    }

    async fn insert_joined(
        &self,
        session: &mut dyn Session,
        messages: &[NewMessage],
    ) -> Result<Vec<Enqueued>, EnqueueError> {
        NewMessage::check_all(messages, &self.limits)?;
        let shared = &self.shared;
        if let [message] = messages {
            let enqueued = shared.insert_alone(session, message).await;
            if let Some(enqueued) = enqueued.map_err(|stop| stop.into_enqueue_error(shared.label()))? {
                return Ok(vec![enqueued]);
            }
        }
        let batch = Batch::of(messages)?;
        let joined = Frame::Joined { known: session.in_transaction() };
        let mut opened = false;
        let enqueued = match shared.insert(session, &batch, joined, &mut opened).await {
            // Without a transaction one statement is undone by itself; a relay does the rest.
            Err(Stop::Fault(fault)) if fault.kind == FaultKind::NoTransaction && batch.chunks.len() == 1 => {
                shared.insert(session, &batch, Frame::Alone, &mut opened).await
            }
            inserted => inserted,
        };
        if enqueued.is_err() && opened {
            // Where the whole transaction is gone already, so is the savepoint; and there may have been none. Never without an
            // opening of our own: an earlier call has left its savepoint, and the user's work since then would be undone.
            let _ = session.run(&Call::new(&shared.statements.outbox_undo, [])).await;
        }
        enqueued.map_err(|stop| stop.into_enqueue_error(shared.label()))
    }
}

/// The transaction that messages are inserted in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Frame {
    /// The user's: whatever cannot be inserted whole leaves nothing in it. So it has to be there; unless that is known, the
    /// way back is tried first, which fails where there is none.
    Joined { known: bool },
    /// One of our own, from beginning to end.
    Own,
    /// None: the message is committed by the statement that inserts it. A second one might never come, so a relay puts the
    /// message into the queue, as it does for other programs.
    Alone,
}

impl Frame {
    fn opening(self, shared: &Shared) -> Vec<Call<'_>> {
        let statements = &shared.statements;
        let texts: &[&String] = match self {
            Self::Joined { known: true } => &[&statements.outbox_savepoint],
            Self::Joined { known: false } => &[&statements.outbox_savepoint, &statements.outbox_undo],
            Self::Own => &[&statements.begin],
            Self::Alone => &[],
        };
        texts.iter().map(|sql| Call::new(sql, [])).collect()
    }

    fn end(self, shared: &Shared) -> Option<Call<'_>> {
        (self == Self::Own).then(|| Call::new(&shared.statements.commit, []))
    }
}

/// How messages come into the queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Queues {
    /// A relay puts them there.
    Not,
    /// One message alone by the number that it was given. Several as `pending_add` and `arrivals_add` do it.
    ByValues,
    /// Also one alone as several are: its number is not known.
    ByRows,
}

impl Queues {
    /// By values only where a statement knows the number that the message was given.
    pub(crate) fn of<S: Session + ?Sized>(session: &S) -> Self {
        if session.knows_given() { Self::ByValues } else { Self::ByRows }
    }
}

/// Messages with their ids, each once.
pub(super) struct Batch<'a> {
    /// The ids, in the order of the call.
    ids: Vec<MessageId>,
    /// The first message of each id, in the order of the call: what goes into one statement each.
    pub(super) chunks: Vec<Vec<(MessageId, &'a NewMessage)>>,
}

impl<'a> Batch<'a> {
    /// Two messages under one id are one if they say the same, else an error.
    pub(super) fn of(messages: &'a [NewMessage]) -> Result<Self, MessageError> {
        let mut first: HashMap<MessageId, &NewMessage> = HashMap::with_capacity(messages.len());
        let (mut ids, mut once) = (Vec::with_capacity(messages.len()), Vec::new());
        for message in messages {
            let id = message.id.unwrap_or_else(fresh_id);
            ids.push(id);
            match first.get(&id) {
                Some(there) => compare(id, message, &Existing::from(*there))?,
                None => {
                    first.insert(id, message);
                    once.push((id, message));
                }
            }
        }
        let chunks = divided(once, INSERT_BYTES, |(id, message)| size(&values(*id, message, None)));
        Ok(Self { ids, chunks })
    }

    fn answers(&self, known: &HashSet<MessageId>) -> Vec<Enqueued> {
        let mut seen = known.clone();
        let fresh = |id: &MessageId| Enqueued { id: *id, fresh: seen.insert(*id) };
        self.ids.iter().map(fresh).collect()
    }
}

impl Shared {
    /// Inserts a batch. In a user's transaction some of it may be left there after an error, if the frame was `opened`.
    pub(super) async fn insert(
        &self,
        session: &mut dyn Session,
        batch: &Batch<'_>,
        frame: Frame,
        opened: &mut bool,
    ) -> Result<Vec<Enqueued>, Stop> {
        let mut now = None;
        if batch.chunks.iter().flatten().any(|(_, message)| !message.delay.is_zero()) {
            // A delay counts by the server's clock.
            let answer = session.run(&Call::new(&self.statements.outbox_clock, [])).await?;
            now = Some(self.clock(&answer.rows)?);
        }
        let mut known = HashSet::new();
        for at in 0..batch.chunks.len() {
            self.insert_chunk(session, frame, (batch, at), now, (&mut known, opened)).await?;
        }
        Ok(batch.answers(&known))
    }

    /// Inserts the messages of one statement, and puts them into the queue; in one round trip with what the frame begins and
    /// ends with, where none of them is there already.
    async fn insert_chunk(
        &self,
        session: &mut dyn Session,
        frame: Frame,
        (batch, at): (&Batch<'_>, usize),
        now: Option<StoreTime>,
        (known, opened): (&mut HashSet<MessageId>, &mut bool),
    ) -> Result<(), Stop> {
        let (first, last) = (at == 0, at + 1 == batch.chunks.len());
        let mut left: Vec<_> = batch.chunks[at].clone();
        let mut opening = if first { frame.opening(self) } else { Vec::new() };
        let end = frame.end(self).filter(|_| last);
        let queues = if frame == Frame::Alone { Queues::Not } else { Queues::of(session) };
        for _ in 0..TRIES {
            let rows: Vec<_> = left.iter().map(|(id, message)| values(*id, message, now)).collect();
            let mut calls = std::mem::take(&mut opening);
            let joins = matches!(frame, Frame::Joined { .. }) && !calls.is_empty();
            if joins && rows.iter().map(|row| size(row)).sum::<usize>() > APART_BYTES {
                session.run_all(&std::mem::take(&mut calls)).await?;
            }
            calls.extend(self.insertion(rows, queues));
            calls.extend(end.clone());
            // What is so small is sent in any case, whatever comes of it.
            *opened = true;
            match session.run_all(&calls).await {
                Ok(_) => return Ok(()),
                Err(fault) if fault.kind == FaultKind::Duplicate => {}
                Err(fault) => return Err(fault.into()),
            }
            let begun_anew = frame == Frame::Own && first;
            if begun_anew {
                // Nothing is in it yet: nobody is to wait behind what it has met.
                session.run(&Call::new(&self.statements.rollback, [])).await?;
                opening = frame.opening(self);
            }
            self.leave_out(session, &mut left, known).await?;
            if left.is_empty() {
                if begun_anew && !last {
                    // What follows needs the transaction.
                    session.run_all(&opening).await?;
                } else if let Some(end) = end.filter(|_| !begun_anew) {
                    session.run(&end).await?;
                }
                return Ok(());
            }
        }
        let message = "messages with the same ids come and go".into();
        Err(StoreError::Busy { store: self.label().to_owned(), message }.into())
    }

    /// The statements that insert rows of [`values`] and put them into the queue. The first tells of an id that is there
    /// already.
    pub(crate) fn insertion(&self, mut rows: Vec<Vec<Value>>, queues: Queues) -> Vec<Call<'_>> {
        let texts = &self.statements;
        // All on the list, or all into lanes: where each stands is known by the numbers of one insert.
        let come = rows.iter().all(|row| comes(row));
        let alone = queues == Queues::ByValues && rows.len() == 1;
        let added = match (queues, rows.first()) {
            (Queues::Not, _) | (_, None) => None,
            _ if come && alone => Some(Call::new(&texts.arrivals_add_one, [])),
            (_, Some(row)) if alone => self.addition(row),
            _ => {
                let last = rows.len() - 1;
                let place = |(at, row): (usize, &Vec<Value>)| self.place_among(row, (at, at == last), come);
                let places = rows.iter().enumerate().filter_map(place).collect();
                let sql = if come { &texts.arrivals_add } else { &texts.pending_add };
                Some(Call::new(sql, vec![Value::Rows(places)]))
            }
        };
        for row in &mut rows {
            row.push(if queues == Queues::Not { Value::Int(1) } else { Value::Null });
        }
        let inserted = Call::new(&self.statements.outbox_insert, vec![Value::Rows(rows)]);
        std::iter::once(inserted).chain(added).collect()
    }

    /// The statement that puts the row of [`values`] into the queue that the one before it has inserted: in the place that
    /// `pending_add` gives to such a row as well.
    pub(super) fn addition(&self, row: &[Value]) -> Option<Call<'_>> {
        let statements = &self.statements;
        let [_, source, sequence, index, .., deliver_at] = row else { return None };
        let (lane, sequence, index) = match source {
            Value::Text(source) => (source.as_bytes(), sequence.clone(), index.clone()),
            _ => (&[][..], Value::Null, Value::Int(0)),
        };
        let mut place = vec![lane.into(), sequence, index];
        Some(match (source, deliver_at) {
            (Value::Text(_), Value::Null) => Call::new(&statements.pending_add_now, place),
            _ => {
                place.push(deliver_at.clone());
                Call::new(&statements.pending_add_one, place)
            }
        })
    }

    /// One of several rows of [`values`], by its number among them, and whether it is the last: its row of `arrivals_add` if it comes,
    /// else of `pending_add`.
    fn place_among(&self, row: &[Value], (at, last): (usize, bool), comes: bool) -> Option<Vec<Value>> {
        let texts = &self.statements;
        let [id, source, sequence, index, .., deliver_at] = row else { return None };
        let expression = |sql: &String, params| Value::Expression { sql: sql.clone(), params };
        let given = if last { &texts.given_last_fragment } else { &texts.given_fragment };
        let number = expression(given, vec![i64::try_from(at).unwrap_or(i64::MAX).into(), id.clone()]);
        if comes {
            return Some(vec![number]);
        }
        let due = match deliver_at {
            Value::Time(at) => Value::Int(at.as_micros()),
            _ => expression(&texts.soon_fragment, Vec::new()),
        };
        Some(match source {
            Value::Text(source) => {
                vec![number, source.as_bytes().into(), sequence.clone(), index.clone(), due]
            }
            _ => vec![number, [].as_slice().into(), due.clone(), Value::Int(0), due],
        })
    }

    /// Leaves out the messages that are there already, if they say the same. Only ids that were given are asked for: of what is not there
    /// the gap may be held in which it would stand.
    pub(super) async fn leave_out(
        &self,
        session: &mut dyn Session,
        left: &mut Vec<(MessageId, &NewMessage)>,
        known: &mut HashSet<MessageId>,
    ) -> Result<(), Stop> {
        let given = left.iter().filter(|(_, message)| message.id.is_some());
        let ids: Vec<_> = given.map(|(id, _)| id.to_string()).collect();
        if ids.is_empty() {
            return Ok(());
        }
        let ids = Value::list(ids);
        let answer = session.run(&Call::new(&self.statements.outbox_existing, vec![ids])).await?;
        let mut there = HashMap::with_capacity(answer.rows.len());
        for row in answer.rows {
            let id = self.reader().need(row.text("message_id"), "message_id")?;
            // By its value: the row may have been inserted in upper case.
            if let Ok(id) = id.trim_end().parse::<MessageId>() {
                there.insert(id, self.reader().existing(&row)?);
            }
        }
        for (id, message) in left.iter() {
            if let Some(existing) = there.get(id) {
                compare(*id, message, existing)?;
                known.insert(*id);
            }
        }
        left.retain(|(id, _)| !there.contains_key(id));
        Ok(())
    }

    /// The clock, by the answer to a question for it.
    pub(super) fn clock(&self, rows: &[crate::row::Row]) -> Result<StoreTime, StoreError> {
        let now = self.only(rows)?.number("now_us");
        Ok(StoreTime::from_micros(self.reader().need(now, "now_us")?))
    }
}

/// Whether a message says what the one says that has its id.
fn compare(id: MessageId, message: &NewMessage, there: &Existing) -> Result<(), MessageError> {
    match message.differs_from(there) {
        None => Ok(()),
        Some(differs) => Err(MessageError::Conflict { id, differs }),
    }
}

/// Whether a row of [`values`] goes on the list of what has just come: it is due, and its number alone says where it stands in its
/// source.
pub(super) fn comes(row: &[Value]) -> bool {
    let [_, source, sequence, index, .., deliver_at] = row else { return false };
    let by_number = *source == Value::Null || (*sequence == Value::Int(0) && *index == Value::Int(0));
    by_number && *deliver_at == Value::Null
}

/// What `outbox_insert_one` leaves out of a row of [`values`]: sequence, index, payload as bytes, when to deliver.
pub(super) const UNSAID: [usize; 4] = [2, 3, 7, 10];

/// A row of `outbox_insert`, all but how it comes into the queue.
pub(super) fn values(id: MessageId, message: &NewMessage, now: Option<StoreTime>) -> Vec<Value> {
    let (text, bytes) = match &message.body {
        Body::Text(text) => (Value::from(text.as_str()), Value::Null),
        Body::Bytes(bytes) => (Value::Null, Value::from(bytes.as_slice())),
    };
    let deliver_at = now.filter(|_| !message.delay.is_zero()).map(|now| now.after(message.delay));
    vec![
        id.to_string().into(),
        message.source.as_deref().into(),
        message.sequence.version.into(),
        message.sequence.index.into(),
        message.topic.as_str().into(),
        message.kind.as_str().into(),
        text,
        bytes,
        message.content_type.as_deref().into(),
        message.headers_json().into(),
        deliver_at.into(),
    ]
}
