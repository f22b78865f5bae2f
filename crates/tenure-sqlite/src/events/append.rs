//! Appending in the user's own transaction, and how every append is made.

use std::sync::Arc;

use rusqlite::{Connection, OptionalExtension, params};
use tenure_core::contract::AppendError;
use tenure_core::event::{
    Append, AppendAnswer, Appended, Expected, InboxMark, Judgement, Limits, NewEvent, Position, Standing,
    StreamName, Version, judge, not_again,
};
use tenure_core::outbox::{Accept, shorten};
use tenure_core::time::StoreTime;

use super::decide::{self, Unappended};
use super::statements::EventStatements;
use crate::clock::Clocks;
use crate::error::Fault;
use crate::fence::no_transaction;
use crate::outbox::insert_all;
use crate::rows::{Plain, READER};
use crate::statements::Statements;

/// Appends events in transactions of the user's own. Cheap to clone; does not use the store's connection.
///
/// What is appended counts once the transaction has committed, and wakes those who read it then, whichever process they
/// run in.
#[derive(Debug, Clone)]
pub struct Events {
    pub(super) inner: Arc<Inner>,
    limits: Limits,
    has_outbox: bool,
}

#[derive(Debug)]
pub(super) struct Inner {
    pub(super) label: String,
    pub(super) statements: Arc<Statements>,
    pub(super) clocks: Arc<dyn Clocks>,
}

impl Events {
    pub(crate) fn new(label: String, statements: Arc<Statements>, clocks: Arc<dyn Clocks>) -> Self {
        let inner = Arc::new(Inner { label, statements, clocks });
        Self { inner, limits: Limits::default(), has_outbox: false }
    }

    /// The same with the outbox of the same file: a relay delivers the dispatches. Without, an append with dispatches is an
    /// error.
    #[must_use]
    pub fn with_outbox(mut self) -> Self {
        self.has_outbox = true;
        self
    }

    /// The same with other limits.
    #[must_use]
    pub fn with_limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Appends in a transaction of `rusqlite`: all of it, or nothing and the transaction is as before. Takes a
    /// [`rusqlite::Transaction`] too, and refuses a connection without an open transaction.
    ///
    /// Begin that transaction with `BEGIN IMMEDIATE` if it reads before it appends: a deferred one is refused with
    /// `SQLITE_BUSY` when someone else wrote after its first look.
    ///
    /// ```no_run
    /// # fn lend(store: tenure_sqlite::SqliteStore, id: uuid::Uuid) -> Result<(), Box<dyn std::error::Error>> {
    /// use rusqlite::TransactionBehavior::Immediate;
    /// use tenure_core::event::{Append, AppendAnswer, Expected, NewEvent, StreamName};
    ///
    /// let events = store.events();
    /// let mut connection = rusqlite::Connection::open("app.db")?;
    /// let transaction = connection.transaction_with_behavior(Immediate)?;
    /// let lent = NewEvent::json(id, "Lent", r#"{"to":"ada"}"#);
    /// let append = Append::new(StreamName::of("book", "7")?, Expected::NONE, vec![lent]);
    /// if let AppendAnswer::Appended(_) = events.append_in(&transaction, &append)? {
    ///     transaction.execute("update books set lent = true where id = 7", [])?;
    /// }
    /// transaction.commit()?;
    /// # Ok(()) }
    /// ```
    pub fn append_in(&self, transaction: &Connection, append: &Append) -> Result<AppendAnswer, AppendError> {
        self.check(append)?;
        let Inner { label, statements, clocks } = &*self.inner;
        let appended = lock(transaction, &statements.events, APPEND_FIRST)
            .map_err(Unappended::from)
            .and_then(|()| append_whole(transaction, statements, append, clocks.read().wall));
        appended.map_err(|unappended| unappended.at(label))
    }

    pub(super) fn check(&self, append: &Append) -> Result<(), AppendError> {
        Ok(append.check(&self.limits, self.has_outbox)?)
    }
}

/// What to do in the transaction that is missing.
pub(super) const APPEND_FIRST: &str = "append, commit";

/// Takes the write lock, if the transaction has begun without it and has read nothing yet. From here on nobody else writes.
pub(super) fn lock(
    transaction: &Connection,
    statements: &EventStatements,
    then: &'static str,
) -> Result<(), Fault> {
    if transaction.is_autocommit() {
        return Err(no_transaction(then));
    }
    transaction.prepare_cached(&statements.write_lock)?.execute([])?;
    Ok(())
}

/// Appends something that was checked, in a transaction that has the write lock: all of it, or nothing.
pub(super) fn append_whole(
    connection: &Connection,
    statements: &Statements,
    append: &Append,
    now: StoreTime,
) -> Result<AppendAnswer, Unappended> {
    connection.prepare_cached("savepoint tenure_append")?.execute([])?;
    let answer = Appending { connection, statements, append, now }.run();
    let ended = match &answer {
        Ok(answer) if decide::is_written(answer) => {
            connection.prepare_cached("release tenure_append").and_then(|mut end| end.execute([]).map(drop))
        }
        _ => connection.execute_batch("rollback to tenure_append; release tenure_append"),
    };
    match (ended, answer) {
        // Some failures, such as a full disk, make SQLite roll everything back by itself; the first one tells what it was.
        (Ok(()), answer) | (Err(_), answer @ Err(_)) => answer,
        (Err(error), Ok(_)) => Err(error.into()),
    }
}

