//! What the leader knows, and what it does next. No I/O: looks, rows and answers go in, orders come out.
//!
//! The leader reads the daemons once, then only what changed; every so often all of them again, to notice what is gone.
//! It plans when something changed or a time has come, and gives a long plan in several orders. The store decides each
//! placement by the rows of that moment, so a plan that is a little old does no harm.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

use super::plan::{Picture, plan};
use super::{
    Answer, ClusterLook, ClusterSettings, Cursor, Daemon, DaemonName, DaemonSpec, DaemonState, Order,
    Placement, Refusal, Revision, Standing, Verdict,
};
use crate::id::NodeName;
use crate::lease::{Fence, Term};
use crate::time::{Monotonic, StoreTime};

/// How many placements one order holds.
const ORDER_MAX: usize = 1000;
/// How many daemons are read at once.
pub const PAGE: u32 = 2000;
/// How often all daemons are read anew.
const READ_ALL: Duration = Duration::from_secs(60);
/// How long what was refused is left alone.
const AFTER_REFUSAL: Duration = Duration::from_secs(1);
/// How often it plans at most.
const PLAN_EVERY: Duration = Duration::from_millis(20);
/// For how long daemons are not spread while nodes come and go all the time, in multiples of the time to settle.
const RESTLESS_MAX: u32 = 20;

/// What is to be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wanted {
    /// After which place.
    pub after: Cursor,
    /// The last change that was known when the reading began.
    known: Revision,
}

/// What the leader knows.
#[derive(Debug)]
pub struct Coordinator {
    settings: ClusterSettings,
    now: StoreTime,
    revision: Revision,
    nodes: Vec<Standing>,
    daemons: BTreeMap<DaemonName, Daemon>,
    cursor: Cursor,
    /// Everything is being read anew: what was found so far.
    anew: Option<BTreeMap<DaemonName, Daemon>>,
    read_all_at: Monotonic,
    /// It has looked: before that it does not know who is there, and nobody would be.
    has_looked: bool,
    complete: bool,
    /// It has changed something, or knows less than the store: until a look shows more than this revision, or until then,
    /// nothing is planned by rows that are old.
    awaits: Option<(Revision, Monotonic)>,
    /// What was known when the last order was given.
    ordered_at: Revision,
    queue: VecDeque<Placement>,
    under_way: bool,
    /// What was refused, and until when it is left alone.
    refused: BTreeMap<DaemonName, Monotonic>,
    /// Who was there at the last look, and who of them was to leave.
    present: BTreeSet<(NodeName, Term, bool)>,
    restless_since: Monotonic,
    restless_until: Monotonic,
    changed: bool,
    planned_at: Option<Monotonic>,
    /// An order went wrong as a whole: nothing is planned before then.
    rests_until: Option<Monotonic>,
    /// When, by the store's clock, there may be something to do although nothing changed.
    due_at: Option<StoreTime>,
}

impl Coordinator {
    /// A leader that knows nothing yet.
    pub fn new(settings: ClusterSettings, now: Monotonic) -> Self {
        let settle = settings.settle;
        Self {
            settings,
            now: StoreTime::from_micros(0),
            revision: Revision::default(),
            nodes: Vec::new(),
            daemons: BTreeMap::new(),
            cursor: Cursor::default(),
            anew: Some(BTreeMap::new()),
            read_all_at: now.after(READ_ALL),
            has_looked: false,
            complete: false,
            awaits: None,
            ordered_at: Revision::default(),
            queue: VecDeque::new(),
            under_way: false,
            refused: BTreeMap::new(),
            present: BTreeSet::new(),
            // Who came and went before it was elected it does not know.
            restless_since: now,
            restless_until: now.after(settle),
            changed: true,
            planned_at: None,
            rests_until: None,
            due_at: None,
        }
    }

