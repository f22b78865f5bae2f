//! Appending on connections of sqlx.

use sqlx::query::Query;
use sqlx::sqlite::{Sqlite, SqliteArguments};
use sqlx::{Connection as _, SqliteConnection};
use tenure_core::contract::AppendError;
use tenure_core::event::{
    Append, AppendAnswer, Appended, Expected, InboxMark, Judgement, NewEvent, Position, Standing, Version,
    judge, not_again,
};
use tenure_core::outbox::{Accept, shorten};
use tenure_core::time::StoreTime;
use tenure_sql::Columns as _;

use super::append::{APPEND_FIRST, Events, Inner};
use super::decide::{self, Unappended};
use super::statements::EventStatements;
use crate::error::Fault;
use crate::fence::{from_sqlx, no_transaction};
use crate::outbox::{Outbox, run};
use crate::rows::{OfSqlx, READER};
use crate::statements::for_sqlx;

impl Events {
    /// Appends in a transaction of sqlx: all of it, or nothing and the transaction is as before. A connection without an
    /// open transaction is refused. Begin it with `BEGIN IMMEDIATE` if it reads before it appends.
    ///
    /// When the future is dropped before it is done, roll the transaction back.
    ///
    /// ```no_run
    /// # async fn lend(store: tenure_sqlite::SqliteStore, pool: sqlx::SqlitePool, id: uuid::Uuid)
    /// # -> Result<(), Box<dyn std::error::Error>> {
    /// use tenure_core::event::{Append, AppendAnswer, Expected, NewEvent, StreamName};
    ///
    /// let events = store.events();
    /// let mut transaction = pool.begin_with("BEGIN IMMEDIATE").await?;
    /// let lent = NewEvent::json(id, "Lent", r#"{"to":"ada"}"#);
    /// let append = Append::new(StreamName::of("book", "7")?, Expected::NONE, vec![lent]);
    /// if let AppendAnswer::Appended(_) = events.append(&mut transaction, &append).await? {
    ///     sqlx::query("update books set lent = true where id = 7").execute(&mut *transaction).await?;
    /// }
    /// transaction.commit().await?;
    /// # Ok(()) }
    /// ```
    pub async fn append(
        &self,
        transaction: &mut SqliteConnection,
        append: &Append,
    ) -> Result<AppendAnswer, AppendError> {
        self.check(append)?;
        let appended = self.append_whole(transaction, append).await;
        appended.map_err(|unappended| unappended.at(&self.inner.label))
    }

    async fn append_whole(
        &self,
        transaction: &mut SqliteConnection,
        append: &Append,
    ) -> Result<AppendAnswer, Unappended> {
        lock(transaction, &self.inner.statements.events, APPEND_FIRST).await?;
        run(transaction, "savepoint tenure_append").await?;
        let now = self.inner.clocks.read().wall;
        let answer = Appending { inner: &self.inner, append, now }.run(transaction).await;
        let ended = match &answer {
            Ok(answer) if decide::is_written(answer) => Ok(()),
            _ => run(transaction, "rollback to tenure_append").await,
        };
        let ended = match ended {
            Ok(()) => run(transaction, "release tenure_append").await,
            failed => failed,
        };
        match (ended, answer) {
            // As with rusqlite: the first failure tells what it was.
            (Ok(()), answer) | (Err(_), answer @ Err(_)) => answer,
            (Err(unsent), Ok(_)) => Err(unsent.into()),
        }
    }
}

/// Takes the write lock, if the transaction has begun without it and has read nothing yet.
pub(super) async fn lock(
    transaction: &mut SqliteConnection,
    statements: &EventStatements,
    then: &'static str,
) -> Result<(), Fault> {
    if !transaction.is_in_transaction() {
        return Err(no_transaction(then));
    }
    sqlx::query(for_sqlx(&statements.write_lock)).execute(transaction).await.map_err(from_sqlx)?;
    Ok(())
}

/// One append, in the transaction that makes it.
struct Appending<'a> {
    inner: &'a Inner,
    append: &'a Append,
    now: StoreTime,
}

