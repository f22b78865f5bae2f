//! Statements in a transaction of the user's own: nothing of the session is changed.
//!
//! Not its character set either. sqlx speaks utf8mb4; where the user has said `SET NAMES` of another one, the server reads
//! what is bound as that. Letters beyond ASCII are therefore written into the text, which says what they are. (A statement of
//! more than 256 KiB is always bound. What the server answers comes in the user's set: a text beyond ASCII may not be readable
//! then, and is refused as such.)

use std::sync::Arc;

use async_trait::async_trait;
use sqlx::Executor as _;
use sqlx::mysql::{MySqlArguments, MySqlConnection};
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
                    let bound = arguments(params).map(|arguments| (Arc::clone(&alone.prepared), arguments));
                    return Some(self.prepared(as_one, bound, calls).await);
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
                let bound = block_bound(calls).map(|(text, arguments)| (text.into(), arguments));
                Some(self.prepared(as_one, bound, calls).await)
            }
            false => None,
        }
    }

    /// A text that is always the same, with its values: the server reads it but the first time.
    async fn prepared(
        &mut self,
        as_one: &AsOne,
        bound: Result<(Arc<str>, MySqlArguments), Fault>,
        calls: &[Call<'_>],
    ) -> Result<Vec<Row>, Fault> {
        let (text, arguments) = bound?;
        must_fit(self.connection, calls.iter().map(bytes_of).sum()).await?;
        let query = sqlx::query_with(for_sqlx(text), arguments);
        let told = gather(self.connection.fetch_many(query)).await.map(last_rows)?;
        // What failed says nothing of whether it would have been kept.
        if sqlx::Connection::cached_statements_size(self.connection) == 0 {
            as_one.give_up("the connection keeps no statement prepared");
        }
        Ok(told)
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
