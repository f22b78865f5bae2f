//! One time in office of a node: it looks, runs what is assigned to it, and says so.
//!
//! Every call to the store and every daemon runs in a task of its own and reports by a channel: nothing that is waited for
//! here is a call that could be cut in half.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use tenure_core::StoreError;
use tenure_core::cluster::{
    Action, Answer, ClusterLook, Daemon, DaemonFilter, DaemonName, End, Host, Order, Revision, Verdict,
};
use tenure_core::lease::{Fence, Fenced, Term};
use tenure_core::observe::{METER, RunnerKind};
use tenure_core::time::{Clock, Monotonic};
use tokio::sync::mpsc;
use tokio::task::AbortHandle;
use tracing::Instrument;

use super::Inner;
use super::agent::Duty;
use crate::clock::SteadyClock;
use crate::lease::Lease;
use crate::runners::{Beat, runners};
use crate::stop::Stop;

/// How long a node that leaves waits for the leader to say where its daemons go.
const LEAVE_WAIT: Duration = Duration::from_secs(3);
/// How long to wait before rows are read, or a registration is said, again after it went wrong.
const AGAIN: Duration = Duration::from_secs(1);
/// How often the rows are read although nothing says that they have changed: someone may have deleted one by hand.
const READ_EVERY: Duration = Duration::from_secs(30);
/// How long a look waits that is to show what happened during the one before: while everything moves, one after another
/// would be all that a busy database does.
const HURRIED: Duration = Duration::from_millis(25);
/// How much longer each look waits than the one before while nothing comes of looking.
const SLOWER: f64 = 1.4;

/// How often it goes round when nothing happens.
const EVERY: Duration = Duration::from_secs(1);

/// How a time in office ended.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Ended {
    /// The node's lease is over.
    Lost,
    /// The node was to leave, and nothing runs here any more.
    Left,
}

/// What the loop is told.
enum Event {
    Looked(Box<Result<ClusterLook, StoreError>>, Monotonic),
    Rows(Result<Vec<Daemon>, StoreError>, Revision),
    Answered(Said, Result<Answer, StoreError>),
    Ended(DaemonName, Term, End),
}

/// What was said to the store.
enum Said {
    Registered,
    Leaving,
    Acknowledged(Vec<(DaemonName, Term)>),
    Confirmed(Vec<(DaemonName, Term)>),
    Failed(DaemonName, Term),
}

struct Running {
    stop: Stop,
    lost: Stop,
    abort: AbortHandle,
}

pub(super) struct Office {
    inner: Arc<Inner>,
    lease: Lease,
    fence: Fence,
    host: Host,
    running: BTreeMap<(DaemonName, Term), Running>,
    events: mpsc::UnboundedSender<Event>,
    inbox: mpsc::UnboundedReceiver<Event>,
    /// The last look, when it started, and whether its rows were read.
    look: Option<(ClusterLook, Monotonic)>,
    looking: bool,
    reading: bool,
    registering: bool,
    registered: bool,
    register_at: Monotonic,
    /// When the store last took this node's row: a look that was begun before then may not show it.
    registered_at: Monotonic,
    /// The change up to which the rows of this node were read.
    rows_at: Option<Revision>,
    /// Not before then are they read again after an error; then at the latest.
    read_at: Monotonic,
    /// When this node last knew for sure what it is to run: the start of a look whose rows it has.
    sure_at: Monotonic,
    /// That is too long ago, and what ran here was stopped.
    blind: bool,
    look_at: Monotonic,
    /// When something last happened that a look is to show.
    hurried_at: Monotonic,
    pause: Duration,
    leaving: bool,
    /// Given when this office ends: what belongs to it, ends too.
    last: Stop,
    beat: Beat,
}

