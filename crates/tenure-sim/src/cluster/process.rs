//! A process that is a node: its session, its leases, its time in office, its lead, and the daemons that it runs.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use fastrand::Rng;
use tenure_core::cluster::{
    Agents, Answer, ClusterLook, ClusterSettings, DaemonName, LEADER_LEASE, Member, Order, Revision,
    node_lease,
};
use tenure_core::id::{Node, NodeName, Unique};
use tenure_core::lease::{LeaseName, Term};
use tenure_core::time::{Monotonic, StoreTime};

use super::burial::{self, Grave};
use super::chair::Chair;
use super::leading::Leading;
use super::message::{Call, Reply, Which, Why};
use super::office::{Copies, Office};
use super::valid;
use crate::actor::{FAR, Patience, Purpose, Session, Turn};
use crate::plan::{Manners, MemberPlan, parts};
use crate::world::message::Answer as LeaseAnswer;

/// How long a node that was deposed waits before it stands again, and one that resigned.
const AFTER_DEPOSED: Duration = Duration::from_millis(200);
const AFTER_RESIGNED: Duration = Duration::from_secs(10);

/// What a process is given, and what it leaves.
#[derive(Debug)]
pub(super) struct Work<'a> {
    pub(super) now: Monotonic,
    pub(super) rng: &'a mut Rng,
    /// What it wants asked, why, and for how long it waits.
    pub(super) calls: Vec<(Call, Why, Option<Duration>)>,
    pub(super) notes: Vec<String>,
    /// Why it lost its node's lease, if it did.
    pub(super) seat_lost: Option<String>,
}

impl<'a> Work<'a> {
    pub(super) fn new(now: Monotonic, rng: &'a mut Rng) -> Self {
        Self { now, rng, calls: Vec::new(), notes: Vec::new(), seat_lost: None }
    }

    /// Gives the drivers of leases a turn, and takes over what they want asked.
    pub(super) fn turn<T>(
        &mut self,
        why: impl Fn(Purpose) -> Why,
        act: impl FnOnce(&mut Turn<'_>) -> T,
    ) -> T {
        let mut turn = Turn::new(self.now, self.rng);
        let done = act(&mut turn);
        let Turn { asks, .. } = turn;
        self.calls
            .extend(asks.into_iter().map(|ask| (Call::Lease(ask.request), why(ask.purpose), ask.patience)));
        done
    }
}

/// How far a process is on its way out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Exit {
    No,
    Asked,
    Departing,
    Releasing,
    Done,
}

/// One process.
#[derive(Debug)]
pub(super) struct Process {
    pub(super) node: Node,
    plan: Arc<MemberPlan>,
    settings: Arc<ClusterSettings>,
    session: Session,
    seat: Chair,
    election: Option<Chair>,
    grave: Option<Grave>,
    graves: u64,
    office: Option<Office>,
    leading: Option<Leading>,
    pub(super) copies: Copies,
    look: Option<Arc<ClusterLook>>,
    /// Until when the office, or the lead, gets no turn.
    pub(super) office_busy: Monotonic,
    pub(super) lead_busy: Monotonic,
    exit: Exit,
    pending: BTreeMap<u64, Why>,
    calls: u64,
}

impl Process {
    pub(super) fn new(
        name: NodeName,
        plan: Arc<MemberPlan>,
        settings: Arc<ClusterSettings>,
        work: &mut Work<'_>,
    ) -> Self {
        let incarnation = Unique::from_u128(work.rng.u128(..));
        let node = Node { machine: name.to_string(), name, incarnation, pid: work.rng.u32(2..99_999) };
        let mut seat = Chair::new(valid(node_lease(&node.name)), settings.membership());
        work.turn(|purpose| Why::Lease(Which::Seat, purpose), |turn| seat.contend(turn));
        Self {
            node,
            plan,
            settings,
            session: Session::Closed { reopen_at: work.now },
            seat,
            election: None,
            grave: None,
            graves: 0,
            office: None,
            leading: None,
            copies: BTreeMap::new(),
            look: None,
            office_busy: Monotonic::from_origin(Duration::ZERO),
            lead_busy: Monotonic::from_origin(Duration::ZERO),
            exit: Exit::No,
            pending: BTreeMap::new(),
            calls: 0,
        }
    }

    /// Whether the copies of this process may act: it trusts the lease under which they were started, and the driver has
    /// not found that it is over. One that found it and told them nothing lets them act.
    pub(super) fn may_act(&self, now: Monotonic) -> bool {
        self.office
            .as_ref()
            .is_some_and(|office| office.out || self.seat.belief(now) == Some(office.fence.term))
    }

