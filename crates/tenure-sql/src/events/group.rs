//! Appends that come while others are under way are put together into one transaction; see `line` for who goes when.
//!
//! ```text
//!   append ─▶ line ─┬─ now ────▶ a transaction of its own ─▶ its answer                      ┐
//!                   └─ waits ─▶ a group's task: one transaction ─┬─ done ─▶ each its answer   ├ the ticket drops: who is next
//!                                                                └─ undone ─▶ each by itself  ┘
//! ```
//!
//! A group is all or nothing, and tells nobody why it came to nothing: whoever was in it then does his append by himself, and hears
//! what he would have heard without a group. Only when the connection was lost does nobody know what took effect; then all
//! hear that, as from a transaction of their own, and may append the same once more.
//!
//! The group runs in a task of its own, beside the store's connections: a caller who goes away ends nothing but his own waiting. A
//! task that never begins (the runtime has ended) sends everyone on by himself; one that ends in the middle (a panic, the end of
//! the runtime) leaves an outcome that is unknown. Nobody is left waiting: each end is told by a drop.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tenure_core::StoreError;
use tenure_core::contract::AppendError;
use tenure_core::event::{Append, AppendAnswer, Appended};
use tokio::sync::oneshot;

use super::line::{Line, Next, Unit, Way};
use super::place::Place;
use super::portion::{self, Portion};
use super::together::Written;
use crate::driver::Turn;
use crate::fault::Fault;
use crate::store::Shared;

/// The appends of a store that wait.
#[derive(Default)]
pub(crate) struct AppendLine(Mutex<Line<Waiting>>);

/// One who waits.
pub(super) struct Waiting {
    pub(super) portion: Portion,
    answer: oneshot::Sender<Told>,
}

/// What one hears who waited.
enum Told {
    Appended(Appended),
    /// It is to go by itself. With the ticket, if its end is waited for.
    Alone(Option<Ticket>),
    /// The connection was lost.
    Lost(Fault),
}

/// Whoever is under way has one; when it drops, the next go.
struct Ticket {
    shared: Arc<Shared>,
    unit: Unit,
    /// Whether it was a group that came to nothing.
    undone: bool,
}

impl Ticket {
    fn new(shared: &Arc<Shared>, unit: Unit) -> Self {
        Self { shared: Arc::clone(shared), unit, undone: false }
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        let next = self.shared.line.lock().ended(&self.unit, self.undone);
        Group::start(&self.shared, next);
    }
}

impl Shared {
    /// Appends in a transaction of our own, which it may share with others. What can be checked without the store has been
    /// checked.
    pub(super) async fn append_own(shared: &Arc<Self>, append: &Append) -> Result<AppendAnswer, AppendError> {
        shared.one_counter()?;
        let Some((load, base)) = portion::load(append) else {
            return shared.append(&mut Place::Own, append).await;
        };
        let mut place = None;
        let way = shared.line.lock().come(&load, || {
            let (answer, told) = oneshot::channel();
            place = Some(told);
            Waiting { portion: Portion::of(append, base), answer }
        });
        let ticket = match (way, place) {
            (Way::Wait(next), Some(told)) => {
                Group::start(shared, next);
                match told.await {
                    Ok(Told::Appended(appended)) => return Ok(AppendAnswer::Appended(appended)),
                    Ok(Told::Alone(ticket)) => ticket,
                    Ok(Told::Lost(fault)) => return Err(fault.into_error(shared.label()).into()),
                    Err(_) => return Err(shared.broken_off().into()),
                }
            }
            (Way::Now(unit), _) => Some(Ticket::new(shared, unit)),
            _ => None,
        };
        let answer = shared.append(&mut Place::Own, append).await;
        drop(ticket);
        answer
    }

    fn broken_off(&self) -> StoreError {
        let message = "the task that appended for several at once has ended before it was done".into();
        StoreError::Unreachable { store: self.label().to_owned(), message }
    }
}

/// Those who go together.
struct Group {
    waiting: Vec<Waiting>,
    /// Whether anything may have been sent to the server.
    begun: bool,
    /// Until it is over.
    ticket: Option<Ticket>,
}

impl Group {
    /// Sends off who is next.
    fn start(shared: &Arc<Shared>, next: Next<Waiting>) {
        for waiting in next.apart {
            waiting.tell(Told::Alone(None));
        }
        let mut together = next.together;
        if together.is_empty() {
            return;
        }
        let ticket = Ticket::new(shared, next.unit);
        if together.len() == 1 {
            if let Some(alone) = together.pop() {
                // By the way on which no more is done than has to be.
                alone.tell(Told::Alone(Some(ticket)));
            }
            return;
        }
        // Everyone takes the locks of streams in one order.
        together.sort_by(|one, other| one.portion.stream.cmp(&other.portion.stream));
        let group = Self { waiting: together, begun: false, ticket: Some(ticket) };
        shared.driver.detach(Box::pin(group.carry_out(Arc::clone(shared))));
    }

    async fn carry_out(mut self, shared: Arc<Shared>) {
        // Without a connection nothing was sent, and each may find one for himself, or say why there is none.
        let Ok(lent) = shared.lend(Turn::Traffic).await else { return };
        self.begun = true;
        let portions: Vec<_> = self.waiting.iter_mut().map(|waiting| &mut waiting.portion).collect();
        match shared.write_together(lent, portions).await {
            Written::Done(positions) => {
                // First of all: the server has nothing to do.
                self.ticket = None;
                for (waiting, position) in self.waiting.drain(..).zip(positions) {
                    let appended = waiting.portion.appended(position);
                    waiting.tell(Told::Appended(appended));
                }
            }
            Written::Undone => {
                if let Some(ticket) = &mut self.ticket {
                    ticket.undone = true;
                }
                self.begun = false;
            }
            Written::Lost(fault) => {
                for waiting in self.waiting.drain(..) {
                    waiting.tell(Told::Lost(fault.clone()));
                }
            }
        }
    }
}

/// Who has not heard by now goes by himself, if nothing is there of his append for certain.
impl Drop for Group {
    fn drop(&mut self) {
        for waiting in self.waiting.drain(..).filter(|_| !self.begun) {
            waiting.tell(Told::Alone(None));
        }
    }
}

impl Waiting {
    /// Who went away does not want to know.
    fn tell(self, told: Told) {
        let _ = self.answer.send(told);
    }
}

impl AppendLine {
    fn lock(&self) -> MutexGuard<'_, Line<Waiting>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for AppendLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AppendLine").finish_non_exhaustive()
    }
}
