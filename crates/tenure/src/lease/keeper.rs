//! Keeping a lease: drives an [`Incumbent`] on the heartbeat thread.

use std::sync::Arc;
use std::time::Duration;

use tenure_core::StoreError;
use tenure_core::contract::{LeaseStore, PresenceSession, Raise};
use tenure_core::id::Unique;
use tenure_core::lease::{Flag, Grant, Incumbent, LeaseSettings, Loss, Release, Renew, Renewal, Step};
use tenure_core::observe::{Counter, Gauge, Histogram, METER, RunnerKind, loss_slot};
use tenure_core::time::{Clock, Monotonic};
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::JoinHandle;
use tracing::{Instrument, field};

use super::leases::Shared;
use super::seat::{Handlers, Order, Seat, SeatKeeper};
use crate::error::LeaseError;
use crate::presence::{Running, SessionState};
use crate::runners::{Beat, runners};

/// The longest nap: after the machine slept, the end of trust is noticed within this span of waking.
const NAP_MAX: Duration = Duration::from_millis(250);
/// How long a lost or left holding goes on trying to give its row back.
const RELEASE_TRIES: u32 = 3;

/// Keeps one grant until it is over.
pub(super) struct Keeper {
    store: Arc<dyn LeaseStore>,
    clock: Arc<dyn Clock>,
    grant: Grant,
    incumbent: Incumbent,
    seat: SeatKeeper,
    presence: Option<Arc<Running>>,
    session: Option<Arc<dyn PresenceSession>>,
    raising: Option<Raising>,
    /// Answers to renewals, from tasks that nobody cancels.
    renewed: mpsc::UnboundedReceiver<Renewed>,
    renewing: mpsc::UnboundedSender<Renewed>,
    /// The user of the log knows that renewals go unanswered.
    warned: bool,
    beat: Beat,
    numbers: Numbers,
}

/// What is counted of leases of one kind.
struct Numbers {
    renewals: Arc<Counter<3>>,
    took: Arc<Histogram<1>>,
    losses: Arc<Counter<8>>,
    held: Arc<Gauge<1>>,
}

impl Numbers {
    fn of(kind: &str) -> Self {
        let held = METER.lease_held.of(kind);
        held.change(0, 1);
        let (renewals, took) = (METER.lease_renewals.of(kind), METER.lease_renew.of(kind));
        Self { renewals, took, losses: METER.lease_losses.of(kind), held }
    }
}

impl Drop for Numbers {
    fn drop(&mut self) {
        self.held.change(0, -1);
    }
}

/// The answer to the renewal of this number.
type Renewed = (u64, Result<Renew, StoreError>);

struct Raising {
    session: Unique,
    task: JoinHandle<Result<Raise, StoreError>>,
}

/// What woke the keeper.
enum Event {
    Time,
    Renewed(u64, Option<Renew>),
    Raised(bool),
    Session(SessionState),
    Order(Order),
    /// Nobody holds the lease handle any more.
    Abandoned,
}

impl Keeper {
    /// Takes office: the keeper to run, and the seat to show.
    pub(super) fn begin(
        leases: &Shared,
        presence: Option<Arc<Running>>,
        grant: Grant,
        settings: &LeaseSettings,
        handlers: Arc<Handlers>,
        started: Monotonic,
        kind: &str,
    ) -> (Self, Seat) {
        let beat = runners().register(RunnerKind::Lease, grant.name.as_str(), settings.renew);
        beat.state(format!("held, term {}", grant.term));
        let (store, clock) = (leases.store.clone(), leases.clock.clone());
        let incumbent = Incumbent::begin(&grant, settings, started, clock.now());
        let (seat_keeper, seat) = Seat::new(Some(grant.fence()), incumbent.trusted_until(), handlers);
        let (renewing, renewed) = mpsc::unbounded_channel();
        let keeper = Self {
            store,
            clock,
            grant,
            incumbent,
            seat: seat_keeper,
            presence,
            session: None,
            raising: None,
            renewed,
            renewing,
            warned: false,
            beat,
            numbers: Numbers::of(kind),
        };
        (keeper, seat)
    }