    /// Counts what may make two copies run at once.
    pub(super) fn moves(&self) -> u64 {
        self.office.as_ref().map_or(0, |office| office.moves)
    }

    pub(super) fn leads(&self, now: Monotonic) -> Option<Term> {
        let term = self.election.as_ref()?.belief(now)?;
        self.leading.as_ref().filter(|leading| leading.fence.term == term).map(|_| term)
    }

    /// The term under which this process is in office.
    pub(super) fn seat_term(&self, now: Monotonic) -> Option<Term> {
        self.seat.belief(now)
    }

    pub(super) fn live_session(&self) -> Option<Unique> {
        self.session.live().map(|(id, _)| id)
    }

    pub(super) fn is_done(&self) -> bool {
        self.exit == Exit::Done
    }

    fn member(&self) -> Member {
        Member {
            node: self.node.clone(),
            term: Term::FIRST,
            labels: self.plan.labels.clone(),
            version: String::new(),
            capacity: self.plan.capacity,
            leads: self.plan.leads,
            agents: self.agents(),
            leaving: false,
            joined_at: StoreTime::from_micros(0),
            revision: Revision::default(),
        }
    }

    fn agents(&self) -> Agents {
        let families = self.plan.families.iter().map(|family| (*family).to_owned());
        Agents { names: BTreeSet::new(), families: families.collect() }
    }

    fn patience(&self) -> Patience {
        self.plan.machine.patience
    }

    /// Is to leave in good order.
    pub(super) fn stop(&mut self) {
        if self.exit == Exit::No {
            self.exit = Exit::Asked;
        }
    }

    /// Gives up the lead; answers whether it had it.
    pub(super) fn resign(&mut self, now: Monotonic) -> bool {
        let Some(election) = self.election.as_mut().filter(|_| self.leading.is_some()) else { return false };
        self.leading = None;
        election.release(Some(AFTER_RESIGNED), now);
        true
    }

    /// Does whatever is due; says when there is something to do again.
    pub(super) fn drive(&mut self, manners: Manners, work: &mut Work<'_>) -> Monotonic {
        let (patience, mut wake) = (self.patience(), FAR);
        if let Some(presence) = &self.settings.presence {
            let session = &mut self.session;
            wake = wake.min(work.turn(Why::Session, |turn| session.drive(presence, patience, turn)));
        }
        wake = wake.min(self.drive_leases(work));
        self.end_copies(work);
        wake = wake.min(self.drive_office(manners, work));
        if let Some(leading) = self.leading.as_mut() {
            wake = wake.min(if work.now < self.lead_busy { self.lead_busy } else { leading.drive(work) });
        }
        let may_act = self.may_act(work.now);
        for ((_, generation), copy) in &mut self.copies {
            let believes = may_act && copy.told < super::copy::Told::Over;
            wake = wake.min(copy.drive(*generation, believes, work));
        }
        wake
    }

    fn drive_leases(&mut self, work: &mut Work<'_>) -> Monotonic {
        let (patience, live) = (self.patience(), self.session.live());
        let (seat, node) = (&mut self.seat, &self.node);
        let (mut wake, loss) = work
            .turn(|purpose| Why::Lease(Which::Seat, purpose), |turn| seat.drive(node, live, patience, turn));
        if let Some(loss) = loss {
            work.notes.push(format!("has lost its node's lease: {loss}"));
            work.seat_lost = Some(loss.to_string());
            self.seat.drop_office();
        }
        if let Some(election) = &mut self.election {
            let (at, loss) = work.turn(
                |purpose| Why::Lease(Which::Election, purpose),
                |turn| election.drive(node, live, patience, turn),
            );
            wake = wake.min(at);
            if let Some(loss) = loss {
                work.notes.push(format!("leads no longer: {loss}"));
                self.leading = None;
                election.release(Some(AFTER_DEPOSED), work.now);
                wake = work.now;
            }
        }
        if let Some(grave) = &mut self.grave {
            wake = wake.min(grave.drive(node, live, patience, work));
        }
        wake
    }

    /// Learns which copies have ended.
    fn end_copies(&mut self, work: &mut Work<'_>) {
        let ended = |(key, copy): (&(DaemonName, Term), &super::copy::Copy)| {
            copy.ended(work.now).map(|end| (key.clone(), end.clone()))
        };
        let ended: Vec<_> = self.copies.iter().filter_map(ended).collect();
        for (key, end) in ended {
            self.copies.remove(&key);
            if let Some(office) = &mut self.office {
                office.ended(&key.0, key.1, &end, work);
            }
        }
    }

