//! What is pending, source by source.

use std::collections::BTreeSet;
use std::ops::Bound;

use super::OutboxTables;
use super::queue::Pending;
use crate::outbox::{
    Arrivals, ArrivalsLook, Discover, LaneLook, Look, Missed, Page, Part, Place, RowId, Stored, UnorderedLook,
};
use crate::time::StoreTime;

impl OutboxTables {
    /// What is pending. Changes nothing but that what has just come may be laid into its lane.
    pub fn look(&mut self, look: &Look, now: StoreTime) -> Page {
        let mut page = Page::empty(now);
        page.arrivals = match &look.arrivals {
            Some(arrivals) => self.look_at_arrivals(arrivals),
            None => self.lay_all(),
        };
        let here = |lane: &&LaneLook| look.part.is_none_or(|part| part.has_source(lane.source.as_bytes()));
        for lane in look.lanes.iter().filter(here) {
            self.look_at_lane(lane, &mut page);
        }
        if let Some(discover) = &look.discover {
            self.discover(discover, look.part, &mut page);
        }
        if let Some(unordered) = &look.unordered {
            self.look_at_unordered(unordered, look.part, &mut page);
        }
        page
    }

    fn lay_all(&mut self) -> Arrivals {
        let all: Vec<_> = self.queue.arrivals().keys().copied().collect();
        all.into_iter().for_each(|id| self.queue.lay(id));
        Arrivals::default()
    }

    fn look_at_arrivals(&mut self, look: &ArrivalsLook) -> Arrivals {
        let listed = self.queue.arrivals();
        let after = look.after.map_or(Bound::Unbounded, Bound::Excluded);
        let ahead = listed.range((after, Bound::Unbounded)).map(|(id, _)| *id).take(look.limit as usize);
        let ahead: Vec<_> = ahead.collect();
        let more = ahead.len() == look.limit as usize;
        let Missed { before, numbers, limit } = &look.missed;
        let early = before.iter().flat_map(|before| listed.range(..before).map(|(id, _)| *id));
        let there = numbers.iter().copied().filter(|id| listed.contains_key(id));
        let missed: BTreeSet<_> = early.chain(there).collect();
        let missed: Vec<_> = missed.into_iter().take(*limit as usize).collect();
        let more_missed = *limit > 0 && missed.len() == *limit as usize;
        let seen: Vec<_> = missed.into_iter().chain(ahead).collect();
        let mut rows = Vec::new();
        for id in seen.iter().copied() {
            // What stands in the lane goes first.
            let waits = self
                .queue
                .get(id)
                .and_then(|pending| pending.lane.clone())
                .is_some_and(|lane| self.queue.lanes().contains_key(&lane) || look.lay.contains(&lane));
            match waits {
                true => self.queue.lay(id),
                false => rows.extend(self.stored(id)),
            }
        }
        Arrivals { rows, seen, more, more_missed }
    }

    fn look_at_lane(&self, look: &LaneLook, page: &mut Page) {
        let from = look.after.map_or(Bound::Unbounded, Bound::Excluded);
        self.take_lane(&look.source, from, look.limit, page);
    }

    /// Rows of a source in order, up to one that halts it.
    fn take_lane(&self, source: &str, from: Bound<Place>, limit: u32, page: &mut Page) {
        let Some(places) = self.queue.lanes().get(source) else { return };
        let rows = places
            .range((from, Bound::Unbounded))
            .map_while(|place| self.stored(place.id))
            .take(limit as usize);
        page.rows.extend(rows);
    }

    fn discover(&self, discover: &Discover, part: Option<Part>, page: &mut Page) {
        let after = discover.after.clone().map_or(Bound::Unbounded, Bound::Excluded);
        let except = &discover.except;
        let sources =
            self.queue.lanes().range::<String, _>((after, Bound::Unbounded)).map(|(source, _)| source);
        let steps = part.map_or(u32::MAX, |part| part.source_steps(discover.sources)) as usize;
        let (mut visited, mut count): (Option<&String>, u32) = (None, 0);
        for (step, source) in sources.filter(|source| !except.contains(source)).enumerate() {
            if count == discover.sources || step == steps {
                page.more_after = visited.cloned();
                return;
            }
            visited = Some(source);
            if part.is_some_and(|part| !part.has_source(source.as_bytes())) {
                continue;
            }
            count += 1;
            match self.queue.head(source).and_then(|head| head.due_at) {
                None => {}
                Some(due_at) if due_at > page.now => note_due(page, due_at),
                Some(_) => self.take_lane(source, Bound::Unbounded, discover.rows_each, page),
            }
        }
    }

    fn look_at_unordered(&self, look: &UnorderedLook, part: Option<Part>, page: &mut Page) {
        let unordered = self.queue.unordered();
        let here = |id: RowId| part.is_none_or(|part| part.has_row(id));
        let steps = part.map_or(u32::MAX, |part| part.row_steps(look.limit)) as usize;
        let from = look.after.map_or(Bound::Unbounded, Bound::Excluded);
        let due = unordered.range((from, Bound::Unbounded)).take_while(|(due_at, _)| *due_at <= page.now);
        let (mut count, mut last) = (0, None);
        for (step, (due_at, id)) in due.enumerate() {
            if count == look.limit {
                break;
            }
            if step == steps {
                page.unordered_after = last;
                break;
            }
            last = Some((*due_at, *id));
            if here(*id) {
                page.rows.extend(self.stored(*id));
                count += 1;
            }
        }
        let now = (page.now, RowId(i64::MAX));
        let mut later = unordered.range((Bound::Excluded(now), Bound::Unbounded));
        if let Some((due_at, _)) = later.find(|(_, id)| here(*id)) {
            note_due(page, *due_at);
        }
    }

    /// The row as a look shows it; `None` for one that halts its source, which is never due.
    fn stored(&self, id: RowId) -> Option<Stored> {
        let row = self.rows.get(&id)?;
        let Pending { lane, due_at, attempts, forgiven, .. } = self.queue.get(id)?;
        Some(Stored {
            id,
            message_id: row.message_id.clone(),
            ordered: lane.is_some(),
            source: row.source.clone(),
            sequence: row.sequence,
            topic: row.topic.clone(),
            kind: row.kind.clone(),
            body: row.found(),
            content_type: row.content_type.clone(),
            headers: row.headers.clone(),
            created_at: row.created_at,
            due_at: (*due_at)?,
            attempts: *attempts,
            forgiven: *forgiven,
        })
    }
}

fn note_due(page: &mut Page, due_at: StoreTime) {
    page.next_due = Some(page.next_due.map_or(due_at, |known| known.min(due_at)));
}
