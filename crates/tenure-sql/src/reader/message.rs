//! Rows of messages: what is there under an id, what the inbox noted, and what an operator sees.
//!
//! Anyone may have inserted a row of the outbox. So what is shown to people is never refused for what it holds: a word that
//! is not known and a number that is out of range become what comes nearest.

use tenure_core::StoreError;
use tenure_core::outbox::{
    Accept, Attempt, Details, Existing, Kind, MessageId, RowId, Sequence, State, Stats, Summary,
};

use super::{Columns, Reader};

/// A number that is never negative unless someone has written to the table by hand.
#[inline]
pub fn counted(number: i64) -> u32 {
    u32::try_from(number).unwrap_or(if number < 0 { 0 } else { u32::MAX })
}

/// What the inbox noted of a message that was settled before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Before {
    /// The fingerprint of its content, where one was given.
    pub fingerprint: Option<String>,
    /// Why it was refused, if it was.
    pub refused: Option<String>,
}

impl Before {
    /// The answer to a message that has come again, with this fingerprint.
    pub fn judge(self, fingerprint: Option<&str>) -> Accept {
        Accept::again(self.fingerprint.as_deref(), fingerprint, self.refused)
    }
}

impl Reader<'_> {
    /// What the inbox noted. The columns are `fingerprint` and `refused`.
    pub fn before(self, row: &impl Columns) -> Result<Before, StoreError> {
        Ok(Before {
            fingerprint: self.maybe(row.text("fingerprint"), "fingerprint")?,
            refused: self.maybe(row.text("refused"), "refused")?,
        })
    }

    /// The id in the column `message_id`, of a message that Tenure itself looked for by its id.
    pub fn message_id(self, row: &impl Columns) -> Result<MessageId, StoreError> {
        self.need(row.uuid("message_id"), "message_id").map(Into::into)
    }

    /// What a message says that is there already. The columns are `source`, `source_seq`, `source_index`, `topic`, `type`,
    /// `payload`, `payload_bytes`, `content_type` and `headers`.
    pub fn existing(self, row: &impl Columns) -> Result<Existing, StoreError> {
        let text = |column| self.maybe(row.text(column), column);
        let number = |column| self.maybe(row.number(column), column).map(Option::unwrap_or_default);
        Ok(Existing {
            source: text("source")?,
            version: number("source_seq")?,
            index: number("source_index")?,
            topic: text("topic")?.unwrap_or_default(),
            kind: text("type")?.unwrap_or_default(),
            payload: text("payload")?,
            payload_bytes: self.maybe(row.bytes("payload_bytes"), "payload_bytes")?,
            content_type: text("content_type")?,
            headers: text("headers")?,
        })
    }

    /// A message in a list. The columns are `id`, `message_id`, `source`, `source_seq`, `source_index`, `topic`, `type`,
    /// `created_us`, `state`, `attempts`, `due_us`, `finished_us`, `last_error` and `halts`.
    pub fn summary(self, row: &impl Columns) -> Result<Summary, StoreError> {
        let text = |column| self.maybe(row.text(column), column);
        let number = |column| self.maybe(row.number(column), column).map(Option::unwrap_or_default);
        let moment = |column| self.maybe(row.moment(column), column);
        let index = number("source_index")?;
        Ok(Summary {
            row: RowId(self.need(row.number("id"), "id")?),
            id: text("message_id")?.unwrap_or_default(),
            state: self.need(row.text("state"), "state")?.parse().unwrap_or(State::Pending),
            source: text("source")?,
            sequence: Sequence {
                version: number("source_seq")?,
                index: i32::try_from(index).unwrap_or(if index < 0 { i32::MIN } else { i32::MAX }),
            },
            topic: text("topic")?.unwrap_or_default(),
            kind: text("type")?.unwrap_or_default(),
            created_at: self.need(row.moment("created_us"), "created_at")?,
            attempts: counted(number("attempts")?),
            due_at: moment("due_us")?,
            finished_at: moment("finished_us")?,
            last_error: text("last_error")?,
            halts: number("halts")? != 0,
        })
    }

    /// All about one message. The columns are those of a [`summary`](Self::summary), and `content_type`, `headers`,
    /// `payload`, `payload_bytes` and `payload_size`. More of the payload may have been read than is kept.
    pub fn details(
        self,
        row: &impl Columns,
        attempts: Vec<Attempt>,
        payload_max: usize,
    ) -> Result<Details, StoreError> {
        self.content(row, self.summary(row)?, attempts, payload_max)
    }

    /// All about one message whose summary was read before. The columns are `content_type`, `headers`, `payload` and
    /// `payload_bytes`, cut or whole, and `payload_size`, how many bytes the whole has.
    pub fn content(
        self,
        row: &impl Columns,
        summary: Summary,
        attempts: Vec<Attempt>,
        payload_max: usize,
    ) -> Result<Details, StoreError> {
        let text = |column| self.maybe(row.text(column), column);
        let number = |column| self.maybe(row.number(column), column);
        // Byte by byte as it stands there, also where it is no text that can be read.
        let written = self.maybe(row.bytes("payload"), "payload")?;
        let is_text = written.is_some();
        let mut payload = written.or(self.maybe(row.bytes("payload_bytes"), "payload_bytes")?);
        if let Some(payload) = &mut payload {
            payload.truncate(payload_max);
        }
        Ok(Details {
            summary,
            content_type: text("content_type")?,
            headers: text("headers")?,
            payload,
            payload_bytes: amount(number("payload_size")?.unwrap_or_default()),
            is_text,
            attempts,
        })
    }

    /// An attempt. The columns are `number`, `at_us`, `outcome`, `took_us`, `node`, `term` and `error`.
    pub fn attempt(self, row: &impl Columns) -> Result<Attempt, StoreError> {
        let text = |column| self.maybe(row.text(column), column);
        let number = |column| self.maybe(row.number(column), column);
        let outcome = self.need(row.text("outcome"), "outcome")?;
        Ok(Attempt {
            number: counted(number("number")?.unwrap_or_default()),
            at: self.need(row.moment("at_us"), "at")?,
            // A word that is not known was written by hand; it was no success.
            outcome: Kind::from_word(&outcome).unwrap_or(Kind::Poison),
            took_us: amount(number("took_us")?.unwrap_or_default()),
            node: text("node")?.unwrap_or_default(),
            term: number("term")?.and_then(|term| u64::try_from(term).ok()),
            error: text("error")?,
        })
    }

    /// The outbox in numbers. The columns are `pending`, `delayed`, `retrying`, `dead`, `discarded`, `dispatched`,
    /// `estimated`, `halted_sources`, `oldest_us` and `now_us`.
    pub fn stats(self, row: &impl Columns) -> Result<Stats, StoreError> {
        let count = |column| self.need(row.number(column), column).map(amount);
        let now = self.need(row.moment("now_us"), "now")?;
        let oldest = self.maybe(row.moment("oldest_us"), "oldest")?;
        Ok(Stats {
            pending: count("pending")?,
            delayed: count("delayed")?,
            retrying: count("retrying")?,
            dead: count("dead")?,
            discarded: count("discarded")?,
            dispatched: count("dispatched")?,
            dispatched_is_estimate: count("estimated")? != 0,
            halted_sources: count("halted_sources")?,
            lag: oldest.map(|oldest| oldest.until(now)),
        })
    }
}

/// A number that is never negative unless someone has written to the table by hand.
pub(super) fn amount(number: i64) -> u64 {
    u64::try_from(number).unwrap_or_default()
}
