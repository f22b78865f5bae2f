//! Statements in a transaction of the user's own: nothing of the session is changed.

use async_trait::async_trait;
use sqlx::mysql::MySqlConnection;
use sqlx::{AssertSqlSafe, Executor as _};
use tenure_sql::{Answer, Call, Fault, Session, Value};

use crate::literal::bound;
use crate::session::{Trip, all_of, gather, last, run_text, trips};

/// A connection that is lent to us.
#[derive(Debug)]
pub(crate) struct Joined<'c>(pub(crate) &'c mut MySqlConnection);

#[async_trait]
impl Session for Joined<'_> {
    /// Parameters are bound. What has none is sent as it is: not every statement can be prepared.
    async fn run(&mut self, call: &Call<'_>) -> Result<Answer, Fault> {
        if call.params.is_empty() {
            return run_text(self.0, call.sql.to_owned()).await.map(last);
        }
        let (text, arguments) = bound(call)?;
        // A text that differs from call to call would only push others out of what the connection keeps prepared.
        let varies =
            |value: &Value| matches!(value, Value::List(_) | Value::Rows(_) | Value::Branches { .. });
        let query = sqlx::query_with(AssertSqlSafe(text), arguments);
        let query = query.persistent(!call.params.iter().any(varies));
        gather(self.0.fetch_many(query)).await.map(last)
    }

    /// Several are one text, as on our own connections: the user's locks are held for the shorter.
    async fn run_all(&mut self, calls: &[Call<'_>]) -> Result<Vec<Answer>, Fault> {
        let mut answers = Vec::with_capacity(calls.len());
        for trip in trips(calls)? {
            match trip {
                Trip::Text(text) => answers.extend(run_text(self.0, text).await?),
                Trip::Bound(call) => answers.push(self.run(call).await?),
            }
        }
        all_of(calls, answers)
    }
}
