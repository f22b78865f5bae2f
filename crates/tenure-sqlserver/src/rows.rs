//! From the driver's rows to ours.

use std::sync::Arc;

use tenure_sql::{Cell, Row};
use tiberius::{Column, ColumnData};

/// The names of a result's columns, once for all of its rows.
pub(crate) fn names(columns: &[Column]) -> Arc<[String]> {
    columns.iter().map(|column| column.name().to_owned()).collect()
}

/// A row, taken out of the driver's hands.
pub(crate) fn row(row: tiberius::Row, names: &Arc<[String]>) -> Row {
    Row::new(Arc::clone(names), row.into_iter().map(cell).collect())
}

/// Statements return numbers, bytes and `nvarchar`. A `varchar` would be read by the code page of its collation, and the driver
/// knows none for UTF-8; they are cast.
pub(crate) fn cell(value: ColumnData<'static>) -> Cell {
    match value {
        ColumnData::U8(value) => number(value),
        ColumnData::I16(value) => number(value),
        ColumnData::I32(value) => number(value),
        ColumnData::I64(value) => number(value),
        ColumnData::Bit(value) => number(value),
        ColumnData::String(value) => value.map_or(Cell::Null, |text| Cell::Text(text.into_owned())),
        ColumnData::Binary(value) => value.map_or(Cell::Null, |bytes| Cell::Bytes(bytes.into_owned())),
        ColumnData::Guid(value) => value.map_or(Cell::Null, |id| Cell::Text(id.to_string())),
        ColumnData::F32(None)
        | ColumnData::F64(None)
        | ColumnData::Numeric(None)
        | ColumnData::DateTime(None)
        | ColumnData::DateTime2(None) => Cell::Null,
        // A sum of numbers is of type numeric on some ways.
        ColumnData::Numeric(Some(value)) if value.scale() == 0 => match i64::try_from(value.value()) {
            Ok(value) => Cell::Int(value),
            Err(_) => Cell::Unreadable("the number is too large".into()),
        },
        _ => Cell::Unreadable("a column of this type is not read by Tenure".into()),
    }
}

fn number<T: Into<i64>>(value: Option<T>) -> Cell {
    value.map_or(Cell::Null, |value| Cell::Int(value.into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_type_that_a_statement_returns_is_read() {
        assert_eq!(cell(ColumnData::U8(Some(255))), Cell::Int(255));
        assert_eq!(cell(ColumnData::I32(Some(-1))), Cell::Int(-1));
        assert_eq!(cell(ColumnData::I64(Some(i64::MIN))), Cell::Int(i64::MIN));
        assert_eq!(cell(ColumnData::Bit(Some(true))), Cell::Int(1));
        assert_eq!(cell(ColumnData::String(Some("ü ".into()))), Cell::Text("ü ".into()));
        assert_eq!(cell(ColumnData::Binary(Some(vec![0, 255].into()))), Cell::Bytes(vec![0, 255]));
        for nothing in [ColumnData::I64(None), ColumnData::String(None), ColumnData::Binary(None)] {
            assert_eq!(cell(nothing), Cell::Null);
        }
        assert!(matches!(cell(ColumnData::F64(Some(1.5))), Cell::Unreadable(_)));
    }
}
