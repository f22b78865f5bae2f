//! Which look to make, and what to take in of its page.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use super::super::lane::Lane;
use super::super::{Discover, LaneLook, Look, Page, Stored, UnorderedLook};
use super::{Drain, UnderWay};
use crate::mutation::{Rule, off};
use crate::time::Monotonic;

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
impl Drain {
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
        Some(Look { lanes, discover, unordered, part: self.settings.part })
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
        if let Some(after) = unordered.search {
            let limit = u32::try_from(share).unwrap_or(u32::MAX);
            return Some(UnorderedLook { after: Some(after), limit });
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
        if look.unordered.is_some() {
            self.unordered.search = page.unordered_after;
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
            if row.lane() != run.0.as_deref() {
                let (lane, count) = std::mem::replace(&mut run, (row.lane().map(Arc::from), 0));
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
        let round = self.rotation.is_none() && self.unordered.search.is_none();
        let whole = look.discovers.is_some() && look.unordered.is_some() && round;
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
            self.unordered.dry = count(&None) < asked && self.unordered.search.is_none();
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
}