/// One append, in the transaction that makes it.
struct Appending<'a> {
    connection: &'a Connection,
    statements: &'a Statements,
    append: &'a Append,
    now: StoreTime,
}

impl Appending<'_> {
    fn run(&self) -> Result<AppendAnswer, Unappended> {
        let append = self.append;
        // The mark first: a message that is settled changes nothing, whatever else the append says.
        if let Some(mark) = &append.mark
            && let Some(answer) = AppendAnswer::to_settled(self.settled(mark)?)
        {
            return Ok(answer);
        }
        let actual = stream_version(self.connection, &self.statements.events, &append.stream)?;
        let follows = match judge(append.expected, actual) {
            Judgement::Follow(version) => version,
            Judgement::Conflict(actual) => {
                let (after, to) = decide::places(append);
                let standing = self.standing(
                    &self.statements.events.existing,
                    params![append.stream.as_str(), after.0, to.0],
                )?;
                return Ok(not_again(append, standing, actual)?);
            }
        };
        if let Some(ids) = decide::ids_to_know(append) {
            let known = self.standing(&self.statements.events.known, [ids])?;
            if !known.is_empty() {
                return Ok(not_again(append, known, actual)?);
            }
        }
        if let Some(mark) = &append.mark {
            self.mark(mark)?;
        }
        let version = follows.plus(append.events.len());
        let position = self.insert(&append.events, follows)?;
        if position.is_some() {
            let mut statement = self.connection.prepare_cached(&self.statements.events.stream_write)?;
            statement.execute(params![append.stream.as_str(), version.0])?;
        }
        if !append.dispatches.is_empty() {
            insert_all(self.connection, &self.statements.outbox, &append.dispatches, self.now)?;
        }
        Ok(AppendAnswer::Appended(Appended { version, position, repeated: false }))
    }

    /// What the inbox knows of the message.
    fn settled(&self, mark: &InboxMark) -> Result<Accept, Fault> {
        let mut statement = self.connection.prepare_cached(&self.statements.outbox.inbox_read)?;
        let key = [mark.consumer.as_str(), &mark.id.to_string()];
        let known =
            statement.query_row(key, |row| Ok(READER.before(&Plain::of(row)))).optional()?.transpose()?;
        let print = mark.fingerprint.map(|print| print.to_string());
        Ok(known.map_or(Accept::Fresh, |before| before.judge(print.as_deref())))
    }

    fn mark(&self, mark: &InboxMark) -> Result<(), Fault> {
        let mut statement = self.connection.prepare_cached(&self.statements.events.mark)?;
        statement.execute(params![
            mark.consumer.as_str(),
            mark.id.to_string(),
            mark.fingerprint.map(|print| print.to_string()),
            mark.refused.as_deref().map(shorten),
            self.now.as_micros(),
        ])?;
        Ok(())
    }

    fn standing(&self, statement: &str, parameters: impl rusqlite::Params) -> Result<Vec<Standing>, Fault> {
        let mut statement = self.connection.prepare_cached(statement)?;
        let mut rows = statement.query(parameters)?;
        let mut found = Vec::new();
        while let Some(row) = rows.next()? {
            found.extend(READER.standing(&Plain::of(row))?);
        }
        Ok(found)
    }

    /// Inserts events after a version. Answers the last one's position.
    fn insert(&self, events: &[NewEvent], follows: Version) -> Result<Option<Position>, Fault> {
        let mut position = None;
        let mut statement = self.connection.prepare_cached(&self.statements.events.insert)?;
        for (at, event) in events.iter().enumerate() {
            let (text, bytes) = event.body.parts();
            let metadata = &event.metadata;
            statement.execute(params![
                self.append.stream.as_str(),
                follows.plus(at + 1).0,
                event.id.to_string(),
                event.kind,
                event.schema,
                metadata.message_id.map(|id| id.to_string()),
                metadata.correlation,
                metadata.causation,
                metadata.headers_json(),
                self.now.as_micros(),
                self.append.expected == Expected::Any,
                text,
                bytes,
            ])?;
            position = Some(Position(self.connection.last_insert_rowid()));
        }
        Ok(position)
    }
}

/// The version that a stream has.
pub(super) fn stream_version(
    connection: &Connection,
    statements: &EventStatements,
    stream: &StreamName,
) -> Result<Version, Fault> {
    let mut statement = connection.prepare_cached(&statements.stream_read)?;
    let found = statement.query_row([stream.as_str()], |row| row.get(0)).optional()?;
    decide::version(stream, found)
}
