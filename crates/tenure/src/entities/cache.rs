//! Entities in memory, and the turn that commands for one of them take.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use tenure_core::entity::{Behaviour, Replayed};
use tenure_core::event::StreamName;
use tokio::sync::Mutex as Turn;

/// An entity's place. Who has the turn takes the entity out and puts it back when it knows its state: should it be
/// dropped in between, the entity is loaded anew.
pub(super) type Slot<B> = Arc<Turn<Option<Replayed<B>>>>;

#[derive(Debug)]
pub(super) struct Cache<B: Behaviour> {
    slots: Mutex<Slots<B>>,
    capacity: usize,
}

#[derive(Debug)]
struct Slots<B: Behaviour> {
    by_stream: HashMap<StreamName, (Slot<B>, u64)>,
    /// Counts uses: what was used longest ago is forgotten first.
    uses: u64,
}

impl<B: Behaviour> Cache<B> {
    pub(super) fn new(capacity: usize) -> Self {
        Self { slots: Mutex::new(Slots { by_stream: HashMap::new(), uses: 0 }), capacity }
    }

    /// The place of an entity. Holding its turn makes commands for it wait.
    pub(super) fn slot(&self, stream: &StreamName) -> Slot<B> {
        let mut slots = self.slots.lock().unwrap_or_else(PoisonError::into_inner);
        slots.uses += 1;
        let now = slots.uses;
        if let Some((slot, used)) = slots.by_stream.get_mut(stream) {
            *used = now;
            return slot.clone();
        }
        if slots.by_stream.len() >= self.capacity.saturating_mul(2).max(16) {
            slots.forget(self.capacity);
        }
        let slot = Slot::<B>::default();
        slots.by_stream.insert(stream.clone(), (slot.clone(), now));
        slot
    }
}

impl<B: Behaviour> Slots<B> {
    /// Keeps the `keep` entities that were used last, and those that someone works with.
    fn forget(&mut self, keep: usize) {
        let mut uses: Vec<_> = self.by_stream.values().map(|(_, used)| *used).collect();
        uses.sort_unstable_by(|one, other| other.cmp(one));
        let oldest = keep.checked_sub(1).and_then(|at| uses.get(at).copied()).unwrap_or(u64::MAX);
        self.by_stream.retain(|_, (slot, used)| *used >= oldest || Arc::strong_count(slot) > 1);
    }
}

#[cfg(test)]
mod tests {
    use serde::{Deserialize, Serialize};
    use tenure_core::entity::{Aggregate, AggregateOf, Rejection};

    use super::*;

    #[derive(Debug, Clone, Default)]
    struct Thing;

    #[derive(Clone, Serialize, Deserialize)]
    enum Nothing {}

    impl Aggregate for Thing {
        const KIND: &'static str = "thing";
        type Command = Nothing;
        type Event = Nothing;
        fn handle(&self, _: Nothing) -> Result<Vec<Nothing>, Rejection> {
            Ok(Vec::new())
        }
        fn apply(&mut self, _: &Nothing) {}
    }

    #[test]
    fn what_is_in_use_is_never_forgotten_and_memory_is_bounded() {
        let cache: Cache<AggregateOf<Thing>> = Cache::new(8);
        let stream = |number: u32| StreamName::of("thing", &number.to_string()).unwrap();
        let held = cache.slot(&stream(0));
        for number in 1..1000 {
            cache.slot(&stream(number));
        }
        assert!(Arc::ptr_eq(&held, &cache.slot(&stream(0))), "two turns for one entity");
        assert!(cache.slots.lock().unwrap().by_stream.len() <= 18);
    }
}