impl Office {
    /// `registered`: whether the store has this node's row under this fence already.
    pub(super) fn new(inner: Arc<Inner>, lease: Lease, fence: Fence, last: Stop, registered: bool) -> Self {
        let (events, inbox) = mpsc::unbounded_channel();
        let now = SteadyClock.now();
        let host = Host::new(inner.node.name.clone(), inner.settings.clone());
        let pause = inner.settings.look_in_motion;
        let beat = runners().register(RunnerKind::Node, inner.node.name.as_str(), EVERY);
        beat.state("in office");
        inner.gauge.begin(beat.clone());
        Self {
            inner,
            lease,
            fence,
            host,
            running: BTreeMap::new(),
            events,
            inbox,
            look: None,
            looking: false,
            reading: false,
            registering: false,
            registered,
            register_at: now,
            registered_at: now,
            rows_at: None,
            read_at: now,
            sure_at: now,
            blind: false,
            look_at: now,
            hurried_at: now,
            pause,
            leaving: false,
            last,
            beat,
        }
    }

    /// Works until the lease is over, or until it has left.
    pub(super) async fn run(mut self, stop: &Stop) -> Ended {
        let _watch = self.beat.watch();
        let lost = self.lease.lost();
        if !self.registered {
            self.register();
        }
        loop {
            let now = SteadyClock.now();
            self.beat.cycled_at(now);
            self.act(now);
            if self.leaving && self.registered && self.host.is_empty() && self.running.is_empty() {
                return Ended::Left;
            }
            let sleep = self.sleep(now);
            tokio::select! {
                biased;
                () = lost.stopped() => break,
                () = stop.stopped(), if !self.leaving => self.leave(),
                event = self.inbox.recv() => self.take_all(event),
                () = self.inner.nudge.notified() => self.hurry(),
                () = tokio::time::sleep(sleep) => {}
            }
            self.lease.progress();
            self.stop_when_blind(SteadyClock.now());
        }
        self.last.stop();
        self.out_of_office().await;
        Ended::Lost
    }

    /// A node that cannot see what it is to run, although its lease is renewed, stops: the leader may have told it to, and
    /// takes by force what it does not stop in time. It starts again what it is still to run once it sees.
    fn stop_when_blind(&mut self, now: Monotonic) {
        let blind_for = self.sure_at.until(now);
        let blind = blind_for >= self.inner.settings.drain / 2;
        // Once: what it stopped may take a while to end.
        if std::mem::replace(&mut self.blind, blind) || !blind {
            return;
        }
        tracing::error!(?blind_for, "this node cannot see what it is to run; it stops its daemons");
        self.host.out_of_office(now);
        (self.rows_at, self.read_at) = (None, now);
    }

    /// Everything stops; returns when nothing runs any more.
    async fn out_of_office(&mut self) {
        self.host.out_of_office(SteadyClock.now());
        loop {
            self.act(SteadyClock.now());
            if self.running.is_empty() {
                return;
            }
            // A daemon that does not end keeps the node out of office, not dead.
            let beat = self.beat.clone();
            if let Some(Event::Ended(daemon, generation, end)) = beat.during(self.inbox.recv()).await {
                self.ended(&daemon, generation, &end);
            }
        }
    }

    fn sleep(&self, now: Monotonic) -> Duration {
        let due = [Some(self.look_at).filter(|_| !self.looking), self.host.next_due()];
        let next = due.into_iter().flatten().min().unwrap_or(now.after(Duration::from_secs(1)));
        now.until(next).min(Duration::from_secs(1)).max(Duration::from_millis(1))
    }

    fn hurry(&mut self) {
        self.look_at = SteadyClock.now();
        self.hurried_at = self.look_at;
        self.pause = self.inner.settings.look_in_motion;
    }

    fn act(&mut self, now: Monotonic) {
        if !self.looking && now >= self.look_at {
            self.start_look();
        }
        self.read_rows();
        for action in self.host.step(now) {
            self.perform(action);
        }
        let running = self.host.running().count();
        METER.cluster_daemons.set(0, running as u64);
        self.inner.gauge.host(running, self.host.in_motion());
    }

