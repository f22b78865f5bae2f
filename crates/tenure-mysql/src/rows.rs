//! From the driver's rows to ours.

use std::sync::Arc;

use sqlx::mysql::MySqlRow;
use sqlx::{Column as _, Decode, MySql, Row as _, Type, TypeInfo as _, ValueRef as _};
use tenure_sql::{Cell, Row};

/// The names of a result's columns, once for all of its rows.
pub(crate) fn names(row: &MySqlRow) -> Arc<[String]> {
    row.columns().iter().map(|column| column.name().to_owned()).collect()
}

/// A row, taken out of the driver's hands.
pub(crate) fn row(row: &MySqlRow, names: &Arc<[String]>) -> Row {
    Row::new(Arc::clone(names), (0..row.columns().len()).map(|at| cell(row, at)).collect())
}

fn cell(row: &MySqlRow, at: usize) -> Cell {
    let Ok(value) = row.try_get_raw(at) else { return Cell::Unreadable("there is no such column".into()) };
    if value.is_null() {
        return Cell::Null;
    }
    let kind = value.type_info();
    match kind.name() {
        "BOOLEAN" | "TINYINT" | "SMALLINT" | "MEDIUMINT" | "INT" | "BIGINT" => {
            get::<i64>(row, at).map_or_else(Cell::Unreadable, Cell::Int)
        }
        "TINYINT UNSIGNED" | "SMALLINT UNSIGNED" | "MEDIUMINT UNSIGNED" | "INT UNSIGNED"
        | "BIGINT UNSIGNED" => match get::<u64>(row, at).map(i64::try_from) {
            Ok(Ok(number)) => Cell::Int(number),
            Ok(Err(_)) => Cell::Unreadable("the number is too large".into()),
            Err(why) => Cell::Unreadable(why),
        },
        "BINARY" | "VARBINARY" | "TINYBLOB" | "BLOB" | "MEDIUMBLOB" | "LONGBLOB" => {
            get::<Vec<u8>>(row, at).map_or_else(Cell::Unreadable, Cell::Bytes)
        }
        "CHAR" | "VARCHAR" | "TINYTEXT" | "TEXT" | "MEDIUMTEXT" | "LONGTEXT" | "ENUM" | "DECIMAL"
        | "JSON" => get::<String>(row, at).map_or_else(Cell::Unreadable, Cell::Text),
        other => Cell::Unreadable(format!("a column of type {other} is not read by Tenure")),
    }
}

/// The type was looked at above; the driver's own check knows less of it than we do (a decimal is text on the wire).
fn get<'r, T: Decode<'r, MySql> + Type<MySql>>(row: &'r MySqlRow, at: usize) -> Result<T, String> {
    row.try_get_unchecked(at).map_err(|_| "it cannot be read as what its type says".into())
}
