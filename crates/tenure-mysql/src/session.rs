//! Statements on a connection of ours.
//!
//! Every call runs in a task that owns the connection. Whoever waits may go away: the task goes on to its end. It loses
//! patience with a server that is silent by itself, and then ends with its connection, and never half-way on one that is
//! used again (law 12).

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use futures_util::TryStreamExt as _;
use sqlx::mysql::{MySqlConnection, MySqlQueryResult, MySqlRow};
use sqlx::{Either, Executor as _};
use tenure_sql::{Answer, Call, Columns as _, Fault, FaultKind, Row, Session, last_rows};
use tokio::runtime::Handle;
use tokio::task::AbortHandle;
use tokio::time::timeout;

use crate::connect::Flavour;
use crate::error::{fault, too_large};
use crate::literal::{block_written, bound, write_to, written};
use crate::rows::Shape;
use crate::statements::{PACKET_MAX, for_sqlx};

/// A value above this is bound and not written into the text, which would double it.
const WRITTEN_MAX_BYTES: usize = 256 * 1024;
/// A text of several statements is cut when it is longer than this: the server takes 16 MB at most, unless it is told to.
const TEXT_MAX_BYTES: usize = 2 * 1024 * 1024;

/// What is larger than this is not sent before the session was asked how much it takes: a server that is sent too much closes the
/// connection, some without a word. Asked each time: it costs nothing beside what is to be sent, and an operator who raises the
/// limit need not restart anything.
const ASK_MIN_BYTES: usize = 512 * 1024;
/// What a packet has besides the values, at most: the head, and a few bytes for each value.
const PACKET_BYTES: usize = 4 * 1024;

/// How long an orderly end of a connection may take.
const GOODBYE: Duration = Duration::from_secs(1);

/// A connection with a runtime of its own.
#[derive(Debug)]
pub(crate) struct Link {
    /// `None` while a task has it, and once it is broken.
    connection: Option<MySqlConnection>,
    handle: Handle,
    /// How long an answer is waited for before the link counts as dead.
    patience: Duration,
    cutter: Cutter,
    /// Whether the server was found gone or silent on it.
    found_dead: bool,
    /// Whether a call that nobody waits for any more is cut off with its connection. So for what only waits.
    cut_on_drop: bool,
    /// Whether the server makes one statement of several.
    blocks: bool,
}

/// Ends a connection from elsewhere, even while a call on it waits for an answer.
#[derive(Debug, Clone, Default)]
pub(crate) struct Cutter(Arc<Cut>);

#[derive(Debug, Default)]
struct Cut {
    done: AtomicBool,
    task: Mutex<Option<AbortHandle>>,
}

impl Cutter {
    /// The call under way, if there is one, ends with its connection; none begins any more.
    pub(crate) fn cut(&self) {
        self.0.done.store(true, Ordering::SeqCst);
        if let Some(task) = self.task().take() {
            task.abort();
        }
    }

    fn is_cut(&self) -> bool {
        self.0.done.load(Ordering::SeqCst)
    }

    fn task(&self) -> std::sync::MutexGuard<'_, Option<AbortHandle>> {
        self.0.task.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes what is to be ended. One who cuts at the same time has either seen it, or is seen here.
    fn watch_over(&self, task: AbortHandle) {
        *self.task() = Some(task);
        if self.is_cut() {
            self.cut();
        }
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        if self.cut_on_drop {
            self.cutter.cut();
        }
    }
}

impl Link {
    pub(crate) fn new(connection: MySqlConnection, handle: Handle, patience: Duration) -> Self {
        let cutter = Cutter::default();
        let (found_dead, cut_on_drop, blocks) = (false, false, false);
        Self { connection: Some(connection), handle, patience, cutter, found_dead, cut_on_drop, blocks }
    }

    /// The same on a server of this kind.
    pub(crate) fn on(mut self, flavour: Flavour) -> Self {
        self.blocks = flavour.has_blocks();
        self
    }

    pub(crate) fn is_broken(&self) -> bool {
        self.connection.is_none() || self.cutter.is_cut()
    }

    /// Whether the server was found gone or silent on it, and not only whoever waited.
    pub(crate) fn was_found_dead(&self) -> bool {
        self.found_dead
    }

    /// The same, for statements that only wait and change nothing: with the link they are cut off.
    pub(crate) fn for_waiting(mut self) -> Self {
        self.cut_on_drop = true;
        self
    }

