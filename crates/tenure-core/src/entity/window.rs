//! The messages that an entity remembers in memory.

use std::collections::{HashSet, VecDeque};

use crate::outbox::MessageId;

/// How many messages an entity remembers unless it says otherwise.
pub const WINDOW_DEFAULT: usize = 1024;

/// A bounded set of messages: the oldest is forgotten for the newest. A hint only: what it has forgotten, the inbox knows.
#[derive(Debug, Clone)]
pub struct Window {
    order: VecDeque<MessageId>,
    known: HashSet<MessageId>,
    capacity: usize,
}

impl Window {
    /// Remembers at most so many.
    pub fn new(capacity: usize) -> Self {
        Self { order: VecDeque::new(), known: HashSet::new(), capacity }
    }

    /// Remembers a message.
    pub fn add(&mut self, id: MessageId) {
        if self.capacity == 0 || !self.known.insert(id) {
            return;
        }
        self.order.push_back(id);
        if self.order.len() > self.capacity
            && let Some(oldest) = self.order.pop_front()
        {
            self.known.remove(&oldest);
        }
    }

    /// Whether a message is remembered.
    pub fn contains(&self, id: MessageId) -> bool {
        self.known.contains(&id)
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
        let mut none = Window::new(0);
        none.add(id(1));
        assert!(!none.contains(id(1)));
    }
}
