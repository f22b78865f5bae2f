//! What comes out of a statement.

use std::sync::Arc;

use crate::reader::Columns;

/// One value of a row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Cell {
    /// Nothing.
    Null,
    /// A whole number.
    Int(i64),
    /// Text.
    Text(String),
    /// Bytes.
    Bytes(Vec<u8>),
    /// What the driver could not read, and why: an error for whoever asks for it, and for nobody else.
    Unreadable(String),
}

/// A row, taken out of the driver's hands.
#[derive(Debug, Clone)]
pub struct Row {
    names: Arc<[String]>,
    cells: Vec<Cell>,
}

impl Row {
    /// A row of columns with these names.
    pub fn new(names: Arc<[String]>, cells: Vec<Cell>) -> Self {
        Self { names, cells }
    }

    /// Its values, in the order of the statement.
    pub fn into_cells(self) -> Vec<Cell> {
        self.cells
    }

    fn cell(&self, column: &str) -> Result<&Cell, String> {
        let place = self.names.iter().position(|name| name.eq_ignore_ascii_case(column));
        place.and_then(|place| self.cells.get(place)).ok_or_else(|| "there is no such column".to_owned())
    }
}

impl Columns for Row {
    fn text(&self, column: &str) -> Result<Option<String>, String> {
        match self.cell(column)? {
            Cell::Null => Ok(None),
            Cell::Text(text) => Ok(Some(text.clone())),
            Cell::Int(number) => Ok(Some(number.to_string())),
            Cell::Bytes(bytes) => match std::str::from_utf8(bytes) {
                Ok(text) => Ok(Some(text.to_owned())),
                Err(_) => Err("it holds bytes that are no text".into()),
            },
            Cell::Unreadable(why) => Err(why.clone()),
        }
    }

    fn number(&self, column: &str) -> Result<Option<i64>, String> {
        match self.cell(column)? {
            Cell::Null => Ok(None),
            Cell::Int(number) => Ok(Some(*number)),
            // A sum comes as a decimal number, and those as text.
            Cell::Text(text) => text.parse().map(Some).map_err(|_| "it holds no whole number".into()),
            Cell::Bytes(_) => Err("it holds bytes where a number should be".into()),
            Cell::Unreadable(why) => Err(why.clone()),
        }
    }

    fn bytes(&self, column: &str) -> Result<Option<Vec<u8>>, String> {
        match self.cell(column)? {
            Cell::Null => Ok(None),
            Cell::Bytes(bytes) => Ok(Some(bytes.clone())),
            Cell::Text(text) => Ok(Some(text.clone().into_bytes())),
            Cell::Int(_) => Err("it holds a number where bytes should be".into()),
            Cell::Unreadable(why) => Err(why.clone()),
        }
    }
}