    /// Runs until the holding is over, and its row given back as far as that was possible.
    pub(super) async fn run(mut self) {
        let _watch = self.beat.watch();
        let mut sessions = self.presence.as_ref().map(|running| running.follow());
        let mut first_look = sessions.as_ref().map(|sessions| sessions.borrow().clone());
        loop {
            if let Some(state) = first_look.take() {
                self.session_changed(state);
            }
            let now = self.clock.now();
            self.beat.cycled();
            let until = match self.incumbent.step(now) {
                Step::Stop(loss) => return self.lose(loss).await,
                Step::Renew(renewal) => {
                    self.start_renewal(renewal, now);
                    self.publish();
                    continue;
                }
                Step::WaitUntil(until) => until,
            };
            self.publish();
            let nap = now.until(until).min(NAP_MAX);
            match self.next_event(&mut sessions, nap).await {
                Event::Time => {}
                Event::Renewed(number, answer) => {
                    self.incumbent.renewal_ended(number, answer, self.clock.now());
                }
                Event::Raised(raised) => self.raised(raised),
                Event::Session(state) => self.session_changed(state),
                Event::Order(Order::Progress) => self.incumbent.progressed(self.clock.now()),
                Event::Order(Order::Fenced(loss)) => self.incumbent.fenced(loss),
                Event::Order(Order::Leave(answer)) => return self.leave(Some(answer)).await,
                Event::Abandoned => return self.leave(None).await,
            }
        }
    }

    /// Waits for what comes first. Calls to the store run in tasks of their own: nothing here cancels one.
    async fn next_event(
        &mut self,
        sessions: &mut Option<watch::Receiver<SessionState>>,
        nap: Duration,
    ) -> Event {
        tokio::select! {
            biased;
            Some((number, answer)) = self.renewed.recv() => Event::Renewed(number, self.understood(answer)),
            raised = finished_raising(&mut self.raising) => Event::Raised(raised),
            state = next_state(sessions) => Event::Session(state),
            order = self.seat.orders.recv() => order.map_or(Event::Abandoned, Event::Order),
            () = tokio::time::sleep(nap) => Event::Time,
        }
    }

    fn publish(&self) {
        let until = self.incumbent.trusted_until();
        self.seat.trusted_until.send_if_modified(|published| {
            let changed = *published != until;
            *published = until;
            changed
        });
    }

    fn start_renewal(&mut self, renewal: Renewal, now: Monotonic) {
        self.incumbent.renewal_started(&renewal, now);
        let (store, grant, answers) = (self.store.clone(), self.grant.clone(), self.renewing.clone());
        let (clock, took) = (self.clock.clone(), self.numbers.took.clone());
        let span = tracing::debug_span!(
            "tenure.lease.renew",
            lease = %grant.name,
            term = %grant.term,
            number = renewal.number,
            answer = field::Empty
        );
        let renewing = async move {
            let answer = store.renew(&grant, &renewal).await;
            took.observe(0, now.until(clock.now()));
            let (word, _) = word(&answer);
            tracing::Span::current().record("answer", word);
            // Nobody waits for it once the holding is over.
            let _ = answers.send((renewal.number, answer));
        };
        tokio::spawn(renewing.instrument(span));
    }

    /// Warns once when answers cease, and says when they come again.
    fn understood(&mut self, answer: Result<Renew, StoreError>) -> Option<Renew> {
        let (lease, term) = (&self.grant.name, &self.grant.term);
        self.numbers.renewals.add(word(&answer).1, 1);
        match &answer {
            Ok(_) => {
                self.beat.advanced();
                self.beat.trouble(None);
            }
            Err(error) => {
                METER.store_error(error);
                self.beat.trouble(Some(error.to_string()));
            }
        }
        match answer {
            Ok(answer) => {
                if std::mem::take(&mut self.warned) {
                    tracing::warn!(%lease, %term, "renewals are answered again");
                }
                Some(answer)
            }
            Err(error) if self.warned => {
                tracing::debug!(%lease, %term, %error, "still no answer to a renewal");
                None
            }
            Err(error) => {
                self.warned = true;
                tracing::warn!(%lease, %term, %error, "no answer to a renewal; trying again until trust ends");
                None
            }
        }
    }

    fn session_changed(&mut self, state: SessionState) {
        match state {
            SessionState::Closed => {
                if let Some(session) = self.session.take() {
                    self.incumbent.session_lost(session.id());
                }
            }
            SessionState::Open { session, ping } => {
                self.incumbent.pinged(session.id(), ping, self.clock.now());
                if self.session.as_ref().is_none_or(|ours| ours.id() != session.id()) {
                    if let Some(former) = self.session.replace(session.clone()) {
                        self.incumbent.session_lost(former.id());
                    }
                    let flag = self.flag(session.id());
                    let raise = async move { session.raise(&flag).await };
                    let session = self.session.as_ref().map_or(Unique::from_u128(0), |session| session.id());
                    self.raising = Some(Raising { session, task: tokio::spawn(raise) });
                }
            }
        }
    }

