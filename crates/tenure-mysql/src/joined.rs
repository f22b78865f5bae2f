//! Statements in a transaction of the user's own: parameters are bound, and nothing of the session is changed.

use async_trait::async_trait;
use sqlx::mysql::MySqlConnection;
use sqlx::{AssertSqlSafe, Executor as _};
use tenure_sql::{Answer, Call, Fault, Session, Value};

use crate::literal::{bound, written};
use crate::session::{WRITTEN_MAX_BYTES, gather, last, size};

/// A connection that is lent to us.
#[derive(Debug)]
pub(crate) struct Joined<'c>(pub(crate) &'c mut MySqlConnection);

#[async_trait]
impl Session for Joined<'_> {
    async fn run(&mut self, call: &Call<'_>) -> Result<Answer, Fault> {
        // What has nothing to bind goes as it is: some statements cannot be prepared. A text that differs from call to call
        // goes with its values in place, which hold nothing that could end early: to prepare it would cost two round
        // trips, and push others out of what the connection keeps prepared.
        let varies = call.params.iter().any(varies);
        if call.params.is_empty() || (varies && size(call) <= WRITTEN_MAX_BYTES) {
            let text = written(call)?;
            return gather(sqlx::raw_sql(AssertSqlSafe(text)).fetch_many(&mut *self.0)).await.map(last);
        }
        let (text, arguments) = bound(call)?;
        let query = sqlx::query_with(AssertSqlSafe(text), arguments).persistent(!varies);
        gather(self.0.fetch_many(query)).await.map(last)
    }
}

/// Whether the text depends on how many values there are. One row is what is mostly inserted, and worth preparing.
fn varies(value: &Value) -> bool {
    match value {
        Value::Rows(rows) => rows.len() > 1,
        Value::List(list) => list.len() > 1,
        Value::Branches { .. } => true,
        _ => false,
    }
}
