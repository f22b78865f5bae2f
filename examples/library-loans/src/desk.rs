//! The desk of a library, where books are handed out and taken in.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use tenure::entity::{Aggregate, Rejection};

/// A desk, by the books that are out.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Desk {
    out: BTreeMap<String, String>,
}

/// What a desk is asked.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub enum DeskCommand {
    /// To hand a book out.
    HandOut {
        /// The loan.
        loan: String,
        /// The book.
        book: String,
    },
    /// To take it in again.
    TakeIn {
        /// The loan.
        loan: String,
    },
}

/// What happened at a desk.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum DeskEvent {
    /// A book was handed out.
    HandedOut {
        /// The loan.
        loan: String,
        /// The book.
        book: String,
    },
    /// It was taken in.
    TakenIn {
        /// The loan.
        loan: String,
    },
}

impl Aggregate for Desk {
    const KIND: &'static str = "desk";
    type Command = DeskCommand;
    type Event = DeskEvent;

    fn handle(&self, command: DeskCommand) -> Result<Vec<DeskEvent>, Rejection> {
        match command {
            DeskCommand::HandOut { loan, .. } if self.out.contains_key(&loan) => {
                Err(Rejection::new(format!("the loan {loan} has its book already")))
            }
            DeskCommand::HandOut { loan, book } => Ok(vec![DeskEvent::HandedOut { loan, book }]),
            DeskCommand::TakeIn { loan } if self.out.contains_key(&loan) => {
                Ok(vec![DeskEvent::TakenIn { loan }])
            }
            DeskCommand::TakeIn { loan } => Err(Rejection::new(format!("the loan {loan} has no book"))),
        }
    }

    fn apply(&mut self, event: &DeskEvent) {
        match event {
            DeskEvent::HandedOut { loan, book } => {
                self.out.insert(loan.clone(), book.clone());
            }
            DeskEvent::TakenIn { loan } => {
                self.out.remove(loan);
            }
        }
    }

    fn to_snapshot(&self) -> Option<String> {
        tenure::json::to_string(self).ok()
    }

    fn from_snapshot(text: &str) -> Option<Self> {
        tenure::json::from_str(text).ok()
    }
}
