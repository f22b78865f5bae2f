//! Statements on a connection of ours.
//!
//! Every call runs in a task that owns the connection. Whoever waits may go away, or lose patience with a server that is
//! silent: the task then ends with its connection, and never half-way on one that is used again (law 12).

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use futures_util::TryStreamExt as _;
use futures_util::io::{AsyncRead, AsyncWrite};
use tenure_sql::{Answer, Call, Cell, Fault, FaultKind, Row, Session};
use tiberius::{Client, Query, QueryItem, QueryStream};
use tokio::net::TcpStream;
use tokio::runtime::Handle;
use tokio::task::AbortHandle;
use tokio::time::timeout;
use tokio_util::compat::Compat;

use crate::batch::{Batch, DUPLICATE, ENDED, UNMET};
use crate::error::fault;
use crate::rows;
use crate::statements::{BEGIN, COMMIT, PING, ROLLBACK};

/// The driver's connection.
pub(crate) type Connection = Client<Compat<TcpStream>>;

/// In how many trips a transaction may be begun and ended.
///
/// A text with parameters runs on the server as a procedure does, and one that leaves more or fewer transactions open than it
/// found is an error there (266), although all of it took effect. With `XACT_ABORT` on, servers are said to let it pass; that
/// is tried out on the server itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Trips {
    /// Together with the statements.
    One,
    /// In trips of their own, without parameters, unless begin and end stand in the same text.
    Apart,
}

/// A connection with a runtime of its own.
#[derive(Debug)]
pub(crate) struct Link {
    /// `None` once it is broken.
    connection: Option<Connection>,
    handle: Handle,
    /// How long an answer is waited for before the link counts as dead.
    patience: Duration,
    trips: Trips,
    /// Whether it serves to wait for locks: a wait that nobody waits for ends, and the link with it.
    waits: bool,
    cutter: Cutter,
    /// How many rows the last statement concerned.
    changed: u64,
}

/// Ends a link, also while something is under way on it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Cutter(Arc<Mutex<Cut>>);

#[derive(Debug, Default)]
struct Cut {
    done: bool,
    under_way: Option<AbortHandle>,
}

impl Cutter {
    pub(crate) fn cut(&self) {
        let mut cut = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        cut.done = true;
        if let Some(task) = cut.under_way.take() {
            task.abort();
        }
    }

    /// Notes what is under way; false if the link was cut.
    fn note(&self, task: Option<AbortHandle>) -> bool {
        let mut cut = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        cut.under_way = task;
        !cut.done
    }
}

/// Ends a task together with whoever waits for it.
struct AbortOnDrop(Option<AbortHandle>);

impl Drop for AbortOnDrop {
    fn drop(&mut self) {
        if let Some(task) = self.0.take() {
            task.abort();
        }
    }
}

impl Link {
    pub(crate) fn new(connection: Connection, handle: Handle, patience: Duration) -> Self {
        let (trips, waits, cutter) = (Trips::Apart, false, Cutter::default());
        Self { connection: Some(connection), handle, patience, trips, waits, cutter, changed: 0 }
    }

    pub(crate) fn cutter(&self) -> Cutter {
        self.cutter.clone()
    }

    pub(crate) fn is_broken(&self) -> bool {
        self.connection.is_none()
    }

    /// Sets another limit to what is waited for.
    pub(crate) fn set_patience(&mut self, patience: Duration) {
        self.patience = patience;
    }

    /// The same, to wait for locks on.
    pub(crate) fn for_waiting(mut self) -> Self {
        self.waits = true;
        self
    }

    /// Ends it at once.
    pub(crate) fn end(&mut self) {
        self.connection = None;
    }

    pub(crate) fn with_trips(mut self, trips: Trips) -> Self {
        self.trips = trips;
        self
    }

    /// Closes it in an orderly way, without waiting for that.
    pub(crate) fn close(mut self) {
        if let Some(connection) = self.connection.take() {
            self.handle.spawn(connection.close());
        }
    }

    /// Asks for a sign of life.
    pub(crate) async fn ping(&mut self) -> Result<(), Fault> {
        self.text(PING.to_owned()).await
    }

    /// Runs a text as it is, without parameters. Its answer is read to the end and not looked at.
    pub(crate) async fn text(&mut self, text: String) -> Result<(), Fault> {
        self.parts(vec![Part::Text(text)]).await.map(|_| ())
    }

