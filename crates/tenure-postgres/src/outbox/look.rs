//! Reading what is pending.

use std::collections::HashMap;

use tenure_core::StoreError;
use tenure_core::outbox::{
    Body, Found, INLINE_MAX_BYTES, LaneLook, Limits, Loaded, Look, Page, Part, Place, RowId,
    SOURCE_MAX_BYTES, Sequence, Stored,
};
use tenure_sql::counted;
use tokio_postgres::types::Type;
use tokio_postgres::{Error, Row};

use crate::error::{store_error, unreachable};
use crate::store::Shared;
use crate::wire::{Anything, Id, Loose, Stamp};
use crate::writing::Params;

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

/// A part, and how far it is looked for.
#[derive(Default)]
struct Bounds {
    index: i64,
    count: i64,
    source_steps: i64,
    row_steps: i64,
}

impl Bounds {
    fn of(part: Part, sources: i64, rows: i64) -> Self {
        // Both were made of such numbers.
        let wanted = |number| u32::try_from(number).unwrap_or(u32::MAX);
        Self {
            index: part.index().into(),
            count: part.count().into(),
            source_steps: part.source_steps(wanted(sources)).into(),
            row_steps: part.row_steps(wanted(rows)).into(),
        }
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
        let part = look.part.map(|part| Bounds::of(part, sources, limit)).unwrap_or_default();
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
            (&(INLINE_MAX_BYTES as i32), Type::INT4),
            (&after_all, Type::TEXT),
            (&part.index, Type::INT8),
            (&part.count, Type::INT8),
            (&part.source_steps, Type::INT8),
            (&part.row_steps, Type::INT8),
        ];
        let (statement, params) = match look.part {
            None => (&self.statements.outbox.look, &params[..WHOLE_PARAMS]),
            Some(_) => (&self.statements.outbox.look_part, params),
        };
        let rows = self.run(statement, params).await?;
        let Some((first, rows)) = rows.split_first() else {
            return Err(unreachable(&self.label, "the server answered a look with nothing"));
        };
        let read = || -> Result<Page, Error> {
            let mut page = Page {
                rows: rows.iter().map(stored).collect::<Result<_, _>>()?,
                next_due: first.try_get::<_, Option<Stamp>>(DUE_AT)?.map(|stamp| stamp.0),
                ..Page::empty(first.try_get::<_, Stamp>(CREATED_AT)?.0)
            };
            if look.discover.is_some() {
                page.more_after = first.try_get::<_, Option<Loose>>(LANE)?.map(|text| text.0);
            }
            if look.part.is_some()
                && let Some(due_at) = first.try_get::<_, Option<Stamp>>(WALKED_DUE_AT)?
            {
                page.unordered_after = Some((due_at.0, RowId(first.try_get(WALKED_ID)?)));
            }
            Ok(page)
        };
        let mut page = read().map_err(|error| store_error(&self.label, error))?;
        put_in_order(&mut page.rows);
        Ok(page)
    }

    pub(super) async fn load(&self, id: RowId, limits: &Limits) -> Result<Loaded, StoreError> {
        let limit = i32::try_from(limits.payload).unwrap_or(i32::MAX);
        let params: Params<'_> = &[(&id.0, Type::INT8), (&limit, Type::INT4)];
        let rows = self.run(&self.statements.outbox.load, params).await?;
        let Some(row) = rows.first() else { return Ok(Loaded::Gone) };
        loaded(row, limit).map_err(|error| store_error(&self.label, error))
    }
}

// The columns of a look that are read in more than one place.
const LANE: usize = 1;
const DUE_AT: usize = 4;
const CREATED_AT: usize = 16;
// Only a look at one part has these.
const WALKED_DUE_AT: usize = 17;
const WALKED_ID: usize = 18;
/// How many parameters a look at everything has.
const WHOLE_PARAMS: usize = 14;

