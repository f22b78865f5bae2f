//! What the oracle is told about events: what became visible in the tables, and what readers and entities made of it.

use std::sync::Arc;

use tenure_core::event::{Append, AppendAnswer, Position, Recorded};
use tenure_core::outbox::{Consumer, MessageId};

/// Something that happened to events, or to those who read them.
#[derive(Debug, Clone)]
pub enum EventFact {
    /// A transaction means to write this.
    Begun {
        /// The transaction.
        transaction: u64,
        /// All of it, or nothing.
        append: Arc<Append>,
    },
    /// An event can be read.
    Visible {
        /// Whose it is.
        transaction: u64,
        /// The event.
        event: Arc<Recorded>,
    },
    /// A dispatch can be delivered.
    Sent {
        /// Whose it is.
        transaction: u64,
        /// Its id.
        id: MessageId,
    },
    /// A message is marked in the inbox.
    Marked {
        /// Whose mark it is.
        transaction: u64,
        /// Who receives.
        consumer: Consumer,
        /// The message.
        id: MessageId,
        /// Why it is refused; `None` when it takes effect.
        refused: Option<String>,
    },
    /// A caller was told what became of its append.
    Told {
        /// What it wanted.
        append: Arc<Append>,
        /// What it was told.
        answer: AppendAnswer,
    },
    /// A caller was told that its append can never happen, which nobody here deserves.
    Problem(String),
    /// The sender of a message was told what became of it.
    Verdict {
        /// Who received it.
        consumer: Consumer,
        /// The message.
        id: MessageId,
        /// Why it was refused; `None` when it was accepted.
        refused: Option<String>,
    },
    /// A subscription has handled an event.
    Handled {
        /// Which subscription.
        subscription: usize,
        /// The event.
        position: Position,
    },
    /// A projection has taken an event in, in the transaction of a step.
    Applied {
        /// Which subscription.
        subscription: usize,
        /// The event.
        position: Position,
    },
    /// A checkpoint was moved by a reader.
    Stepped {
        /// Whose.
        subscription: usize,
        /// Where it was.
        from: Position,
        /// Where it is.
        to: Position,
        /// What was put aside with it.
        parked: Vec<Position>,
    },
    /// A checkpoint was moved by an operator.
    Rewound {
        /// Whose.
        subscription: usize,
        /// Where it is.
        to: Position,
    },
}