    /// Runs statements in one text with parameters, whatever they do to transactions.
    pub(crate) async fn probe(&mut self, calls: &[Call<'_>]) -> Result<Answer, Fault> {
        let parts = parts(calls, Trips::One)?;
        let answers = self.parts(parts).await?;
        Ok(answers.into_iter().next_back().unwrap_or_default())
    }

    async fn parts(&mut self, parts: Vec<Part>) -> Result<Vec<Answer>, Fault> {
        let before = std::mem::take(&mut self.changed);
        let outcome = self
            .own(|mut connection| async move {
                let outcome = run_parts(&mut connection, parts, before).await;
                (connection, outcome)
            })
            .await?;
        self.changed = outcome.last().map_or(0, |answer| answer.changed);
        Ok(outcome)
    }

    /// Lends the connection to a task, and has it back when the task ends.
    async fn own<T, F>(&mut self, work: impl FnOnce(Connection) -> F) -> Result<T, Fault>
    where
        T: Send + 'static,
        F: Future<Output = (Connection, Result<T, Fault>)> + Send + 'static,
    {
        let broken = || Fault::new(FaultKind::Gone, "the connection is broken");
        let connection = self.connection.take().ok_or_else(broken)?;
        let mut task = self.handle.spawn(work(connection));
        if !self.cutter.note(Some(task.abort_handle())) {
            task.abort();
        }
        let mut guard = AbortOnDrop(self.waits.then(|| task.abort_handle()));
        let Ok(ended) = timeout(self.patience, &mut task).await else {
            // The task owns the connection: they end together, and the server undoes what was open on it.
            task.abort();
            return Err(Fault::new(FaultKind::Gone, format!("no answer within {:?}", self.patience)));
        };
        guard.0 = None;
        let (connection, outcome) = ended.map_err(|_| broken())?;
        let whole = self.cutter.note(None);
        if whole && !matches!(&outcome, Err(fault) if fault.kind == FaultKind::Gone) {
            self.connection = Some(connection);
        }
        outcome
    }
}

#[async_trait]
impl Session for Link {
    async fn run(&mut self, call: &Call<'_>) -> Result<Answer, Fault> {
        let answers = self.run_all(std::slice::from_ref(call)).await?;
        Ok(answers.into_iter().next_back().unwrap_or_default())
    }

