//! Ids for messages that were given none.

use tenure_core::outbox::MessageId;
use uuid::Uuid;

/// An id that nobody has. Later ones are greater: the index of ids grows at its end, where a random one would touch another page each
/// time.
pub fn fresh_id() -> MessageId {
    Uuid::now_v7().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn later_ids_are_greater_also_as_texts() {
        let ids: Vec<String> = (0..1000).map(|_| fresh_id().to_string()).collect();
        assert!(ids.windows(2).all(|pair| pair[0] < pair[1]));
    }
}
