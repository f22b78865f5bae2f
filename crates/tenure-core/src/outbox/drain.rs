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

use std::collections::{HashMap, HashSet, VecDeque};
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::Arc;
use std::time::Duration;

use super::lane::Lane;
use super::{
    Discover, Kind, LaneLook, Look, Next, OnDead, Outcome, Page, Recorded, RelaySettings, RowId, Stored,
    UnorderedLook, Verdict, shorten,
};
use crate::mutation::{Rule, off};
use crate::time::{Monotonic, StoreTime};

/// How often a source that is being drained is read from its head, for rows that were committed late.
const HEAD_EVERY: Duration = Duration::from_secs(1);
/// How often new sources are looked for while others keep the relay busy.
const DISCOVER_EVERY: Duration = Duration::from_millis(20);
/// How many sources one look visits.
const SOURCES_EACH: usize = 256;
/// How many lanes there are at most.
const LANES_MAX: usize = 1024;
/// When there are that many, those that are older than this make way for others.
const LANE_TURN: Duration = Duration::from_millis(100);
/// How many batches of outcomes are recorded at once.
const RECORDS_MAX: usize = 2;

/// Hashes numbers of rows: they come from a sequence, so nobody chooses them, and a multiplication spreads them well.
type Numbers = BuildHasherDefault<NumberHasher>;

#[derive(Debug, Default, Clone, Copy)]
struct NumberHasher(u64);

impl Hasher for NumberHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.write_u64(u64::from(*byte));
        }
    }

    fn write_i64(&mut self, number: i64) {
        self.write_u64(number.cast_unsigned());
    }

    fn write_u64(&mut self, number: u64) {
        let spread = (self.0 ^ number).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        // The table looks at the highest and the lowest bits.
        self.0 = spread ^ (spread >> 32);
    }
}

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
    dry: bool,
}

/// A look that is under way.
#[derive(Debug)]
struct UnderWay {
    /// How many rows each lane was asked for.
    asked: HashMap<Arc<str>, u32>,
    discovers: Option<u32>,
    unordered: Option<u32>,
}

