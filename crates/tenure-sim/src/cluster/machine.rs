//! Where a process runs: its life, its clock and its link, and the ways in which they are taken from it.

use std::sync::Arc;
use std::time::Duration;

use fastrand::Rng;
use tenure_core::cluster::ClusterSettings;
use tenure_core::id::NodeName;
use tenure_core::time::{Monotonic, StoreTime};

use super::copy::Told;
use super::message::{Call, Why};
use super::process::{Process, Work};
use super::{ClusterWorld, Event, valid};
use crate::clock::EPOCH;
use crate::faults::Weather;
use crate::oracle::{ClusterFact, Runner};
use crate::plan::MemberPlan;

/// How long a process has to leave in good order.
const KILL_AFTER: Duration = Duration::from_secs(60);

/// A process and what it runs on.
#[derive(Debug)]
pub(super) struct Machine {
    pub(super) name: NodeName,
    plan: Arc<MemberPlan>,
    /// Counts the starts of the process.
    pub(super) life: u64,
    pub(super) condition: Condition,
    pub(super) process: Process,
    pub(super) weather: Weather,
    /// Until when the link is cut.
    pub(super) cut_until: StoreTime,
    /// How long it stays down after it has left in good order.
    pub(super) down_for: Duration,
    /// Since when nothing befell it.
    fair_since: StoreTime,
    wake: Option<(StoreTime, u64)>,
}

/// How a process is.
#[derive(Debug)]
pub(super) enum Condition {
    Up,
    /// Stopped, with writes half done perhaps; what reaches it waits.
    Paused {
        half_done: Vec<Call>,
        backlog: Vec<Event>,
    },
    Down,
}

impl Machine {
    pub(super) fn start(
        index: usize,
        plan: Arc<MemberPlan>,
        settings: Arc<ClusterSettings>,
        rng: &mut Rng,
    ) -> Self {
        let name = valid(NodeName::new(format!("n{index}")));
        let mut work = Work::new(plan.machine.clock.read(EPOCH), rng);
        let process = Process::new(name.clone(), plan.clone(), settings, &mut work);
        Self {
            name,
            plan,
            life: 0,
            condition: Condition::Up,
            process,
            weather: Weather::CLEAR,
            cut_until: EPOCH,
            down_for: Duration::ZERO,
            fair_since: EPOCH,
            wake: None,
        }
    }

    pub(super) fn clock(&self, now: StoreTime) -> Monotonic {
        self.plan.machine.clock.read(now)
    }

    pub(super) fn when(&self, reading: Monotonic) -> StoreTime {
        self.plan.machine.clock.when(reading)
    }

    pub(super) fn is_cut(&self, now: StoreTime) -> bool {
        now < self.cut_until
    }

    pub(super) fn is_up(&self) -> bool {
        matches!(self.condition, Condition::Up)
    }

    /// Something befalls it now.
    pub(super) fn spoil(&mut self, now: StoreTime) {
        self.fair_since = self.fair_since.max(now);
    }

    /// For how long nothing has befallen it.
    pub(super) fn fair_for(&self, now: StoreTime) -> Duration {
        let fair = self.is_up() && self.weather == Weather::CLEAR;
        if fair { self.fair_since.max(self.cut_until).until(now) } else { Duration::ZERO }
    }

    /// For how long it has been able to see what the store says.
    fn sighted_for(&self, now: StoreTime) -> Duration {
        if self.clock(now) < self.process.office_busy {
            return Duration::ZERO;
        }
        let busy_until = self.when(self.process.office_busy);
        self.fair_for(now).min(busy_until.until(now))
    }

    /// The copies whose code runs here. A stopped process keeps the belief that it had, as long as its trust lasts.
    pub(super) fn runners(&self, node: usize, now: StoreTime, runners: &mut Vec<Runner>) {
        if matches!(self.condition, Condition::Down) || self.process.copies.is_empty() {
            return;
        }
        let may_act = self.process.may_act(self.clock(now));
        let sighted_for = self.sighted_for(now);
        let stuck = !self.is_up() || self.clock(now) < self.process.office_busy;
        runners.extend(self.process.copies.iter().map(|((_, generation), copy)| Runner {
            node,
            spec: copy.spec.clone(),
            generation: *generation,
            believes: may_act && copy.told < Told::Over,
            stopping: copy.told == Told::ToStop,
            stuck,
            sighted_for,
        }));
    }
}

impl ClusterWorld {
    /// Something reaches a process: it acts on it, or it waits until the process can.
    pub(super) fn reach(&mut self, event: Event) {
        let (node, life) = match &event {
            Event::Wake { node, life }
            | Event::Answer { node, life, .. }
            | Event::SessionEnded { node, life, .. } => (*node, *life),
            _ => return,
        };
        let machine = &mut self.machines[node];
        if machine.life != life {
            return;
        }
        match &mut machine.condition {
            Condition::Down => {}
            Condition::Paused { backlog, .. } => backlog.push(event),
            Condition::Up => self.visit(node, |process, work| match event {
                Event::Answer { number, reply, .. } => {
                    process.answered(number, reply.map(|reply| *reply), work);
                }
                Event::SessionEnded { session, .. } => process.session_ended(session, work),
                _ => {}
            }),
        }
    }