    /// Takes a look at the cluster.
    pub fn looked(&mut self, look: &ClusterLook, now: Monotonic) {
        let alive = look.nodes.iter().filter(|standing| standing.is_alive(look.now));
        let present: BTreeSet<_> = alive
            .map(|standing| {
                (standing.member.node.name.clone(), standing.member.term, standing.member.leaving)
            })
            .collect();
        if present != self.present {
            if now >= self.restless_until {
                self.restless_since = now;
            }
            self.restless_until = now.after(self.settings.settle);
            self.present = present;
            self.changed = true;
            // What was planned for other nodes is planned anew.
            self.queue.clear();
        }
        self.changed |= look.revision != self.revision;
        (self.now, self.revision) = (look.now, look.revision);
        self.nodes.clone_from(&look.nodes);
        self.has_looked = true;
        if now >= self.read_all_at && self.anew.is_none() {
            (self.anew, self.cursor) = (Some(BTreeMap::new()), Cursor::default());
            self.read_all_at = now.after(READ_ALL);
        }
    }

    /// After which place daemons are to be read, [`PAGE`] at once; `None` when nothing changed.
    pub fn wants(&self) -> Option<Wanted> {
        let behind = self.cursor.revision < self.revision || self.anew.is_some();
        behind.then(|| Wanted { after: self.cursor.clone(), known: self.revision })
    }

    /// Takes the daemons that were read for [`Coordinator::wants`]; all there were, if they are fewer than a page.
    pub fn read(&mut self, wanted: &Wanted, page: Vec<Daemon>) {
        let last = page.len() < PAGE as usize;
        for daemon in page {
            self.cursor = Cursor { revision: daemon.revision, daemon: Some(daemon.name().clone()) };
            let rows = self.anew.as_mut().unwrap_or(&mut self.daemons);
            rows.insert(daemon.name().clone(), daemon);
            self.changed = true;
        }
        if last {
            // Nothing up to what was known when the reading began is left: the rest was about nodes, or about daemons that
            // are gone. What changed since is read next.
            if self.cursor.revision < wanted.known {
                self.cursor = Cursor { revision: wanted.known, daemon: None };
            }
            if let Some(all) = self.anew.take() {
                self.daemons = all;
                self.complete = true;
                self.changed = true;
            }
        }
    }

    /// The next order, if there is something to be done and no order is under way.
    pub fn next_order(&mut self, fence: &Fence, now: Monotonic) -> Option<Order> {
        if self.under_way || !self.complete || !self.has_looked {
            return None;
        }
        if self.queue.is_empty() && self.is_due(now) {
            self.plan(now);
        }
        if self.queue.is_empty() {
            return None;
        }
        (self.under_way, self.ordered_at) = (true, self.revision);
        let placements = self.queue.drain(..self.queue.len().min(ORDER_MAX)).collect();
        Some(Order::Place { fence: fence.clone(), placements, deadlines: self.settings.deadlines() })
    }

    fn is_due(&self, now: Monotonic) -> bool {
        let rested = self.planned_at.is_none_or(|at| at.until(now) >= PLAN_EVERY);
        let rested = rested && self.rests_until.is_none_or(|until| now >= until);
        let waits = self.awaits.is_some_and(|(than, until)| self.revision <= than && now < until);
        rested && !waits && self.wants().is_none() && (self.changed || self.time_has_come(now))
    }

    fn plan(&mut self, now: Monotonic) {
        self.refused.retain(|_, until| now < *until);
        let restless = self.restless_since.until(now) < self.settings.settle.saturating_mul(RESTLESS_MAX);
        let picture = Picture {
            now: self.now,
            nodes: &self.nodes,
            daemons: &self.daemons,
            quiet: now >= self.restless_until || !restless,
            settings: &self.settings,
        };
        let refused = &self.refused;
        let is_refused =
            |placement: &Placement| placement.daemon().is_some_and(|daemon| refused.contains_key(daemon));
        self.queue = plan(&picture).into_iter().filter(|placement| !is_refused(placement)).collect();
        if self.queue.len() > ORDER_MAX {
            // Those of one node together: each order then concerns few nodes, and each node reads and answers few times. What
            // is urgent still comes first, for all of it is in the first orders or all of it is alike.
            self.queue.make_contiguous().sort_by(|a, b| (urgency(a), a.to()).cmp(&(urgency(b), b.to())));
        }
        (self.changed, self.planned_at, self.due_at) = (false, Some(now), self.next_moment());
    }

