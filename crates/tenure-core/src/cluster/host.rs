//! What a node does about the daemons that are assigned to it. No I/O: rows, answers and ends go in, actions come out.
//!
//! ```text
//!   claimed ──acknowledged──▶ ready ──start──▶ running ──revoked──▶ stopping ──ended──▶ stopped ──confirmed──▶ done
//!      │ refused: nothing ran          ▲          │ ended by itself                        ▲
//!      ▼                               └─ resting ┴─ too often ─▶ failed ──reported────────┼───────────────▶ done
//!     done                                        │ taken away, or the node is out of office
//!                                                 └─▶ losing ──ended──▶ (nothing)
//! ```
//!
//! The rows are the truth: whatever runs here and is not assigned here under exactly that generation is stopped. A daemon
//! is started only after the store has taken the acknowledgement, and never beside an earlier generation of itself.

use std::collections::BTreeMap;
use std::time::Duration;

use super::{ClusterSettings, Daemon, DaemonName, DaemonState, Refusal, Verdict};
use crate::id::NodeName;
use crate::lease::Term;
use crate::mutation::{Rule, off};
use crate::outbox::shorten;
use crate::time::{Monotonic, StoreTime};

/// How many daemons one order names.
const ORDER_MAX: usize = 1000;
/// How long to wait before something is said again that had no answer.
const AGAIN: Duration = Duration::from_millis(200);
/// How long before the leader's deadline a daemon that has not stopped is cut off; a tenth of the time there is, up to this.
const CUT_OFF_MAX: Duration = Duration::from_secs(2);

/// What a node has to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    /// Tell the store that these will run here, then say what it answered.
    Acknowledge(Vec<(DaemonName, Term)>),
    /// Tell the store that these have stopped, then say what it answered.
    Confirm(Vec<(DaemonName, Term)>),
    /// Tell the store that this one cannot be run here, then say what it answered.
    Fail {
        /// Which.
        daemon: DaemonName,
        /// Its generation.
        generation: Term,
        /// What went wrong.
        reason: String,
    },
    /// Start it.
    Start {
        /// Which.
        daemon: DaemonName,
        /// Its generation.
        generation: Term,
    },
    /// Ask it to stop: what is under way may end.
    Stop {
        /// Which.
        daemon: DaemonName,
        /// Its generation.
        generation: Term,
    },
    /// Tell it that its right is over: it must do nothing more.
    Lose {
        /// Which.
        daemon: DaemonName,
        /// Its generation.
        generation: Term,
    },
    /// Cut it off: it has not stopped when it should have.
    Abort {
        /// Which.
        daemon: DaemonName,
        /// Its generation.
        generation: Term,
    },
}

/// How a daemon ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum End {
    /// It returned.
    Finished,
    /// It returned an error, or panicked.
    Failed(String),
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Phase {
    Claimed,
    Acknowledging,
    /// The store said no, then. A copy of what was said that arrives later may still be taken.
    Refused {
        at: Monotonic,
    },
    Ready,
    Running,
    Resting {
        until: Monotonic,
    },
    Stopping {
        by: Monotonic,
        told: Told,
    },
    Losing {
        told: bool,
    },
    Stopped,
    Confirming,
    Failed(String),
    Failing(String),
    Done,
}

/// How much a daemon that is to stop was told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Told {
    Nothing,
    ToStop,
    CutOff,
}

#[derive(Debug, Clone)]
struct Local {
    generation: Term,
    phase: Phase,
    started: Monotonic,
    failures: u32,
    /// Not before then is anything said to the store about it.
    say_at: Monotonic,
}

/// What the rows say.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Wanted {
    generation: Term,
    state: DaemonState,
    stop_by: Monotonic,
    can_run: bool,
}

/// The daemons of one node.
#[derive(Debug)]
pub struct Host {
    node: NodeName,
    settings: ClusterSettings,
    wanted: BTreeMap<DaemonName, Wanted>,
    /// When the reading of these rows started.
    wanted_at: Monotonic,
    locals: BTreeMap<DaemonName, Local>,
    acknowledging: bool,
    confirming: bool,
    /// From then on what was not told to stop is stopped all the same, for the node leaves.
    gives_up_at: Option<Monotonic>,
    /// That moment has come.
    gave_up: bool,
    /// A failure is being reported: one at a time, however many there are.
    reporting: bool,
    /// Something comes here next.
    in_motion: bool,
}

impl Host {
    /// A node that runs nothing.
    pub fn new(node: NodeName, settings: ClusterSettings) -> Self {
        Self {
            node,
            settings,
            wanted: BTreeMap::new(),
            wanted_at: Monotonic::from_origin(Duration::ZERO),
            locals: BTreeMap::new(),
            acknowledging: false,
            confirming: false,
            gives_up_at: None,
            gave_up: false,
            reporting: false,
            in_motion: false,
        }
    }

