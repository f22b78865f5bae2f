//! Rows on their way to the sink.
//!
//! A delivery has a deadline. When it has passed nobody waits any longer, but the sink's future is not dropped half-way:
//! a handler may be in the middle of a transaction. It goes on by itself, and so many of those are borne, no more.

use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::Poll;
use std::time::{Duration, Instant};

use tenure_core::contract::Sink;
use tenure_core::outbox::{Flight, Found, Landing, Message, Stored, Verdict, decode};
use tokio::time::timeout;
use tracing::{Instrument, Span, field};

use super::Shared;
use super::depot::Clearance;
use crate::mandate::{InAir, Mandate};
use crate::stop::Stop;
use crate::trace;

/// After this long a flight lands with what it has, so that outcomes are recorded and others have their turn.
const LANDS_AFTER: Duration = Duration::from_millis(20);
/// A batch ends at this size, however few messages it has: many flights hold one each.
const BATCH_BYTES: usize = 1024 * 1024;
/// How long to wait after a payload could not be loaded.
const LOAD_AGAIN_AFTER: Duration = Duration::from_millis(200);

/// What is the same for all flights of one time in office.
#[derive(Debug)]
pub(super) struct Airport {
    pub(super) shared: Arc<Shared>,
    pub(super) mandate: Option<Mandate>,
    /// No further row is to be delivered.
    pub(super) closing: Stop,
    /// Deliveries whose deadline has passed, and which go on by themselves.
    pub(super) overdue: Arc<AtomicUsize>,
    /// Flights that have not landed.
    pub(super) in_air: Arc<AtomicUsize>,
}

/// What came of a flight.
#[derive(Debug)]
pub(super) struct Landed {
    pub(super) lane: Option<Arc<str>>,
    pub(super) landings: Vec<Landing>,
    pub(super) untried: Vec<Stored>,
}

impl Airport {
    /// Whether another row may be delivered: in any doubt, no.
    fn is_open(&self) -> bool {
        !self.closing.is_stopped() && self.mandate.as_ref().is_none_or(Mandate::is_alive)
    }

    fn term(&self) -> Option<u64> {
        self.mandate.as_ref().map(|mandate| mandate.fence().term.get())
    }

    /// What was begun and has not ended.
    pub(super) fn in_air(&self) -> InAir {
        InAir::of([self.in_air.clone(), self.overdue.clone()])
    }

    pub(super) async fn fly(&self, flight: Flight) -> Landed {
        let clearance = match &self.shared.depot {
            None => Some(Clearance::default()),
            Some(depot) => depot.clearance(&self.closing).await,
        };
        let Some(mut clearance) = clearance else {
            return Landed { lane: flight.lane, landings: Vec::new(), untried: flight.rows };
        };
        self.in_air.fetch_add(1, Ordering::Relaxed);
        let landed = self.fly_there(flight, &mut clearance).await;
        self.in_air.fetch_sub(1, Ordering::Relaxed);
        landed
    }

    async fn fly_there(&self, flight: Flight, clearance: &mut Clearance) -> Landed {
        let Flight { lane, rows } = flight;
        if self.shared.sink.batch_size() > 1 {
            return self.fly_as_batches(lane, rows, clearance).await;
        }
        let began = Instant::now();
        // One row begins when the one before it has ended: the clock is read once for both.
        let mut started = began;
        let mut landings = Vec::with_capacity(rows.len());
        let mut rows = rows.into_iter();
        while let Some(row) = rows.next() {
            if !self.is_open() || (!landings.is_empty() && started - began >= LANDS_AFTER) {
                return Landed { lane, landings, untried: std::iter::once(row).chain(rows).collect() };
            }
            let (id, attempt, forgiven) = (row.id, row.attempts.saturating_add(1), row.forgiven);
            let verdict = match self.ready(row).await {
                Ready::Message(message) => self.deliver(message, clearance).await,
                Ready::Verdict(verdict) => verdict,
                Ready::NotNow(row) => {
                    return Landed { lane, landings, untried: std::iter::once(row).chain(rows).collect() };
                }
            };
            let goes_on = self.goes_on(&verdict);
            let ended = Instant::now();
            landings.push(Landing { id, attempt, forgiven, verdict, took: ended - started });
            started = ended;
            if !goes_on || clearance.is_spent() {
                break;
            }
        }
        Landed { lane, landings, untried: rows.collect() }
    }

