//! Appends that wait for the writing connection are committed together: the disk is waited for once.
//!
//! ```text
//!   append ─▶ in line; the first one gives the thread a job ─▶ the job takes all that wait ─▶ one transaction,
//!                                                                                            a savepoint for each
//!                                                              └── should that fail: each by itself
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
pub(crate) struct Line(Arc<Mutex<Vec<Waiting>>>);

#[derive(Debug)]
struct Waiting {
    append: Append,
    answer: oneshot::Sender<Answer>,
}

/// A place in the line.
#[derive(Debug)]
pub(super) struct Place {
    pub(super) answer: oneshot::Receiver<Answer>,
    /// Nobody stood in line before: the thread has to be given a job that calls [`Line::write`], at once.
    pub(super) is_first: bool,
}

impl Line {
    /// Stands in line.
    pub(super) fn join(&self, append: Append) -> Place {
        let (sender, answer) = oneshot::channel();
        let mut line = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_first = line.is_empty();
        line.push(Waiting { append, answer: sender });
        Place { answer, is_first }
    }

    /// All that wait. Whoever comes after them is first again.
    fn take(&self) -> Vec<Waiting> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Sends everyone home: there is nobody to write. They hear that the outcome is unknown.
    pub(super) fn dissolve(&self) {
        drop(self.take());
    }

    /// Appends what waits, and rings for what was written.
    pub(super) fn write(&self, database: &mut Database, bells: &Bells) {
        let mut waiting = self.take();
        while !waiting.is_empty() {
            let rest = waiting.split_off(waiting.len().min(TOGETHER));
            write_together(database, bells, std::mem::replace(&mut waiting, rest));
        }
    }
}

fn write_together(database: &mut Database, bells: &Bells, together: Vec<Waiting>) {
    let (appends, answers): (Vec<_>, Vec<_>) =
        together.into_iter().map(|waiting| (waiting.append, waiting.answer)).unzip();
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
}

fn write_one(database: &mut Database, append: &Append) -> Answer {
    let written = write_all(database, std::slice::from_ref(append)).map(|mut told| told.pop());
    written?.unwrap_or_else(|| Err(Fault::Failed("an append was left out".into()).into()))
}

fn write_all(database: &mut Database, appends: &[Append]) -> Result<Vec<Answer>, Fault> {
    // Every transaction looks whether the files are still those that were opened.
    database.run(|database| {
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
    })
}