    /// Takes the rows of this node as they were read: all that are placed here under this term of the node's lease, or
    /// come here next. The reading started at `started` and showed the store's clock at `store_now`.
    pub fn assigned(
        &mut self,
        rows: &[Daemon],
        term: Term,
        store_now: StoreTime,
        started: Monotonic,
        can_run: impl Fn(&DaemonName) -> bool,
    ) {
        self.wanted.clear();
        self.wanted_at = started;
        self.in_motion = false;
        for row in rows {
            let here = row.place.as_ref().is_some_and(|(node, under)| *node == self.node && *under == term);
            self.in_motion |= !here;
            let Some(generation) = row.generation.filter(|_| here) else { continue };
            let left = row.deadline.map_or(Duration::ZERO, |deadline| store_now.until(deadline));
            let stop_by = started.after(left.saturating_sub((left / 10).min(CUT_OFF_MAX)));
            let wanted = Wanted { generation, state: row.state, stop_by, can_run: can_run(row.name()) };
            self.wanted.insert(row.name().clone(), wanted);
        }
        self.reconcile(started);
    }

    /// The node is out of office: nothing that runs here may go on.
    pub fn out_of_office(&mut self, now: Monotonic) {
        if off(Rule::StopOutOfOffice) {
            return;
        }
        self.wanted.clear();
        self.reconcile(now);
    }

    /// The node leaves. The leader has until then to say where each daemon goes; what is left is simply stopped.
    pub fn leave(&mut self, gives_up_at: Monotonic) {
        self.gives_up_at = Some(gives_up_at);
    }

    /// Brings what is here in line with what the rows say.
    fn reconcile(&mut self, now: Monotonic) {
        let gives_up = self.gave_up;
        let names: Vec<DaemonName> = self.locals.keys().cloned().collect();
        for name in names {
            let wanted = self.wanted.get(&name).cloned();
            let Some(local) = self.locals.get_mut(&name) else { continue };
            match wanted {
                Some(wanted) if wanted.generation == local.generation => {
                    local.follow(&wanted, self.wanted_at, gives_up, now, self.settings.drain);
                }
                other => {
                    if !local.is_over(other.is_some()) {
                        continue;
                    }
                    self.locals.remove(&name);
                }
            }
        }
        for (name, wanted) in &self.wanted {
            if self.locals.contains_key(name) {
                continue;
            }
            let phase = match wanted.state {
                DaemonState::Assigning if !wanted.can_run => {
                    Phase::Failed("this node has no agent for it".to_owned())
                }
                DaemonState::Assigning if off(Rule::StartAcknowledged) => Phase::Ready,
                DaemonState::Assigning => Phase::Claimed,
                DaemonState::Active => Phase::Ready,
                DaemonState::Revoking => Phase::Stopped,
                DaemonState::Unassigned => continue,
            };
            let local =
                Local { generation: wanted.generation, phase, started: now, failures: 0, say_at: now };
            self.locals.insert(name.clone(), local);
        }
    }

    /// Decides what to do at `now`.
    pub fn step(&mut self, now: Monotonic) -> Vec<Action> {
        if self.gives_up_at.is_some_and(|at| now >= at) && !self.gave_up {
            self.gave_up = true;
            self.reconcile(now);
        }
        let mut actions = Vec::new();
        let (mut acknowledge, mut confirm) = (Vec::new(), Vec::new());
        for (name, local) in &mut self.locals {
            let (daemon, generation, may_say) = (name.clone(), local.generation, now >= local.say_at);
            match &local.phase {
                Phase::Claimed if !self.acknowledging && may_say && acknowledge.len() < ORDER_MAX => {
                    acknowledge.push((daemon, generation));
                    local.phase = Phase::Acknowledging;
                }
                Phase::Ready => {
                    actions.push(Action::Start { daemon, generation });
                    (local.phase, local.started) = (Phase::Running, now);
                }
                Phase::Resting { until } if now >= *until => {
                    actions.push(Action::Start { daemon, generation });
                    (local.phase, local.started) = (Phase::Running, now);
                }
                Phase::Stopping { by, told: Told::Nothing } => {
                    actions.push(Action::Stop { daemon, generation });
                    local.phase = Phase::Stopping { by: *by, told: Told::ToStop };
                }
                Phase::Stopping { by, told: Told::ToStop } if now >= *by => {
                    actions.push(Action::Abort { daemon, generation });
                    local.phase = Phase::Stopping { by: *by, told: Told::CutOff };
                }
                Phase::Losing { told: false } => {
                    actions.push(Action::Lose { daemon, generation });
                    local.phase = Phase::Losing { told: true };
                }
                Phase::Stopped if !self.confirming && may_say && confirm.len() < ORDER_MAX => {
                    confirm.push((daemon, generation));
                    local.phase = Phase::Confirming;
                }
                Phase::Failed(reason) if may_say && !self.reporting => {
                    self.reporting = true;
                    let reason = reason.clone();
                    actions.push(Action::Fail { daemon, generation, reason: reason.clone() });
                    local.phase = Phase::Failing(reason);
                }
                _ => {}
            }
        }
        if !acknowledge.is_empty() {
            self.acknowledging = true;
            actions.push(Action::Acknowledge(acknowledge));
        }
        if !confirm.is_empty() {
            self.confirming = true;
            actions.push(Action::Confirm(confirm));
        }
        actions
    }

