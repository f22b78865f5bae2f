//! The relay's decisions: what to read, what to deliver, what to record, in which order. No I/O, no clock.
//!
//! ```text
//!   look ──▶ page ──▶ lanes ──▶ flight ──▶ landing ──▶ outcomes ──▶ recorded
//! ```
//!
//! - Of one source, one flight is under way at a time, and its rows go one after another.
//! - After a failure the source is closed: what was read of it is forgotten, and it is read again from its head once the
//!   failure has been recorded. So nothing overtakes, also not by way of a look that was under way meanwhile.
//! - What is held in memory is bounded: rows that wait, that are under way, and that are not recorded yet.

//!
//! | file | what it holds |
//! |---|---|
//! | `arriving` | messages that have just come, in the order of their numbers |
//! | `mod` | the state, and what is the same for all parts |
//! | `reading` | which look to make, and what to take in of its page |
//! | `flying` | what goes to the sink, and what its verdicts come to |
//! | `recording` | what is written down, and what an answer means |
//! | `resting` | sources that are not looked for, for a moment |
//! | `round` | when to search for sources again that were not found |

mod arriving;
mod flying;
mod numbers;
mod reading;
mod recording;
mod resting;
mod round;

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use self::arriving::Arriving;
use self::numbers::Numbers;
use self::resting::Resting;
use self::round::Round;
use super::lane::Lane;
use super::{ArrivalsLook, Outcome, RelaySettings, RowId, Stored, Verdict};
use crate::mutation::{Rule, off};
use crate::time::{Monotonic, StoreTime};

/// Rows for the sink: of one source in order, or of none.
#[derive(Debug)]
pub struct Flight {
    /// The source.
    pub lane: Option<Arc<str>>,
    /// The rows.
    pub rows: Vec<Stored>,
}

/// What came of one row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Landing {
    /// The row.
    pub id: RowId,
    /// The number of this attempt.
    pub attempt: u32,
    /// How many attempts were forgiven.
    pub forgiven: u32,
    /// What the sink said.
    pub verdict: Verdict,
    /// How long it took.
    pub took: Duration,
}

/// Rows without a source.
#[derive(Debug, Default)]
struct Unordered {
    queue: VecDeque<Stored>,
    held: usize,
    read_to: Option<(StoreTime, RowId)>,
    read_from_head: Option<Monotonic>,
    /// Where a search goes on that was broken off among rows of other parts: it must come to its end before another one
    /// begins at the head, or what stands behind them would never be found.
    search: Option<(StoreTime, RowId)>,
    dry: bool,
}

/// A look that is under way.
#[derive(Debug)]
struct UnderWay {
    /// How many rows each lane was asked for.
    asked: HashMap<Arc<str>, u32>,
    discovers: Option<u32>,
    unordered: Option<u32>,
    arrivals: Option<ArrivalsLook>,
    since: Monotonic,
}

/// The state of a relay between its reads and its writes.
#[derive(Debug)]
pub struct Drain {
    settings: RelaySettings,
    lanes: HashMap<Arc<str>, Lane>,
    unordered: Unordered,
    arriving: Arriving,
    /// Lanes that have something for the sink, each once.
    ready: VecDeque<Arc<str>>,
    /// Rows that are held, and must not be taken in again by a look.
    held: HashSet<RowId, Numbers>,
    flights: usize,
    /// Outcomes that wait to be recorded.
    outcomes: VecDeque<Outcome>,
    /// Since when some of them wait for those beside them.
    gathering: Option<Monotonic>,
    /// How many there were when runs were last looked for in vain.
    in_vain: usize,
    /// Which lane an unrecorded outcome belongs to.
    owners: HashMap<RowId, Option<Arc<str>>, Numbers>,
    records: usize,
    look: Option<UnderWay>,
    /// How many looks were made.
    looks: u64,
    /// Rows that were recorded while a look was under way, which may bring them back.
    buried: Vec<RowId>,
    /// Lanes that were spent while a look was under way, which may bring back what they closed for.
    leaving: Vec<Arc<str>>,
    /// Where the rotation over the sources goes on; `None` when it has come round.
    rotation: Option<String>,
    discovered_at: Option<Monotonic>,
    round: Round,
    resting: Resting,
    next_due: Option<Monotonic>,
    /// When a search may bring more than before: a rest or a pause is over.
    search_at: Option<Monotonic>,
    /// A source was closed that has more to deliver at once.
    revisit: bool,
    /// The last look went round all there is, and nothing is due.
    idle: bool,
    /// Whose turn the next flight is.
    unordered_first: bool,
    stopping: bool,
}

