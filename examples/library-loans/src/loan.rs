//! A loan: the process that goes from one library to the other.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use tenure::HandleError;
use tenure::entity::{Dispatch, Process, Reaction, Rejection};
use tenure::event::{Recorded, Types};

use crate::{Book, BookCommand, BookEvent, Desk, DeskCommand, DeskEvent};

/// A loan, by how far it has come.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Loan {
    /// How far it has come.
    pub stage: Stage,
    id: String,
    book: String,
    desk: String,
    keep_ms: u64,
}

/// How far a loan has come.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Stage {
    /// Nobody has asked.
    #[default]
    New,
    /// The book was asked for.
    Requested,
    /// The book is reserved, and on its way to the desk.
    Approved,
    /// The reader has it.
    Lent,
    /// It is over.
    Returned,
    /// The book was with someone else.
    Refused,
}

/// What a loan is told.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub enum LoanCommand {
    /// By a reader: this book, at this desk.
    Request {
        /// The loan's own id.
        id: String,
        /// The book.
        book: String,
        /// Where it is handed out.
        desk: String,
        /// For how long it is kept.
        keep_ms: u64,
    },
    /// By a route: the book is reserved.
    Approve,
    /// By a route: the book is with someone else.
    Refuse,
    /// By a route: the reader has it.
    Lend,
    /// By itself, after a while.
    BringBack,
}

/// What happened to a loan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum LoanEvent {
    /// The book was asked for.
    Requested {
        /// The loan's own id.
        id: String,
        /// The book.
        book: String,
        /// Where it is handed out.
        desk: String,
        /// For how long it is kept.
        keep_ms: u64,
    },
    /// The book is reserved.
    Approved,
    /// The book was with someone else.
    Refused,
    /// The reader has it.
    Lent,
    /// It is over.
    Returned,
}

impl Process for Loan {
    const KIND: &'static str = "loan";
    type Command = LoanCommand;
    type Event = LoanEvent;

    fn handle(&self, command: LoanCommand) -> Result<Reaction<LoanEvent>, Rejection> {
        let loan = self.id.clone();
        Ok(match (command, self.stage) {
            (LoanCommand::Request { id, book, desk, keep_ms }, Stage::New) => {
                let reserve = BookCommand::Reserve { loan: id.clone() };
                let send = Dispatch::to_aggregate::<Book>(&book, &reserve);
                Reaction::event(LoanEvent::Requested { id, book, desk, keep_ms }).send(send)
            }
            (LoanCommand::Request { .. }, _) => return Err("the loan was requested before".into()),
            (LoanCommand::Approve, Stage::Requested) => {
                let hand_out = DeskCommand::HandOut { loan, book: self.book.clone() };
                Reaction::event(LoanEvent::Approved)
                    .send(Dispatch::to_aggregate::<Desk>(&self.desk, &hand_out))
            }
            (LoanCommand::Refuse, Stage::Requested) => Reaction::event(LoanEvent::Refused),
            (LoanCommand::Lend, Stage::Approved) => {
                let back = Dispatch::to_process::<Self>(&self.id, &LoanCommand::BringBack);
                Reaction::event(LoanEvent::Lent).send(back.after(Duration::from_millis(self.keep_ms)))
            }
            (LoanCommand::BringBack, Stage::Lent) => {
                let take_in = DeskCommand::TakeIn { loan: loan.clone() };
                let put_back = BookCommand::PutBack { loan };
                Reaction::event(LoanEvent::Returned)
                    .send(Dispatch::to_aggregate::<Desk>(&self.desk, &take_in))
                    .send(Dispatch::to_aggregate::<Book>(&self.book, &put_back))
            }
            // Told something that it knows already.
            _ => Reaction::nothing(),
        })
    }

    fn apply(&mut self, event: &LoanEvent) {
        self.stage = match event {
            LoanEvent::Requested { id, book, desk, keep_ms } => {
                (self.id, self.book, self.desk) = (id.clone(), book.clone(), desk.clone());
                self.keep_ms = *keep_ms;
                Stage::Requested
            }
            LoanEvent::Approved => Stage::Approved,
            LoanEvent::Refused => Stage::Refused,
            LoanEvent::Lent => Stage::Lent,
            LoanEvent::Returned => Stage::Returned,
        };
    }
}

/// Which loan an event of a book or a desk concerns, and what that loan is told.
///
/// An event that cannot be read is an error: were it passed over, its loan would wait for ever.
pub fn route(event: &Recorded) -> Result<Option<(String, LoanCommand)>, HandleError> {
    if event.stream.id_of("book").is_some() {
        let known = Types::<BookEvent>::new().decode(&event.kind, event.schema, &event.body);
        return Ok(match known.map_err(HandleError::poison)? {
            BookEvent::Reserved { loan } => Some((loan, LoanCommand::Approve)),
            BookEvent::Refused { loan } => Some((loan, LoanCommand::Refuse)),
            BookEvent::PutBack { .. } => None,
        });
    }
    if event.stream.id_of("desk").is_none() {
        return Ok(None);
    }
    let known = Types::<DeskEvent>::new().decode(&event.kind, event.schema, &event.body);
    Ok(match known.map_err(HandleError::poison)? {
        DeskEvent::HandedOut { loan, .. } => Some((loan, LoanCommand::Lend)),
        DeskEvent::TakenIn { .. } => None,
    })
}

#[cfg(test)]
mod tests {
    use tenure::testing::process;

    use super::*;

    fn requested() -> LoanEvent {
        LoanEvent::Requested { id: "7".into(), book: "north-1".into(), desk: "south".into(), keep_ms: 100 }
    }

    #[test]
    fn a_request_asks_the_book() {
        let request = LoanCommand::Request {
            id: "7".into(),
            book: "north-1".into(),
            desk: "south".into(),
            keep_ms: 100,
        };
        let reserve = BookCommand::Reserve { loan: "7".into() };
        process::<Loan>()
            .when(request.clone())
            .then_events([requested()])
            .then_sends([Dispatch::to_aggregate::<Book>("north-1", &reserve)]);
        process::<Loan>().given([requested()]).when(request).then_rejected("requested before");
    }

    #[test]
    fn a_lent_book_is_brought_back_after_a_while() {
        let past = [requested(), LoanEvent::Approved];
        let back = Dispatch::to_process::<Loan>("7", &LoanCommand::BringBack);
        process::<Loan>()
            .given(past.clone())
            .when(LoanCommand::Lend)
            .then_events([LoanEvent::Lent])
            .then_sends([back.after(Duration::from_millis(100))]);
        let take_in = DeskCommand::TakeIn { loan: "7".into() };
        let put_back = BookCommand::PutBack { loan: "7".into() };
        process::<Loan>()
            .given(past.into_iter().chain([LoanEvent::Lent]))
            .when(LoanCommand::BringBack)
            .then_events([LoanEvent::Returned])
            .then_sends([
                Dispatch::to_aggregate::<Desk>("south", &take_in),
                Dispatch::to_aggregate::<Book>("north-1", &put_back),
            ])
            .then_state(|loan| assert_eq!(loan.stage, Stage::Returned));
    }

    #[test]
    fn what_it_knows_already_is_no_news() {
        process::<Loan>().given([requested(), LoanEvent::Refused]).when(LoanCommand::Refuse).then_nothing();
    }
}