    /// The same with another limit to how long an answer is waited for.
    pub(crate) fn with_patience(mut self, patience: Duration) -> Self {
        self.patience = patience;
        self
    }

    /// What ends the connection from elsewhere.
    pub(crate) fn cutter(&self) -> Cutter {
        self.cutter.clone()
    }

    /// Ends the connection at once, without a word.
    pub(crate) fn end(&mut self) {
        self.cutter.cut();
        self.connection = None;
    }

    /// Closes it in an orderly way, and waits for that a little.
    pub(crate) async fn close(mut self) {
        if let Some(connection) = self.connection.take() {
            let close = async { drop(timeout(GOODBYE, sqlx::Connection::close(connection)).await) };
            let _ = self.handle.spawn(close).await;
        }
    }

    /// Asks for a sign of life.
    pub(crate) async fn ping(&mut self, limit: Duration) -> Result<(), Fault> {
        self.own(limit, |mut connection| async move {
            let alive = sqlx::Connection::ping(&mut connection).await;
            (connection, alive.map_err(|error| fault(&error)))
        })
        .await
    }

    /// Runs texts as they are.
    pub(crate) async fn texts(&mut self, text: String) -> Result<Vec<Answer>, Fault> {
        self.texts_within(self.patience, text).await
    }

    /// The same with another limit to what is waited for.
    pub(crate) async fn texts_within(&mut self, limit: Duration, text: String) -> Result<Vec<Answer>, Fault> {
        self.own(limit, |mut connection| async move {
            let answers = run_text(&mut connection, text).await;
            (connection, answers)
        })
        .await
    }

    /// Runs one text that answers with a row.
    pub(crate) async fn row(&mut self, limit: Duration, text: String) -> Result<Row, Fault> {
        let answers = self.texts_within(limit, text).await?;
        let row = answers.into_iter().find_map(|answer| answer.rows.into_iter().next());
        row.ok_or_else(|| Fault::new(FaultKind::Gone, "the server answered with no row where there is one"))
    }

    /// Lends the connection to a task, and has it back when the task ends.
    async fn own<T, F>(
        &mut self,
        limit: Duration,
        work: impl FnOnce(MySqlConnection) -> F,
    ) -> Result<T, Fault>
    where
        T: Send + 'static,
        F: Future<Output = (MySqlConnection, Result<T, Fault>)> + Send + 'static,
    {
        let broken = || Fault::new(FaultKind::Gone, "the connection is broken");
        if self.cutter.is_cut() {
            self.connection = None;
        }
        let connection = self.connection.take().ok_or_else(broken)?;
        // What runs into the limit is dropped there with its connection, whoever still waits.
        let task = self.handle.spawn(timeout_after(limit, work(connection)));
        self.cutter.watch_over(task.abort_handle());
        let Ok(ended) = task.await else { return Err(broken()) };
        let Some((connection, outcome)) = ended else {
            self.found_dead = true;
            return Err(Fault::new(FaultKind::Gone, format!("no answer within {limit:?}")));
        };
        match &outcome {
            Err(fault) if fault.kind == FaultKind::Gone => self.found_dead = true,
            _ => self.connection = Some(connection),
        }
        outcome
    }
}

#[async_trait]
impl Session for Link {
    async fn run(&mut self, call: &Call<'_>) -> Result<Answer, Fault> {
        if call.params.iter().any(|value| value.size() > WRITTEN_MAX_BYTES) {
            let ((text, arguments), bytes) = (bound(call)?, bytes_of(call));
            return self
                .own(self.patience, |mut connection| async move {
                    if let Err(fault) = must_fit(&mut connection, bytes).await {
                        return (connection, Err(fault));
                    }
                    let query = sqlx::query_with(for_sqlx(text), arguments).persistent(false);
                    let answer = gather(connection.fetch_many(query)).await.map(last);
                    (connection, answer)
                })
                .await;
        }
        let text = written(call)?;
        Ok(last(self.texts(text).await?))
    }

