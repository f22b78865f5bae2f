//! Enqueueing: in the user's own transaction, so that a message is sent exactly if the data it speaks of is there.

use std::sync::Arc;

use sqlx::mysql::MySqlConnection;
use tenure_core::contract::EnqueueError;
use tenure_core::outbox::{Enqueued, Limits, NewMessage};

use crate::as_one::AsOne;
use crate::joined::Joined;
use crate::store::MySqlStore;

/// Enqueues messages in transactions of the user's own. Cheap to clone; got by [`MySqlStore::outbox`].
///
/// A message is sent exactly if the transaction commits. Enqueueing the same message again, by its id, does nothing; one
/// with the same id that says something else is an error, and leaves the transaction as it was. (An error that says that the
/// transaction has to be rolled back means it: so it is where a message could neither be put into the queue nor taken out again.) Trace headers
/// (`traceparent`, `tracestate`) are not part of what a message says. Of two transactions that enqueue the same id at
/// once, the second waits for the first.
///
/// READ COMMITTED is recommended for such transactions. At REPEATABLE READ, which is the servers' default, a transaction that
/// enqueues an id that is there already also locks the gap before it in the index of ids, and until it ends whoever enqueues
/// an id that belongs there waits.
///
/// A program in any language may insert a row by itself as well; topic, type and payload are enough:
///
/// ```sql
/// INSERT INTO tenure_outbox (topic, type, payload) VALUES ('orders', 'OrderPlaced', '{"order": 7}');
/// ```
///
/// A user that enqueues needs INSERT and SELECT on `tenure_outbox`, and one of UPDATE, DELETE and LOCK TABLES, which MySQL asks
/// for to lock the row of a message that is there already; and INSERT and UPDATE on `tenure_outbox_arrivals` and `tenure_outbox_pending`, the
/// queue. On MySQL also EXECUTE on the procedure `tenure_outbox_enqueue`, or each message takes a little longer. (A plain insert needs
/// INSERT on `tenure_outbox` alone.)
#[derive(Debug, Clone)]
pub struct Outbox {
    common: tenure_sql::Outbox,
    as_one: Arc<AsOne>,
}

impl MySqlStore {
    /// What enqueues messages in the user's own transactions; cheap to clone.
    pub fn outbox(&self) -> Outbox {
        Outbox { common: self.sql().outbox(), as_one: self.as_one() }
    }
}

impl Outbox {
    /// The same with other limits than the default ones.
    #[must_use]
    pub fn with_limits(&self, limits: Limits) -> Self {
        Self { common: self.common.with_limits(limits), as_one: Arc::clone(&self.as_one) }
    }

    /// Enqueues a message in a transaction of sqlx. On a connection without one, the message is committed at once, and a relay
    /// puts it into the queue.
    ///
    /// ```no_run
    /// # async fn example(pool: sqlx::MySqlPool, outbox: tenure_mysql::Outbox) -> Result<(), Box<dyn std::error::Error>> {
    /// use tenure_core::outbox::NewMessage;
    ///
    /// let mut tx = pool.begin().await?;
    /// sqlx::query("UPDATE orders SET state = 'placed' WHERE id = 7").execute(&mut *tx).await?;
    /// let message = NewMessage::json("orders", "OrderPlaced", r#"{"order":7}"#).from_source("order-7");
    /// outbox.enqueue(&mut *tx, &message).await?;
    /// tx.commit().await?;
    /// # Ok(())
    /// # }
    /// ```
    pub async fn enqueue(
        &self,
        connection: &mut MySqlConnection,
        message: &NewMessage,
    ) -> Result<Enqueued, EnqueueError> {
        self.common.enqueue(&mut Joined::with(connection, &self.as_one), message).await
    }

    /// Enqueues messages in a transaction of sqlx, in few round trips however many they are: all, or none and the
    /// transaction is as before. Those of one source are ordered as they are given, unless they have sequences.
    ///
    /// Many need several statements (from some hundreds or some megabytes on): on a connection without a transaction
    /// those are refused.
    pub async fn enqueue_all(
        &self,
        connection: &mut MySqlConnection,
        messages: &[NewMessage],
    ) -> Result<Vec<Enqueued>, EnqueueError> {
        self.common.enqueue_all(&mut Joined::with(connection, &self.as_one), messages).await
    }
}