    /// Whether the flight's next row may follow this verdict.
    fn goes_on(&self, verdict: &Verdict) -> bool {
        verdict.kind().is_some_and(|kind| self.shared.settings.goes_on(kind))
    }

    async fn fly_as_batches(
        &self,
        lane: Option<Arc<str>>,
        rows: Vec<Stored>,
        clearance: &mut Clearance,
    ) -> Landed {
        let mut landings: Vec<Landing> = Vec::with_capacity(rows.len());
        let mut rows = rows.into_iter().peekable();
        let size = self.shared.sink.batch_size();
        while rows.peek().is_some() {
            if !self.is_open() {
                break;
            }
            let mut going: Vec<(Landing, Message)> = Vec::new();
            let (mut stays, mut bytes) = (None, 0);
            while going.len() < size
                && bytes < BATCH_BYTES
                && let Some(row) = rows.next()
            {
                let (id, attempt, forgiven) = (row.id, row.attempts.saturating_add(1), row.forgiven);
                let landing = |verdict| Landing { id, attempt, forgiven, verdict, took: Duration::ZERO };
                match self.ready(row).await {
                    Ready::Message(message) => {
                        bytes += message.body.as_bytes().len();
                        going.push((landing(Verdict::Withheld), message));
                    }
                    Ready::Verdict(verdict) => {
                        // What is before it goes first; this one lands in its place.
                        stays = Some(Ok(landing(verdict)));
                        break;
                    }
                    Ready::NotNow(row) => {
                        stays = Some(Err(row));
                        break;
                    }
                }
            }
            let landed = self.deliver_batch(going, lane.is_some(), clearance).await;
            let failed = landed.iter().any(|landing| !self.goes_on(&landing.verdict)) && lane.is_some();
            let stopped = failed || clearance.is_spent();
            landings.extend(landed);
            match stays {
                Some(Ok(landing)) if !stopped => {
                    let goes_on = self.goes_on(&landing.verdict);
                    landings.push(landing);
                    if !goes_on && lane.is_some() {
                        break;
                    }
                }
                // It was not tried: it is read again.
                Some(Ok(landing)) => landings.push(Landing { verdict: Verdict::Withheld, ..landing }),
                Some(Err(row)) => {
                    return Landed { lane, landings, untried: std::iter::once(row).chain(rows).collect() };
                }
                None => {}
            }
            if stopped {
                break;
            }
        }
        Landed { lane, landings, untried: rows.collect() }
    }

    async fn deliver_batch(
        &self,
        going: Vec<(Landing, Message)>,
        ordered: bool,
        clearance: &mut Clearance,
    ) -> Vec<Landing> {
        let (mut landings, mut messages): (Vec<_>, Vec<_>) = going.into_iter().unzip();
        if messages.is_empty() {
            return landings;
        }
        let (started, sink, count) = (Instant::now(), self.shared.sink.clone(), messages.len());
        let span = tracing::debug_span!("tenure.outbox.dispatch_batch", count);
        // Each message has a span of its own in it, where anybody wants to know.
        let spans: Vec<Span> = match span.is_disabled() {
            true => Vec::new(),
            false => messages.iter_mut().map(|message| self.span_within(&span, message)).collect(),
        };
        let delivery = async move { sink.deliver_batch(&messages).await }.instrument(span);
        // Which of several were tried is not known: in a source, the first one counts as tried.
        let instead = |verdict: Verdict| match ordered {
            true => std::iter::once(verdict).chain(vec![Verdict::Withheld; count - 1]).collect(),
            false => vec![verdict; count],
        };
        let verdicts: Vec<Verdict> = self.in_time(delivery, instead, clearance).await;
        let took = started.elapsed();
        for (span, verdict) in spans.iter().zip(&verdicts) {
            ended(span, verdict);
        }
        for (landing, verdict) in landings.iter_mut().zip(verdicts) {
            (landing.verdict, landing.took) = (verdict, took);
        }
        landings
    }

