//! Statements in a transaction of the user's own: parameters are bound, and nothing of the session is changed.

use async_trait::async_trait;
use sqlx::mysql::MySqlConnection;
use sqlx::{AssertSqlSafe, Executor as _};
use tenure_sql::{Answer, Call, Fault, Session, Value};

use crate::literal::bound;
use crate::session::{gather, last};

/// A connection that is lent to us.
#[derive(Debug)]
pub(crate) struct Joined<'c>(pub(crate) &'c mut MySqlConnection);

#[async_trait]
impl Session for Joined<'_> {
    async fn run(&mut self, call: &Call<'_>) -> Result<Answer, Fault> {
        // What has nothing to bind goes as it is: some statements cannot be prepared.
        if call.params.is_empty() {
            return gather(sqlx::raw_sql(AssertSqlSafe(call.sql)).fetch_many(&mut *self.0)).await.map(last);
        }
        let (text, arguments) = bound(call)?;
        // A text that differs from call to call would only push others out of what the connection keeps prepared.
        let varies =
            |value: &Value| matches!(value, Value::List(_) | Value::Rows(_) | Value::Branches { .. });
        let query = sqlx::query_with(AssertSqlSafe(text), arguments);
        let query = query.persistent(!call.params.iter().any(varies));
        gather(self.0.fetch_many(query)).await.map(last)
    }
}