    /// The store has answered an order; `None` when it has not, and nobody knows. Answers whether this leader is still in
    /// office.
    pub fn answered(&mut self, order: &Order, answer: Option<&Answer>, now: Monotonic) -> bool {
        self.under_way = false;
        self.changed = true;
        let Order::Place { placements, .. } = order else { return true };
        match answer {
            Some(Answer::Fenced(_)) => return false,
            Some(Answer::Done(verdicts)) => {
                for (placement, verdict) in placements.iter().zip(verdicts) {
                    let newer = matches!(verdict, Verdict::Taken | Verdict::Refused(Refusal::Stale { .. }));
                    if newer {
                        self.awaits = Some((self.ordered_at, now.after(AFTER_REFUSAL)));
                    }
                    let Verdict::Refused(refusal) = verdict else {
                        if let Placement::Remove { daemon } = placement {
                            self.daemons.remove(daemon);
                        }
                        continue;
                    };
                    match (refusal, placement.daemon()) {
                        (Refusal::NoDaemon(gone), _) => drop(self.daemons.remove(gone)),
                        // Its row tells more; it is planned anew then.
                        _ if newer => {}
                        (_, Some(daemon)) => {
                            self.refused.insert(daemon.clone(), now.after(AFTER_REFUSAL));
                        }
                        (_, None) => self.rests_until = Some(now.after(AFTER_REFUSAL)),
                    }
                }
            }
            // Without an answer, or refused as a whole: what is so is read anew, what is not is planned anew, after a while.
            Some(Answer::Refused(_)) | None => {
                self.queue.clear();
                self.rests_until = Some(now.after(AFTER_REFUSAL));
            }
        }
        true
    }

    /// Whether a time has come although nothing changed: a deadline, the end of a cool-down, of unrest, of a refusal.
    fn time_has_come(&self, now: Monotonic) -> bool {
        let Some(planned) = self.planned_at else { return true };
        let came = |at: Monotonic| at > planned && now >= at;
        self.due_at.is_some_and(|at| self.now >= at)
            || came(self.restless_until)
            || self.refused.values().any(|at| came(*at))
    }

    /// The next moment of the store's clock at which a plan may differ.
    fn next_moment(&self) -> Option<StoreTime> {
        let deadlines = self.daemons.values().filter_map(|daemon| daemon.deadline);
        let nowhere = self.daemons.values().filter(|daemon| daemon.state == DaemonState::Unassigned);
        let avoided = nowhere.flat_map(|daemon| daemon.avoids.iter().map(|avoid| avoid.until));
        deadlines.chain(avoided).filter(|at| *at > self.now).min()
    }

    /// Whether anything is on its way, so that looks are worth while.
    pub fn in_motion(&self) -> bool {
        let moves = |daemon: &Daemon| matches!(daemon.state, DaemonState::Assigning | DaemonState::Revoking);
        let leaves = |standing: &Standing| standing.member.leaving;
        self.under_way
            || self.changed
            || !self.queue.is_empty()
            || self.wants().is_some()
            || self.nodes.iter().any(leaves)
            || self.daemons.values().any(moves)
    }

    /// Which parts of something are to be declared again: this node brings them along, none is known, and no part of another
    /// layout is. Somebody deleted their rows. Only after all rows were read.
    pub fn missing<'s>(&self, specs: &'s [DaemonSpec]) -> Vec<&'s DaemonSpec> {
        if !self.complete || self.anew.is_some() {
            return Vec::new();
        }
        let same = |spec: &DaemonSpec| {
            let group = spec.group.as_ref();
            let of_it = self.daemons.values().filter(|daemon| {
                daemon.spec.group.as_ref().map(|theirs| &theirs.name) == group.map(|ours| &ours.name)
            });
            let mut layouts = of_it.map(|daemon| daemon.spec.group.as_ref());
            layouts.all(|theirs| theirs == group)
        };
        let missing =
            specs.iter().filter(|spec| spec.group.is_some() && !self.daemons.contains_key(&spec.name));
        missing.filter(|spec| same(spec)).collect()
    }

    /// The daemons as the leader knows them.
    pub fn daemons(&self) -> &BTreeMap<DaemonName, Daemon> {
        &self.daemons
    }
}

/// What must be done at once comes before what only explains and cleans up.
fn urgency(placement: &Placement) -> u8 {
    match placement {
        Placement::Assign { .. } | Placement::Revoke { .. } | Placement::Unassign { .. } => 0,
        Placement::Remove { .. } | Placement::Explain { .. } | Placement::Forget { .. } => 1,
    }
}

#[cfg(test)]
#[path = "coordinator_tests.rs"]
mod tests;
