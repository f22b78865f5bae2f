//! One message in the user's own transaction, as most are: the message, its place in the queue, and nothing else.
//!
//! ```text
//!   message ─┬─ it is there already ─▶ compared: the same, or an error
//!            └─ place ─┬─ one was left there ─▶ made sure of, by its number
//!                      └─ fails ─▶ taken out again ─┬─ the error
//!                                                   └─ may not ─▶ left to a relay
//! ```
//!
//! Both statements are one text, or one statement where the server can make one of them, and each undoes itself where it fails. So there
//! is need of a way back only where the first one has taken effect and the second has not, which hardly ever happens: a savepoint for
//! that would be felt by every message. What was given to the first tells its number, or a look at the message that only we can have
//! inserted.

use std::collections::HashSet;
use std::sync::atomic::Ordering;

use tenure_core::StoreError;
use tenure_core::outbox::{Enqueued, MessageId, NewMessage};

use super::enqueue::{APART_BYTES, TRIES, UNSAID, comes, values};
use super::unit::Stop;
use crate::batch::size;
use crate::driver::{Call, Session};
use crate::fault::{Fault, FaultKind};
use crate::ids::fresh_id;
use crate::store::Shared;
use crate::value::Value;

impl Shared {
    /// Enqueues a message that was checked. `None`, and nothing is done, where it needs more than this: no transaction is known to be
    /// open (of no session of tiberius it is), it is delayed by the server's clock, or so large that its two statements are not sent as one.
    pub(super) async fn insert_alone(
        &self,
        session: &mut dyn Session,
        message: &NewMessage,
    ) -> Result<Option<Enqueued>, Stop> {
        if !session.in_transaction() || !session.knows_given() || !message.delay.is_zero() {
            return Ok(None);
        }
        let id = message.id.unwrap_or_else(fresh_id);
        let row = values(id, message, None);
        if size(&row) > APART_BYTES {
            return Ok(None);
        }
        let texts = &self.statements;
        let listed = comes(&row);
        let place = match listed {
            true => Some(Call::new(&texts.arrivals_add_new, [])),
            false => self.addition(&row),
        };
        let Some(place) = place else { return Ok(None) };
        let calls = [self.message_alone(row), place];
        // As one, whether the message is there is only known where nobody else can have its id.
        let as_one = session.has_blocks() && message.id.is_none();
        let enqueued = Enqueued { id, fresh: true };
        for _ in 0..TRIES {
            let ran = match as_one {
                true => session.run_as_one(&calls).await.map(drop),
                false => session.run_all(&calls).await.map(drop),
            };
            let Err(fault) = ran else { return Ok(Some(enqueued)) };
            let inserted = match as_one {
                true => self.number_alone(session, id, &fault).await?,
                false => fault.before.first().map(|inserted| inserted.given),
            };
            match (inserted, fault.kind) {
                (Some(number), kind) => {
                    let there = kind == FaultKind::Duplicate && listed;
                    if !(there && self.put_there(session, number).await) {
                        self.without_place(session, number, fault).await?;
                    }
                    return Ok(Some(enqueued));
                }
                (None, FaultKind::Duplicate) => {}
                (None, _) => return Err(fault.into()),
            }
            let mut left = vec![(id, message)];
            self.leave_out(session, &mut left, &mut HashSet::new()).await?;
            if left.is_empty() {
                return Ok(Some(Enqueued { id, fresh: false }));
            }
        }
        let message = "a message with the same id comes and goes".into();
        Err(StoreError::Busy { store: self.label().to_owned(), message }.into())
    }

    /// The statement that inserts a row of [`values`], in as few words as can be.
    fn message_alone(&self, mut row: Vec<Value>) -> Call<'_> {
        let texts = &self.statements;
        let usual = matches!(
            row.as_slice(),
            [_, _, Value::Int(0), Value::Int(0), _, _, _, Value::Null, _, _, Value::Null]
        );
        if usual {
            let mut place = 0..row.len();
            row.retain(|_| place.next().is_some_and(|place| !UNSAID.contains(&place)));
            return Call::new(&texts.outbox_insert_one, row);
        }
        row.push(Value::Null);
        Call::new(&texts.outbox_insert, [Value::Rows(vec![row])])
    }

    /// Behind a fault: the number of a message whose id nobody else can have, if it is there.
    async fn number_alone(
        &self,
        session: &mut dyn Session,
        id: MessageId,
        fault: &Fault,
    ) -> Result<Option<Option<i64>>, Stop> {
        if is_over(fault) {
            return Ok(None);
        }
        let ids = vec![Value::list([id.to_string()])];
        match session.run(&Call::new(&self.statements.outbox_numbers, ids)).await {
            Ok(found) => Ok(self.numbers(found)?.first().map(|number| Some(*number))),
            Err(look) => Err(unsent(fault, &look.message)),
        }
    }

    /// Makes sure that a number is on the list which is said to be there; else the answer was about something else, such as what a
    /// trigger does.
    async fn put_there(&self, session: &mut dyn Session, number: Option<i64>) -> bool {
        let Some(number) = number else { return false };
        let rows = vec![Value::Rows(vec![vec![number.into()]])];
        session.run(&Call::new(&self.statements.arrivals_put, rows)).await.is_ok()
    }

    /// The message is there and in no queue. It is taken out again; or else left to a relay, as those of other programs are.
    async fn without_place(
        &self,
        session: &mut dyn Session,
        number: Option<i64>,
        fault: Fault,
    ) -> Result<(), Stop> {
        if is_over(&fault) {
            return Err(fault.into());
        }
        let Some(number) = number else { return Err(unsent(&fault, "its number is not known")) };
        let texts = &self.statements;
        let removal = Call::new(&texts.outbox_delete, vec![Value::list([number])]);
        let stays = match session.run(&removal).await {
            Ok(_) => return Err(fault.into()),
            Err(stays) => stays,
        };
        match session.run(&Call::new(&texts.outbox_freshen, [number.into()])).await {
            Ok(found) if found.changed > 0 => {
                self.say_unplaced(&fault);
                Ok(())
            }
            // The server has undone the whole transaction.
            Ok(_) => Err(fault.into()),
            Err(_) => Err(unsent(&fault, &stays.message)),
        }
    }

    /// Once, and then for whoever looks closer: it is so for each message until somebody mends it.
    fn say_unplaced(&self, fault: &Fault) {
        let message = "a message could not be put into the queue by its sender, and is left to a relay";
        match self.said_unplaced.swap(true, Ordering::Relaxed) {
            false => tracing::warn!(error = %fault.message, "{message}; this is said once"),
            true => tracing::debug!(error = %fault.message, "{message}"),
        }
    }
}

/// A message is in the transaction that nobody would send, and it cannot be taken out again.
fn unsent(fault: &Fault, why: &str) -> Stop {
    let message = format!(
        "{}. The message may be in the transaction and would never be sent: roll the transaction back. (It could not be taken out \
         again: {why})",
        fault.message
    );
    // Whatever kind of fault it was: these words have to be heard.
    Fault::new(FaultKind::Refused, message).into()
}

/// Whether there is nothing to be done any more: no connection. Without a transaction, as after a deadlock, nothing is found; but a server has
/// one number for that and for what a trigger does not find, and then what was done stays.
fn is_over(fault: &Fault) -> bool {
    fault.kind == FaultKind::Gone
}