    fn start_look(&mut self) {
        self.looking = true;
        let (store, events, started) = (self.inner.store.clone(), self.events.clone(), SteadyClock.now());
        tokio::spawn(async move {
            let look = store.look().await;
            let _ = events.send(Event::Looked(Box::new(look), started));
        });
    }

    /// Reads the rows of this node when they have changed.
    fn read_rows(&mut self) {
        let Some((look, _)) = self.look.as_ref().filter(|_| !self.reading) else { return };
        let Some(own) = look.node(&self.inner.node.name) else { return };
        let (changed, now) = (self.rows_at != Some(own.member.revision), SteadyClock.now());
        let due = match self.rows_at {
            Some(_) if changed => true,
            _ => now >= self.read_at,
        };
        if own.member.term != self.fence.term || !due {
            return;
        }
        self.reading = true;
        let (store, events, revision) = (self.inner.store.clone(), self.events.clone(), own.member.revision);
        let filter = DaemonFilter::of_node(self.inner.node.name.clone());
        tokio::spawn(async move {
            let rows = store.daemons(&filter).await;
            let _ = events.send(Event::Rows(rows, revision));
        });
    }

    fn say(&self, said: Said, order: Order) {
        let (store, events) = (self.inner.store.clone(), self.events.clone());
        tokio::spawn(async move {
            let answer = store.apply(&order).await;
            let _ = events.send(Event::Answered(said, answer));
        });
    }

    fn register(&mut self) {
        self.registering = true;
        self.say(Said::Registered, self.inner.registration(&self.fence, self.leaving));
    }

    fn leave(&mut self) {
        self.leaving = true;
        self.host.leave(SteadyClock.now().after(LEAVE_WAIT));
        self.say_leaving();
    }

    /// Said again with each look that does not show it.
    fn say_leaving(&self) {
        let node = self.inner.node.name.clone();
        self.say(Said::Leaving, Order::Leave { fence: self.fence.clone(), node });
    }

    fn perform(&mut self, action: Action) {
        let (fence, node) = (self.fence.clone(), self.inner.node.name.clone());
        match action {
            Action::Acknowledge(daemons) => {
                let order = Order::Acknowledge { fence, node, daemons: daemons.clone() };
                self.say(Said::Acknowledged(daemons), order);
            }
            Action::Confirm(daemons) => {
                let deadlines = self.inner.settings.deadlines();
                let order = Order::Confirm { fence, node, daemons: daemons.clone(), deadlines };
                self.say(Said::Confirmed(daemons), order);
            }
            Action::Fail { daemon, generation, reason } => {
                tracing::error!(%daemon, %generation, reason, "a daemon cannot be run here and is given back");
                let cool_down = self.inner.settings.cool_down;
                let (name, at) = (daemon.clone(), generation);
                let order = Order::Fail { fence, node, daemon, generation, reason, cool_down };
                self.say(Said::Failed(name, at), order);
            }
            Action::Start { daemon, generation } => self.start(daemon, generation),
            Action::Stop { daemon, generation } => {
                tracing::info!(%daemon, %generation, "a daemon is to stop");
                if let Some(running) = self.running.get(&(daemon, generation)) {
                    running.stop.stop();
                }
            }
            Action::Lose { daemon, generation } => {
                tracing::warn!(%daemon, %generation, "a daemon's right to run here is over");
                if let Some(running) = self.running.get(&(daemon, generation)) {
                    running.lost.stop();
                    // Others may start it when the margin has passed.
                    let (abort, margin) = (running.abort.clone(), self.inner.settings.margin);
                    tokio::spawn(async move {
                        tokio::time::sleep(margin).await;
                        abort.abort();
                    });
                }
            }
            Action::Abort { daemon, generation } => {
                tracing::error!(%daemon, %generation, "a daemon has not stopped in time and is cut off");
                if let Some(running) = self.running.get(&(daemon, generation)) {
                    running.lost.stop();
                    running.abort.abort();
                }
            }
        }
    }

