//! From the driver's rows to ours.

use std::sync::Arc;

use sqlx::mysql::{MySqlRow, MySqlValueRef};
use sqlx::{Column as _, Decode, MySql, Row as _, TypeInfo as _, ValueRef as _};
use tenure_sql::{Cell, Row};

/// What the columns of a result are, once for all of its rows.
pub(crate) struct Shape {
    names: Arc<[String]>,
    kinds: Vec<Kind>,
}

/// How a column is read.
enum Kind {
    Whole,
    Unsigned,
    Bytes,
    Text,
    Other(String),
}

impl Shape {
    pub(crate) fn of(row: &MySqlRow) -> Self {
        let names = row.columns().iter().map(|column| column.name().to_owned()).collect();
        let kinds = row.columns().iter().map(|column| Kind::of(column.type_info().name())).collect();
        Self { names, kinds }
    }

    /// A row, taken out of the driver's hands.
    pub(crate) fn row(&self, row: &MySqlRow) -> Row {
        let cells = self.kinds.iter().enumerate().map(|(at, kind)| match row.try_get_raw(at) {
            Ok(value) if value.is_null() => Cell::Null,
            Ok(value) => kind.cell(value),
            Err(_) => Cell::Unreadable("there is no such column".into()),
        });
        Row::new(Arc::clone(&self.names), cells.collect())
    }
}

impl Kind {
    fn of(name: &str) -> Self {
        match name {
            "BOOLEAN" | "TINYINT" | "SMALLINT" | "MEDIUMINT" | "INT" | "BIGINT" => Self::Whole,
            "TINYINT UNSIGNED" | "SMALLINT UNSIGNED" | "MEDIUMINT UNSIGNED" | "INT UNSIGNED"
            | "BIGINT UNSIGNED" => Self::Unsigned,
            "BINARY" | "VARBINARY" | "TINYBLOB" | "BLOB" | "MEDIUMBLOB" | "LONGBLOB" => Self::Bytes,
            "CHAR" | "VARCHAR" | "TINYTEXT" | "TEXT" | "MEDIUMTEXT" | "LONGTEXT" | "ENUM" | "DECIMAL"
            | "JSON" => Self::Text,
            other => Self::Other(other.to_owned()),
        }
    }

    fn cell(&self, value: MySqlValueRef<'_>) -> Cell {
        match self {
            Self::Whole => read(value).map_or_else(Cell::Unreadable, Cell::Int),
            Self::Unsigned => match read::<u64>(value).map(i64::try_from) {
                Ok(Ok(number)) => Cell::Int(number),
                Ok(Err(_)) => Cell::Unreadable("the number is too large".into()),
                Err(why) => Cell::Unreadable(why),
            },
            Self::Bytes => read(value).map_or_else(Cell::Unreadable, Cell::Bytes),
            Self::Text => read(value).map_or_else(Cell::Unreadable, Cell::Text),
            Self::Other(name) => Cell::Unreadable(format!("a column of type {name} is not read by Tenure")),
        }
    }
}

/// The type was looked at by its column; the driver's own check knows less of it than we do (a decimal is text on the wire).
fn read<'r, T: Decode<'r, MySql>>(value: MySqlValueRef<'r>) -> Result<T, String> {
    T::decode(value).map_err(|_| "it cannot be read as what its type says".into())
}