    /// When something is due without anything else happening.
    pub fn next_due(&self) -> Option<Monotonic> {
        let due = self.locals.values().filter_map(|local| match &local.phase {
            Phase::Resting { until } => Some(*until),
            Phase::Stopping { by, told: Told::ToStop } => Some(*by),
            Phase::Claimed if !self.acknowledging => Some(local.say_at),
            Phase::Stopped if !self.confirming => Some(local.say_at),
            Phase::Failed(_) if !self.reporting => Some(local.say_at),
            _ => None,
        });
        due.chain(self.gives_up_at.filter(|_| !self.gave_up)).min()
    }

    /// The store has answered an acknowledgement; `None` when it has not, and nobody knows.
    pub fn acknowledged(
        &mut self,
        asked: &[(DaemonName, Term)],
        verdicts: Option<&[Verdict]>,
        now: Monotonic,
    ) {
        self.acknowledging = false;
        for (at, (daemon, generation)) in asked.iter().enumerate() {
            let taken = verdicts.and_then(|verdicts| verdicts.get(at)).is_some_and(Verdict::is_taken);
            let row = self.wanted.get_mut(daemon).filter(|row| row.generation == *generation && taken);
            if let Some(row) = row.filter(|row| row.state == DaemonState::Assigning) {
                // The store does not tell its node what that has said itself.
                row.state = DaemonState::Active;
            }
        }
        self.answered(asked, verdicts, &Phase::Acknowledging, now, |verdict| match verdict {
            None => Phase::Claimed,
            Some(Verdict::Taken) => Phase::Ready,
            // It was told to stop before it could say yes: nothing ran, and somebody waits to hear that.
            Some(Verdict::Refused(Refusal::StillHeld { state: DaemonState::Revoking, .. })) => Phase::Stopped,
            Some(Verdict::Refused(_)) => Phase::Refused { at: now },
        });
    }

    /// The store has answered a confirmation; `None` when it has not, and nobody knows.
    pub fn confirmed(&mut self, asked: &[(DaemonName, Term)], verdicts: Option<&[Verdict]>, now: Monotonic) {
        self.confirming = false;
        self.answered(asked, verdicts, &Phase::Confirming, now, |verdict| match verdict {
            // A transaction under its fence is open: it has not quite stopped.
            None | Some(Verdict::Refused(Refusal::InUse(_))) => Phase::Stopped,
            Some(_) => Phase::Done,
        });
    }

    /// The store has answered that a daemon cannot be run here; `None` when it has not.
    pub fn failure_reported(
        &mut self,
        daemon: &DaemonName,
        generation: Term,
        verdict: Option<&Verdict>,
        now: Monotonic,
    ) {
        self.reporting = false;
        let Some(local) = self.local(daemon, generation) else { return };
        let Phase::Failing(reason) = &local.phase else { return };
        local.phase = match verdict {
            None | Some(Verdict::Refused(Refusal::InUse(_))) => {
                local.say_at = now.after(AGAIN);
                Phase::Failed(reason.clone())
            }
            Some(_) => Phase::Done,
        };
        self.reconcile(now);
    }

    fn answered(
        &mut self,
        asked: &[(DaemonName, Term)],
        verdicts: Option<&[Verdict]>,
        during: &Phase,
        now: Monotonic,
        becomes: impl Fn(Option<&Verdict>) -> Phase,
    ) {
        for (at, (daemon, generation)) in asked.iter().enumerate() {
            let verdict = verdicts.and_then(|verdicts| verdicts.get(at));
            let Some(local) = self.local(daemon, *generation) else { continue };
            if local.phase == *during {
                local.phase = becomes(verdict);
                if !matches!(verdict, Some(Verdict::Taken)) {
                    local.say_at = now.after(AGAIN);
                }
            }
        }
        self.reconcile(now);
    }