/// The state of a relay between its reads and its writes.
#[derive(Debug)]
pub struct Drain {
    settings: RelaySettings,
    lanes: HashMap<Arc<str>, Lane>,
    unordered: Unordered,
    /// Lanes that have something for the sink, each once.
    ready: VecDeque<Arc<str>>,
    /// Rows that are held, and must not be taken in again by a look.
    held: HashSet<RowId, Numbers>,
    flights: usize,
    /// Outcomes that wait to be recorded.
    outcomes: VecDeque<Outcome>,
    /// Which lane an unrecorded outcome belongs to.
    owners: HashMap<RowId, Option<Arc<str>>, Numbers>,
    records: usize,
    look: Option<UnderWay>,
    /// Rows that were recorded while a look was under way, which may bring them back.
    buried: Vec<RowId>,
    /// Lanes that were spent while a look was under way, which may bring back what they closed for.
    leaving: Vec<Arc<str>>,
    /// Where the rotation over the sources goes on; `None` when it has come round.
    rotation: Option<String>,
    discovered_at: Option<Monotonic>,
    next_due: Option<Monotonic>,
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
            ready: VecDeque::new(),
            held: HashSet::default(),
            flights: 0,
            outcomes: VecDeque::new(),
            owners: HashMap::default(),
            records: 0,
            look: None,
            buried: Vec::new(),
            leaving: Vec::new(),
            rotation: None,
            discovered_at: None,
            next_due: None,
            revisit: false,
            idle: false,
            unordered_first: false,
            stopping: false,
        }
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

    /// When something that was seen to wait will be due.
    pub fn next_due(&self) -> Option<Monotonic> {
        self.next_due
    }

    /// Begins no more flights and no more looks.
    pub fn stop(&mut self) {
        self.stopping = true;
    }

    /// Whether nothing is under way and nothing is to be recorded.
    pub fn is_settled(&self) -> bool {
        self.flights == 0 && self.outcomes.is_empty() && self.records == 0
    }

    // ---- reading ----

    /// The next look, if one is called for: because the pace says so (`due`), or because there is known to be more.
    pub fn look(&mut self, due: bool, now: Monotonic) -> Option<Look> {
        if self.stopping || self.look.is_some() {
            return None;
        }
        let room = self.settings.read_ahead.saturating_sub(self.held.len());
        let came_due = self.next_due.is_some_and(|at| at <= now);
        let due = due || came_due || self.revisit;
        // Small helpings would cost a round trip each.
        if room == 0 || (room < self.settings.read_ahead / 4 && !due) {
            return None;
        }
        if came_due {
            self.next_due = None;
        }
        self.revisit = false;
        self.make_way(now);
        let lanes = self.lane_looks(room, due, now);
        let discover = self.discover(room, due, now);
        let unordered = self.unordered_look(room, due, now);
        if lanes.is_empty() && discover.is_none() && unordered.is_none() {
            return None;
        }
        self.look = Some(UnderWay {
            asked: lanes.iter().map(|lane| (Arc::from(lane.source.as_str()), lane.limit)).collect(),
            discovers: discover.as_ref().map(|discover| discover.rows_each),
            unordered: unordered.as_ref().map(|look| look.limit),
        });
        Some(Look { lanes, discover, unordered })
    }

    /// Lets sources that had their turn wait for the next, when there are more than can be held: they are read again from
    /// their heads when the rotation comes round.
    fn make_way(&mut self, now: Monotonic) {
        if self.lanes.len() < LANES_MAX || off(Rule::MakeWay) {
            return;
        }
        let had_their_turn = |lane: &Lane| !lane.closed && lane.since.until(now) >= LANE_TURN;
        let old: Vec<_> = self
            .lanes
            .iter()
            .filter(|(_, lane)| had_their_turn(lane))
            .map(|(source, _)| source.clone())
            .collect();
        for source in old {
            self.close(&source, Vec::new());
        }
    }

    fn lane_looks(&mut self, room: usize, due: bool, now: Monotonic) -> Vec<LaneLook> {
        let share = (room / self.lanes.len().max(1)).max(1);
        let mut looks = Vec::new();
        for (source, lane) in &mut self.lanes {
            let hungry = lane.queue.len() * 2 <= share && (due || !lane.dry);
            let from_head = lane.read_to.is_none() || lane.read_from_head.until(now) >= HEAD_EVERY;
            if lane.closed || !(hungry || from_head) {
                continue;
            }
            let after = if from_head && !off(Rule::LookFromHead) { None } else { lane.read_to };
            if from_head {
                lane.read_from_head = now;
            }
            // From the head on, the rows that are held come along once more.
            let again = if after.is_none() { lane.held } else { 0 };
            let limit = u32::try_from(share + again).unwrap_or(u32::MAX);
            looks.push(LaneLook { source: source.to_string(), after, limit });
        }
        looks
    }

    fn discover(&mut self, room: usize, due: bool, now: Monotonic) -> Option<Discover> {
        let lately = self.discovered_at.is_some_and(|at| at.until(now) < DISCOVER_EVERY);
        let begun = self.rotation.is_some();
        // With nothing to do, the pace alone says when to look.
        let early = !due && !begun && (lately || self.lanes.is_empty());
        if self.lanes.len() >= LANES_MAX || early {
            return None;
        }
        self.discovered_at = Some(now);
        let room = if self.lanes.is_empty() { room } else { (room / 4).max(1) };
        let sources = SOURCES_EACH.min(room);
        Some(Discover {
            after: self.rotation.clone(),
            sources: u32::try_from(sources).unwrap_or(u32::MAX),
            rows_each: u32::try_from((room / sources.max(1)).max(1)).unwrap_or(u32::MAX),
            except: self.lanes.keys().map(ToString::to_string).collect(),
        })
    }

    fn unordered_look(&mut self, room: usize, due: bool, now: Monotonic) -> Option<UnorderedLook> {
        let unordered = &mut self.unordered;
        let share = if self.lanes.is_empty() { room } else { (room / 4).max(1) };
        if unordered.queue.len() * 2 > share || (unordered.dry && !due) {
            return None;
        }
        // With nothing held there is nothing to be spared by not reading from the head.
        let from_head =
            unordered.held == 0 || unordered.read_from_head.is_none_or(|at| at.until(now) >= HEAD_EVERY);
        if from_head {
            unordered.read_from_head = Some(now);
        }
        let after = if from_head { None } else { unordered.read_to };
        let again = if after.is_none() { unordered.held } else { 0 };
        Some(UnorderedLook { after, limit: u32::try_from(share + again).unwrap_or(u32::MAX) })
    }

    /// Whether a look is under way.
    pub fn is_looking(&self) -> bool {
        self.look.is_some()
    }

    /// Takes in what a look has found. Answers how many rows are new.
    pub fn looked(&mut self, page: Page, now: Monotonic) -> usize {
        let Some(look) = self.look.take() else { return 0 };
        if look.discovers.is_some() {
            self.rotation = page.more_after;
        }
        if let Some(due) = page.next_due {
            self.due_in(page.now.until(due), now);
        }
        let mut seen: HashMap<Option<Arc<str>>, u32> = HashMap::new();
        let mut fresh = 0;
        // Sources of which a row is not due: what follows that row waits.
        let mut cut: HashSet<Arc<str>> = HashSet::new();
        // The rows of a source usually stand together: its name is looked up once for all of them.
        let mut run: (Option<Arc<str>>, u32) = (None, 0);
        for row in page.rows {
            if row.lane.as_deref() != run.0.as_deref() {
                let (lane, count) = std::mem::replace(&mut run, (row.lane.as_deref().map(Arc::from), 0));
                *seen.entry(lane).or_default() += count;
            }
            run.1 += 1;
            let known = self.held.contains(&row.id);
            match &run.0 {
                None if known => self.unordered.note(&row),
                None => fresh += self.take_unordered(row),
                Some(source) if !cut.is_empty() && cut.contains(source) => {}
                Some(source) if row.due_at > page.now => {
                    let source = source.clone();
                    self.due_in(page.now.until(row.due_at), now);
                    cut.insert(source);
                }
                Some(_) if known => {}
                Some(source) => {
                    let source = source.clone();
                    fresh += self.take(source, row, now);
                }
            }
        }
        *seen.entry(run.0).or_default() += run.1;
        self.note_dry(&look, &seen, &cut);
        self.look_is_over();
        let whole = look.discovers.is_some() && look.unordered.is_some() && self.rotation.is_none();
        self.idle = whole && fresh == 0 && self.held.is_empty();
        fresh
    }

    /// Whether the last look went round all there is, and nothing is due.
    pub fn is_idle(&self) -> bool {
        self.idle
    }

    fn note_dry(&mut self, look: &UnderWay, seen: &HashMap<Option<Arc<str>>, u32>, cut: &HashSet<Arc<str>>) {
        let count = |lane: &Option<Arc<str>>| seen.get(lane).copied().unwrap_or(0);
        for (source, lane) in &mut self.lanes {
            let asked = look.asked.get(source).copied().or_else(|| {
                let discovered = seen.contains_key(&Some(source.clone()));
                look.discovers.filter(|_| discovered)
            });
            if let Some(asked) = asked {
                lane.dry = cut.contains(source) || count(&Some(source.clone())) < asked;
            }
        }
        if let Some(asked) = look.unordered {
            self.unordered.dry = count(&None) < asked;
        }
        let spent: Vec<_> =
            self.lanes.iter().filter(|(_, lane)| lane.is_spent()).map(|(source, _)| source.clone()).collect();
        for source in spent {
            self.lanes.remove(&source);
        }
    }

    /// The look has failed: nothing is known.
    pub fn look_failed(&mut self) {
        self.look = None;
        self.look_is_over();
    }

    fn look_is_over(&mut self) {
        for id in std::mem::take(&mut self.buried) {
            self.held.remove(&id);
        }
        for source in std::mem::take(&mut self.leaving) {
            if self.lanes.get(&source).is_some_and(Lane::is_spent) {
                self.lanes.remove(&source);
            }
        }
    }

    fn take(&mut self, source: Arc<str>, row: Stored, now: Monotonic) -> usize {
        let lane = self.lanes.entry(source.clone()).or_insert_with(|| Lane::new(now));
        if lane.closed {
            return 0;
        }
        self.held.insert(row.id);
        let was_ready = lane.is_ready();
        lane.insert(row);
        if !was_ready && lane.is_ready() {
            self.ready.push_back(source);
        }
        1
    }

    fn take_unordered(&mut self, row: Stored) -> usize {
        self.held.insert(row.id);
        self.unordered.held += 1;
        self.unordered.note(&row);
        self.unordered.queue.push_back(row);
        1
    }

    fn due_in(&mut self, span: Duration, now: Monotonic) {
        let at = now.after(span);
        self.next_due = Some(self.next_due.map_or(at, |known| known.min(at)));
    }

    // ---- delivering ----

    /// The next rows for the sink, if there are any and there is a place for one more flight.
    ///
    /// `batch` is how many rows without a source the sink takes at once.
    pub fn next_flight(&mut self, batch: usize) -> Option<Flight> {
        if self.stopping || self.flights >= self.settings.concurrency {
            return None;
        }
        // In turns, so that neither starves the other.
        self.unordered_first = !self.unordered_first;
        if self.unordered_first {
            self.unordered_flight(batch).or_else(|| self.lane_flight())
        } else {
            self.lane_flight().or_else(|| self.unordered_flight(batch))
        }
    }

    fn unordered_flight(&mut self, batch: usize) -> Option<Flight> {
        let count = self.unordered.queue.len().min(batch.clamp(1, self.settings.run));
        let rows: Vec<_> = self.unordered.queue.drain(..count).collect();
        if rows.is_empty() {
            return None;
        }
        self.flights += 1;
        Some(Flight { lane: None, rows })
    }

    fn lane_flight(&mut self) -> Option<Flight> {
        while let Some(source) = self.ready.pop_front() {
            let Some(lane) = self.lanes.get_mut(&source) else { continue };
            if !lane.is_ready() {
                continue;
            }
            lane.flying = true;
            let count = lane.queue.len().min(self.settings.run);
            let rows = lane.queue.drain(..count).collect();
            self.flights += 1;
            return Some(Flight { lane: Some(source), rows });
        }
        None
    }

    /// A flight is over. `untried` are its rows that were not given to the sink; they burn no attempt. `chance` gives
    /// uniform numbers in `[0, 1)`.
    pub fn landed(
        &mut self,
        lane: Option<Arc<str>>,
        landings: Vec<Landing>,
        mut untried: Vec<Stored>,
        mut chance: impl FnMut() -> f64,
    ) {
        self.flights = self.flights.saturating_sub(1);
        let mut stopped = false;
        for landing in landings {
            let id = landing.id;
            let Some(outcome) = self.outcome(landing, chance()) else {
                // Withheld: it is read again.
                self.forget(id, lane.as_ref());
                stopped = true;
                continue;
            };
            stopped |= !self.settings.goes_on(outcome.kind);
            if let Some(lane) = lane.as_ref().and_then(|source| self.lanes.get_mut(source)) {
                lane.unrecorded += 1;
            }
            self.owners.insert(id, lane.clone());
            self.outcomes.push_back(outcome);
        }
        let Some(source) = lane else {
            // Behind the others: what cannot be delivered now must not keep them from their turn.
            self.unordered.queue.extend(untried);
            return;
        };
        let Some(state) = self.lanes.get_mut(&source) else { return };
        state.flying = false;
        if stopped || state.closed {
            self.close(&source, untried);
            return;
        }
        while let Some(row) = untried.pop() {
            state.queue.push_front(row);
        }
        if state.is_ready() {
            self.ready.push_back(source);
        }
    }

    fn outcome(&self, landing: Landing, chance: f64) -> Option<Outcome> {
        let Landing { id, attempt, forgiven, verdict, took } = landing;
        let dead = Next::Dead { halt: self.settings.on_dead == OnDead::Halt };
        let used = attempt.saturating_sub(forgiven);
        let (kind, next, reason) = match verdict {
            Verdict::Accepted => (Kind::Success, Next::Done, None),
            Verdict::Rejected { reason } => (Kind::Rejected, dead, Some(shorten(&reason))),
            Verdict::Poison { reason } => (Kind::Poison, dead, Some(shorten(&reason))),
            Verdict::Transient { reason, .. } if used >= self.settings.retry.max_attempts => {
                (Kind::Transient, dead, Some(shorten(&format!("gave up after {used} attempts: {reason}"))))
            }
            Verdict::Transient { reason, retry_after } => {
                let after = self.settings.retry.pause(used, chance, retry_after);
                (Kind::Transient, Next::Again { after }, Some(shorten(&reason)))
            }
            Verdict::Withheld => return None,
        };
        Some(Outcome { id, attempt, kind, next, reason, took })
    }

    /// Lets a source deliver nothing more before it was read again from its head.
    fn close(&mut self, source: &Arc<str>, untried: Vec<Stored>) {
        let Some(lane) = self.lanes.get_mut(source) else { return };
        lane.closed = true;
        let dropped: Vec<_> = lane.queue.drain(..).chain(untried).map(|row| row.id).collect();
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
            self.lanes.remove(source);
        }
    }

    // ---- recording ----

    /// The next outcomes to record, if there are any and it is their turn.
    pub fn next_record(&mut self) -> Option<Vec<Outcome>> {
        let enough = match self.records {
            0 => 1,
            // A second one only when it is worth a round trip.
            _ => (self.settings.batch / 4).max(1),
        };
        if self.records >= RECORDS_MAX || self.outcomes.len() < enough {
            return None;
        }
        self.records += 1;
        let count = self.outcomes.len().min(self.settings.batch);
        Some(self.outcomes.drain(..count).collect())
    }

    /// The store has answered. False when the relay is no longer in office, and has to stop at once.
    #[must_use]
    pub fn recorded(&mut self, outcomes: Vec<Outcome>, answer: Recorded, now: Monotonic) -> bool {
        self.records = self.records.saturating_sub(1);
        let Recorded::Applied(applied) = answer else { return false };
        // Nearly always all were: then no set is built.
        let all = applied.len() == outcomes.len();
        let applied: HashSet<RowId, Numbers> =
            if all { HashSet::default() } else { applied.into_iter().collect() };
        for outcome in outcomes {
            if let Next::Again { after } = outcome.next {
                self.due_in(after, now);
            }
            let lane = self.owners.remove(&outcome.id).flatten();
            self.forget(outcome.id, lane.as_ref());
            let Some(source) = lane else { continue };
            if let Some(state) = self.lanes.get_mut(&source) {
                state.unrecorded = state.unrecorded.saturating_sub(1);
                let settled_elsewhere = !all && !applied.contains(&outcome.id);
                // A source that was closed for a dead message goes on at once.
                self.revisit |=
                    settled_elsewhere || (state.closed && outcome.next == Next::Dead { halt: false });
                if settled_elsewhere {
                    // Perhaps by another relay: what we know of this source is old.
                    self.close(&source, Vec::new());
                }
            }
            self.leave_if_spent(&source);
        }
        true
    }

    /// The store has not answered: nothing is known, so the same is recorded again.
    pub fn record_failed(&mut self, outcomes: Vec<Outcome>) {
        self.records = self.records.saturating_sub(1);
        if off(Rule::RecordAgain) {
            return;
        }
        for outcome in outcomes.into_iter().rev() {
            self.outcomes.push_front(outcome);
        }
    }
}

impl Unordered {
    /// Notes how far was read.
    fn note(&mut self, row: &Stored) {
        self.read_to = self.read_to.max(Some((row.due_at, row.id)));
    }
}