    async fn deliver(&self, mut message: Message, clearance: &mut Clearance) -> Verdict {
        let sink: Arc<dyn Sink> = self.shared.sink.clone();
        let span = self.span(&message);
        if !span.is_disabled() {
            trace::follow(&span, &message.headers);
            trace::carry(&span, &mut message.headers);
        }
        let delivery = async move { sink.deliver(&message).await }.instrument(span.clone());
        let verdict = self.in_time(delivery, |verdict| verdict, clearance).await;
        ended(&span, &verdict);
        verdict
    }

    /// The same for one of a batch. With a trace of its own it belongs to that, and says that it went with others.
    fn span_within(&self, batch: &Span, message: &mut Message) -> Span {
        let span = batch.in_scope(|| self.span(message));
        if trace::follow(&span, &message.headers) {
            trace::within(&span, batch);
        }
        trace::carry(&span, &mut message.headers);
        span
    }

    /// One attempt, as tracing sees it: by which message it is, never by what is in it.
    fn span(&self, message: &Message) -> Span {
        tracing::debug_span!(
            "tenure.outbox.dispatch",
            id = %message.id,
            "type" = %message.kind,
            attempt = message.attempt,
            term = message.term,
            outcome = field::Empty
        )
    }

    /// Waits for the sink until the deadline; `instead` says what a sink that is late, or panicked, comes to.
    async fn in_time<T: Send + 'static>(
        &self,
        delivery: impl Future<Output = T> + Send + 'static,
        instead: impl FnOnce(Verdict) -> T,
        clearance: &mut Clearance,
    ) -> T {
        // A panic costs this attempt, and nothing else: what it left half done is the sink's own.
        let mut guarded = Box::pin(async move {
            let mut delivery = pin!(delivery);
            poll_fn(|context| match catch_unwind(AssertUnwindSafe(|| delivery.as_mut().poll(context))) {
                Ok(poll) => poll.map(Some),
                Err(_) => Poll::Ready(None),
            })
            .await
        });
        // Most answer at once, and need no timer.
        let at_once = poll_fn(|context| Poll::Ready(guarded.as_mut().poll(context))).await;
        let in_time = match at_once {
            Poll::Ready(answer) => Ok(answer),
            Poll::Pending => timeout(self.shared.settings.deadline, &mut guarded).await,
        };
        match in_time {
            Ok(Some(answer)) => answer,
            Ok(None) => instead(Verdict::transient("the sink panicked")),
            Err(_) => {
                let (overdue, late) = (self.overdue.clone(), clearance.hand_over());
                if overdue.fetch_add(1, Ordering::Relaxed) + 1 == self.shared.settings.concurrency {
                    tracing::error!(
                        "as many deliveries as may be under way at once go on past their deadline; nothing more is \
                         delivered before one of them ends: the sink hangs"
                    );
                }
                tokio::spawn(async move {
                    guarded.await;
                    drop(late);
                    overdue.fetch_sub(1, Ordering::Relaxed);
                });
                let deadline = self.shared.settings.deadline;
                instead(Verdict::transient(format!("no answer within the deadline of {deadline:?}")))
            }
        }
    }

    async fn ready(&self, mut row: Stored) -> Ready {
        if matches!(row.body, Found::Large) {
            let limits = &self.shared.settings.limits;
            match self.shared.store.load(row.id, limits).await.map(|loaded| loaded.read(limits)) {
                Ok(Some(Ok(body))) => row.body = Found::Body(body),
                Ok(Some(Err(poison))) => {
                    return Ready::Verdict(Verdict::Poison { reason: poison.to_string() });
                }
                // The row is gone: someone else has settled it.
                Ok(None) => return Ready::Verdict(Verdict::Withheld),
                Err(error) => {
                    tracing::warn!(row = row.id.0, %error, "a payload could not be loaded");
                    tokio::time::sleep(LOAD_AGAIN_AFTER).await;
                    return Ready::NotNow(row);
                }
            }
        }
        match decode(row, &self.shared.settings.limits, self.term()) {
            Ok(message) => Ready::Message(message),
            Err(poison) => Ready::Verdict(Verdict::Poison { reason: poison.to_string() }),
        }
    }
}

/// Notes in a span how the attempt ended.
fn ended(span: &Span, verdict: &Verdict) {
    if !span.is_disabled() {
        span.record("outcome", verdict.kind().map_or("withheld", |kind| kind.as_str()));
    }
}

/// What a row is when its turn has come.
enum Ready {
    Message(Message),
    Verdict(Verdict),
    NotNow(Stored),
}