    async fn run_all(&mut self, calls: &[Call<'_>]) -> Result<Vec<Answer>, Fault> {
        let parts = parts(calls, self.trips)?;
        self.parts(parts).await
    }
}

/// What goes to the server in one trip.
#[derive(Debug)]
pub(crate) enum Part {
    /// A text without parameters, and without an answer.
    Text(String),
    /// Statements with parameters.
    Batch(Batch),
}

/// Divides statements into trips, as few as may be.
pub(crate) fn parts(calls: &[Call<'_>], trips: Trips) -> Result<Vec<Part>, Fault> {
    let (mut parts, mut batch) = (Vec::new(), Batch::default());
    let mut within = 0..0;
    for (at, call) in calls.iter().enumerate() {
        if call.sql == BEGIN
            && let Some(length) = calls[at..].iter().position(|later| matches!(later.sql, COMMIT | ROLLBACK))
            && calls[at + length].sql == COMMIT
        {
            // From the beginning of a transaction to its end.
            within = at..at + length + 1;
        }
        let alone = match call.sql {
            BEGIN | COMMIT => trips == Trips::Apart && !within.contains(&at),
            ROLLBACK => true,
            _ => false,
        };
        if alone || !batch.has_room(call) {
            flush(&mut parts, &mut batch);
        }
        if alone {
            parts.push(Part::Text(call.sql.to_owned()));
        } else {
            batch.add(call)?;
        }
    }
    flush(&mut parts, &mut batch);
    Ok(parts)
}

fn flush(parts: &mut Vec<Part>, batch: &mut Batch) {
    if batch.statements > 0 {
        parts.push(Part::Batch(std::mem::take(batch)));
    }
}

/// Runs them in order, and stops at the first that fails.
async fn run_parts(connection: &mut Connection, parts: Vec<Part>, before: u64) -> Result<Vec<Answer>, Fault> {
    let mut answers: Vec<Answer> = Vec::new();
    for part in parts {
        match part {
            Part::Text(text) => {
                let stream = connection.simple_query(text).await.map_err(|error| fault(&error))?;
                stream.into_results().await.map_err(|error| fault(&error))?;
                answers.push(Answer::default());
            }
            Part::Batch(mut batch) => {
                batch.follows(answers.last().map_or(before, |answer| answer.changed));
                answers.extend(run_batch(connection, batch).await?);
            }
        }
    }
    Ok(answers)
}

/// Runs statements with parameters in one trip, and tells their answers apart.
pub(crate) async fn run_batch<S>(connection: &mut Client<S>, batch: Batch) -> Result<Vec<Answer>, Fault>
where
    S: AsyncRead + AsyncWrite + Unpin + Send,
{
    let Batch { text, parameters, statements, .. } = batch;
    let mut query = Query::new(text);
    parameters.into_iter().for_each(|value| query.bind(value));
    let stream = query.query(connection).await.map_err(|error| fault(&error))?;
    let answers = gather(stream).await?;
    if answers.len() == statements {
        return Ok(answers);
    }
    Err(Fault::new(FaultKind::Gone, "the server answered other statements than were asked"))
}

/// The answers of all statements, in order. An error of any of them is the error of all: the driver tells the first one when
/// everything has been read.
///
/// A statement that finds its value there already, or not what it had to find, says so by a row of its own, and ends the text
/// (`RETURN`): an error of the server would undo the user's whole transaction where `XACT_ABORT` is on.
async fn gather(mut stream: QueryStream<'_>) -> Result<Vec<Answer>, Fault> {
    let mut answers: Vec<Answer> = Vec::new();
    let mut rows: Vec<Row> = Vec::new();
    let mut names: Arc<[String]> = Arc::default();
    let mut told = None;
    loop {
        let item = match stream.try_next().await {
            Ok(Some(item)) => item,
            Ok(None) => break,
            Err(error) => {
                let fault = fault(&error);
                // What the server says of a text that ended early (266) is no news; a broken connection is.
                return Err(told.filter(|_| fault.kind != FaultKind::Gone).unwrap_or(fault));
            }
        };
        match item {
            QueryItem::Metadata(metadata) => names = rows::names(metadata.columns()),
            QueryItem::Row(_) if names.iter().eq([DUPLICATE]) => {
                told = Some(Fault::new(FaultKind::Duplicate, "the value is there already"));
            }
            QueryItem::Row(_) if names.iter().eq([UNMET]) => {
                told = Some(Fault::new(FaultKind::Unmet, "what has to be there is not there"));
            }
            QueryItem::Row(row) if names.iter().eq(ENDED) => {
                let changed = ended(row, answers.len() + 1)?;
                answers.push(Answer { rows: std::mem::take(&mut rows), changed, given: None });
            }
            QueryItem::Row(row) => rows.push(rows::row(row, &names)),
        }
    }
    told.map_or(Ok(answers), Err)
}

/// Reads the row that ends a statement's answer: how many rows the statement concerned.
fn ended(row: tiberius::Row, expected: usize) -> Result<u64, Fault> {
    let cells: Vec<Cell> = row.into_iter().map(rows::cell).collect();
    match cells.as_slice() {
        [Cell::Int(statement), Cell::Int(changed)] if usize::try_from(*statement) == Ok(expected) => {
            Ok(u64::try_from(*changed).unwrap_or_default())
        }
        _ => Err(Fault::new(FaultKind::Gone, "the server's answers are out of order")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What each trip holds: `-` for a text of its own, else how many statements.
    fn shape(texts: &[&str], trips: Trips) -> String {
        let calls: Vec<Call<'_>> = texts.iter().map(|sql| Call::new(sql, [])).collect();
        let parts = parts(&calls, trips).unwrap();
        let shape = parts.iter().map(|part| match part {
            Part::Text(_) => "-".to_owned(),
            Part::Batch(batch) => batch.statements.to_string(),
        });
        shape.collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn no_text_with_parameters_ends_with_more_or_fewer_transactions_than_it_began_with() {
        assert_eq!(shape(&["a"], Trips::Apart), "1");
        assert_eq!(shape(&[BEGIN, "a", "b"], Trips::Apart), "- 2");
        assert_eq!(shape(&["a", "b", COMMIT], Trips::Apart), "2 -");
        assert_eq!(shape(&[ROLLBACK], Trips::Apart), "-");
        assert_eq!(shape(&[BEGIN, "a", COMMIT], Trips::Apart), "3");
        assert_eq!(shape(&[BEGIN, "a", ROLLBACK], Trips::Apart), "- 1 -");
        assert_eq!(shape(&["a", COMMIT, BEGIN, "b", COMMIT, BEGIN, "c"], Trips::Apart), "1 - 3 - 1");
    }

    #[test]
    fn on_a_server_that_lets_it_pass_everything_is_one_trip() {
        assert_eq!(shape(&[BEGIN, "a", "b"], Trips::One), "3");
        assert_eq!(shape(&["a", COMMIT], Trips::One), "2");
        assert_eq!(shape(&[ROLLBACK], Trips::One), "-");
    }

    #[test]
    fn a_text_has_no_more_parameters_than_the_server_takes() {
        let calls: Vec<Call<'_>> =
            (0..3).map(|_| Call::new("SELECT @P1", vec![tenure_sql::Value::Null; 600])).collect();
        assert_eq!(parts(&calls, Trips::One).unwrap().len(), 1);
        let calls: Vec<Call<'_>> =
            (0..3).map(|_| Call::new("SELECT @P1", vec![tenure_sql::Value::Null; 1_000])).collect();
        assert_eq!(parts(&calls, Trips::One).unwrap().len(), 3);
    }
}
