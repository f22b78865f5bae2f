//! The messages that an entity remembers in memory.

use std::collections::{HashMap, VecDeque};

use uuid::Uuid;

use crate::outbox::MessageId;

/// How many messages an entity remembers unless it says otherwise.
pub const WINDOW_DEFAULT: usize = 1024;

/// A bounded set of messages: the oldest is forgotten for the newest. A hint only: what it has forgotten, the inbox knows.
#[derive(Debug, Clone)]
pub struct Window {
    order: VecDeque<MessageId>,
    /// With what stands for its content, where that is known.
    known: HashMap<MessageId, Option<Uuid>>,
    capacity: usize,
}

impl Window {
    /// Remembers at most so many.
    pub fn new(capacity: usize) -> Self {
        Self { order: VecDeque::new(), known: HashMap::new(), capacity }
    }

    /// Remembers a message.
    pub fn add(&mut self, id: MessageId) {
        self.add_with(id, None);
    }

    /// Remembers a message, and what stands for its content.
    pub fn add_with(&mut self, id: MessageId, fingerprint: Option<Uuid>) {
        if self.capacity == 0 || self.known.contains_key(&id) {
            return;
        }
        self.known.insert(id, fingerprint);
        self.order.push_back(id);
        if self.order.len() > self.capacity
            && let Some(oldest) = self.order.pop_front()
        {
            self.known.remove(&oldest);
        }
    }

    /// Whether a message is remembered.
    pub fn contains(&self, id: MessageId) -> bool {
        self.known.contains_key(&id)
    }

    /// Whether this very message is remembered: not so when its content is known to be another.
    pub fn knows(&self, id: MessageId, fingerprint: Option<Uuid>) -> bool {
        self.known
            .get(&id)
            .is_some_and(|known| known.is_none() || fingerprint.is_none() || *known == fingerprint)
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    fn id(number: u128) -> MessageId {
        Uuid::from_u128(number).into()
    }

    #[test]
    fn b3_the_oldest_is_forgotten_first_and_a_repeated_one_takes_no_room() {
        let mut window = Window::new(2);
        for number in [1, 2, 2, 2] {
            window.add(id(number));
        }
        assert!(window.contains(id(1)) && window.contains(id(2)));
        window.add(id(3));
        assert!(!window.contains(id(1)) && window.contains(id(2)) && window.contains(id(3)));
        let (one, other) = (Some(Uuid::from_u128(1)), Some(Uuid::from_u128(2)));
        window.add_with(id(4), one);
        assert!(window.knows(id(4), one) && window.knows(id(4), None) && !window.knows(id(4), other));
        assert!(window.knows(id(3), other), "what it was made of is not known");
        let mut none = Window::new(0);
        none.add(id(1));
        assert!(!none.contains(id(1)));
    }
}
