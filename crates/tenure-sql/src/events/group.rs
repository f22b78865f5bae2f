//! Appends that come while others are under way are put together into one transaction; see `line` for who goes when.
//!
//! ```text
//!   append ─▶ line ─┬─ now ────▶ a task: a transaction of its own ─▶ its answer                 ┐
//!                   ├─ waits ─▶ a group's task: one transaction ─┬─ done ─▶ each its answer   ├ the ticket drops: who is next
//!                   │                                             └─ undone ─▶ each by itself  ┘
//!                   └─ waits for too long ─▶ by itself, as if there were no line
//! ```
//!
//! A group is all or nothing, and tells nobody why it came to nothing: whoever was in it then does his append by himself, and hears
//! what he would have heard without a group. Only when the connection was lost does nobody know what took effect; then all
//! hear that, as from a transaction of their own, and may append the same once more.
//!
//! Whatever the line counts as under way runs in a task of its own, beside the store's connections, and never in the future of a
//! caller: who goes away ends nothing but his own waiting, and who does not poll his future holds up nobody. A task that never
//! begins (the runtime has ended) sends everyone on by himself; one that ends in the middle (a panic, the end of the runtime)
//! leaves an outcome that is unknown. Nobody is left waiting: each end is told by a drop.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tenure_core::StoreError;
use tenure_core::contract::AppendError;
use tenure_core::event::{Append, AppendAnswer, Version};
use tokio::sync::oneshot;
use tokio::time::timeout;
use tracing::{Instrument as _, Span};

use super::line::{Line, Load, Next, Unit, Way};
use super::place::Place;
use super::portion::{self, Portion};
use super::together::Written;
use crate::driver::Turn;
use crate::store::Shared;

/// How long one sees the line stand still before he leaves it, looked at by each in steps of this: what is under way stands still behind a
/// row that somebody holds, perhaps the very caller, or a server that is silent.
const PATIENCE: Duration = Duration::from_millis(1_500);

/// The appends of a store that wait.
#[derive(Default)]
pub(crate) struct AppendLine(Mutex<Line<Waiting>>);

/// One who waits to hear.
pub(super) struct Waiting {
    append: Append,
    /// The version that its events follow.
    base: Version,
    answer: oneshot::Sender<Told>,
    span: Span,
}

/// What one hears who waited.
enum Told {
    Answered(Result<AppendAnswer, AppendError>),
    /// It is to go by itself.
    Alone,
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
        let told = match portion::load(append) {
            Some((load, base)) => match Self::stand_in_line(shared, append, &load, base) {
                Some(place) => place.hear(shared).await?,
                None => Told::Alone,
            },
            None => Told::Alone,
        };
        match told {
            Told::Answered(answer) => answer,
            Told::Alone => shared.append(&mut Place::Own, append).await,
        }
    }

    /// Its place in line, or none where it goes as if there were no line.
    fn stand_in_line(shared: &Arc<Self>, append: &Append, load: &Load, base: Version) -> Option<InLine> {
        let mut told = None;
        let way = shared.line.lock().come(load, || {
            let (answer, hears) = oneshot::channel();
            told = Some(hears);
            Waiting { append: append.clone(), base, answer, span: Span::current() }
        });
        let (number, next) = match way {
            Way::Apart => return None,
            Way::Now(next) => (None, next),
            Way::Wait(number, next) => (Some(number), next),
        };
        Group::start(shared, next);
        told.map(|told| InLine { number, told })
    }
}

/// A place in line, as its owner has it.
struct InLine {
    /// None of one who went at once.
    number: Option<u64>,
    told: oneshot::Receiver<Told>,
}

impl InLine {
    /// Waits to hear, or leaves the line.
    async fn hear(mut self, shared: &Shared) -> Result<Told, StoreError> {
        let Some(number) = self.number else { return self.told.await.map_err(|_| shared.broken_off()) };
        let mut moves = shared.line.lock().moves();
        loop {
            if let Ok(told) = timeout(PATIENCE, &mut self.told).await {
                return told.map_err(|_| shared.broken_off());
            }
            let mut line = shared.line.lock();
            if moves == line.moves() && line.leave(number).is_some() {
                tracing::debug!("an append stands in a line that does not move, and goes by itself");
                return Ok(Told::Alone);
            }
            moves = line.moves();
        }
    }
}

impl Shared {
    fn broken_off(&self) -> StoreError {
        let message = "the task that appended has ended before it was done".into();
        StoreError::Unreachable { store: self.label().to_owned(), message }
    }
}

/// Those who go together, or one alone.
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
            waiting.tell(Told::Alone);
        }
        let mut waiting = next.together;
        if waiting.is_empty() {
            return;
        }
        // Everyone takes the locks of streams in one order.
        waiting.sort_by(|one, other| one.append.stream.cmp(&other.append.stream));
        let group = Self { waiting, begun: false, ticket: Some(Ticket::new(shared, next.unit)) };
        shared.driver.detach(Box::pin(group.carry_out(Arc::clone(shared))));
    }

    async fn carry_out(mut self, shared: Arc<Shared>) {
        if self.waiting.len() > 1 { self.together(&shared).await } else { self.alone(&shared).await }
    }

    /// One alone goes by the way on which no more is done than has to be.
    async fn alone(&mut self, shared: &Shared) {
        let Some(one) = self.waiting.first() else { return };
        self.begun = true;
        let answer = shared.append(&mut Place::Own, &one.append).instrument(one.span.clone()).await;
        // First of all: the server has nothing to do.
        self.ticket = None;
        if let Some(one) = self.waiting.pop() {
            one.tell(Told::Answered(answer));
        }
    }

    async fn together(&mut self, shared: &Shared) {
        // Without a connection nothing was sent, and each may find one for himself, or say why there is none.
        let Ok(lent) = shared.lend(Turn::Traffic).await else { return };
        self.begun = true;
        let portions = self.waiting.iter().map(|waiting| Portion::of(&waiting.append, waiting.base));
        let mut portions: Vec<_> = portions.collect();
        match shared.write_together(lent, &mut portions).await {
            Written::Done(positions) => {
                self.ticket = None;
                let placed = portions.iter().zip(positions).map(|(portion, at)| portion.appended(at));
                for (waiting, appended) in self.waiting.drain(..).zip(placed) {
                    waiting.tell(Told::Answered(Ok(AppendAnswer::Appended(appended))));
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
                    let error = fault.clone().into_error(shared.label());
                    waiting.tell(Told::Answered(Err(error.into())));
                }
            }
        }
    }
}

/// Who has not heard by now goes by himself, if nothing is there of his append for certain.
impl Drop for Group {
    fn drop(&mut self) {
        for waiting in self.waiting.drain(..).filter(|_| !self.begun) {
            waiting.tell(Told::Alone);
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