    fn local(&mut self, daemon: &DaemonName, generation: Term) -> Option<&mut Local> {
        self.locals.get_mut(daemon).filter(|local| local.generation == generation)
    }

    /// A daemon has ended. `chance` is uniform in `[0, 1)`.
    pub fn ended(&mut self, daemon: &DaemonName, generation: Term, end: &End, chance: f64, now: Monotonic) {
        let settings = self.settings.clone();
        let Some(local) = self.local(daemon, generation) else { return };
        match local.phase {
            Phase::Running => {
                if local.started.until(now) >= settings.healthy_after {
                    local.failures = 0;
                }
                local.failures = local.failures.saturating_add(1);
                let reason = match end {
                    End::Finished => "it ended by itself".to_owned(),
                    End::Failed(reason) => shorten(reason),
                };
                local.phase = if local.failures >= settings.failures {
                    Phase::Failed(format!("{reason} ({} times in a row)", local.failures))
                } else {
                    let pause = settings.restart.saturating_mul(1 << (local.failures - 1).min(20));
                    // Between half of it and all of it, so that what fails together does not start together.
                    let pause = pause.min(settings.restart_cap).mul_f64(0.5 + chance.clamp(0.0, 1.0) / 2.0);
                    Phase::Resting { until: now.after(pause) }
                };
            }
            Phase::Stopping { .. } => local.phase = Phase::Stopped,
            Phase::Losing { .. } => local.phase = Phase::Done,
            _ => {}
        }
        self.reconcile(now);
    }

    /// Whether anything comes here, goes from here, or is being said.
    pub fn in_motion(&self) -> bool {
        self.in_motion
            || self.wanted.values().any(|wanted| wanted.state != DaemonState::Active)
            || self
                .locals
                .values()
                .any(|local| !matches!(local.phase, Phase::Running | Phase::Refused { .. } | Phase::Done))
    }

    /// The daemons whose code may be running here, with their generations.
    pub fn running(&self) -> impl Iterator<Item = (&DaemonName, Term)> {
        let runs = |local: &Local| {
            matches!(local.phase, Phase::Running | Phase::Stopping { .. } | Phase::Losing { .. })
        };
        self.locals.iter().filter(move |(_, local)| runs(local)).map(|(name, local)| (name, local.generation))
    }

    /// Whether nothing is left to be stopped or said.
    pub fn is_empty(&self) -> bool {
        self.locals.values().all(|local| matches!(local.phase, Phase::Refused { .. } | Phase::Done))
    }
}

impl Local {
    /// The rows name this generation.
    fn follow(
        &mut self,
        wanted: &Wanted,
        wanted_at: Monotonic,
        gives_up: bool,
        now: Monotonic,
        drain: Duration,
    ) {
        let revoked = wanted.state == DaemonState::Revoking;
        match &self.phase {
            // The answer was lost, the row tells.
            Phase::Claimed | Phase::Acknowledging if wanted.state == DaemonState::Active && !gives_up => {
                self.phase = Phase::Ready;
            }
            // Refused at first, and taken when a copy of it arrived: rows that were read since then tell.
            Phase::Refused { at } if wanted.state == DaemonState::Active && wanted_at > *at && !gives_up => {
                self.phase = Phase::Ready;
            }
            Phase::Refused { at } if revoked && wanted_at > *at => self.phase = Phase::Stopped,
            Phase::Claimed | Phase::Acknowledging | Phase::Ready | Phase::Resting { .. }
                if revoked || gives_up =>
            {
                self.phase = Phase::Stopped;
            }
            Phase::Running if revoked => {
                self.phase = Phase::Stopping { by: wanted.stop_by, told: Told::Nothing };
            }
            // It had given up by itself before it saw that it is to stop: the leader's deadline counts.
            Phase::Stopping { by, told } if revoked && wanted.stop_by < *by => {
                self.phase = Phase::Stopping { by: wanted.stop_by, told: *told };
            }
            Phase::Running if gives_up => {
                self.phase = Phase::Stopping { by: now.after(drain), told: Told::Nothing };
            }
            _ => {}
        }
    }

    /// The rows do not name this generation any more. What runs is told, and is over once it has ended.
    fn is_over(&mut self, other_generation: bool) -> bool {
        match &self.phase {
            Phase::Running | Phase::Stopping { .. } => {
                self.phase = Phase::Losing { told: false };
                other_generation && off(Rule::StopBeforeStart)
            }
            Phase::Losing { .. } => other_generation && off(Rule::StopBeforeStart),
            _ => true,
        }
    }
}

#[cfg(test)]
#[path = "host_tests.rs"]
mod tests;
