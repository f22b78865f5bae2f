//! The inbox: the receiver's durable set, in its own transaction.

use futures_util::io::{AsyncRead, AsyncWrite};
use tenure_core::StoreError;
use tenure_core::lease::SettingsError;
use tenure_core::outbox::{Accept, Consumer, InboxSettings, Message, MessageId};
use tiberius::Client;

use crate::joined::Joined;
use crate::store::SqlServerStore;

/// Tells messages that took effect from those that did not, in transactions of the receiver's own. Cheap to clone; got by
/// [`SqlServerStore::inbox`].
///
/// Begin a transaction, accept first, then write, then commit: the note and the effect are there both, or neither is. Of two
/// transactions that accept the same message at once, the second waits for the first, and is answered when that has ended.
///
/// A user that receives needs SELECT and INSERT on `tenure_inbox`. Calls must run to their end: a connection on which one was
/// broken off cannot be used any more.
#[derive(Debug, Clone)]
pub struct Inbox(tenure_sql::Inbox);

impl SqlServerStore {
    /// What accepts messages in the receiver's own transactions; cheap to clone.
    ///
    /// Refused when it would forget a message that may still come again. How long rows really are kept is the sweeper's
    /// [`Retention`](tenure_core::outbox::Retention); give both the same.
    pub fn inbox(&self, settings: InboxSettings) -> Result<Inbox, SettingsError> {
        Ok(Inbox(self.sql().inbox(settings)?))
    }
}

impl Inbox {
    /// How long it remembers, and for whom.
    pub fn settings(&self) -> &InboxSettings {
        self.0.settings()
    }

    /// Accepts a message in the transaction that is open on this connection of tiberius.
    ///
    /// ```no_run
    /// # async fn example(
    /// #     client: &mut tiberius::Client<tokio_util::compat::Compat<tokio::net::TcpStream>>,
    /// #     inbox: tenure_sqlserver::Inbox, id: tenure_core::outbox::MessageId,
    /// # ) -> Result<(), Box<dyn std::error::Error>> {
    /// use tenure_core::outbox::{Accept, Consumer};
    ///
    /// let consumer = Consumer::new("billing")?;
    /// client.begin_transaction().await?;
    /// if inbox.accept(client, &consumer, id).await? == Accept::Fresh {
    ///     client.execute("UPDATE accounts SET due = due + 12 WHERE id = 7", &[]).await?;
    /// }
    /// client.commit_transaction().await?;
    /// # Ok(())
    /// # }
    /// ```
    pub async fn accept<S>(
        &self,
        client: &mut Client<S>,
        consumer: &Consumer,
        id: MessageId,
    ) -> Result<Accept, StoreError>
    where
        S: AsyncRead + AsyncWrite + Unpin + Send,
    {
        self.0.accept(&mut Joined::new(client), consumer, id).await
    }

    /// The same with the whole message: one that says something else under an id that was accepted is told from a duplicate.
    pub async fn accept_message<S>(
        &self,
        client: &mut Client<S>,
        consumer: &Consumer,
        message: &Message,
    ) -> Result<Accept, StoreError>
    where
        S: AsyncRead + AsyncWrite + Unpin + Send,
    {
        self.0.accept_message(&mut Joined::new(client), consumer, message).await
    }

    /// Notes a refusal, in a transaction of its own after the one with the handler's writes was rolled back, so that a
    /// retry gets the same answer; what is settled stays.
    ///
    /// Answers what stands: [`Accept::Refused`], with the reason of an earlier refusal where there is one, or
    /// [`Accept::Duplicate`] when the message took effect before.
    pub async fn refuse<S>(
        &self,
        client: &mut Client<S>,
        consumer: &Consumer,
        id: MessageId,
        reason: &str,
    ) -> Result<Accept, StoreError>
    where
        S: AsyncRead + AsyncWrite + Unpin + Send,
    {
        self.0.refuse(&mut Joined::new(client), consumer, id, reason).await
    }
}
