//! Ids for messages that were given none.

use tenure_core::outbox::MessageId;
use uuid::Uuid;

/// An id that nobody has. By chance and not by time: whoever looks for what is not there may hold the gap in which it would stand (at
/// REPEATABLE READ, or with HOLDLOCK), and ids that rise would all stand in one.
pub fn fresh_id() -> MessageId {
    Uuid::new_v4().into()
}