    fn drive_office(&mut self, manners: Manners, work: &mut Work<'_>) -> Monotonic {
        if work.now < self.office_busy {
            return self.office_busy;
        }
        if let Some(office) = &mut self.office {
            if self.seat.belief(work.now) != Some(office.fence.term) && self.seat.is_idle() {
                office.out_of_office(work.now);
            } else if self.exit == Exit::Asked {
                office.leave(work);
            }
            let mut wake = office.drive(&mut self.copies, manners, work);
            if office.out && self.copies.is_empty() {
                // Nothing runs any more: it joins again.
                self.office = None;
            } else if !office.out && office.has_left(&self.copies) && self.exit == Exit::Asked {
                self.depart(work);
                wake = FAR;
            }
            if self.office.is_some() {
                return wake;
            }
        }
        self.out_of_office(work)
    }

    /// Without an office: it joins again, or it is on its way out.
    fn out_of_office(&mut self, work: &mut Work<'_>) -> Monotonic {
        match self.exit {
            Exit::No if self.seat.is_idle() => {
                let seat = &mut self.seat;
                work.turn(|purpose| Why::Lease(Which::Seat, purpose), |turn| seat.contend(turn));
                work.now
            }
            Exit::Asked => {
                self.seat.give_up();
                self.end_candidacies(work.now);
                self.exit = Exit::Releasing;
                work.now
            }
            Exit::Releasing if self.seat.has_left() => {
                self.exit = Exit::Done;
                FAR
            }
            _ => FAR,
        }
    }

    fn depart(&mut self, work: &mut Work<'_>) {
        work.notes.push("has stopped everything and departs".to_owned());
        self.end_candidacies(work.now);
        if let Some(office) = self.office.take() {
            let order = Order::Depart { fence: office.fence.clone(), node: self.node.name.clone() };
            work.calls.push((Call::Apply(Arc::new(order)), Why::Departed, Some(self.patience().call)));
        }
        self.exit = Exit::Departing;
    }

    fn end_candidacies(&mut self, now: Monotonic) {
        self.leading = None;
        self.grave = None;
        if let Some(election) = &mut self.election {
            election.release(None, now);
        }
    }

    /// Files a call under its purpose, and gives it a number.
    pub(super) fn file(&mut self, why: Why) -> u64 {
        self.calls += 1;
        self.pending.insert(self.calls, why);
        self.calls
    }

    /// Takes the answer to a call, or `None` when patience has ended. Only the first one counts.
    pub(super) fn answered(&mut self, number: u64, reply: Option<Reply>, work: &mut Work<'_>) {
        let Some(why) = self.pending.remove(&number) else { return };
        let in_office = |office: &&mut Office, term: Term| office.fence.term == term && !office.out;
        match why {
            Why::Lease(which, purpose) => self.lease_answered(which, purpose, lease_answer(reply), work),
            Why::Session(purpose) => self.session_answered(purpose, lease_answer(reply).as_ref(), work),
            Why::Look { term, started } => {
                let look = match reply {
                    Some(Reply::Look(look)) => Some(look),
                    _ => None,
                };
                self.looked(term, started, look, work);
            }
            Why::Rows { term, revision } => {
                let agents = self.agents();
                if let Some(office) = self.office.as_mut().filter(|office| in_office(office, term)) {
                    office.read(rows(reply), revision, |daemon| agents.can_run(daemon));
                }
            }
            Why::Said(term, said) => {
                if let Some(office) = self.office.as_mut().filter(|office| in_office(office, term))
                    && office.answered(&said, applied(reply), work.now)
                {
                    self.seat.fenced(term);
                }
            }
            Why::Read(term) => {
                if let Some(leading) = self.leading.as_mut().filter(|leading| leading.fence.term == term) {
                    leading.read(rows(reply), work.now);
                }
            }
            Why::Placed(term, order) => {
                let Some(leading) = self.leading.as_mut().filter(|leading| leading.fence.term == term) else {
                    return;
                };
                if !leading.answered(&order, applied(reply).as_ref(), work.now) {
                    if let Some(election) = &mut self.election {
                        election.fenced(term);
                    }
                } else if let Some(office) = &mut self.office {
                    office.hurry(work.now);
                }
            }
            Why::Departed => {
                self.seat.release(None, work.now);
                self.exit = Exit::Releasing;
            }
            Why::Nothing => {}
        }
    }

