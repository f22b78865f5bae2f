//! Reading what is pending.

use tenure_core::StoreError;
use tenure_core::outbox::{Body, Found, LaneLook, Look, Page, Place, RowId, SOURCE_MAX_BYTES, Sequence, Stored};
use tokio_postgres::types::Type;
use tokio_postgres::{Error, Row};

use super::wire::{Id, Loose, Stamp};
use crate::error::{store_error, unreachable};
use crate::store::Shared;
use crate::writing::Params;

/// The largest payload that is carried along with its row, in bytes.
const INLINE_MAX_BYTES: i32 = 16 * 1024;

/// So many of the last character there is stand after every source, whatever it is.
const AFTER_ALL: &str = "\u{10ffff}";

/// Lanes as lists of columns.
#[derive(Default)]
struct Lanes<'a> {
    sources: Vec<&'a str>,
    versions: Vec<i64>,
    indexes: Vec<i32>,
    ids: Vec<i64>,
    limits: Vec<i64>,
}

impl<'a> Lanes<'a> {
    fn of(looks: &'a [LaneLook]) -> Self {
        let mut lanes = Self::default();
        for look in looks {
            // Before every row there is.
            let head =
                Place { sequence: Sequence { version: i64::MIN, index: i32::MIN }, id: RowId(i64::MIN) };
            let Place { sequence, id } = look.after.unwrap_or(head);
            lanes.sources.push(&look.source);
            lanes.versions.push(sequence.version);
            lanes.indexes.push(sequence.index);
            lanes.ids.push(id.0);
            lanes.limits.push(i64::from(look.limit));
        }
        lanes
    }
}

impl Shared {
    pub(super) async fn look(&self, look: &Look) -> Result<Page, StoreError> {
        let lanes = Lanes::of(&look.lanes);
        let (mut after, mut sources, mut rows_each, mut except) = ("", 0, 0, Vec::new());
        if let Some(discover) = &look.discover {
            // No source is empty, so this is before the first.
            after = discover.after.as_deref().unwrap_or_default();
            sources = i64::from(discover.sources);
            rows_each = i64::from(discover.rows_each);
            except = discover.except.iter().map(String::as_str).filter(|source| *source > after).collect();
            except.sort_unstable();
        }
        let (mut moment, mut number, mut limit) = (Stamp::FIRST, i64::MIN, 0);
        if let Some(unordered) = &look.unordered {
            if let Some((at, id)) = unordered.after {
                (moment, number) = (Stamp(at), id.0);
            }
            limit = i64::from(unordered.limit);
        }
        let after_all = AFTER_ALL.repeat(SOURCE_MAX_BYTES);
        let params: Params<'_> = &[
            (&lanes.sources, Type::TEXT_ARRAY),
            (&lanes.versions, Type::INT8_ARRAY),
            (&lanes.indexes, Type::INT4_ARRAY),
            (&lanes.ids, Type::INT8_ARRAY),
            (&lanes.limits, Type::INT8_ARRAY),
            (&after, Type::TEXT),
            (&sources, Type::INT8),
            (&rows_each, Type::INT8),
            (&except, Type::TEXT_ARRAY),
            (&moment, Type::TIMESTAMPTZ),
            (&number, Type::INT8),
            (&limit, Type::INT8),
            (&INLINE_MAX_BYTES, Type::INT4),
            (&after_all, Type::TEXT),
        ];
        let rows = self.run(&self.statements.outbox.look, params).await?;
        let Some((first, rows)) = rows.split_first() else {
            return Err(unreachable(&self.label, "the server answered a look with nothing"));
        };
        let read = || -> Result<Page, Error> {
            let mut page = Page {
                now: first.try_get::<_, Stamp>(CREATED_AT)?.0,
                rows: rows.iter().map(stored).collect::<Result<_, _>>()?,
                more_after: None,
                next_due: first.try_get::<_, Option<Stamp>>(DUE_AT)?.map(|stamp| stamp.0),
            };
            if look.discover.is_some() {
                page.more_after = first.try_get::<_, Option<Loose>>(LANE)?.map(|text| text.0);
            }
            Ok(page)
        };
        let mut page = read().map_err(|error| store_error(&self.label, error))?;
        put_in_order(&mut page.rows);
        Ok(page)
    }

    pub(super) async fn load(&self, id: RowId) -> Result<Option<Body>, StoreError> {
        let rows = self.run(&self.statements.outbox.load, &[(&id.0, Type::INT8)]).await?;
        let Some(row) = rows.first() else { return Ok(None) };
        let read = || -> Result<_, Error> { Ok((row.try_get::<_, Option<Loose>>(0)?, row.try_get(1)?)) };
        let (text, bytes) = read().map_err(|error| store_error(&self.label, error))?;
        Ok(match (text, bytes) {
            (Some(text), None) => Some(Body::Text(text.0)),
            (None, Some(bytes)) => Some(Body::Bytes(bytes)),
            _ => None,
        })
    }
}

// The columns of a look that are read in more than one place.
const LANE: usize = 1;
const DUE_AT: usize = 4;
const CREATED_AT: usize = 16;

fn stored(row: &Row) -> Result<Stored, Error> {
    let text = |column| row.try_get::<_, Option<Loose>>(column).map(|text| text.map(|text| text.0));
    Ok(Stored {
        id: RowId(row.try_get(0)?),
        lane: text(LANE)?,
        sequence: Sequence { version: row.try_get(2)?, index: row.try_get(3)? },
        // A row whose source stands still has no such moment. It is never due.
        due_at: row.try_get::<_, Option<Stamp>>(DUE_AT)?.map_or(NEVER, |stamp| stamp.0),
        attempts: counted(row.try_get(5)?),
        forgiven: counted(row.try_get(6)?),
        message_id: row.try_get::<_, Id>(7)?.0.to_string(),
        source: text(8)?,
        topic: text(9)?.unwrap_or_default(),
        kind: text(10)?.unwrap_or_default(),
        body: body(row)?,
        content_type: text(14)?,
        headers: text(15)?,
        created_at: row.try_get::<_, Stamp>(CREATED_AT)?.0,
    })
}

const NEVER: tenure_core::time::StoreTime = tenure_core::time::StoreTime::from_micros(i64::MAX);

fn body(row: &Row) -> Result<Found, Error> {
    Ok(match row.try_get::<_, i32>(11)? {
        0 => Found::Body(Body::Text(String::new())),
        1 => Found::Body(Body::Text(row.try_get::<_, Loose>(12)?.0)),
        2 => Found::Body(Body::Bytes(row.try_get(13)?)),
        shape if shape & 3 == 3 => Found::Unclear("the row has both payload and payload_bytes"),
        _ => Found::Large,
    })
}

/// A number that is never negative unless someone has written to the table by hand.
pub(super) fn counted(number: i32) -> u32 {
    u32::try_from(number).unwrap_or(0)
}

/// The rows come as they stand in the index. Nothing obliges the server to that, so it is checked.
fn put_in_order(rows: &mut [Stored]) {
    let in_order = rows.windows(2).all(|pair| match pair {
        [one, next] => one.lane.is_none() || one.lane != next.lane || one.place() < next.place(),
        _ => true,
    });
    if !in_order {
        rows.sort_by(|one, other| (&one.lane, one.place()).cmp(&(&other.lane, other.place())));
    }
}
