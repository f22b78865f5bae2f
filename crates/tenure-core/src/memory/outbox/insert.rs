//! How messages come in: staged in a transaction, visible once it has committed.

use super::queue::Pending;
use super::{OutboxTables, Row};
use crate::mutation::{Rule, off};
use crate::outbox::{Enqueued, Existing, Limits, MessageError, MessageId, NewMessage, RowId, Sequence};
use crate::time::StoreTime;

/// A row as a foreign program inserts it: nothing about it is checked.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PlainRow {
    /// The message's id; `None` takes one by chance.
    pub message_id: Option<String>,
    /// What orders it.
    pub source: Option<String>,
    /// Where it stands in its source.
    pub sequence: Sequence,
    /// Where it goes.
    pub topic: String,
    /// What it is.
    pub kind: String,
    /// The payload as text.
    pub payload: Option<String>,
    /// The payload as bytes.
    pub payload_bytes: Option<Vec<u8>>,
    /// What the payload is written in.
    pub content_type: Option<String>,
    /// The headers, which should be an object of JSON.
    pub headers: Option<String>,
    /// When it is due; `None` at once.
    pub deliver_at: Option<StoreTime>,
}

/// A message with this id is there already, which a plain insert does not get past.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a message with the id {0} is there already")]
pub struct Taken(pub String);

/// What a transaction has inserted and not committed. Its rows have their numbers already, as in a database: what commits
/// later may well have the lower number.
#[derive(Debug, Clone, Default)]
pub struct Staged {
    rows: Vec<Row>,
}

impl OutboxTables {
    /// Inserts messages in a transaction of their own: all or none. `fresh_id` is asked for the id of each that has none.
    pub fn insert(
        &mut self,
        messages: &[NewMessage],
        limits: &Limits,
        now: StoreTime,
        mut fresh_id: impl FnMut() -> MessageId,
    ) -> Result<Vec<Enqueued>, MessageError> {
        let mut open = Staged::default();
        let done = self.stage(&mut open, messages, limits, now, &mut fresh_id)?;
        // Nobody else was there between staging and committing, so no id can have been taken.
        let _ = self.commit(open);
        Ok(done)
    }

    /// Inserts messages in an open transaction: all, or none and the transaction is as before.
    pub fn stage(
        &mut self,
        open: &mut Staged,
        messages: &[NewMessage],
        limits: &Limits,
        now: StoreTime,
        mut fresh_id: impl FnMut() -> MessageId,
    ) -> Result<Vec<Enqueued>, MessageError> {
        NewMessage::check_all(messages, limits)?;
        let before = open.rows.len();
        let mut done = Vec::with_capacity(messages.len());
        for message in messages {
            let id = message.id.unwrap_or_else(&mut fresh_id);
            match self.stage_one(open, message, id, now) {
                Ok(fresh) => done.push(Enqueued { id, fresh }),
                Err(error) => {
                    open.rows.truncate(before);
                    return Err(error);
                }
            }
        }
        if off(Rule::OnlyCommitted) {
            let _ = self.commit(std::mem::take(open));
        }
        Ok(done)
    }

    fn stage_one(
        &mut self,
        open: &mut Staged,
        message: &NewMessage,
        id: MessageId,
        now: StoreTime,
    ) -> Result<bool, MessageError> {
        let text = id.to_string();
        let known = self.row_of(&id).and_then(|row| self.rows.get(&row));
        let known = known.or_else(|| open.rows.iter().find(|row| row.message_id.eq_ignore_ascii_case(&text)));
        if let Some(known) = known {
            return message.is_same(id, &Existing::from(known)).map(|()| false);
        }
        let row = self.numbered(PlainRow::from(message), text, now);
        let deliver_at = (!message.delay.is_zero()).then(|| now.after(message.delay));
        open.rows.push(Row { deliver_at, ..row });
        Ok(true)
    }

    /// Inserts a row as a foreign program does, in an open transaction.
    pub fn stage_plain(
        &mut self,
        open: &mut Staged,
        row: PlainRow,
        fresh_id: MessageId,
        now: StoreTime,
    ) -> Result<RowId, Taken> {
        let message_id = row.message_id.clone().unwrap_or_else(|| fresh_id.to_string());
        let staged = open.rows.iter().any(|row| row.message_id.eq_ignore_ascii_case(&message_id));
        if staged || self.by_message_id.contains_key(&message_id.to_ascii_lowercase()) {
            return Err(Taken(message_id));
        }
        let row = self.numbered(row, message_id, now);
        let id = row.id;
        open.rows.push(row);
        Ok(id)
    }

    /// Inserts a row as a foreign program does, in a transaction of its own.
    pub fn insert_plain(
        &mut self,
        row: PlainRow,
        fresh_id: MessageId,
        now: StoreTime,
    ) -> Result<RowId, Taken> {
        let mut open = Staged::default();
        let id = self.stage_plain(&mut open, row, fresh_id, now)?;
        self.commit(open)?;
        Ok(id)
    }

    /// Makes everything that was staged visible at once, or nothing: when another transaction has taken one of the ids
    /// meanwhile. Answers the numbers of the rows.
    pub fn commit(&mut self, open: Staged) -> Result<Vec<RowId>, Taken> {
        for row in &open.rows {
            if self.by_message_id.contains_key(&row.message_id.to_ascii_lowercase()) {
                return Err(Taken(row.message_id.clone()));
            }
        }
        let mut ids = Vec::with_capacity(open.rows.len());
        for row in open.rows {
            ids.push(row.id);
            self.by_message_id.insert(row.message_id.to_ascii_lowercase(), row.id);
            let pending = Pending::of(&row);
            match pending.may_arrive(row.created_at) {
                true => self.queue.arrive(row.id, pending),
                false => self.queue.put(row.id, pending),
            }
            self.rows.insert(row.id, row);
        }
        Ok(ids)
    }

    fn numbered(&mut self, row: PlainRow, message_id: String, now: StoreTime) -> Row {
        self.last_id += 1;
        Row {
            id: RowId(self.last_id),
            message_id,
            source: row.source,
            sequence: row.sequence,
            topic: row.topic,
            kind: row.kind,
            payload: row.payload,
            payload_bytes: row.payload_bytes,
            content_type: row.content_type,
            headers: row.headers,
            deliver_at: row.deliver_at,
            created_at: now,
        }
    }
}

impl From<&NewMessage> for PlainRow {
    /// The row that a message becomes; without its delay, which counts from the moment of the insert.
    fn from(message: &NewMessage) -> Self {
        let (payload, payload_bytes) = message.body.parts();
        Self {
            message_id: message.id.map(|id| id.to_string()),
            source: message.source.clone(),
            sequence: message.sequence,
            topic: message.topic.clone(),
            kind: message.kind.clone(),
            payload: payload.map(str::to_owned),
            payload_bytes: payload_bytes.map(<[u8]>::to_vec),
            content_type: message.content_type.clone(),
            headers: message.headers_json(),
            deliver_at: None,
        }
    }
}

impl From<&Row> for Existing {
    fn from(row: &Row) -> Self {
        Self {
            source: row.source.clone(),
            version: row.sequence.version,
            index: row.sequence.index.into(),
            topic: row.topic.clone(),
            kind: row.kind.clone(),
            payload: row.payload.clone(),
            payload_bytes: row.payload_bytes.clone(),
            content_type: row.content_type.clone(),
            headers: row.headers.clone(),
        }
    }
}
