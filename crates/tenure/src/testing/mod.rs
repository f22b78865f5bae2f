//! A kit for tests of one's own (feature `testing`): what an aggregate or a process decides, and what becomes of a service
//! when a call to the store fails at the worst moment.
//!
//! ```
//! # use serde::{Deserialize, Serialize};
//! # use tenure::entity::{Aggregate, Rejection};
//! # #[derive(Debug, Clone, Default)] struct Book { lent: bool }
//! # #[derive(Clone, Serialize, Deserialize)] enum BookCommand { Lend }
//! # #[derive(Serialize, Deserialize)] enum BookEvent { Lent }
//! # impl Aggregate for Book {
//! #     const KIND: &'static str = "book";
//! #     type Command = BookCommand; type Event = BookEvent;
//! #     fn handle(&self, _: BookCommand) -> Result<Vec<BookEvent>, Rejection> {
//! #         if self.lent { Err("the book is lent already".into()) } else { Ok(vec![BookEvent::Lent]) }
//! #     }
//! #     fn apply(&mut self, _: &BookEvent) { self.lent = true; }
//! # }
//! use tenure::testing::aggregate;
//!
//! aggregate::<Book>().when(BookCommand::Lend).then_events([BookEvent::Lent]);
//! aggregate::<Book>().given([BookEvent::Lent]).when(BookCommand::Lend).then_rejected("lent already");
//! ```
//!
//! [`Faults`] wraps a store. With it a test lets a relay die between sending a message and marking it as sent, or a reader
//! between handling an event and moving its checkpoint:
//!
//! ```
//! use tenure::testing::{Call, Fault, Faults};
//!
//! let faults = Faults::new();
//! // The next record never reaches the store; of the one after it, the answer is lost.
//! faults.next(Call::Record, Fault::Before).next(Call::Record, Fault::After);
//! ```

mod faulty;
mod given;

pub use faulty::{Call, Fault, Faults};
pub use given::{Given, Then, aggregate, process};
