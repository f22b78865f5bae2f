//! Standing for election, and leading: carries out what the core's [`Coordinator`] decides.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tenure_core::StoreError;
use tenure_core::cluster::{Answer, Coordinator, Daemon, Order, PAGE, Wanted};
use tenure_core::lease::{Fence, Fenced, Loss};
use tenure_core::observe::{METER, RunnerKind};
use tenure_core::time::{Clock, Monotonic};
use tokio::sync::mpsc;
use tracing::Instrument;

use super::observer::ClusterEvent;
use super::{Inner, Leadership};
use crate::clock::SteadyClock;
use crate::lease::Lease;
use crate::runners::{Beat, runners};
use crate::stop::Stop;

/// How long a node that was deposed waits before it stands again.
const AFTER_DEPOSED: Duration = Duration::from_millis(200);
/// How long a leader that resigned lets others go first.
const AFTER_RESIGNED: Duration = Duration::from_secs(10);
/// How often a leader looks up when nothing happens; while something moves, and otherwise.
const BUSY: Duration = Duration::from_millis(20);
const IDLE: Duration = Duration::from_secs(1);

enum Event {
    Read(Wanted, Result<Vec<Daemon>, StoreError>),
    Answered(Box<Order>, Result<Answer, StoreError>),
}

/// Stands for election until `stop` is given, and leads whenever it is elected.
pub(super) async fn stand(inner: Arc<Inner>, lease: Lease, stop: Stop) {
    let beat = runners().register(RunnerKind::Election, lease.name().as_str(), IDLE);
    let _watch = beat.watch();
    METER.election_leading.set(0, 0);
    while !stop.is_stopped() {
        beat.state("standing by");
        let vacant = Vacant::watch(&inner);
        let fence = match beat.waiting(lease.acquire_when_free(&stop)).await {
            Ok(Some(fence)) => fence,
            Ok(None) => return,
            Err(error) => {
                tracing::error!(%error, "this node cannot stand for election; it tries again");
                inner.gauge.trouble(Some(error.to_string()));
                pause(&stop, IDLE).await;
                continue;
            }
        };
        let resigned = Stop::new();
        let leadership = Leadership {
            fence: fence.clone(),
            lost: lease.lost(),
            resign: resigned.clone(),
            seat: lease.clone(),
        };
        inner.leads(Some(leadership));
        inner.observers.tell(&ClusterEvent::Elected { fence: fence.clone() });
        tracing::info!(%fence, "this node leads");
        if let Some(span) = vacant.ended() {
            METER.election_failover.observe(0, span);
        }
        METER.election_terms.add(0, 1);
        METER.election_leading.set(0, 1);
        beat.state(format!("leading, term {}", fence.term));
        let term = tracing::info_span!("tenure.election.term", term = %fence.term);
        let ended = lead(&inner, &lease, &fence, &resigned, &beat, &stop).instrument(term).await;
        METER.election_leading.set(0, 0);
        inner.leads(None);
        inner.leader_in_motion.store(false, Ordering::Relaxed);
        let reason = match &ended {
            Ended::Stopped => "it leaves".to_owned(),
            Ended::Resigned => "it resigned".to_owned(),
            Ended::Lost => {
                lease.loss().map_or_else(|| "its lease is over".to_owned(), |loss| loss.to_string())
            }
        };
        tracing::info!(%fence, reason, "this node does not lead any more");
        // Stop acting first, and say so, then release.
        inner.observers.tell(&ClusterEvent::Lost { fence: fence.clone(), reason });
        let asked_to = lease.loss() == Some(Loss::Revoked);
        if let Err(error) = lease.release().await {
            tracing::warn!(%fence, %error, "the leader's lease was not given back; its ttl will end it");
        }
        match ended {
            Ended::Stopped => return,
            // Others look less often than this node would stand again.
            Ended::Resigned => pause(&stop, AFTER_RESIGNED).await,
            Ended::Lost if asked_to => pause(&stop, AFTER_RESIGNED).await,
            Ended::Lost => pause(&stop, AFTER_DEPOSED).await,
        }
    }
}

async fn pause(stop: &Stop, span: Duration) {
    tokio::select! {
        () = stop.stopped() => {}
        () = tokio::time::sleep(span) => {}
    }
}

enum Ended {
    Stopped,
    Resigned,
    Lost,
}

/// Since when nobody leads, as this node sees it.
struct Vacant {
    since: Arc<Mutex<Option<Monotonic>>>,
    watching: tokio::task::JoinHandle<()>,
}

