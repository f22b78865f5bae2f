//! Rows as they come, value by value in the order of the statement: a page of a look has thousands of them, and its texts
//! are moved, not copied.

use tenure_core::StoreError;
use tenure_core::outbox::{Body, Found, RowId, SOURCE_MAX_BYTES, Sequence, Stored};
use tenure_core::time::StoreTime;

use crate::reader::{Reader, counted};
use crate::row::{Cell, Row};

/// The values of a row, one after another.
pub(super) struct Cells<'a> {
    reader: Reader<'a>,
    cells: std::vec::IntoIter<Cell>,
}

impl<'a> Cells<'a> {
    pub(super) fn of(row: Row, reader: Reader<'a>) -> Self {
        Self { reader, cells: row.into_cells().into_iter() }
    }

    fn next(&mut self) -> Result<Cell, StoreError> {
        match self.cells.next() {
            Some(Cell::Unreadable(why)) => Err(self.reader.corrupt(why)),
            Some(cell) => Ok(cell),
            None => Err(self.reader.corrupt("the server answered with fewer columns than were asked".into())),
        }
    }

    pub(super) fn text(&mut self) -> Result<Option<String>, StoreError> {
        match self.next()? {
            Cell::Null => Ok(None),
            Cell::Text(text) => Ok(Some(text)),
            Cell::Int(number) => Ok(Some(number.to_string())),
            Cell::Bytes(bytes) => String::from_utf8(bytes)
                .map(Some)
                .map_err(|_| self.reader.corrupt("a text is no UTF-8".into())),
            Cell::Unreadable(why) => Err(self.reader.corrupt(why)),
        }
    }

    pub(super) fn bytes(&mut self) -> Result<Option<Vec<u8>>, StoreError> {
        match self.next()? {
            Cell::Null => Ok(None),
            Cell::Bytes(bytes) => Ok(Some(bytes)),
            Cell::Text(text) => Ok(Some(text.into_bytes())),
            Cell::Int(_) => Err(self.reader.corrupt("a number stands where bytes should".into())),
            Cell::Unreadable(why) => Err(self.reader.corrupt(why)),
        }
    }

    pub(super) fn number(&mut self) -> Result<Option<i64>, StoreError> {
        match self.next()? {
            Cell::Null => Ok(None),
            Cell::Int(number) => Ok(Some(number)),
            // A sum comes as a decimal number, and those as text.
            Cell::Text(text) => text
                .parse()
                .map(Some)
                .map_err(|_| self.reader.corrupt("a text stands where a number should".into())),
            Cell::Bytes(_) => Err(self.reader.corrupt("bytes stand where a number should".into())),
            Cell::Unreadable(why) => Err(self.reader.corrupt(why)),
        }
    }

    /// A number that is 0 where there is none.
    pub(super) fn whole(&mut self) -> Result<i64, StoreError> {
        Ok(self.number()?.unwrap_or_default())
    }

    pub(super) fn truth(&mut self) -> Result<bool, StoreError> {
        Ok(self.whole()? != 0)
    }

    pub(super) fn moment(&mut self) -> Result<Option<StoreTime>, StoreError> {
        Ok(self.number()?.map(StoreTime::from_micros))
    }

    /// A text that is empty where there is none.
    pub(super) fn word(&mut self) -> Result<String, StoreError> {
        Ok(self.text()?.unwrap_or_default())
    }
}

/// How a row stands in the queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stand {
    /// It waits for its time, or its turn.
    Waits,
    /// It is dead, and its source stands still behind it.
    Halts,
    /// It is to be put into the queue: until then nothing behind it in its source may go.
    Fresh,
    /// Its message was deleted by another hand: it is nothing.
    Orphan,
    /// It has just come, and its source has something in its lane: it is to be laid behind that.
    Behind,
    /// No row of its own: there is something in lanes.
    Laned,
}

impl Stand {
    /// By what `queued` says.
    pub(super) fn of(queued: i64) -> Self {
        match queued {
            HALTS => Self::Halts,
            FRESH => Self::Fresh,
            ORPHAN => Self::Orphan,
            LISTED => Self::Behind,
            LANED => Self::Laned,
            _ => Self::Waits,
        }
    }
}

/// A row of `outbox_columns` or `fresh_columns`.
pub(super) fn stored(row: Row, reader: Reader<'_>) -> Result<(Stored, Stand), StoreError> {
    let mut cells = Cells::of(row, reader);
    let (id, lane) = (RowId(cells.whole()?), cells.bytes()?.unwrap_or_default());
    let stand = Stand::of(cells.whole()?);
    let due_at = StoreTime::from_micros(cells.whole()?);
    let (attempts, forgiven) = (counted(cells.whole()?), counted(cells.whole()?));
    let message = message(cells, id, !lane.is_empty())?;
    Ok((Stored { due_at, attempts, forgiven, ..message }, stand))
}

/// A row of `arrivals_rows`.
pub(super) fn arrived(row: Row, reader: Reader<'_>) -> Result<Stored, StoreError> {
    let mut cells = Cells::of(row, reader);
    let id = RowId(cells.whole()?);
    let message = message(cells, id, false)?;
    // What is longer than this is longer still where it was cut short.
    let ordered =
        message.source.as_ref().is_some_and(|source| (1..=SOURCE_MAX_BYTES).contains(&source.len()));
    Ok(Stored { ordered, ..message })
}

/// What a message says itself; nothing else is left of its row. It is due, and was not tried.
fn message(mut cells: Cells<'_>, id: RowId, ordered: bool) -> Result<Stored, StoreError> {
    let message_id = cells.word()?;
    let source = cells.text()?;
    let sequence = Sequence { version: cells.whole()?, index: index(cells.whole()?) };
    let (topic, kind) = (cells.word()?, cells.word()?);
    let (content_type, headers) = (cells.text()?, cells.text()?);
    let created_at = StoreTime::from_micros(cells.whole()?);
    let (shape, text, bytes) = (cells.whole()?, cells.text()?, cells.bytes()?);
    let body = match shape {
        1 => text.map_or(Found::Large, |text| Found::Body(Body::Text(text))),
        2 => bytes.map_or(Found::Large, |bytes| Found::Body(Body::Bytes(bytes))),
        3 => Found::Unclear(Found::BOTH),
        _ => Found::Unclear(Found::NEITHER),
    };
    Ok(Stored {
        id,
        message_id,
        ordered,
        source,
        sequence,
        topic,
        kind,
        body,
        content_type,
        headers,
        created_at,
        due_at: StoreTime::from_micros(0),
        attempts: 0,
        forgiven: 0,
    })
}

/// What `queued` says of a row that its source stands still behind.
pub(super) const HALTS: i64 = 2;
/// What it says of a row that is to be put into the queue.
const FRESH: i64 = 3;
/// What it says of a row whose message is gone.
const ORPHAN: i64 = 4;
/// What it says of a row that has just come; in a look, of one whose source has something in its lane.
pub(super) const LISTED: i64 = 5;
/// What a row says that stands for whatever is in lanes.
const LANED: i64 = 6;

pub(super) fn index(number: i64) -> i32 {
    i32::try_from(number).unwrap_or(if number < 0 { i32::MIN } else { i32::MAX })
}