    fn start(&mut self, daemon: DaemonName, generation: Term) {
        let (Some(agent), Ok(lease)) = (self.inner.agent(&daemon), daemon.lease()) else {
            let end = End::Failed("this node has no agent for it".to_owned());
            let _ = self.events.send(Event::Ended(daemon, generation, end));
            return;
        };
        tracing::info!(%daemon, %generation, "a daemon starts here");
        // Below the node's own signal, which is given on the heartbeat thread: it comes in time whatever this loop does.
        let lost = self.lease.lost();
        let stop = lost.child();
        let duty = Duty {
            daemon: daemon.clone(),
            fence: Fence { lease, term: generation },
            node: self.inner.node.name.clone(),
            stop: stop.clone(),
            lost: lost.clone(),
            seat: self.lease.clone(),
        };
        let span = tracing::info_span!("tenure.daemon.run", %daemon, %generation);
        let work = tokio::spawn(async move { agent.run(duty).await }.instrument(span));
        let abort = work.abort_handle();
        let (events, name) = (self.events.clone(), daemon.clone());
        let group = group(&daemon).to_owned();
        METER.daemon_starts.of(&group).add(0, 1);
        let beat = runners().register(RunnerKind::Daemon, daemon.as_str(), EVERY);
        beat.state(format!("running, generation {generation}"));
        tokio::spawn(async move {
            // What it does only it knows: here it is seen that it runs.
            let ended = beat.waiting(work).await;
            drop(beat);
            METER.daemon_stops.of(&group).add(0, 1);
            let end = match ended {
                Ok(Ok(())) => End::Finished,
                Ok(Err(error)) => End::Failed(error.to_string()),
                Err(error) if error.is_panic() => End::Failed(panic_text(error.into_panic())),
                Err(_) => End::Failed("it was cut off".to_owned()),
            };
            let _ = events.send(Event::Ended(name, generation, end));
        });
        self.running.insert((daemon, generation), Running { stop, lost, abort });
    }

    fn take_all(&mut self, event: Option<Event>) {
        let mut next = event;
        while let Some(event) = next {
            self.take(event);
            next = self.inbox.try_recv().ok();
        }
    }

    fn take(&mut self, event: Event) {
        match event {
            Event::Looked(look, started) => self.looked(*look, started),
            Event::Rows(rows, revision) => self.rows(rows, revision),
            Event::Answered(said, answer) => self.answered(said, answer),
            Event::Ended(daemon, generation, end) => self.ended(&daemon, generation, &end),
        }
    }

    fn looked(&mut self, look: Result<ClusterLook, StoreError>, started: Monotonic) {
        self.looking = false;
        let now = SteadyClock.now();
        match look {
            Ok(look) => {
                let before = self.look.as_ref().map(|(look, _)| look.revision);
                if before != Some(look.revision) {
                    self.pause = self.inner.settings.look_in_motion;
                }
                let own = look.node(&self.inner.node.name);
                // What was read for it is still so.
                if own.is_some_and(|own| self.rows_at == Some(own.member.revision)) {
                    self.sure_at = started;
                }
                let ours = own.is_some_and(|own| own.member.term == self.fence.term);
                let due = started >= self.registered_at && now >= self.register_at;
                if self.registered && !ours && !self.registering && due {
                    tracing::warn!(node = %self.inner.node.name, "this node's row has vanished; it registers again");
                    self.register();
                }
                if self.leaving && own.is_some_and(|own| !own.member.leaving) && !self.registering {
                    self.say_leaving();
                }
                let alive = look.nodes.iter().filter(|node| node.is_alive(look.now)).count();
                METER.cluster_nodes.set(0, alive as u64);
                self.beat.advanced();
                self.inner.looked(&look);
                self.look = Some((look, started));
            }
            Err(error) => self.inner.trouble("look at the cluster", &error),
        }
        let settings = &self.inner.settings;
        let rest = match self.inner.wakes.load(Ordering::Relaxed) {
            true => settings.look,
            false => settings.look_without_wakeup,
        };
        let in_motion = self.host.in_motion()
            || self.inner.leader_in_motion.load(Ordering::Relaxed)
            || self.leaving
            || !self.registered;
        let pause = if in_motion { self.pause.min(rest) } else { rest };
        self.pause = self.pause.mul_f64(SLOWER).min(rest);
        // What happened while this look was under way may not show in it.
        self.look_at = if self.hurried_at > started { now.after(HURRIED) } else { now.after(pause) };
    }

