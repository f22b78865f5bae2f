//! What befalls the nodes of a cluster, what operators do to its daemons, and how it ends.

use std::sync::Arc;
use std::time::Duration;

use tenure_core::cluster::{DaemonName, Order, Steering};
use tenure_core::id::NodeName;
use tenure_core::lease::Term;
use tenure_core::time::{Monotonic, StoreTime};

use super::machine::Condition;
use super::{ClusterWorld, Event};
use crate::clock::EPOCH;
use crate::faults::{Climate, Weather};
use crate::oracle::ClusterFact;
use crate::plan::{BLOWS, Manners, job, parts};
use crate::world::message::Answer;

/// The longest time for which the weather of a link stays as it is.
const LONGEST_WEATHER: Duration = Duration::from_secs(8);

/// One fault of a cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ClusterBlow {
    /// SIGSTOP for a while.
    Pause(usize, Duration),
    /// The process dies and starts again later.
    Crash { node: usize, silent: bool, down_for: Duration },
    /// The link is cut for a while.
    Cut(usize, Duration),
    /// The store ends the node's session; it is told, or finds out.
    BreakSession { node: usize, told: bool },
    /// The store's server restarts: sessions are gone, rows are not.
    RestartStore,
    /// Someone deletes the node's row with a database shell.
    DeleteRow(usize),
    /// The node's office, or its lead, gets no turn; its heartbeat does.
    Busy { node: usize, office: Duration, lead: Duration },
    /// The leader gives up the lead.
    Resign(usize),
    /// The process leaves in good order and starts again.
    Leave { node: usize, down_for: Duration },
    /// All leave and start again, one after another.
    Roll { pause: Duration },
}

impl ClusterWorld {
    pub(super) fn change_weather(&mut self, node: usize) {
        let machine = &mut self.machines[node];
        machine.weather = self.climate.weather(&mut self.rng);
        machine.spoil(self.now);
        if self.stormy {
            let lasts = Duration::from_micros(self.rng.u64(200_000..LONGEST_WEATHER.as_micros() as u64));
            self.schedule(lasts, Event::Weather(node));
        }
    }

    pub(super) fn fall_into_trouble(&mut self) {
        let Some(trouble) = self.plan.trouble.clone().filter(|_| self.stormy) else { return };
        let sum: u32 = trouble.weights.iter().sum();
        if sum > 0 {
            let mut point = self.rng.u32(0..sum);
            let kind = trouble.weights.iter().position(|weight| {
                let hit = point < *weight;
                point = point.saturating_sub(*weight);
                hit
            });
            let leader = self.leader().filter(|_| self.rng.u32(0..1000) < trouble.on_leader);
            let node = leader.unwrap_or_else(|| self.rng.usize(0..self.machines.len()));
            let blow = self.draw(kind.unwrap_or(BLOWS), node);
            self.inflict(blow);
        }
        let peace = Duration::from_micros(self.rng.u64(20_000..trouble.longest_peace.as_micros() as u64));
        self.schedule(peace, Event::Trouble);
    }

    fn draw(&mut self, kind: usize, node: usize) -> ClusterBlow {
        let rng = &mut self.rng;
        let mut span = |from: u64, to: u64| Duration::from_micros(rng.u64(from * 1000..to * 1000));
        let (short, long, longer, down) =
            (span(100, 2500), span(1000, 15_000), span(2000, 60_000), span(50, 9000));
        let pause = span(1000, 6000);
        let coin = rng.bool();
        match kind {
            0 => ClusterBlow::Pause(node, if coin { short } else { long }),
            1 => ClusterBlow::Crash { node, silent: coin, down_for: down },
            2 => ClusterBlow::Cut(node, if coin { short } else { long }),
            3 => ClusterBlow::BreakSession { node, told: coin },
            4 => ClusterBlow::RestartStore,
            5 => ClusterBlow::DeleteRow(node),
            6 if coin => ClusterBlow::Busy { node, office: longer, lead: short },
            6 => ClusterBlow::Busy { node, office: short, lead: longer },
            7 => ClusterBlow::Resign(node),
            8 => ClusterBlow::Leave { node, down_for: down },
            _ => ClusterBlow::Roll { pause },
        }
    }

    /// Lets a blow fall.
    pub(crate) fn inflict(&mut self, blow: ClusterBlow) {
        self.note_store(format_args!("-- {blow:?}"));
        self.tally.blows += 1;
        match blow {
            ClusterBlow::Pause(node, span) => self.pause(node, span),
            ClusterBlow::Crash { node, silent, down_for } => self.crash(node, silent, down_for),
            ClusterBlow::Cut(node, span) => self.machines[node].cut_until = self.now.after(span),
            ClusterBlow::BreakSession { node, told } => self.break_session(node, told),
            ClusterBlow::RestartStore => self.restart_store(),
            ClusterBlow::DeleteRow(node) => {
                let name = self.machines[node].name.clone();
                self.store.tables.delete_node(&name);
                self.fact(ClusterFact::RowDeleted);
            }
            ClusterBlow::Busy { node, office, lead } => {
                let machine = &mut self.machines[node];
                let now = machine.clock(self.now);
                machine.process.office_busy = now.after(office);
                machine.process.lead_busy = now.after(lead);
            }
            ClusterBlow::Resign(node) => {
                if self.machines[node].is_up() {
                    self.visit(node, |process, work| {
                        if process.resign(work.now) {
                            work.notes.push("resigns".to_owned());
                        }
                    });
                }
            }
            ClusterBlow::Leave { node, down_for } => {
                self.machines[node].down_for = down_for;
                self.stop(node);
            }
            ClusterBlow::Roll { pause } => {
                for node in 0..self.machines.len() {
                    self.machines[node].down_for = pause / 4;
                    self.schedule(pause * node as u32, Event::Stop { node });
                }
            }
        }
    }

