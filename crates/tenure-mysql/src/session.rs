//! Statements on a connection of ours.
//!
//! Every call runs in a task that owns the connection. Whoever waits may go away, or lose patience with a server that is
//! silent: the task then ends with its connection, and never half-way on one that is used again (law 12).

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use futures_util::TryStreamExt as _;
use sqlx::mysql::{MySqlConnection, MySqlQueryResult, MySqlRow};
use sqlx::{AssertSqlSafe, Either, Executor as _};
use tenure_sql::{Answer, Call, Fault, FaultKind, Row, Session};
use tokio::runtime::Handle;
use tokio::time::timeout;

use crate::error::fault;
use crate::literal::{bound, written};
use crate::rows;

/// A value above this is bound and not written into the text, which would double it.
pub(crate) const WRITTEN_MAX_BYTES: usize = 256 * 1024;

/// A connection with a runtime of its own.
#[derive(Debug)]
pub(crate) struct Link {
    /// `None` once it is broken.
    connection: Option<MySqlConnection>,
    handle: Handle,
    /// How long an answer is waited for before the link counts as dead.
    patience: Duration,
}

impl Link {
    pub(crate) fn new(connection: MySqlConnection, handle: Handle, patience: Duration) -> Self {
        Self { connection: Some(connection), handle, patience }
    }

    pub(crate) fn is_broken(&self) -> bool {
        self.connection.is_none()
    }

    /// The same with another limit to what is waited for.
    pub(crate) fn with_patience(mut self, patience: Duration) -> Self {
        self.patience = patience;
        self
    }

    /// Closes it in an orderly way, without waiting for that.
    pub(crate) fn close(mut self) {
        if let Some(connection) = self.connection.take() {
            self.handle.spawn(sqlx::Connection::close(connection));
        }
    }

    /// Asks for a sign of life.
    pub(crate) async fn ping(&mut self) -> Result<(), Fault> {
        self.own(|mut connection| async move {
            let alive = sqlx::Connection::ping(&mut connection).await;
            (connection, alive.map_err(|error| fault(&error)))
        })
        .await
    }

    /// Runs texts as they are.
    pub(crate) async fn texts(&mut self, text: String) -> Result<Vec<Answer>, Fault> {
        self.own(|mut connection| async move {
            let answers = run_text(&mut connection, text).await;
            (connection, answers)
        })
        .await
    }

    /// Lends the connection to a task, and has it back when the task ends.
    async fn own<T, F>(&mut self, work: impl FnOnce(MySqlConnection) -> F) -> Result<T, Fault>
    where
        T: Send + 'static,
        F: Future<Output = (MySqlConnection, Result<T, Fault>)> + Send + 'static,
    {
        let broken = || Fault::new(FaultKind::Gone, "the connection is broken");
        let connection = self.connection.take().ok_or_else(broken)?;
        let mut task = self.handle.spawn(work(connection));
        let Ok(ended) = timeout(self.patience, &mut task).await else {
            // The task owns the connection: they end together.
            task.abort();
            return Err(Fault::new(FaultKind::Gone, format!("no answer within {:?}", self.patience)));
        };
        let (connection, outcome) = ended.map_err(|_| broken())?;
        if !matches!(&outcome, Err(fault) if fault.kind == FaultKind::Gone) {
            self.connection = Some(connection);
        }
        outcome
    }
}

#[async_trait]
impl Session for Link {
    async fn run(&mut self, call: &Call<'_>) -> Result<Answer, Fault> {
        if call.params.iter().any(|value| value.size() > WRITTEN_MAX_BYTES) {
            let (text, arguments) = bound(call)?;
            return self
                .own(|mut connection| async move {
                    let query = sqlx::query_with(AssertSqlSafe(text), arguments).persistent(false);
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
        let mut text = String::new();
        for call in calls {
            if size(call) > WRITTEN_MAX_BYTES {
                if !text.is_empty() {
                    answers.extend(self.texts(std::mem::take(&mut text)).await?);
                }
                answers.push(self.run(call).await?);
                continue;
            }
            text.push_str(&written(call)?);
            text.push_str(";\n");
        }
        if !text.is_empty() {
            answers.extend(self.texts(text).await?);
        }
        if answers.len() == calls.len() {
            return Ok(answers);
        }
        Err(Fault::new(FaultKind::Other, "the server answered other statements than were asked"))
    }
}

async fn run_text(connection: &mut MySqlConnection, text: String) -> Result<Vec<Answer>, Fault> {
    gather(sqlx::raw_sql(AssertSqlSafe(text)).fetch_many(connection)).await
}

/// The answers of all statements, in order.
pub(crate) async fn gather(
    mut results: impl futures_util::Stream<Item = Result<Either<MySqlQueryResult, MySqlRow>, sqlx::Error>> + Unpin,
) -> Result<Vec<Answer>, Fault> {
    let mut answers = Vec::new();
    let mut rows: Vec<Row> = Vec::new();
    let mut names: Option<Arc<[String]>> = None;
    while let Some(item) = results.try_next().await.map_err(|error| fault(&error))? {
        match item {
            Either::Right(row) => {
                let names = names.get_or_insert_with(|| rows::names(&row));
                rows.push(rows::row(&row, names));
            }
            Either::Left(done) => {
                answers.push(Answer { rows: std::mem::take(&mut rows), changed: done.rows_affected() });
                names = None;
            }
        }
    }
    Ok(answers)
}

/// How many bytes the values of a statement hold, about.
pub(crate) fn size(call: &Call<'_>) -> usize {
    call.params.iter().map(tenure_sql::Value::size).sum()
}

pub(crate) fn last(answers: Vec<Answer>) -> Answer {
    answers.into_iter().next_back().unwrap_or_default()
}