fn stored(row: &Row) -> Result<Stored, Error> {
    let text = |column| row.try_get::<_, Option<Loose>>(column).map(|text| text.map(|text| text.0));
    Ok(Stored {
        id: RowId(row.try_get(0)?),
        ordered: row.try_get::<_, Option<Anything>>(LANE)?.is_some(),
        sequence: Sequence { version: row.try_get(2)?, index: row.try_get(3)? },
        // A row whose source stands still has no such moment. It is never due.
        due_at: row.try_get::<_, Option<Stamp>>(DUE_AT)?.map_or(NEVER, |stamp| stamp.0),
        attempts: counted(row.try_get::<_, i32>(5)?.into()),
        forgiven: counted(row.try_get::<_, i32>(6)?.into()),
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
        0 => Found::Unclear(Found::NEITHER),
        1 => Found::Body(Body::Text(row.try_get::<_, Loose>(12)?.0)),
        2 => Found::Body(Body::Bytes(row.try_get(13)?)),
        shape if shape & 3 == 3 => Found::Unclear(Found::BOTH),
        _ => Found::Large,
    })
}

fn loaded(row: &Row, limit: i32) -> Result<Loaded, Error> {
    let sizes: (Option<i32>, Option<i32>) = (row.try_get(0)?, row.try_get(1)?);
    Ok(match sizes {
        (Some(_), Some(_)) => Loaded::Unclear(Found::BOTH),
        (Some(bytes), None) | (None, Some(bytes)) if bytes > limit => {
            Loaded::TooLarge { bytes: usize::try_from(bytes).unwrap_or_default() }
        }
        (Some(_), None) => Loaded::Body(Body::Text(row.try_get::<_, Loose>(2)?.0)),
        (None, Some(_)) => Loaded::Body(Body::Bytes(row.try_get(3)?)),
        (None, None) => Loaded::Unclear(Found::NEITHER),
    })
}

/// The rows come as they stand in the index. Nothing obliges the server to that, so it is checked.
fn put_in_order(rows: &mut [Stored]) {
    // Where each source was last, for rows of several may come crosswise; and when, for what has none.
    let mut places: HashMap<&str, Place> = HashMap::new();
    let mut moment = None;
    let in_order = rows.iter().all(|row| match row.lane() {
        Some(lane) => places.insert(lane, row.place()).is_none_or(|before| before < row.place()),
        None => moment.replace((row.due_at, row.id)) < Some((row.due_at, row.id)),
    });
    if !in_order {
        rows.sort_by(|one, other| match (one.lane(), other.lane()) {
            (None, None) => (one.due_at, one.id).cmp(&(other.due_at, other.id)),
            lanes => lanes.0.cmp(&lanes.1).then_with(|| one.place().cmp(&other.place())),
        });
    }
}

#[cfg(test)]
mod tests {
    use tenure_core::time::StoreTime;

    use super::*;

    fn row(lane: Option<&str>, version: i64, id: i64, due: i64) -> Stored {
        Stored {
            id: RowId(id),
            message_id: String::new(),
            ordered: lane.is_some(),
            source: lane.map(str::to_owned),
            sequence: Sequence { version, index: 0 },
            topic: String::new(),
            kind: String::new(),
            body: Found::Large,
            content_type: None,
            headers: None,
            created_at: StoreTime::from_micros(0),
            due_at: StoreTime::from_micros(due),
            attempts: 0,
            forgiven: 0,
        }
    }

    fn ordered(mut rows: Vec<Stored>) -> Vec<i64> {
        put_in_order(&mut rows);
        rows.iter().map(|row| row.id.0).collect()
    }

    #[test]
    fn a_source_out_of_order_is_found_also_when_its_rows_come_crosswise() {
        let (a, b) = (Some("a"), Some("b"));
        let crosswise = vec![row(a, 2, 1, 0), row(b, 1, 2, 0), row(a, 1, 3, 0), row(b, 2, 4, 0)];
        assert_eq!(ordered(crosswise), [3, 1, 2, 4]);
        let good = vec![row(b, 1, 2, 0), row(a, 1, 3, 0), row(b, 2, 4, 0), row(a, 2, 1, 0)];
        assert_eq!(ordered(good), [2, 3, 4, 1], "what is in order stays as it came");
    }

    #[test]
    fn what_has_no_source_goes_by_its_time() {
        let rows =
            vec![row(None, 9, 5, 30), row(Some("a"), 1, 1, 0), row(None, 0, 7, 10), row(None, 5, 6, 10)];
        assert_eq!(ordered(rows), [6, 7, 5, 1]);
    }
}