impl Vacant {
    fn watch(inner: &Arc<Inner>) -> Self {
        let (mut looks, since) = (inner.look.subscribe(), Arc::new(Mutex::new(None)));
        let noted = since.clone();
        let watching = tokio::spawn(async move {
            loop {
                let leads = looks.borrow_and_update().as_ref().is_some_and(|look| look.leads().is_some());
                {
                    let mut since = noted.lock().unwrap_or_else(PoisonError::into_inner);
                    match leads {
                        true => *since = None,
                        false => _ = since.get_or_insert_with(|| SteadyClock.now()),
                    }
                }
                if looks.changed().await.is_err() {
                    return;
                }
            }
        });
        Self { since, watching }
    }

    /// This node leads: for how long had nobody?
    fn ended(&self) -> Option<Duration> {
        let since = *self.since.lock().unwrap_or_else(PoisonError::into_inner);
        since.map(|since| since.until(SteadyClock.now()))
    }
}

impl Drop for Vacant {
    fn drop(&mut self) {
        // It only reads a channel: nothing is cut in half.
        self.watching.abort();
    }
}

async fn lead(
    inner: &Arc<Inner>,
    lease: &Lease,
    fence: &Fence,
    resigned: &Stop,
    beat: &Beat,
    stop: &Stop,
) -> Ended {
    let lost = lease.lost();
    let mut looks = inner.look.subscribe();
    let mut coordinator = Coordinator::new(inner.settings.clone(), SteadyClock.now());
    let (events, mut inbox) = mpsc::unbounded_channel();
    let (mut reading, mut read_at) = (false, SteadyClock.now());
    inner.nudge.notify_one();
    loop {
        let now = SteadyClock.now();
        beat.cycled_at(now);
        if let Some(wanted) = coordinator.wants().filter(|_| !reading && now >= read_at) {
            reading = true;
            let (store, events) = (inner.store.clone(), events.clone());
            tokio::spawn(async move {
                let page = store.daemons_after(&wanted.after, PAGE).await;
                events.send(Event::Read(wanted, page))
            });
        }
        if let Some(order) = coordinator.next_order(fence, now).filter(|_| !lost.is_stopped()) {
            let (store, events) = (inner.store.clone(), events.clone());
            tokio::spawn(async move {
                let answer = store.apply(&order).await;
                events.send(Event::Answered(Box::new(order), answer))
            });
        }
        let in_motion = coordinator.in_motion();
        inner.leader_in_motion.store(in_motion, Ordering::Relaxed);
        tokio::select! {
            biased;
            () = lost.stopped() => return Ended::Lost,
            () = resigned.stopped() => return Ended::Resigned,
            () = stop.stopped() => return Ended::Stopped,
            Some(event) = inbox.recv() => match event {
                Event::Read(wanted, Ok(page)) => {
                    reading = false;
                    coordinator.read(&wanted, page);
                    declare_missing(inner, &coordinator);
                }
                Event::Read(_, Err(error)) => {
                    (reading, read_at) = (false, SteadyClock.now().after(IDLE));
                    inner.trouble("read the daemons", &error);
                }
                Event::Answered(order, answer) => {
                    if let Err(error) = &answer {
                        inner.trouble("place daemons", error);
                        if !error.is_transient() {
                            // It would go on failing, and nobody else would lead.
                            return Ended::Resigned;
                        }
                    }
                    say_refusals(answer.as_ref().ok());
                    if !coordinator.answered(&order, answer.as_ref().ok(), SteadyClock.now()) {
                        METER.fence_refusals.add(2, 1);
                        lease.fenced(&Fenced { fence: fence.clone(), loss: Loss::Fenced });
                        return Ended::Lost;
                    }
                    inner.nudge.notify_one();
                }
            },
            Ok(()) = looks.changed() => {
                let look = looks.borrow_and_update().clone();
                if let Some(look) = look {
                    coordinator.looked(&look, SteadyClock.now());
                    beat.advanced();
                }
            }
            () = tokio::time::sleep(if in_motion { BUSY } else { IDLE }) => {}
        }
        lease.progress();
    }
}

/// Parts whose rows somebody deleted are declared again, or what is in them would be left to nobody.
fn declare_missing(inner: &Arc<Inner>, coordinator: &Coordinator) {
    let missing: Vec<_> = coordinator.missing(&inner.specs).into_iter().cloned().collect();
    if missing.is_empty() || !inner.declared.load(Ordering::Relaxed) {
        return;
    }
    tracing::warn!(first = %missing[0].name, count = missing.len(), "parts have no rows; they are declared again");
    let order = Order::Declare { specs: missing, deadlines: inner.settings.deadlines() };
    let inner = inner.clone();
    tokio::spawn(async move {
        if let Err(error) = inner.store.apply(&order).await {
            inner.trouble("declare parts again", &error);
        }
    });
}

fn say_refusals(answer: Option<&Answer>) {
    use tenure_core::cluster::Verdict;

    let Some(Answer::Done(verdicts)) = answer else { return };
    for verdict in verdicts {
        if let Verdict::Refused(refusal) = verdict {
            tracing::debug!(%refusal, "a placement was refused; it is planned anew");
        }
    }
}
