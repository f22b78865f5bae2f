//! Enqueueing: in the user's own transaction, so that a message is sent exactly if the data it speaks of is there.
//!
//! An id stands for one message for ever. A plain insert tells of an id that is there already, by an error or by leaving it
//! out, as the database has it; what is there is then read and compared, and the rest inserted.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use tenure_core::StoreError;
use tenure_core::contract::EnqueueError;
use tenure_core::outbox::{
    Body, ENQUEUE_MAX, Enqueued, Existing, Limits, MessageError, MessageId, NewMessage,
};
use tenure_core::time::StoreTime;

use super::cells::Cells;
use super::unit::Stop;
use crate::batch::{divided, size};
use crate::driver::{Call, Session};
use crate::fault::FaultKind;
use crate::limits::INSERT_BYTES;
use crate::reader::Columns as _;
use crate::store::{Shared, SqlStore};
use crate::value::Value;

/// How often messages are inserted anew among which some came or went between two looks.
const TRIES: usize = 5;

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
        check(messages, &self.limits)?;
        let shared = &self.shared;
        let batch = Batch::of(messages)?;
        let enqueued = match batch.chunks.len() {
            // One statement is undone by itself.
            0 | 1 => shared.insert(session, &batch).await,
            _ => self.insert_whole(session, &batch).await,
        };
        enqueued.map_err(|stop| stop.into_enqueue_error(shared.label()))
    }

    /// Several statements: what the first ones inserted is undone when a later one cannot be. So there has to be a
    /// transaction; the way back is tried first, which fails where there is none.
    async fn insert_whole(
        &self,
        session: &mut dyn Session,
        batch: &Batch<'_>,
    ) -> Result<Vec<Enqueued>, Stop> {
        let statements = &self.shared.statements;
        let calls = [&statements.outbox_savepoint, &statements.outbox_undo].map(|sql| Call::new(sql, []));
        session.run_all(&calls).await?;
        let inserted = self.shared.insert(session, batch).await;
        if inserted.is_err() {
            // Where the whole transaction is gone already, so is the savepoint.
            let _ = session.run(&Call::new(&statements.outbox_undo, [])).await;
        }
        inserted
    }
}

/// Checks everything that can be checked before the database sees it.
pub(super) fn check(messages: &[NewMessage], limits: &Limits) -> Result<(), MessageError> {
    if messages.len() > ENQUEUE_MAX {
        return Err(MessageError::TooMany { count: messages.len(), limit: ENQUEUE_MAX });
    }
    messages.iter().try_for_each(|message| message.check(limits))
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
            let id = message.id.unwrap_or_else(|| uuid::Uuid::new_v4().into());
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
    /// Inserts a batch in whatever transaction is open on the session.
    pub(super) async fn insert(
        &self,
        session: &mut dyn Session,
        batch: &Batch<'_>,
    ) -> Result<Vec<Enqueued>, Stop> {
        let mut now = None;
        if batch.chunks.iter().flatten().any(|(_, message)| !message.delay.is_zero()) {
            // A delay counts by the server's clock.
            let answer = session.run(&Call::new(&self.statements.outbox_clock, [])).await?;
            now = Some(self.clock(&answer.rows)?);
        }
        let mut known = HashSet::new();
        for chunk in &batch.chunks {
            self.insert_chunk(session, chunk, now, &mut known).await?;
        }
        Ok(batch.answers(&known))
    }

    async fn insert_chunk(
        &self,
        session: &mut dyn Session,
        chunk: &[(MessageId, &NewMessage)],
        now: Option<StoreTime>,
        known: &mut HashSet<MessageId>,
    ) -> Result<(), Stop> {
        let mut left: Vec<_> = chunk.to_vec();
        for _ in 0..TRIES {
            let rows = left.iter().map(|(id, message)| values(*id, message, now)).collect();
            let insert = Call::new(&self.statements.outbox_insert, vec![Value::Rows(rows)]);
            match session.run(&insert).await {
                Ok(answer) if answer.changed == left.len() as u64 => return Ok(()),
                // A database that leaves out what is there says what it has inserted.
                Ok(answer) => {
                    for row in answer.rows {
                        let id = Cells::of(row, self.reader()).word()?;
                        left.retain(|(left, _)| left.to_string() != id.to_ascii_lowercase());
                    }
                }
                Err(fault) if fault.kind == FaultKind::Duplicate => {}
                Err(fault) => return Err(fault.into()),
            }
            self.leave_out(session, &mut left, known).await?;
            if left.is_empty() {
                return Ok(());
            }
        }
        let message = "messages with the same ids come and go".into();
        Err(StoreError::Busy { store: self.label().to_owned(), message }.into())
    }

    /// Leaves out the messages that are there already, if they say the same.
    async fn leave_out(
        &self,
        session: &mut dyn Session,
        left: &mut Vec<(MessageId, &NewMessage)>,
        known: &mut HashSet<MessageId>,
    ) -> Result<(), Stop> {
        let ids = Value::list(left.iter().map(|(id, _)| id.to_string()));
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

/// A row of `outbox_insert`.
fn values(id: MessageId, message: &NewMessage, now: Option<StoreTime>) -> Vec<Value> {
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
