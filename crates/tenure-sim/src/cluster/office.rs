//! One time in office of a node, as the driver of a real process has it: it looks, reads its rows, runs what is assigned to
//! it, and says so. The decisions are those of the core's [`Host`].

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use tenure_core::cluster::{
    Action, Answer, ClusterLook, ClusterSettings, Daemon, DaemonName, DaemonSpec, End, Host, Member, Order,
    Revision, Verdict,
};
use tenure_core::id::NodeName;
use tenure_core::lease::{Fence, Term};
use tenure_core::time::Monotonic;

use super::copy::Copy;
use super::message::{Call, Said, Why};
use super::process::Work;
use crate::actor::FAR;
use crate::plan::Manners;

/// How long a node that leaves waits for the leader to say where its daemons go.
const LEAVE_WAIT: Duration = Duration::from_secs(3);
/// How much longer each look waits than the one before while nothing comes of looking.
const SLOWER: f64 = 1.4;
/// How often the rows are read although nothing says that they have changed.
const READ_EVERY: Duration = Duration::from_secs(30);

/// The copies that run in a process.
pub(super) type Copies = BTreeMap<(DaemonName, Term), Copy>;

/// One time in office.
#[derive(Debug)]
pub(super) struct Office {
    pub(super) fence: Fence,
    node: NodeName,
    settings: ClusterSettings,
    host: Host,
    specs: BTreeMap<DaemonName, Arc<DaemonSpec>>,
    look: Option<(Arc<ClusterLook>, Monotonic)>,
    looking: bool,
    reading: bool,
    registering: bool,
    registered: bool,
    rows_at: Option<Revision>,
    /// Then they are read although nothing says that they have changed.
    read_at: Monotonic,
    look_at: Monotonic,
    pause: Duration,
    leaving: bool,
    /// The driver has noticed that the lease is over.
    pub(super) out: bool,
    /// Counts what may make two copies run at once.
    pub(super) moves: u64,
    patience: Duration,
}

impl Office {
    pub(super) fn new(
        fence: Fence,
        node: NodeName,
        settings: ClusterSettings,
        patience: Duration,
        now: Monotonic,
    ) -> Self {
        let (host, pause) = (Host::new(node.clone(), settings.clone()), settings.look_in_motion);
        Self {
            fence,
            node,
            settings,
            host,
            specs: BTreeMap::new(),
            look: None,
            looking: false,
            reading: false,
            registering: false,
            registered: false,
            rows_at: None,
            read_at: Monotonic::from_origin(Duration::ZERO),
            look_at: now,
            pause,
            leaving: false,
            out: false,
            moves: 0,
            patience,
        }
    }

    fn ask(&self, call: Call, why: Why, work: &mut Work<'_>) {
        work.calls.push((call, why, Some(self.patience)));
    }

    fn say(&self, said: Said, order: Order, work: &mut Work<'_>) {
        self.ask(Call::Apply(Arc::new(order)), Why::Said(self.fence.term, said), work);
    }

    pub(super) fn register(&mut self, member: Member, declares: Vec<DaemonSpec>, work: &mut Work<'_>) {
        self.registering = true;
        let member = Box::new(Member { term: self.fence.term, leaving: self.leaving, ..member });
        let deadlines = self.settings.deadlines();
        self.say(
            Said::Registered,
            Order::Register { fence: self.fence.clone(), member, declares, deadlines },
            work,
        );
    }

    /// The node is to leave.
    pub(super) fn leave(&mut self, work: &mut Work<'_>) {
        if !self.leaving {
            self.leaving = true;
            self.host.leave(work.now.after(LEAVE_WAIT));
            self.say_leaving(work);
        }
    }

    fn say_leaving(&self, work: &mut Work<'_>) {
        self.say(Said::Leaving, Order::Leave { fence: self.fence.clone(), node: self.node.clone() }, work);
    }

    /// Whether the node has left, and nothing runs any more.
    pub(super) fn has_left(&self, copies: &Copies) -> bool {
        self.leaving && self.registered && self.host.is_empty() && copies.is_empty()
    }

    /// The lease is over: everything stops.
    pub(super) fn out_of_office(&mut self, now: Monotonic) {
        if !self.out {
            self.out = true;
            self.moves += 1;
            self.host.out_of_office(now);
        }
    }

    pub(super) fn hurry(&mut self, now: Monotonic) {
        self.look_at = now;
        self.pause = self.settings.look_in_motion;
    }

    /// Does whatever is due; says when there is something to do again.
    pub(super) fn drive(&mut self, copies: &mut Copies, manners: Manners, work: &mut Work<'_>) -> Monotonic {
        if !self.out {
            if !self.looking && work.now >= self.look_at {
                self.looking = true;
                let why = Why::Look { term: self.fence.term, started: work.now };
                self.ask(Call::Look, why, work);
            }
            self.read_rows(work);
        }
        for action in self.host.step(work.now) {
            self.perform(action, copies, manners, work);
        }
        let look_at = if self.looking || self.out { FAR } else { self.look_at };
        self.host.next_due().unwrap_or(FAR).min(look_at).max(work.now.after(Duration::from_millis(1)))
    }

    fn read_rows(&mut self, work: &mut Work<'_>) {
        let Some((look, _)) = self.look.as_ref().filter(|_| !self.reading) else { return };
        let Some(own) = look.node(&self.node) else { return };
        let same = self.rows_at == Some(own.member.revision) && work.now < self.read_at;
        if own.member.term != self.fence.term || same {
            return;
        }
        self.read_at = work.now.after(READ_EVERY);
        let revision = own.member.revision;
        self.reading = true;
        self.ask(Call::Rows(self.node.clone()), Why::Rows { term: self.fence.term, revision }, work);
    }

