//! A book: one loan has it at a time.

use serde::{Deserialize, Serialize};
use tenure::entity::{Aggregate, Rejection};

/// A book, by the loan that has it.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Book {
    loan: Option<String>,
    lent: u64,
}

/// What a book is asked.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub enum BookCommand {
    /// To be kept for a loan.
    Reserve {
        /// The loan.
        loan: String,
    },
    /// To stand on its shelf again.
    PutBack {
        /// The loan that had it.
        loan: String,
    },
}

/// What happened to a book.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum BookEvent {
    /// It is kept for a loan.
    Reserved {
        /// The loan.
        loan: String,
    },
    /// Another loan has it.
    Refused {
        /// The loan that does not get it.
        loan: String,
    },
    /// It stands on its shelf again.
    PutBack {
        /// The loan that had it.
        loan: String,
    },
}

impl Aggregate for Book {
    const KIND: &'static str = "book";
    type Command = BookCommand;
    type Event = BookEvent;

    fn handle(&self, command: BookCommand) -> Result<Vec<BookEvent>, Rejection> {
        Ok(match command {
            BookCommand::Reserve { loan } if self.loan.is_none() => vec![BookEvent::Reserved { loan }],
            // That a book is lent is no error: the loan has to hear of it, and an event is what it hears of.
            BookCommand::Reserve { loan } => vec![BookEvent::Refused { loan }],
            BookCommand::PutBack { loan } if self.loan.as_ref() == Some(&loan) => {
                vec![BookEvent::PutBack { loan }]
            }
            BookCommand::PutBack { loan } => {
                return Err(Rejection::new(format!("the book is not with the loan {loan}")));
            }
        })
    }

    fn apply(&mut self, event: &BookEvent) {
        match event {
            BookEvent::Reserved { loan } => {
                self.loan = Some(loan.clone());
                self.lent += 1;
            }
            BookEvent::Refused { .. } => {}
            BookEvent::PutBack { .. } => self.loan = None,
        }
    }

    fn to_snapshot(&self) -> Option<String> {
        tenure::json::to_string(self).ok()
    }

    fn from_snapshot(text: &str) -> Option<Self> {
        tenure::json::from_str(text).ok()
    }
}

#[cfg(test)]
mod tests {
    use tenure::testing::aggregate;

    use super::*;

    fn loan() -> String {
        "7".into()
    }

    #[test]
    fn one_loan_has_it_at_a_time() {
        let reserve = |loan: &str| BookCommand::Reserve { loan: loan.into() };
        aggregate::<Book>().when(reserve("7")).then_events([BookEvent::Reserved { loan: loan() }]);
        let taken = [BookEvent::Reserved { loan: loan() }];
        let refused = BookEvent::Refused { loan: "8".into() };
        aggregate::<Book>().given(taken.clone()).when(reserve("8")).then_events([refused]);
        let back = BookEvent::PutBack { loan: loan() };
        aggregate::<Book>()
            .given(taken.into_iter().chain([back]))
            .when(reserve("8"))
            .then_events([BookEvent::Reserved { loan: "8".into() }]);
    }

    #[test]
    fn only_the_loan_that_has_it_puts_it_back() {
        aggregate::<Book>().when(BookCommand::PutBack { loan: loan() }).then_rejected("not with the loan 7");
    }
}