    fn rows(&mut self, rows: Result<Vec<Daemon>, StoreError>, revision: Revision) {
        self.reading = false;
        match rows {
            Ok(rows) => {
                self.rows_at = Some(revision);
                self.read_at = SteadyClock.now().after(READ_EVERY);
                // The clock of the look that showed the change, counted from its start: a deadline is never later here
                // than at the leader.
                let Some((look, started)) = &self.look else { return };
                // A later look may show that there is more to read.
                if look.node(&self.inner.node.name).is_some_and(|own| own.member.revision == revision) {
                    self.sure_at = *started;
                }
                let inner = self.inner.clone();
                let can_run = |daemon: &DaemonName| inner.agent(daemon).is_some();
                self.host.assigned(&rows, self.fence.term, look.now, *started, can_run);
            }
            Err(error) => {
                (self.rows_at, self.read_at) = (None, SteadyClock.now().after(AGAIN));
                self.inner.trouble("read its daemons", &error);
            }
        }
    }

    fn answered(&mut self, said: Said, answer: Result<Answer, StoreError>) {
        let now = SteadyClock.now();
        let verdicts: Option<Vec<Verdict>> = match answer {
            Ok(Answer::Done(verdicts)) => Some(verdicts),
            Ok(Answer::Fenced(Fenced { fence, loss })) => {
                METER.fence_refusals.add(2, 1);
                self.lease.fenced(&Fenced { fence, loss });
                None
            }
            Ok(Answer::Refused(refusal)) => {
                self.inner.refused(&refusal.to_string());
                None
            }
            Err(error) => {
                self.inner.trouble("say what it does", &error);
                None
            }
        };
        match said {
            Said::Registered => {
                self.registering = false;
                match verdicts {
                    Some(_) => self.inner.declared.store(true, Ordering::Relaxed),
                    None => self.register_at = now.after(AGAIN),
                }
                // Should it not have taken effect, the next look does not show the row, and it is said again.
                self.registered = true;
                self.registered_at = now;
            }
            Said::Leaving => {}
            Said::Acknowledged(daemons) => self.host.acknowledged(&daemons, verdicts.as_deref(), now),
            Said::Confirmed(daemons) => self.host.confirmed(&daemons, verdicts.as_deref(), now),
            Said::Failed(daemon, generation) => {
                let verdict = verdicts.as_ref().and_then(|verdicts| verdicts.first());
                self.host.failure_reported(&daemon, generation, verdict, now);
            }
        }
        self.hurry();
    }

    fn ended(&mut self, daemon: &DaemonName, generation: Term, end: &End) {
        self.running.remove(&(daemon.clone(), generation));
        match end {
            End::Finished => tracing::info!(%daemon, %generation, "a daemon has ended"),
            End::Failed(reason) => {
                METER.daemon_failures.of(group(daemon)).add(0, 1);
                tracing::warn!(%daemon, %generation, reason, "a daemon has ended");
            }
        }
        self.host.ended(daemon, generation, end, fastrand::f64(), SteadyClock.now());
    }
}

/// By what daemons are told apart in numbers: their family, or their own name.
fn group(daemon: &DaemonName) -> &str {
    daemon.family().unwrap_or_else(|| daemon.as_str())
}

/// What a panic said, if it said anything.
fn panic_text(payload: Box<dyn std::any::Any + Send>) -> String {
    let text = payload.downcast_ref::<&str>().map(|text| (*text).to_owned());
    let text = text.or_else(|| payload.downcast_ref::<String>().cloned());
    text.map_or_else(|| "it panicked".to_owned(), |text| format!("it panicked: {text}"))
}
