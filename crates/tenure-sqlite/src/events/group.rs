//! Appends that wait for the writing connection are committed together: the disk is waited for once.
//!
//! ```text
//!   append ─▶ in line ─▶ its job, when its turn comes ─▶ takes all that wait ─▶ one transaction, a savepoint for each
//!                                                          └── should that fail: each by itself
//! ```

use std::sync::{Arc, Mutex, PoisonError};

use tenure_core::event::{Append, AppendAnswer};
use tokio::sync::oneshot;

use super::append::append_whole;
use super::decide::{Unappended, is_written};
use crate::database::Database;
use crate::error::Fault;
use crate::wakeup::Bells;

/// How many are committed together, at most.
const TOGETHER: usize = 256;

type Answer = Result<AppendAnswer, Unappended>;

/// The appends that wait. Clones share the line.
#[derive(Debug, Clone, Default)]
pub(crate) struct Line(Arc<Mutex<Waiting>>);

#[derive(Debug, Default)]
struct Waiting {
    appends: Vec<(u64, Append, oneshot::Sender<Answer>)>,
    /// How many have ever stood in line: the number of the next one.
    count: u64,
}

/// A place in the line.
#[derive(Debug)]
pub(super) struct Place {
    number: u64,
    pub(super) answer: oneshot::Receiver<Answer>,
}

impl Line {
    /// Stands in line. Whoever does must give the thread a job that calls [`Line::write`].
    pub(super) fn join(&self, append: Append) -> Place {
        let (sender, answer) = oneshot::channel();
        let mut waiting = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let number = waiting.count;
        waiting.count += 1;
        waiting.appends.push((number, append, sender));
        Place { number, answer }
    }

    /// Leaves the line, if it was not one's turn yet.
    pub(super) fn leave(&self, place: &Place) {
        let mut waiting = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.appends.retain(|(number, ..)| *number != place.number);
    }

    /// Appends what waits, and rings for what was written. With nothing in line, someone else's job has done it.
    pub(super) fn write(&self, database: &mut Database, bells: &Bells) -> Result<(), Fault> {
        let together: Vec<_> = {
            let mut waiting = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            let count = waiting.appends.len().min(TOGETHER);
            waiting.appends.drain(..count).collect()
        };
        if together.is_empty() {
            return Ok(());
        }
        let (appends, answers): (Vec<_>, Vec<_>) =
            together.into_iter().map(|(_, append, answer)| (append, answer)).unzip();
        let told = match write_all(database, &appends) {
            Ok(told) => told,
            // Nobody knows which of them it was.
            Err(_) if appends.len() > 1 => appends.iter().map(|append| write_one(database, append)).collect(),
            Err(fault) => vec![Err(fault.into())],
        };
        // Here and not where the answer is waited for: perhaps nobody does any more.
        if told.iter().flatten().any(is_written) {
            bells.ring();
        }
        for (answer, told) in answers.into_iter().zip(told) {
            // Who went away does not want to know.
            let _ = answer.send(told);
        }
        Ok(())
    }
}

fn write_one(database: &mut Database, append: &Append) -> Answer {
    let written = write_all(database, std::slice::from_ref(append)).map(|mut told| told.pop());
    written?.unwrap_or_else(|| Err(Fault::Failed("an append was left out".into()).into()))
}

fn write_all(database: &mut Database, appends: &[Append]) -> Result<Vec<Answer>, Fault> {
    database.write(|writing| {
        let append = |append: &Append| {
            match append_whole(writing.connection, writing.statements, append, writing.now.wall) {
                // Nobody knows what is left of the transaction, so it is rolled back.
                Err(Unappended::Fault(fault)) => Err(fault),
                // What was refused has left it as it was, so there is nothing to roll back.
                answer => Ok(answer),
            }
        };
        appends.iter().map(append).collect()
    })
}