    async fn run_all(&mut self, calls: &[Call<'_>]) -> Result<Vec<Answer>, Fault> {
        let mut answers = Vec::with_capacity(calls.len());
        for trip in trips(calls)? {
            match trip {
                Trip::Text(text) => answers.extend(self.texts(text).await?),
                Trip::Bound(call) => answers.push(self.run(call).await?),
            }
        }
        all_of(calls, answers)
    }

    async fn run_as_one(&mut self, calls: &[Call<'_>]) -> Result<Vec<Row>, Fault> {
        let answers = match self.blocks && calls.iter().all(fits_in_a_text) {
            true => self.texts(block_written(calls)?).await?,
            false => self.run_all(calls).await?,
        };
        Ok(last_rows(answers))
    }

    fn has_blocks(&self) -> bool {
        self.blocks
    }
}

/// The limit is set up in the task: a runtime that is not the caller's has a clock of its own.
async fn timeout_after<T>(limit: Duration, work: impl Future<Output = T>) -> Option<T> {
    timeout(limit, work).await.ok()
}

/// What goes to the server at once.
pub(crate) enum Trip<'c> {
    /// Several statements as one text.
    Text(String),
    /// One that is too large for that.
    Bound(&'c Call<'c>),
}

/// Whether the parameters may be written into the text, which doubles their size.
pub(crate) fn fits_in_a_text(call: &Call<'_>) -> bool {
    call.params.iter().map(tenure_sql::Value::size).sum::<usize>() <= WRITTEN_MAX_BYTES
}

/// Statements in as few trips as can be.
pub(crate) fn trips<'c>(calls: &'c [Call<'c>]) -> Result<Vec<Trip<'c>>, Fault> {
    let (mut trips, mut text) = (Vec::new(), String::new());
    for call in calls {
        if !fits_in_a_text(call) {
            if !text.is_empty() {
                trips.push(Trip::Text(std::mem::take(&mut text)));
            }
            trips.push(Trip::Bound(call));
            continue;
        }
        write_to(&mut text, call)?;
        text.push_str(";\n");
        if text.len() > TEXT_MAX_BYTES {
            trips.push(Trip::Text(std::mem::take(&mut text)));
        }
    }
    if !text.is_empty() {
        trips.push(Trip::Text(text));
    }
    Ok(trips)
}

/// The answers, if there is one to each statement. Otherwise nobody knows what took effect.
pub(crate) fn all_of(calls: &[Call<'_>], answers: Vec<Answer>) -> Result<Vec<Answer>, Fault> {
    if answers.len() == calls.len() {
        return Ok(answers);
    }
    Err(Fault::new(FaultKind::Gone, "the server answered other statements than were asked"))
}

/// About how much is sent for a call whose values are bound.
pub(crate) fn bytes_of(call: &Call<'_>) -> usize {
    call.sql.len() + call.params.iter().map(tenure_sql::Value::size).sum::<usize>() + PACKET_BYTES
}

/// Refuses what the server does not take in one piece, before it is sent.
pub(crate) async fn must_fit(connection: &mut MySqlConnection, bytes: usize) -> Result<(), Fault> {
    if bytes < ASK_MIN_BYTES {
        return Ok(());
    }
    let rows = gather(sqlx::raw_sql(PACKET_MAX).fetch_many(connection)).await.map(last)?.rows;
    let most = rows.first().and_then(|row| row.number("most").ok().flatten());
    match most.and_then(|most| usize::try_from(most).ok()) {
        Some(most) if bytes >= most => Err(too_large(bytes, most)),
        _ => Ok(()),
    }
}

pub(crate) async fn run_text(connection: &mut MySqlConnection, text: String) -> Result<Vec<Answer>, Fault> {
    must_fit(connection, text.len()).await?;
    gather(sqlx::raw_sql(for_sqlx(text)).fetch_many(connection)).await
}

/// The answers of all statements, in order.
pub(crate) async fn gather(
    mut results: impl futures_util::Stream<Item = Result<Either<MySqlQueryResult, MySqlRow>, sqlx::Error>> + Unpin,
) -> Result<Vec<Answer>, Fault> {
    let mut answers = Vec::new();
    let mut rows: Vec<Row> = Vec::new();
    let mut shape: Option<Shape> = None;
    loop {
        let item = match results.try_next().await {
            Ok(Some(item)) => item,
            Ok(None) => return Ok(answers),
            Err(error) => return Err(fault(&error).after(answers)),
        };
        match item {
            Either::Right(row) => {
                rows.push(shape.get_or_insert_with(|| Shape::of(&row)).row(&row));
            }
            Either::Left(done) => {
                let given = i64::try_from(done.last_insert_id()).ok().filter(|given| *given > 0);
                let rows = std::mem::take(&mut rows);
                answers.push(Answer { rows, changed: done.rows_affected(), given });
                shape = None;
            }
        }
    }
}

pub(crate) fn last(answers: Vec<Answer>) -> Answer {
    answers.into_iter().next_back().unwrap_or_default()
}
