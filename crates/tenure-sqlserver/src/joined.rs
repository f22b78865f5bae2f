//! Statements in a transaction of the user's own: nothing of the session is changed, and each statement is a trip of its own,
//! because an error need not end a text there.

use async_trait::async_trait;
use futures_util::io::{AsyncRead, AsyncWrite};
use tenure_sql::{Answer, Call, Fault, Session};
use tiberius::Client;

use crate::batch::Batch;
use crate::session::run_batch;

/// A connection that is lent to us.
#[derive(Debug)]
pub(crate) struct Joined<'c, S: AsyncRead + AsyncWrite + Unpin + Send> {
    client: &'c mut Client<S>,
    /// How many rows the last statement concerned.
    changed: u64,
}

impl<'c, S: AsyncRead + AsyncWrite + Unpin + Send> Joined<'c, S> {
    pub(crate) fn new(client: &'c mut Client<S>) -> Self {
        Self { client, changed: 0 }
    }
}

#[async_trait]
impl<S: AsyncRead + AsyncWrite + Unpin + Send> Session for Joined<'_, S> {
    async fn run(&mut self, call: &Call<'_>) -> Result<Answer, Fault> {
        let mut batch = Batch::of(call)?;
        batch.follows(std::mem::take(&mut self.changed));
        let answers = run_batch(self.client, batch).await?;
        let answer = answers.into_iter().next_back().unwrap_or_default();
        self.changed = answer.changed;
        Ok(answer)
    }

    /// Each text has a scope of its own, and the server tells a number only in the scope in which it was given.
    fn knows_given(&self) -> bool {
        false
    }
}
