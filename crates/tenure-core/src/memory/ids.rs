//! Ids for messages that were given none.

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};

use uuid::{Builder, Uuid};

use crate::outbox::MessageId;

/// Ids that no other store and no other run has.
///
/// Chance is an input everywhere else in this crate. A memory store stands in for a database, which has its own: a
/// receiver's durable inbox would take the messages of the next run for those of this one.
#[derive(Debug)]
pub(super) struct FreshIds {
    seed: Uuid,
    count: u64,
}

impl Default for FreshIds {
    fn default() -> Self {
        let word = || u128::from(RandomState::new().build_hasher().finish());
        Self { seed: Uuid::from_u128(word() << 64 | word()), count: 0 }
    }
}

impl FreshIds {
    pub(super) fn next_id(&mut self) -> MessageId {
        self.count += 1;
        let bytes = Uuid::new_v5(&self.seed, &self.count.to_le_bytes()).into_bytes();
        MessageId::new(Builder::from_random_bytes(bytes).into_uuid())
    }
}