    fn perform(&mut self, action: Action, copies: &mut Copies, manners: Manners, work: &mut Work<'_>) {
        let (fence, node) = (self.fence.clone(), self.node.clone());
        let now = work.now;
        match action {
            Action::Acknowledge(daemons) => {
                let order = Order::Acknowledge { fence, node, daemons: daemons.clone() };
                self.say(Said::Acknowledged(daemons), order, work);
            }
            Action::Confirm(daemons) => {
                let deadlines = self.settings.deadlines();
                let order = Order::Confirm { fence, node, daemons: daemons.clone(), deadlines };
                self.say(Said::Confirmed(daemons), order, work);
            }
            Action::Fail { daemon, generation, reason } => {
                let (name, cool_down) = (daemon.clone(), self.settings.cool_down);
                let order = Order::Fail { fence, node, daemon, generation, reason, cool_down };
                self.say(Said::Failed(name, generation), order, work);
            }
            Action::Start { daemon, generation } => {
                work.notes.push(format!("starts {daemon}, generation {generation}"));
                self.moves += 1;
                let spec = self.specs.get(&daemon).cloned();
                let spec = spec.unwrap_or_else(|| Arc::new(DaemonSpec::new(daemon.clone())));
                copies.insert((daemon, generation), Copy::start(spec, manners, now, work.rng));
            }
            Action::Stop { daemon, generation } => {
                work.notes.push(format!("is to stop {daemon}, generation {generation}"));
                if let Some(copy) = copies.get_mut(&(daemon, generation)) {
                    copy.stop(now, work.rng);
                }
            }
            Action::Lose { daemon, generation } => {
                work.notes.push(format!("has lost {daemon}, generation {generation}"));
                if let Some(copy) = copies.get_mut(&(daemon, generation)) {
                    copy.lose(now, work.rng);
                }
            }
            Action::Abort { daemon, generation } => {
                work.notes.push(format!("cuts off {daemon}, generation {generation}"));
                if let Some(copy) = copies.get_mut(&(daemon, generation)) {
                    copy.abort(now);
                }
            }
        }
    }

    /// Takes a look; answers whether the node must register again.
    pub(super) fn looked(
        &mut self,
        look: Option<Arc<ClusterLook>>,
        started: Monotonic,
        leader_in_motion: bool,
        work: &mut Work<'_>,
    ) -> bool {
        self.looking = false;
        let mut vanished = false;
        if let Some(look) = look {
            if self.look.as_ref().map(|(look, _)| look.revision) != Some(look.revision) {
                self.pause = self.settings.look_in_motion;
            }
            let own = look.node(&self.node);
            let ours = own.is_some_and(|own| own.member.term == self.fence.term);
            vanished = self.registered && !ours && !self.registering;
            if self.leaving && own.is_some_and(|own| !own.member.leaving) && !self.registering {
                self.say_leaving(work);
            }
            self.look = Some((look, started));
        }
        let rest = self.settings.look_without_wakeup;
        let in_motion = self.host.in_motion() || leader_in_motion || self.leaving || !self.registered;
        let pause = if in_motion { self.pause.min(rest) } else { rest };
        self.pause = self.pause.mul_f64(SLOWER).min(rest);
        self.look_at = work.now.after(pause);
        vanished
    }

    pub(super) fn read(
        &mut self,
        rows: Option<Vec<Daemon>>,
        revision: Revision,
        can_run: impl Fn(&DaemonName) -> bool,
    ) {
        self.reading = false;
        let (Some(rows), Some((look, started))) = (rows, &self.look) else { return };
        self.rows_at = Some(revision);
        for row in &rows {
            if self.specs.get(row.name()).is_none_or(|known| **known != row.spec) {
                self.specs.insert(row.name().clone(), Arc::new(row.spec.clone()));
            }
        }
        self.host.assigned(&rows, self.fence.term, look.now, *started, can_run);
    }

    /// Takes the answer to what was said; answers whether the store has said that the lease is over.
    pub(super) fn answered(&mut self, said: &Said, answer: Option<Answer>, now: Monotonic) -> bool {
        let fenced = matches!(answer, Some(Answer::Fenced(_)));
        let verdicts: Option<Vec<Verdict>> = match answer {
            Some(Answer::Done(verdicts)) => Some(verdicts),
            _ => None,
        };
        match said {
            Said::Registered => (self.registering, self.registered) = (false, true),
            Said::Leaving => {}
            Said::Acknowledged(daemons) => self.host.acknowledged(daemons, verdicts.as_deref(), now),
            Said::Confirmed(daemons) => self.host.confirmed(daemons, verdicts.as_deref(), now),
            Said::Failed(daemon, generation) => {
                let verdict = verdicts.as_ref().and_then(|verdicts| verdicts.first());
                self.host.failure_reported(daemon, *generation, verdict, now);
            }
        }
        self.hurry(now);
        fenced
    }

    pub(super) fn ended(&mut self, daemon: &DaemonName, generation: Term, end: &End, work: &mut Work<'_>) {
        work.notes.push(format!("sees {daemon}, generation {generation}, end: {end:?}"));
        self.host.ended(daemon, generation, end, work.rng.f64(), work.now);
    }
}