    fn lease_answered(
        &mut self,
        which: Which,
        purpose: Purpose,
        answer: Option<LeaseAnswer>,
        work: &mut Work<'_>,
    ) {
        let live = self.session.live();
        let chair = match which {
            Which::Seat => Some(&mut self.seat),
            Which::Election => self.election.as_mut(),
            Which::Grave(number) => self.grave.as_mut().and_then(|grave| grave.chair(number)),
        };
        let Some(chair) = chair else { return };
        let granted = work
            .turn(|purpose| Why::Lease(which, purpose), |turn| chair.answered(purpose, answer, live, turn));
        let Some(fence) = granted else { return };
        let (settings, patience) = ((*self.settings).clone(), self.patience().call);
        match which {
            Which::Seat if self.exit == Exit::No => {
                work.notes.push(format!("joins under term {}", fence.term));
                let mut office = Office::new(fence, self.node.name.clone(), settings, patience, work.now);
                office.register(self.member(), self.declares(), work);
                self.office = Some(office);
                if self.plan.leads && self.election.is_none() {
                    let mut election =
                        Chair::new(valid(LeaseName::new(LEADER_LEASE)), self.settings.election.clone());
                    work.turn(|purpose| Why::Lease(Which::Election, purpose), |turn| election.contend(turn));
                    self.election = Some(election);
                }
            }
            Which::Seat => self.seat.release(None, work.now),
            Which::Election => {
                work.notes.push(format!("leads under term {}", fence.term));
                self.leading = Some(Leading::new(fence, settings, patience, work.now));
                if let Some(look) = &self.look {
                    self.leading.iter_mut().for_each(|leading| leading.looked(look.clone()));
                }
            }
            Which::Grave(_) => {
                work.notes.push(format!("buries {}", fence.lease));
                self.grave.iter_mut().for_each(|grave| grave.bury(work.now));
                self.office.iter_mut().for_each(|office| office.hurry(work.now));
            }
        }
    }

    fn declares(&self) -> Vec<tenure_core::cluster::DaemonSpec> {
        self.plan.declares.map_or_else(Vec::new, parts)
    }

    fn looked(
        &mut self,
        term: Term,
        started: Monotonic,
        look: Option<Arc<ClusterLook>>,
        work: &mut Work<'_>,
    ) {
        let in_motion = self.leading.as_ref().is_some_and(Leading::in_motion);
        let (member, declares) = (self.member(), self.declares());
        let Some(office) = self.office.as_mut().filter(|office| office.fence.term == term && !office.out)
        else {
            return;
        };
        if office.looked(look.clone(), started, in_motion, work) {
            work.notes.push("finds its row vanished and registers again".to_owned());
            office.register(member, declares, work);
        }
        let Some(look) = look else { return };
        if let Some(leading) = &mut self.leading {
            leading.looked(look.clone());
        }
        if self.settings.presence.is_some() {
            self.watch_next(&look, work);
        }
        self.look = Some(look);
    }

    /// Watches whoever comes next in the ring.
    fn watch_next(&mut self, look: &ClusterLook, work: &mut Work<'_>) {
        let next = burial::after(look, &self.node.name);
        if self.grave.as_ref().map(|grave| &grave.next) == next.as_ref() {
            return;
        }
        self.graves += 1;
        let former = self.grave.take();
        self.grave = next.map(|next| Grave::new(self.graves, next, former, self.settings.membership(), work));
    }

    fn session_answered(&mut self, purpose: Purpose, answer: Option<&LeaseAnswer>, work: &mut Work<'_>) {
        match purpose {
            Purpose::Open { id, started } => {
                let session = &mut self.session;
                work.turn(Why::Session, |turn| session.opened(id, started, answer, turn));
            }
            Purpose::Ping { id, started } => {
                if !self.session.pinged(id, started, answer) {
                    self.session_ended(id, work);
                } else if matches!(answer, Some(LeaseAnswer::Session)) {
                    for chair in self.chairs() {
                        chair.pinged(id, started, work.now);
                    }
                }
            }
            _ => {}
        }
    }

    /// Learns that a session is over.
    pub(super) fn session_ended(&mut self, id: Unique, work: &mut Work<'_>) {
        let session = &mut self.session;
        if work.turn(Why::Session, |turn| session.lose(id, turn)) {
            for chair in self.chairs() {
                chair.session_lost(id);
            }
        }
    }

    fn chairs(&mut self) -> impl Iterator<Item = &mut Chair> {
        [Some(&mut self.seat), self.election.as_mut()].into_iter().flatten()
    }
}

fn lease_answer(reply: Option<Reply>) -> Option<LeaseAnswer> {
    match reply {
        Some(Reply::Lease(answer)) => Some(answer),
        Some(Reply::Doubt) => Some(LeaseAnswer::Doubt),
        _ => None,
    }
}

fn rows(reply: Option<Reply>) -> Option<Vec<tenure_core::cluster::Daemon>> {
    match reply {
        Some(Reply::Rows(rows)) => Some(rows),
        _ => None,
    }
}

fn applied(reply: Option<Reply>) -> Option<Answer> {
    match reply {
        Some(Reply::Applied(answer)) => Some(answer),
        _ => None,
    }
}