    /// Gives a process a turn, sends what it wants sent, and sets its timer.
    pub(super) fn visit(&mut self, node: usize, act: impl FnOnce(&mut Process, &mut Work<'_>)) {
        let machine = &mut self.machines[node];
        let mut work = Work::new(machine.clock(self.now), &mut self.rng);
        act(&mut machine.process, &mut work);
        let wake = machine.process.drive(self.manners, &mut work);
        let Work { calls, notes, seat_lost, .. } = work;
        let wake_in = self.now.until(machine.when(wake)).max(Duration::from_micros(1));
        let (life, former) = (machine.life, machine.wake.take());
        let (done, fair_for) = (machine.process.is_done(), machine.fair_for(self.now));
        if let Some(former) = former {
            self.queue.remove(&former);
        }
        let key = self.schedule(wake_in, Event::Wake { node, life });
        self.machines[node].wake = Some(key);
        for note in notes {
            self.note(node, format_args!("{note}"));
        }
        for (call, why, patience) in calls {
            self.send(node, call, why, patience);
        }
        if let Some(loss) = seat_lost {
            self.tally.seats_lost += 1;
            self.fact(ClusterFact::SeatLost { node, fair_for, loss });
        }
        if done {
            self.tally.left += 1;
            self.note(node, format_args!("has left"));
            let down_for = self.machines[node].down_for;
            self.crash(node, false, down_for);
        }
    }

    pub(super) fn pause(&mut self, node: usize, span: Duration) {
        let machine = &mut self.machines[node];
        if !machine.is_up() {
            return;
        }
        // Belief was checked, the write was not sent.
        let half_done = match machine.process.may_act(machine.clock(self.now)) {
            true => machine.process.copies.iter().filter_map(|((_, at), copy)| copy.effect(*at)).collect(),
            false => Vec::new(),
        };
        machine.condition = Condition::Paused { half_done, backlog: Vec::new() };
        self.schedule(span, Event::Resume(node));
    }

    /// Lets a stopped process go on: half-done writes go out unchecked, then it sees what waited for it.
    pub(super) fn resume(&mut self, node: usize) {
        let machine = &mut self.machines[node];
        if !matches!(machine.condition, Condition::Paused { .. }) {
            return;
        }
        machine.spoil(self.now);
        let condition = std::mem::replace(&mut machine.condition, Condition::Up);
        let Condition::Paused { half_done, backlog } = condition else { return };
        self.note(node, format_args!("goes on, {} things waited", backlog.len()));
        for call in half_done {
            self.send(node, call, Why::Nothing, None);
        }
        if self.rng.bool() {
            self.visit(node, |_, _| {});
        }
        for event in backlog {
            self.reach(event);
        }
        if self.machines[node].is_up() {
            self.visit(node, |_, _| {});
        }
    }

    /// Kills a process. What it has sent is still on its way.
    pub(super) fn crash(&mut self, node: usize, silent: bool, down_for: Duration) {
        let machine = &mut self.machines[node];
        if matches!(machine.condition, Condition::Down) {
            return;
        }
        machine.condition = Condition::Down;
        let life = machine.life;
        machine.life += 1;
        if !silent {
            let noticed = Duration::from_micros(self.rng.u64(300..5000));
            self.schedule(noticed, Event::EndSessions { node, life });
        }
        self.schedule(down_for, Event::Restart(node));
    }

    /// Starts a process again, with a new incarnation.
    pub(super) fn restart(&mut self, node: usize) {
        let machine = &mut self.machines[node];
        if !matches!(machine.condition, Condition::Down) {
            return;
        }
        let mut work = Work::new(machine.clock(self.now), &mut self.rng);
        machine.process =
            Process::new(machine.name.clone(), machine.plan.clone(), self.settings.clone(), &mut work);
        machine.condition = Condition::Up;
        machine.spoil(self.now);
        self.note(node, format_args!("starts again"));
        self.visit(node, |_, _| {});
    }

    /// Asks a process to leave in good order.
    pub(super) fn stop(&mut self, node: usize) {
        let machine = &mut self.machines[node];
        if machine.is_up() {
            let life = machine.life;
            self.note(node, format_args!("-- is to leave"));
            self.visit(node, |process, _| process.stop());
            self.schedule(KILL_AFTER, Event::Kill { node, life });
        }
    }

    pub(super) fn kill(&mut self, node: usize, life: u64) {
        if self.machines[node].life == life {
            let down_for = self.machines[node].down_for;
            self.crash(node, false, down_for);
        }
    }
}
