//! Which books are out: a projection, in a table beside Tenure's, written in the transaction that moves its checkpoint.

use std::path::{Path, PathBuf};

use async_trait::async_trait;
use rusqlite::{Connection, TransactionBehavior, params};
use tenure::core::subscription::{Advance, Step};
use tenure::event::{Recorded, Types};
use tenure::sqlite::Checkpoints;
use tenure::{Fence, HandleError, Projection};

use crate::BookEvent;

/// The table of books that are out.
#[derive(Debug, Clone)]
pub struct Shelf {
    file: PathBuf,
    checkpoints: Checkpoints,
}

impl Shelf {
    /// Keeps its table in `file`, which must be the file of the events.
    pub fn open(file: &Path, checkpoints: Checkpoints) -> rusqlite::Result<Self> {
        let shelf = Self { file: file.to_owned(), checkpoints };
        shelf.connect()?.execute_batch(
            "create table if not exists books_out (book text primary key, loan text) strict",
        )?;
        Ok(shelf)
    }

    fn connect(&self) -> rusqlite::Result<Connection> {
        let connection = Connection::open(&self.file)?;
        connection.busy_timeout(std::time::Duration::from_secs(5))?;
        Ok(connection)
    }

    /// The books that are out, with the loans that have them.
    pub fn out(&self) -> rusqlite::Result<Vec<(String, String)>> {
        let connection = self.connect()?;
        let mut statement = connection.prepare("select book, loan from books_out order by book")?;
        statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?.collect()
    }

    fn write(
        &self,
        events: &[Recorded],
        office: Option<&Fence>,
        step: &Step,
    ) -> Result<Advance, HandleError> {
        let failed = |error: rusqlite::Error| HandleError::transient(error);
        let mut connection = self.connect().map_err(failed)?;
        let transaction =
            connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(failed)?;
        for event in events {
            let Some(book) = event.stream.id_of("book") else { continue };
            let known = Types::<BookEvent>::new().decode(&event.kind, event.schema, &event.body);
            match known.map_err(HandleError::poison)? {
                BookEvent::Reserved { loan } => transaction
                    .execute("insert or replace into books_out values (?1, ?2)", params![book, loan])
                    .map_err(failed)?,
                BookEvent::PutBack { .. } => {
                    transaction.execute("delete from books_out where book = ?1", [book]).map_err(failed)?
                }
                BookEvent::Refused { .. } => 0,
            };
        }
        // The checkpoint moves with the rows, or not at all: no event counts twice, and none is left out.
        let answer =
            self.checkpoints.advance_in(&transaction, office, step).map_err(HandleError::transient)?;
        if answer == Advance::Advanced {
            transaction.commit().map_err(failed)?;
        }
        Ok(answer)
    }
}

#[async_trait]
impl Projection for Shelf {
    fn batch(&self) -> usize {
        100
    }

    async fn apply(
        &self,
        events: &[Recorded],
        office: Option<&Fence>,
        step: &Step,
    ) -> Result<Advance, HandleError> {
        let (shelf, events, office, step) = (self.clone(), events.to_vec(), office.cloned(), step.clone());
        let written = tokio::task::spawn_blocking(move || shelf.write(&events, office.as_ref(), &step));
        written.await.map_err(HandleError::transient)?
    }
}
