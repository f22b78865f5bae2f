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
pub(crate) struct Joined<'c, S: AsyncRead + AsyncWrite + Unpin + Send>(pub(crate) &'c mut Client<S>);

#[async_trait]
impl<S: AsyncRead + AsyncWrite + Unpin + Send> Session for Joined<'_, S> {
    async fn run(&mut self, call: &Call<'_>) -> Result<Answer, Fault> {
        let answers = run_batch(self.0, Batch::of(call)?).await?;
        Ok(answers.into_iter().next_back().unwrap_or_default())
    }
}
