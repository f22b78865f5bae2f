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
/// How many sources one look asks that had no more when they were last asked.
const DRY_EACH: usize = 16;
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
        let searches = self.search_at.is_some_and(|at| at <= now);
        let due = due || came_due || searches || self.revisit;
        // Small helpings would cost a round trip each.
        self.make_room(room, now);
        if room == 0 || (room < self.settings.read_ahead / 4 && !due) {
            return None;
        }
        if came_due || self.revisit {
            // What is due, or was closed and has more, is found by a search alone.
            self.hurry();
        }
        if came_due {
            self.next_due = None;
        }
        if searches {
            self.search_at = None;
        }
        self.revisit = false;
        self.looks += 1;
        self.make_way(now);
        let lanes = self.lane_looks(room, due, now);
        let discover = self.discover(room, due, now);
        let unordered = self.unordered_look(room, due, now);
        let asks = due || !lanes.is_empty() || discover.is_some() || unordered.is_some();
        let arrivals = self.arrivals_look(room, asks);
        if lanes.is_empty() && discover.is_none() && unordered.is_none() && arrivals.is_none() {
            return None;
        }
        self.look = Some(UnderWay {
            asked: lanes.iter().map(|lane| (Arc::from(lane.source.as_str()), lane.limit)).collect(),
            discovers: discover.as_ref().map(|discover| discover.rows_each),
            unordered: unordered.as_ref().map(|look| look.limit),
            arrivals: arrivals.clone(),
            since: now,
        });
        Some(Look { lanes, discover, unordered, arrivals, part: self.settings.part })
    }

    /// Lets sources that had their turn wait for the next, when there are more than can be held: they are read again from
    /// their heads when the rotation comes round.
    fn make_way(&mut self, now: Monotonic) {
        if self.read_from_lanes() < LANES_MAX || off(Rule::MakeWay) {
            return;
        }
        let had_their_turn =
            |lane: &Lane| !lane.closed && !lane.arrives && lane.since.until(now) >= LANE_TURN;
        let old: Vec<_> = self
            .lanes
            .iter()
            .filter(|(_, lane)| had_their_turn(lane))
            .map(|(source, _)| source.clone())
            .collect();
        if !old.is_empty() {
            self.hurry();
        }
        for source in old {
            self.close(&source, Vec::new());
        }
    }

    /// Sources are read in turns: of a few of them as many rows as go to the sink in one go, rather than a few rows of each.
    /// To find where a source goes on costs a database as much as reading a dozen rows.
    fn lane_looks(&mut self, room: usize, due: bool, now: Monotonic) -> Vec<LaneLook> {
        let share = (room / self.lanes.len().max(1)).max(1);
        let helping = self.helping().max(share);
        let mut hungry = Vec::new();
        let mut looks = Vec::new();
        let mut left = room;
        for (source, lane) in &mut self.lanes {
            // What flies counts too: sources whose deliveries hang must not have all the room.
            let wants = lane.undelivered() * 2 <= helping && (due || !lane.dry);
            let from_head = lane.read_to.is_none() || lane.read_from_head.until(now) >= HEAD_EVERY;
            if lane.closed || lane.arrives || !(wants || from_head) {
                continue;
            }
            if !from_head {
                hungry.push((lane.asked, source, lane));
                continue;
            }
            // For what was committed late: its turn to have more is another matter.
            lane.read_from_head = now;
            let after = if off(Rule::LookFromHead) { lane.read_to } else { None };
            // From the head on, the rows that are held come along once more.
            let again = if after.is_none() { lane.held } else { 0 };
            let more = if wants { share } else { 1 };
            left = left.saturating_sub(more);
            looks.push(LaneLook { source: source.to_string(), after, limit: whole(more + again) });
        }
        // Whoever waits for longest comes first.
        hungry.sort_unstable_by_key(|(asked, source, _)| (*asked, *source));
        let mut dry = 0;
        for (_, source, lane) in hungry {
            // Of one that had no more when it was last asked, not much is expected.
            dry += usize::from(lane.dry);
            if lane.dry && dry > DRY_EACH {
                continue;
            }
            let limit = if lane.dry { share } else { helping }.min(left);
            if limit == 0 {
                break;
            }
            left -= limit;
            lane.asked = self.looks;
            looks.push(LaneLook { source: source.to_string(), after: lane.read_to, limit: whole(limit) });
        }
        looks
    }

    /// How many sources are read from their lanes.
    fn read_from_lanes(&self) -> usize {
        if !self.arriving.listed {
            return self.lanes.len();
        }
        self.lanes.values().filter(|lane| !lane.arrives).count()
    }

    /// How many rows of one source are worth a look: those of one flight, but so few that as many sources as may be under way
    /// at once have some.
    fn helping(&self) -> usize {
        let at_once = self.lanes.len().clamp(1, self.settings.concurrency);
        self.settings.run.min(self.settings.read_ahead / at_once)
    }

    fn discover(&mut self, room: usize, due: bool, now: Monotonic) -> Option<Discover> {
        let lately = self.discovered_at.is_some_and(|at| at.until(now) < DISCOVER_EVERY);
        let begun = self.rotation.is_some();
        // With nothing to do, the pace alone says when to look.
        let early = !due && !begun && (lately || self.lanes.is_empty());
        if self.read_from_lanes() >= LANES_MAX || early {
            return None;
        }
        if let Some(at) = self.round.pause(now).filter(|_| !begun && !self.lanes.is_empty()) {
            self.search_from(at);
            return None;
        }
        self.discovered_at = Some(now);
        let room = if self.lanes.is_empty() { room } else { (room / 4).max(1) };
        let sources = SOURCES_EACH.min(room);
        // Those that have just come may have something in their lanes too, that is not known.
        let known = self.lanes.iter().filter(|(_, lane)| !lane.arrives);
        let mut except: Vec<_> = known.map(|(source, _)| source.to_string()).collect();
        // With nothing else to do, nobody is passed by.
        let first = if except.is_empty() {
            None
        } else {
            let (resting, first) = self.resting.at(now);
            except.extend(resting.filter(|source| !self.lanes.contains_key(*source)).map(ToOwned::to_owned));
            first
        };
        if let Some(at) = first {
            self.search_from(at);
        }
        Some(Discover {
            after: self.rotation.clone(),
            sources: whole(sources),
            rows_each: whole((room / sources.max(1)).max(1)),
            except,
        })
    }

    fn unordered_look(&mut self, room: usize, due: bool, now: Monotonic) -> Option<UnorderedLook> {
        let unordered = &mut self.unordered;
        let share = if self.lanes.is_empty() { room } else { (room / 4).max(1) };
        // What has just come stands in the same queue, and says nothing about what is in lanes.
        let enough = unordered.queue.len() * 2 > share && !self.arriving.listed;
        if enough || (unordered.dry && !due) {
            return None;
        }
        if let Some(after) = unordered.search {
            return Some(UnorderedLook { after: Some(after), limit: whole(share) });
        }
        // With nothing held there is nothing to be spared by not reading from the head.
        let from_head =
            unordered.held == 0 || unordered.read_from_head.is_none_or(|at| at.until(now) >= HEAD_EVERY);
        if from_head {
            unordered.read_from_head = Some(now);
        }
        let after = if from_head { None } else { unordered.read_to };
        let again = if after.is_none() { unordered.held } else { 0 };
        Some(UnorderedLook { after, limit: whole(share + again) })
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
        for (source, due_at) in page.resting {
            self.resting.rest(&source, due_at.map_or(Duration::MAX, |at| page.now.until(at)), now);
        }
        let mut seen: HashMap<Option<Arc<str>>, u32> = HashMap::new();
        let mut fresh = 0;
        if let Some(asked) = &look.arrivals {
            fresh += self.arrived(asked, page.arrivals, now);
        }
        let known_lanes = self.lanes.len();
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
                Some(source) if self.may_be_overtaking(&row) => {
                    cut.insert(source.clone());
                }
                Some(source) if row.due_at > page.now => {
                    let source = source.clone();
                    let span = page.now.until(row.due_at);
                    self.due_in(span, now);
                    self.resting.rest(&source, span, now);
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
        if look.discovers.is_some() {
            let found = self.lanes.len() > known_lanes;
            self.round.looked(look.since.until(now), found);
            if self.rotation.is_none() {
                self.revisit |= self.round.ended(now);
            }
        }
        self.note_dry(&look, &seen, &cut);
        self.look_is_over();
        let round = self.rotation.is_none() && self.unordered.search.is_none();
        let whole = look.discovers.is_some()
            && look.unordered.is_some()
            && round
            && self.saw_all_arrivals(look.arrivals.as_ref());
        self.idle = whole && !page.unseen && fresh == 0 && self.held.is_empty();
        fresh
    }

    /// Whether the last look went round all there is, and nothing is due: also not by what was recorded since, for a source that
    /// was closed meanwhile was not looked at.
    pub fn is_idle(&self) -> bool {
        self.idle && !self.revisit
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
            self.forget_lane(&source);
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
                self.forget_lane(&source);
            }
        }
    }

    fn take(&mut self, source: Arc<str>, row: Stored, now: Monotonic) -> usize {
        let (resting, looks) = (&mut self.resting, self.looks);
        let lane = self.lanes.entry(source.clone()).or_insert_with(|| {
            resting.ends(&source);
            Lane::new(now, looks)
        });
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

pub(super) fn whole(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}
