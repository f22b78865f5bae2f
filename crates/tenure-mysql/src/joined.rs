//! Statements in a transaction of the user's own: nothing of the session is changed.
//!
//! Not its character set either. sqlx speaks utf8mb4; where the user has said `SET NAMES` of another one, the server reads
//! what is bound as that. Letters beyond ASCII are therefore written into the text, which says what they are. (A statement of
//! more than 256 KiB is always bound. What the server answers comes in the user's set: a text beyond ASCII may not be readable
//! then, and is refused as such.)

use std::sync::Arc;

use async_trait::async_trait;
use sqlx::Executor as _;
use sqlx::mysql::MySqlConnection;
use tenure_sql::{Answer, Call, Fault, Row, Session, Value, last_rows};

use crate::as_one::AsOne;
use crate::literal::{arguments, block_bound, bound, written};
use crate::session::{Trip, all_of, bytes_of, fits_in_a_text, gather, last, must_fit, run_text, trips};
use crate::statements::for_sqlx;

/// A connection that is lent to us.
#[derive(Debug)]
pub(crate) struct Joined<'c> {
    connection: &'c mut MySqlConnection,
    as_one: Option<&'c AsOne>,
}

impl<'c> Joined<'c> {
    pub(crate) fn new(connection: &'c mut MySqlConnection) -> Self {
        Self { connection, as_one: None }
    }

    pub(crate) fn with(connection: &'c mut MySqlConnection, as_one: &'c AsOne) -> Self {
        Self { connection, as_one: Some(as_one) }
    }

    /// Several as one statement; `None`, and nothing is sent, where there is none for them.
    async fn whole(&mut self, as_one: &AsOne, calls: &[Call<'_>]) -> Option<Result<Vec<Row>, Fault>> {
        let ascii = |value: &Value| !has_letters_beyond_ascii(value);
        if let Some(alone) = as_one.alone(calls) {
            let params = &calls[0].params;
            match &alone.routine {
                _ if params.iter().all(ascii) => {
                    let told = self.prepared(&alone.prepared, calls).await;
                    return Some(self.was_kept(as_one, told));
                }
                Some(routine) => {
                    let routine = Call::new(routine, params.clone());
                    return Some(self.run(&routine).await.map(|answer| answer.rows));
                }
                None => {}
            }
        }
        let mut params = calls.iter().flat_map(|call| &call.params);
        let same = params.all(|value| ascii(value) && !varies(value));
        match same && as_one.has_blocks() {
            true => {
                let told = self.block(calls).await;
                Some(self.was_kept(as_one, told))
            }
            false => None,
        }
    }

    /// Behind a statement that was to be kept prepared. What failed says nothing of whether it would have been.
    fn was_kept(&self, as_one: &AsOne, told: Result<Vec<Row>, Fault>) -> Result<Vec<Row>, Fault> {
        if told.is_ok() && sqlx::Connection::cached_statements_size(self.connection) == 0 {
            as_one.give_up("the connection keeps no statement prepared");
        }
        told
    }

    /// The first of these has all parameters of the text.
    async fn prepared(&mut self, text: &Arc<str>, calls: &[Call<'_>]) -> Result<Vec<Row>, Fault> {
        must_fit(self.connection, calls.iter().map(bytes_of).sum()).await?;
        let arguments = arguments(&calls[0].params)?;
        let query = sqlx::query_with(for_sqlx(Arc::clone(text)), arguments);
        gather(self.connection.fetch_many(query)).await.map(last_rows)
    }

    /// Prepared once: the server reads the text but the first time. So it is for texts that are always the same.
    async fn block(&mut self, calls: &[Call<'_>]) -> Result<Vec<Row>, Fault> {
        let (text, arguments) = block_bound(calls)?;
        must_fit(self.connection, calls.iter().map(bytes_of).sum()).await?;
        let query = sqlx::query_with(for_sqlx(text), arguments);
        gather(self.connection.fetch_many(query)).await.map(last_rows)
    }
}

#[async_trait]
impl Session for Joined<'_> {
    /// Parameters are bound where the text is always the same; the server keeps it prepared. A text that differs from call
    /// to call has them written into it: a statement that is prepared for one call alone is closed after it, which is not
    /// answered, and the next question waits 40 ms behind it until the server's system says that it has come.
    async fn run(&mut self, call: &Call<'_>) -> Result<Answer, Fault> {
        // What has nothing to bind goes as it is: some statements cannot be prepared.
        let varies = call.params.iter().any(varies);
        let written_out = varies || call.params.iter().any(has_letters_beyond_ascii);
        if call.params.is_empty() || (written_out && fits_in_a_text(call)) {
            return run_text(self.connection, written(call)?).await.map(last);
        }
        must_fit(self.connection, bytes_of(call)).await?;
        let (text, arguments) = bound(call)?;
        let query = sqlx::query_with(for_sqlx(text), arguments).persistent(!varies);
        gather(self.connection.fetch_many(query)).await.map(last)
    }

    /// Several are one text, as on our own connections: the user's locks are held for the shorter.
    async fn run_all(&mut self, calls: &[Call<'_>]) -> Result<Vec<Answer>, Fault> {
        let mut answers = Vec::with_capacity(calls.len());
        for trip in trips(calls)? {
            let told = match trip {
                Trip::Text(text) => run_text(self.connection, text).await,
                Trip::Bound(call) => self.run(call).await.map(|answer| vec![answer]),
            };
            match told {
                Ok(told) => answers.extend(told),
                Err(fault) => return Err(fault.after(answers)),
            }
        }
        all_of(calls, answers)
    }

    async fn run_as_one(&mut self, calls: &[Call<'_>]) -> Result<Vec<Row>, Fault> {
        if let Some(as_one) = self.as_one.filter(|as_one| as_one.pays())
            && let Some(told) = self.whole(as_one, calls).await
        {
            match told {
                Err(fault) if as_one.is_refused_by(&fault) => {}
                told => return told,
            }
        }
        Ok(last_rows(self.run_all(calls).await?))
    }

    fn has_blocks(&self) -> bool {
        self.as_one.is_some_and(AsOne::pays)
    }

    fn in_transaction(&self) -> bool {
        sqlx::Connection::is_in_transaction(self.connection)
    }
}

/// Whether the text depends on how many values there are. One row is what is mostly inserted, and worth preparing.
fn varies(value: &Value) -> bool {
    match value {
        Value::Rows(rows) => rows.len() > 1,
        Value::List(list) => list.len() > 1,
        Value::Branches { .. } | Value::Expression { .. } => true,
        _ => false,
    }
}

/// Whether a text in it means another one in another character set.
fn has_letters_beyond_ascii(value: &Value) -> bool {
    match value {
        Value::Text(text) => !text.is_ascii(),
        Value::List(list) => list.iter().any(has_letters_beyond_ascii),
        Value::Rows(rows) => rows.iter().flatten().any(has_letters_beyond_ascii),
        Value::Branches { each, .. } => each.iter().flatten().any(has_letters_beyond_ascii),
        Value::Expression { params, .. } => params.iter().any(has_letters_beyond_ascii),
        _ => false,
    }
}
