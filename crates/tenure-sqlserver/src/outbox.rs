//! Enqueueing: in the user's own transaction, so that a message is sent exactly if the data it speaks of is there.

use futures_util::io::{AsyncRead, AsyncWrite};
use tenure_core::contract::EnqueueError;
use tenure_core::outbox::{Enqueued, Limits, NewMessage};
use tiberius::Client;

use crate::joined::Joined;
use crate::store::SqlServerStore;

/// Enqueues messages in transactions of the user's own. Cheap to clone; got by [`SqlServerStore::outbox`].
///
/// A message is sent exactly if the transaction commits. Enqueueing the same message again, by its id, does nothing; one
/// with the same id that says something else is an error, and leaves the transaction as it was. Trace headers
/// (`traceparent`, `tracestate`) are not part of what a message says. Of two transactions that enqueue the same id at
/// once, the second waits for the first.
///
/// A program in any language may insert a row by itself as well; topic, type and payload are enough:
///
/// ```sql
/// INSERT INTO tenure_outbox (topic, type, payload) VALUES (N'orders', N'OrderPlaced', N'{"order": 7}');
/// ```
///
/// A user that enqueues needs INSERT and SELECT on `tenure_outbox`, `tenure_outbox_arrivals` and `tenure_outbox_pending`. (A plain insert needs INSERT on
/// the first alone.)
///
/// Calls must run to their end: a connection on which one was broken off cannot be used any more.
#[derive(Debug, Clone)]
pub struct Outbox(tenure_sql::Outbox);

impl SqlServerStore {
    /// What enqueues messages in the user's own transactions; cheap to clone.
    pub fn outbox(&self) -> Outbox {
        Outbox(self.sql().outbox())
    }
}

impl Outbox {
    /// The same with other limits than the default ones.
    #[must_use]
    pub fn with_limits(&self, limits: Limits) -> Self {
        Self(self.0.with_limits(limits))
    }

    /// Enqueues a message in the transaction that is open on this connection of tiberius. Without one, the message is
    /// committed at once, and a relay puts it into the queue.
    ///
    /// ```no_run
    /// # async fn example(
    /// #     client: &mut tiberius::Client<tokio_util::compat::Compat<tokio::net::TcpStream>>,
    /// #     outbox: tenure_sqlserver::Outbox,
    /// # ) -> Result<(), Box<dyn std::error::Error>> {
    /// use tenure_core::outbox::NewMessage;
    ///
    /// client.begin_transaction().await?;
    /// client.execute("UPDATE orders SET state = 'placed' WHERE id = 7", &[]).await?;
    /// let message = NewMessage::json("orders", "OrderPlaced", r#"{"order":7}"#).from_source("order-7");
    /// outbox.enqueue(client, &message).await?;
    /// client.commit_transaction().await?;
    /// # Ok(())
    /// # }
    /// ```
    pub async fn enqueue<S>(
        &self,
        client: &mut Client<S>,
        message: &NewMessage,
    ) -> Result<Enqueued, EnqueueError>
    where
        S: AsyncRead + AsyncWrite + Unpin + Send,
    {
        self.0.enqueue(&mut Joined::new(client), message).await
    }

    /// Enqueues messages in that transaction, in few round trips however many they are: all, or none and the transaction is
    /// as before. Those of one source are ordered as they are given, unless they have sequences.
    ///
    /// Many need several statements (from some hundreds or some megabytes on): on a connection without a transaction
    /// those are refused.
    pub async fn enqueue_all<S>(
        &self,
        client: &mut Client<S>,
        messages: &[NewMessage],
    ) -> Result<Vec<Enqueued>, EnqueueError>
    where
        S: AsyncRead + AsyncWrite + Unpin + Send,
    {
        self.0.enqueue_all(&mut Joined::new(client), messages).await
    }
}