impl Drain {
    /// A relay that knows nothing yet. The settings have been validated.
    pub fn new(settings: RelaySettings) -> Self {
        Self {
            settings,
            lanes: HashMap::new(),
            unordered: Unordered::default(),
            arriving: Arriving::default(),
            ready: VecDeque::new(),
            held: HashSet::default(),
            flights: 0,
            outcomes: VecDeque::new(),
            gathering: None,
            in_vain: 0,
            owners: HashMap::default(),
            records: 0,
            look: None,
            looks: 0,
            buried: Vec::new(),
            leaving: Vec::new(),
            rotation: None,
            discovered_at: None,
            round: Round::default(),
            resting: Resting::default(),
            next_due: None,
            search_at: None,
            revisit: false,
            idle: false,
            unordered_first: false,
            stopping: false,
        }
    }

    /// The same over a store that lists what has just come. Not for a part: what is of other parts would be read each time.
    #[must_use]
    pub fn with_arrivals(mut self, listed: bool) -> Self {
        self.arriving.listed = listed && self.settings.part.is_none();
        self
    }

    /// The settings.
    pub fn settings(&self) -> &RelaySettings {
        &self.settings
    }

    /// How many rows are in memory.
    pub fn held(&self) -> usize {
        self.held.len()
    }

    /// How many flights are under way.
    pub fn flights(&self) -> usize {
        self.flights
    }

    /// When to look again in any case: something that was seen to wait will be due, or sources that were not searched for will be.
    pub fn next_due(&self) -> Option<Monotonic> {
        [self.next_due, self.search_at].into_iter().flatten().min()
    }

    /// Something may have been committed: no search for it is put off.
    pub fn hint(&mut self) {
        self.hurry();
    }

    /// There is known to be something that only a search can find.
    fn hurry(&mut self) {
        self.round.hurry(self.rotation.is_some());
    }

    /// Begins no more flights and no more looks.
    pub fn stop(&mut self) {
        self.stopping = true;
    }

    /// Whether nothing is under way and nothing is to be recorded.
    pub fn is_settled(&self) -> bool {
        self.flights == 0 && self.outcomes.is_empty() && self.records == 0
    }

    /// Lets a source deliver nothing more before it was read again from its head.
    fn close(&mut self, source: &Arc<str>, untried: Vec<Stored>) {
        let Some(lane) = self.lanes.get_mut(source) else { return };
        lane.closed = true;
        let dropped: Vec<_> = lane.queue.drain(..).chain(untried).map(|row| row.id).collect();
        if lane.came {
            lane.left.extend(&dropped);
        }
        for id in dropped {
            self.forget(id, Some(source));
        }
        self.leave_if_spent(source);
    }

    /// Holds a row no longer. It may come back by a later look, not by the one that is under way.
    fn forget(&mut self, id: RowId, lane: Option<&Arc<str>>) {
        match lane.and_then(|source| self.lanes.get_mut(source)) {
            Some(lane) => lane.held = lane.held.saturating_sub(1),
            None => self.unordered.held = self.unordered.held.saturating_sub(1),
        }
        if self.look.is_some() && !off(Rule::BuryUntilLooked) {
            self.buried.push(id);
        } else {
            self.held.remove(&id);
        }
    }

    fn leave_if_spent(&mut self, source: &Arc<str>) {
        if !self.lanes.get(source).is_some_and(Lane::is_spent) {
            return;
        }
        if self.look.is_some() && !off(Rule::BuryUntilLooked) {
            self.leaving.push(source.clone());
        } else {
            self.forget_lane(source);
        }
    }

    /// Forgets a lane: what of it was left on the list of arrivals is read again.
    fn forget_lane(&mut self, source: &Arc<str>) {
        let left = self.lanes.remove(source).map(|lane| lane.left).unwrap_or_default();
        self.arriving.left(left);
    }

    fn search_from(&mut self, at: Monotonic) {
        self.search_at = Some(self.search_at.map_or(at, |known| known.min(at)));
    }

    fn due_in(&mut self, span: Duration, now: Monotonic) {
        let at = now.after(span);
        self.next_due = Some(self.next_due.map_or(at, |known| known.min(at)));
    }
}

impl Unordered {
    /// Notes how far was read.
    fn note(&mut self, row: &Stored) {
        self.read_to = self.read_to.max(Some((row.due_at, row.id)));
    }
}