    fn break_session(&mut self, node: usize, told: bool) {
        self.machines[node].spoil(self.now);
        for session in self.store.sessions.of(node, self.machines[node].life) {
            self.store.sessions.close(session);
            if told {
                self.tell_session_ended(node, session);
            }
        }
        self.spread_news();
    }

    fn restart_store(&mut self) {
        for watcher in self.store.sessions.restart() {
            self.tell(watcher, Answer::NoSession);
        }
        for node in 0..self.machines.len() {
            self.machines[node].spoil(self.now);
            if let Some(session) = self.machines[node].process.live_session()
                && self.rng.bool()
            {
                self.tell_session_ended(node, session);
            }
        }
    }

    /// An operator does something to a daemon, or to what is divided.
    pub(super) fn visit_operators(&mut self) {
        let Some(operators) = self.plan.operators.filter(|_| self.stormy) else { return };
        let names: Vec<DaemonName> = self.store.daemons().into_keys().collect();
        let daemon = self.rng.choice(&names).cloned();
        let deadlines = self.settings.deadlines();
        let blind = self.on_blind_nodes();
        let order = if !blind.is_empty() && self.rng.bool() {
            // Someone means well with what does not answer.
            self.rng.choice(blind).map(|(daemon, node)| {
                let steering = match self.rng.u32(0..3) {
                    0 => Steering::Pause,
                    1 => Steering::Resume,
                    _ => Steering::Move { to: node },
                };
                self.steering(daemon, steering)
            })
        } else if self.rng.u32(0..1000) < operators.divide {
            let known = names.iter().any(|name| name.as_str().ends_with("-of-4"));
            let layout = if known { 6 } else { 4 };
            Some(Order::Declare { specs: parts(layout), deadlines })
        } else {
            match (self.rng.u32(0..9), daemon) {
                (0 | 1, Some(daemon)) => Some(self.steering(daemon, Steering::Pause)),
                (2..=4, Some(daemon)) => Some(self.steering(daemon, Steering::Resume)),
                (5, Some(daemon)) => {
                    let to = self.rng.usize(0..self.machines.len());
                    let to = self.machines[to].name.clone();
                    Some(self.steering(daemon, Steering::Move { to }))
                }
                (6, Some(daemon)) => Some(self.steering(daemon, Steering::Unpin)),
                (7, Some(daemon)) => Some(Order::Retire { daemons: vec![daemon], by: None, deadlines }),
                _ => {
                    let number = self.rng.u64(0..8);
                    let weight = self.rng.u32(1..=3);
                    Some(Order::Declare { specs: vec![job(number).with_weight(weight)], deadlines })
                }
            }
        };
        if let Some(order) = order {
            self.order(order);
        }
        let pause = operators.longest_pause.mul_f64(0.05 + 0.95 * self.rng.f64());
        self.schedule(pause, Event::Operators);
    }

    /// What was placed on nodes whose office has no turn, or is paused and may go back there.
    fn on_blind_nodes(&self) -> Vec<(DaemonName, NodeName)> {
        let blind = |machine: &&super::Machine| machine.clock(self.now) < machine.process.office_busy;
        let Some(blind) = self.machines.iter().find(blind).map(|machine| machine.name.clone()) else {
            return Vec::new();
        };
        let daemons = self.store.daemons().into_values();
        let concerned = daemons.filter(|daemon| daemon.node() == Some(&blind) || daemon.paused_by.is_some());
        concerned.map(|daemon| (daemon.name().clone(), blind.clone())).collect()
    }

    fn steering(&self, daemon: DaemonName, steering: Steering) -> Order {
        Order::Steer { daemon, steering, by: "operator".to_owned(), deadlines: self.settings.deadlines() }
    }

    /// Someone who is no node gives an order.
    pub(crate) fn order(&mut self, order: Order) -> tenure_core::cluster::Answer {
        self.tally.steered += 1;
        let answer = self.store.apply(&Arc::new(order.clone()), self.now);
        self.note_store(format_args!("-- operator: {order:?}: {answer:?}"));
        answer
    }

    /// Ends all faults: links heal, stopped processes go on, dead ones start again. What is under way still arrives.
    pub(crate) fn calm_down(&mut self) {
        self.note_store(format_args!("-- calm"));
        self.stormy = false;
        self.climate = Climate::CLEAR;
        self.manners = Manners::GOOD;
        for node in 0..self.machines.len() {
            let machine = &mut self.machines[node];
            machine.weather = Weather::CLEAR;
            machine.cut_until = EPOCH;
            machine.spoil(self.now);
            let awake = Monotonic::from_origin(Duration::ZERO);
            (machine.process.office_busy, machine.process.lead_busy) = (awake, awake);
            machine.down_for = Duration::ZERO;
            self.resume(node);
            self.restart(node);
        }
    }

    /// The node that leads, by its own belief; the newest, should there be more.
    pub(crate) fn leader(&self) -> Option<usize> {
        let led = |(node, machine): (usize, &super::Machine)| {
            let up = !matches!(machine.condition, Condition::Down);
            Some((machine.process.leads(machine.clock(self.now)).filter(|_| up)?, node))
        };
        self.machines.iter().enumerate().filter_map(led).max().map(|(_, node)| node)
    }

    /// The term under which a node is in office.
    pub(crate) fn seat(&self, node: usize) -> Option<Term> {
        let machine = &self.machines[node];
        machine.process.seat_term(machine.clock(self.now)).filter(|_| machine.is_up())
    }

    /// The name of a node.
    pub(crate) fn name(&self, node: usize) -> NodeName {
        self.machines[node].name.clone()
    }

    /// The store's clock.
    pub(crate) fn time(&self) -> StoreTime {
        self.now
    }
}
