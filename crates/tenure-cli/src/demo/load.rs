//! Readers who want books.

use std::time::{Duration, Instant};

use library_loans::{LIBRARIES, Loan, LoanCommand};
use tenure::{Database, Events, Processes, Reply, Stop};

use crate::output::Failure;

/// A loan sends so many commands, if the book is there.
const COMMANDS_EACH: u32 = 5;
/// How many books each library has.
const BOOKS: u32 = 60;
/// For how long a book is kept.
const KEEP_MS: u64 = 400;

/// Requests loans until `stop` is given. Answers those that were acknowledged: their requests are committed.
pub(super) async fn request(database: Database, rate: u32, stop: Stop) -> Result<Vec<String>, Failure> {
    let events = Events::new(database.events()).with_outbox();
    let loans = Processes::<Loan>::new(events)?;
    let pause = Duration::from_secs(COMMANDS_EACH.into()) / rate;
    let (mut asked, mut next, mut number) = (Vec::new(), Instant::now(), 0u32);
    let mut warned = None;
    while !stop.is_stopped() {
        // A new one each time: a request that had no answer may have been committed all the same.
        number += 1;
        let id = format!("{number:05}");
        let home = fastrand::usize(..LIBRARIES.len());
        let desk = LIBRARIES[(home + 1) % LIBRARIES.len()].to_owned();
        let book = format!("{}-{}", LIBRARIES[home], fastrand::u32(1..=BOOKS));
        let request = LoanCommand::Request { id: id.clone(), book, desk, keep_ms: KEEP_MS };
        match loans.tell(&id, request).await {
            Ok(Reply::Accepted { .. }) => asked.push(id),
            Ok(Reply::Rejected(rejection)) => return Err(Failure::Failed(format!("loan {id}: {rejection}"))),
            Err(error) if error.is_transient() => {
                // Once a second is enough to know.
                if warned.is_none_or(|at: Instant| at.elapsed() >= Duration::from_secs(1)) {
                    warned = Some(Instant::now());
                    tracing::warn!(%error, "a loan could not be requested");
                }
            }
            Err(error) => return Err(Failure::Failed(format!("loan {id}: {error}"))),
        }
        next += pause;
        tokio::select! {
            () = stop.stopped() => {}
            () = tokio::time::sleep_until(next.into()) => {}
        }
    }
    Ok(asked)
}