impl Appending<'_> {
    /// The same steps as with rusqlite.
    async fn run(&self, transaction: &mut SqliteConnection) -> Result<AppendAnswer, Unappended> {
        let append = self.append;
        if let Some(mark) = &append.mark
            && let Some(answer) = AppendAnswer::to_settled(self.settled(transaction, mark).await?)
        {
            return Ok(answer);
        }
        let statements = &self.inner.statements.events;
        let stream = append.stream.as_str();
        let actual = self.stream_version(transaction).await?;
        let follows = match judge(append.expected, actual) {
            Judgement::Follow(version) => version,
            Judgement::Conflict(actual) => {
                let (after, to) = decide::places(append);
                let query = sqlx::query(for_sqlx(&statements.existing)).bind(stream.to_owned());
                let standing = all_standing(transaction, query.bind(after.0).bind(to.0)).await?;
                return Ok(not_again(append, standing, actual)?);
            }
        };
        if let Some(ids) = decide::ids_to_know(append) {
            let query = sqlx::query(for_sqlx(&statements.known)).bind(ids);
            let known = all_standing(transaction, query).await?;
            if !known.is_empty() {
                return Ok(not_again(append, known, actual)?);
            }
        }
        if let Some(mark) = &append.mark {
            self.mark(transaction, mark).await?;
        }
        let version = follows.plus(append.events.len());
        let position = self.insert(transaction, &append.events, follows).await?;
        if position.is_some() {
            let query = sqlx::query(for_sqlx(&statements.stream_write)).bind(stream.to_owned());
            query.bind(version.0).execute(&mut *transaction).await.map_err(from_sqlx)?;
        }
        if !append.dispatches.is_empty() {
            let Inner { label, statements, clocks } = self.inner;
            let outbox = Outbox::new(label.clone(), statements.clone(), clocks.clone());
            outbox.insert_all_sqlx(transaction, &append.dispatches).await?;
        }
        Ok(AppendAnswer::Appended(Appended { version, position, repeated: false }))
    }

    async fn settled(&self, transaction: &mut SqliteConnection, mark: &InboxMark) -> Result<Accept, Fault> {
        let query = sqlx::query(for_sqlx(&self.inner.statements.outbox.inbox_read))
            .bind(mark.consumer.as_str().to_owned())
            .bind(mark.id.to_string());
        let known = query.fetch_optional(transaction).await.map_err(from_sqlx)?;
        let Some(row) = known else { return Ok(Accept::Fresh) };
        let print = mark.fingerprint.map(|print| print.to_string());
        Ok(READER.before(&OfSqlx(&row))?.judge(print.as_deref()))
    }

    async fn stream_version(&self, transaction: &mut SqliteConnection) -> Result<Version, Fault> {
        let stream = &self.append.stream;
        let query = sqlx::query(for_sqlx(&self.inner.statements.events.stream_read));
        let found = query.bind(stream.as_str().to_owned()).fetch_optional(transaction).await;
        let found =
            found.map_err(from_sqlx)?.map(|row| READER.maybe(OfSqlx(&row).number("version"), "version"));
        decide::version(stream, found.transpose()?.flatten())
    }

    async fn mark(&self, transaction: &mut SqliteConnection, mark: &InboxMark) -> Result<(), Fault> {
        let query = sqlx::query(for_sqlx(&self.inner.statements.events.mark))
            .bind(mark.consumer.as_str().to_owned())
            .bind(mark.id.to_string())
            .bind(mark.fingerprint.map(|print| print.to_string()))
            .bind(mark.refused.as_deref().map(shorten))
            .bind(self.now.as_micros());
        query.execute(transaction).await.map_err(from_sqlx)?;
        Ok(())
    }

    async fn insert(
        &self,
        transaction: &mut SqliteConnection,
        events: &[NewEvent],
        follows: Version,
    ) -> Result<Option<Position>, Fault> {
        let mut position = None;
        for (at, event) in events.iter().enumerate() {
            let (text, bytes) = event.body.parts();
            let metadata = &event.metadata;
            let query = sqlx::query(for_sqlx(&self.inner.statements.events.insert))
                .bind(self.append.stream.as_str().to_owned())
                .bind(follows.plus(at + 1).0)
                .bind(event.id.to_string())
                .bind(event.kind.clone())
                .bind(event.schema)
                .bind(metadata.message_id.map(|id| id.to_string()))
                .bind(metadata.correlation.clone())
                .bind(metadata.causation.clone())
                .bind(metadata.headers_json())
                .bind(self.now.as_micros())
                .bind(self.append.expected == Expected::Any)
                .bind(text.map(str::to_owned))
                .bind(bytes.map(<[u8]>::to_vec));
            let done = query.execute(&mut *transaction).await.map_err(from_sqlx)?;
            position = Some(Position(done.last_insert_rowid()));
        }
        Ok(position)
    }
}

async fn all_standing(
    transaction: &mut SqliteConnection,
    query: Query<'_, Sqlite, SqliteArguments>,
) -> Result<Vec<Standing>, Fault> {
    let rows = query.fetch_all(transaction).await.map_err(from_sqlx)?;
    let found = rows.iter().filter_map(|row| READER.standing(&OfSqlx(row)).transpose());
    Ok(found.collect::<Result<_, _>>()?)
}