    fn raised(&mut self, raised: bool) {
        let Some(raising) = self.raising.take() else { return };
        let Some(running) = &self.presence else { return };
        match &*running.follow().borrow() {
            SessionState::Open { session, ping } if raised && session.id() == raising.session => {
                self.incumbent.flag_raised(session.id(), *ping);
            }
            _ => {
                tracing::debug!(lease = %self.grant.name, "no flag on the presence session; the ttl decides")
            }
        }
    }

    fn flag(&self, session: Unique) -> Flag {
        Flag { lease: self.grant.name.clone(), term: self.grant.term, session }
    }

    /// The holding is lost: say so, and give the row back only once the work under it has stopped. Nobody but the user
    /// knows when that is; to release before would let the next holder in while this one is still winding up.
    async fn lose(mut self, loss: Loss) {
        // No warning: whoever holds the lease is told, and knows best how loud to be.
        tracing::info!(lease = %self.grant.name, term = %self.grant.term, reason = %loss, "lease lost");
        self.numbers.losses.add(loss_slot(&loss), 1);
        self.beat.state(format!("lost: {loss}"));
        self.seat.lose(loss);
        loop {
            // Whoever worked under it is winding up, and takes the time that it takes.
            match self.beat.waiting(self.seat.orders.recv()).await {
                Some(Order::Progress | Order::Fenced(_)) => {}
                Some(Order::Leave(answer)) => return self.leave(Some(answer)).await,
                None => return self.leave(None).await,
            }
        }
    }

    /// The holder leaves: stop first, then release.
    async fn leave(mut self, answer: Option<oneshot::Sender<Result<Release, LeaseError>>>) {
        if self.incumbent.loss().is_none() {
            self.seat.leave();
        }
        let released = self.give_back().await;
        let (lease, term) = (&self.grant.name, self.grant.term);
        match &released {
            Ok(Release::Released) => tracing::info!(%lease, %term, "lease released"),
            Ok(Release::NotHeld) => {
                tracing::info!(%lease, %term, "the lease was over before it was released")
            }
            Err(error) => {
                tracing::warn!(%lease, %term, %error, "the lease was not released; its ttl ends it")
            }
        }
        if let Some(answer) = answer {
            let _ = answer.send(released.map_err(LeaseError::from));
        }
    }

    /// Releases the row by its exact term, then lowers the flag, so that whoever wakes finds the lease free.
    async fn give_back(&mut self) -> Result<Release, StoreError> {
        // A renewal under way could arrive after the release; it names this term and would find it released.
        let mut tries = 0;
        let released = loop {
            tries += 1;
            let span = tracing::debug_span!("tenure.lease.release", lease = %self.grant.name, term = %self.grant.term);
            let release = self.store.release(&self.grant).instrument(span);
            match self.beat.during(release).await {
                Err(error) if error.is_transient() && tries < RELEASE_TRIES => {
                    tokio::time::sleep(Duration::from_millis(100)).await;
                }
                released => break released,
            }
        };
        if let Some(session) = self.session.take() {
            let flag = self.flag(session.id());
            // Without the row released, a fallen flag would only tell that the holder is gone, which is true as well.
            if let Err(error) = session.lower(&flag).await {
                tracing::debug!(%error, "the flag falls with its session instead");
            }
        }
        released
    }
}

/// What a renewal was answered, as it is counted.
fn word(answer: &Result<Renew, StoreError>) -> (&'static str, usize) {
    match answer {
        Ok(Renew::Extended) => ("extended", 0),
        Ok(_) => ("lost", 1),
        Err(_) => ("unknown", 2),
    }
}

async fn finished_raising(raising: &mut Option<Raising>) -> bool {
    match raising {
        None => std::future::pending().await,
        Some(raising) => matches!((&mut raising.task).await, Ok(Ok(Raise::Raised))),
    }
}

async fn next_state(sessions: &mut Option<watch::Receiver<SessionState>>) -> SessionState {
    loop {
        let Some(receiver) = sessions else { return std::future::pending().await };
        if receiver.changed().await.is_ok() {
            return receiver.borrow_and_update().clone();
        }
        // The session's task has ended: there is no presence here.
        *sessions = None;
    }
}
