//! Where a node runs: its life, its clocks and its link, and the ways in which they are taken from it.

use std::time::Duration;

use fastrand::Rng;
use tenure_core::id::NodeName;
use tenure_core::lease::{Fence, LeaseName, Term};
use tenure_core::time::StoreTime;

use super::message::Request;
use super::{Event, World};
use crate::actor::{Actor, Ask, Purpose, Turn};
use crate::clock::EPOCH;
use crate::faults::Weather;
use crate::plan::{NodePlan, RelayPlan};

/// A node and what it runs on.
#[derive(Debug)]
pub(super) struct Host {
    pub(super) name: NodeName,
    lease: LeaseName,
    pub(super) plan: NodePlan,
    relaying: Option<RelayPlan>,
    /// Counts the starts of the process.
    pub(super) life: u64,
    pub(super) condition: Condition,
    pub(super) actor: Actor,
    pub(super) weather: Weather,
    /// Until when the link is cut.
    pub(super) cut_until: StoreTime,
    wake: Option<(StoreTime, u64)>,
}

/// How a process is.
#[derive(Debug)]
pub(super) enum Condition {
    Up,
    /// Stopped, with a write half done perhaps; what reaches it waits.
    Paused {
        half_done: Option<Fence>,
        backlog: Vec<Event>,
    },
    Down,
}

impl Host {
    pub(super) fn start(index: usize, plan: NodePlan, relaying: Option<RelayPlan>, rng: &mut Rng) -> Self {
        let name = name(NodeName::new, format!("n{index}"));
        let lease = name_of_lease();
        let mut turn = Turn::new(plan.clock.read(EPOCH), rng);
        let actor = Actor::new(
            name.clone(),
            lease.clone(),
            plan.settings.clone(),
            plan.patience,
            relaying.clone(),
            &mut turn,
        );
        Self {
            name,
            lease,
            plan,
            relaying,
            life: 0,
            condition: Condition::Up,
            actor,
            weather: Weather::CLEAR,
            cut_until: EPOCH,
            wake: None,
        }
    }

    pub(super) fn belief(&self, now: StoreTime) -> Option<Term> {
        match self.condition {
            Condition::Down => None,
            _ => self.actor.belief(self.plan.clock.read(now)),
        }
    }

    pub(super) fn is_cut(&self, now: StoreTime) -> bool {
        now < self.cut_until
    }
}

/// The one lease of the world.
pub(super) fn name_of_lease() -> LeaseName {
    name(LeaseName::new, "lease".to_owned())
}

fn name<N, E: std::fmt::Debug>(make: impl Fn(String) -> Result<N, E>, text: String) -> N {
    make(text).unwrap_or_else(|error| unreachable!("the simulator's own names are valid: {error:?}"))
}

impl World {
    /// Something reaches a node: it acts on it, or it waits until the node can.
    pub(super) fn reach(&mut self, event: Event) {
        let (node, life) = match &event {
            Event::Wake { node, life }
            | Event::Answer { node, life, .. }
            | Event::SessionEnded { node, life, .. }
            | Event::Nudge { node, life } => (*node, *life),
            _ => return,
        };
        let host = &mut self.hosts[node];
        if host.life != life {
            return;
        }
        match &mut host.condition {
            Condition::Down => {}
            Condition::Paused { backlog, .. } => backlog.push(event),
            Condition::Up => self.visit(node, |actor, turn| match event {
                Event::Answer { call, answer, .. } => {
                    actor.answered(call, answer.map(|answer| *answer), turn)
                }
                Event::SessionEnded { session, .. } => actor.session_ended(session, turn),
                Event::Nudge { .. } => actor.nudge(turn.now),
                _ => {}
            }),
        }
    }

    /// Gives a node a turn, sends what it wants sent, and sets its timer.
    pub(super) fn visit(&mut self, node: usize, work: impl FnOnce(&mut Actor, &mut Turn<'_>)) {
        let host = &mut self.hosts[node];
        let mut turn = Turn::new(host.plan.clock.read(self.now), &mut self.rng);
        work(&mut host.actor, &mut turn);
        let wake = host.actor.drive(&mut turn);
        let Turn { asks, notes, facts, .. } = turn;
        self.store.facts.extend(facts);
        let wake_in = self.now.until(host.plan.clock.when(wake)).max(Duration::from_micros(1));
        let (life, former) = (host.life, host.wake.take());
        if let Some(former) = former {
            self.queue.remove(&former);
        }
        let key = self.schedule(wake_in, Event::Wake { node, life });
        self.hosts[node].wake = Some(key);
        for note in notes {
            self.note(node, format_args!("{note}"));
        }
        for ask in asks {
            self.send(node, ask);
        }
    }

    pub(super) fn pause(&mut self, node: usize, span: Duration) {
        let host = &mut self.hosts[node];
        if !matches!(host.condition, Condition::Up) {
            return;
        }
        let half_done = host.actor.half_done_write(host.plan.clock.read(self.now));
        host.condition = Condition::Paused { half_done, backlog: Vec::new() };
        self.schedule(span, Event::Resume(node));
    }

    /// Lets a stopped process go on: the half-done write goes out unchecked, then it sees what waited for it.
    pub(crate) fn resume(&mut self, node: usize) {
        if !matches!(self.hosts[node].condition, Condition::Paused { .. }) {
            return;
        }
        let condition = std::mem::replace(&mut self.hosts[node].condition, Condition::Up);
        let Condition::Paused { half_done, backlog } = condition else { return };
        self.note(node, format_args!("goes on, {} things waited", backlog.len()));
        if let Some(fence) = half_done {
            let request = Request::Write(fence.clone());
            self.send(node, Ask { request, purpose: Purpose::Write(fence), patience: None });
        }
        // Timers and sockets are ready at once; which is seen first is a matter of chance.
        if self.rng.bool() {
            self.visit(node, |_, _| {});
        }
        for event in backlog {
            self.reach(event);
        }
        self.visit(node, |_, _| {});
    }

    /// Kills a process. What it has sent is still on its way.
    pub(super) fn crash(&mut self, node: usize, silent: bool, down_for: Duration) {
        let host = &mut self.hosts[node];
        if matches!(host.condition, Condition::Down) {
            return;
        }
        host.condition = Condition::Down;
        let life = host.life;
        host.life += 1;
        if !silent {
            let noticed = Duration::from_micros(self.rng.u64(300..5000));
            self.schedule(noticed, Event::EndSessions { node, life });
        }
        self.schedule(down_for, Event::Restart(node));
    }

    /// Starts a process again, with a new incarnation.
    pub(super) fn restart(&mut self, node: usize) {
        let host = &mut self.hosts[node];
        if !matches!(host.condition, Condition::Down) {
            return;
        }
        let mut turn = Turn::new(host.plan.clock.read(self.now), &mut self.rng);
        host.actor = Actor::new(
            host.name.clone(),
            host.lease.clone(),
            host.plan.settings.clone(),
            host.plan.patience,
            host.relaying.clone(),
            &mut turn,
        );
        host.condition = Condition::Up;
        self.note(node, format_args!("starts again"));
        self.visit(node, |_, _| {});
    }
}
