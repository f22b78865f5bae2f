//! Finding sources: each costs a step in the index, whatever stands behind it.
//!
//! First a page of the index is read: where sources have few rows each, it holds all that are asked for. Where it does not
//! reach so far, because some have very many rows, the search goes on from source to source, a few steps in a round trip,
//! and ever more of them.

use std::collections::HashSet;

use tenure_core::outbox::{Discover, Page, Part};
use tenure_core::time::StoreTime;

use super::cells::{Cells, HALTS};
use super::look::{Lanes, note_due};
use super::unit::Stop;
use crate::driver::{Call, Session};
use crate::row::Row;
use crate::store::Shared;
use crate::value::Value;

/// The most rows of a page.
const PAGE_MAX: u32 = 1024;
/// How many steps the first round trip of a walk takes, and the most that one takes.
const STEPS: (u32, u32) = (8, 256);
/// The most names that a statement leaves out by seeking between them: beyond, databases read through what they leave out.
const EXCEPT_MAX: usize = 900;

/// The statement that reads a page.
pub(super) fn page<'s>(shared: &'s Shared, discover: &Discover, part: Option<Part>) -> Call<'s> {
    let after = discover.after.as_deref().unwrap_or_default().as_bytes();
    let mut known: Vec<&[u8]> = discover.except.iter().map(String::as_bytes).collect();
    known.retain(|source| *source > after);
    known.sort_unstable();
    // The nearest ones: a page that comes to others is cut there.
    known.truncate(EXCEPT_MAX);
    // No source is empty, and to leave out nothing at all must not leave out everything.
    known.push(b"");
    let params = vec![after.into(), Value::list(known), rows(discover, part).into()];
    Call::new(&shared.statements.outbox_sources, params)
}

fn rows(discover: &Discover, part: Option<Part>) -> u32 {
    steps(discover, part).saturating_mul(2).clamp(16, PAGE_MAX)
}

/// How many sources are visited at most.
fn steps(discover: &Discover, part: Option<Part>) -> u32 {
    part.map_or(discover.sources, |part| part.source_steps(discover.sources))
}

/// A source with its head: when it is due; `None` where the source stands still.
struct Head {
    source: Vec<u8>,
    due_at: Option<StoreTime>,
}

/// A search under way.
struct Search<'a> {
    except: HashSet<&'a [u8]>,
    part: Option<Part>,
    /// How many sources of the part are still wanted, and how many may still be visited.
    wanted: u32,
    steps: u32,
    /// The last one visited.
    visited: Option<Vec<u8>>,
    /// Where the search has come to, also at one that is left out.
    at: Vec<u8>,
    /// Whether there was one more than were to be visited.
    more: bool,
    found: Vec<Head>,
}

impl Search<'_> {
    /// Visits a source. Answers whether to go on.
    fn visit(&mut self, head: Head) -> bool {
        if head.source == self.at {
            return true;
        }
        self.at.clone_from(&head.source);
        if self.except.contains(head.source.as_slice()) {
            return true;
        }
        if self.wanted == 0 || self.steps == 0 {
            self.more = true;
            return false;
        }
        self.steps -= 1;
        self.visited = Some(head.source.clone());
        if self.part.is_none_or(|part| part.has_source(&head.source)) {
            self.wanted -= 1;
            self.found.push(head);
        }
        true
    }
}

impl Shared {
    /// Finds sources from a first page on, and reads the rows of those whose heads are due.
    pub(super) async fn discover(
        &self,
        session: &mut dyn Session,
        discover: &Discover,
        part: Option<Part>,
        first: Vec<Row>,
        page: &mut Page,
    ) -> Result<(), Stop> {
        let mut search = Search {
            except: discover.except.iter().map(String::as_bytes).collect(),
            part,
            wanted: discover.sources,
            steps: steps(discover, part),
            visited: None,
            at: discover.after.clone().unwrap_or_default().into_bytes(),
            more: false,
            found: Vec::new(),
        };
        let mut full = first.len() >= rows(discover, part) as usize;
        let mut going = self.visit_all(&mut search, first)?;
        let mut stride = STEPS.0;
        while going && full {
            let heads = self.driver.walk(session, &self.statements, &search.at, stride).await?;
            full = heads.len() >= stride as usize;
            going = self.visit_all(&mut search, heads)?;
            stride = stride.saturating_mul(2).min(STEPS.1);
        }
        if search.more {
            page.more_after = search.visited.map(|source| String::from_utf8_lossy(&source).into_owned());
        }
        let mut due = Vec::new();
        for head in search.found {
            match head.due_at {
                None => {}
                Some(due_at) if due_at > page.now => note_due(page, due_at),
                Some(_) => due.push(head.source),
            }
        }
        let lanes = Lanes::of(due.iter().map(|source| (source.as_slice(), None, discover.rows_each)));
        if let Some(call) = lanes.call(self) {
            let answer = session.run(&call).await?;
            self.take_lanes(answer.rows, page)?;
        }
        Ok(())
    }

    fn visit_all(&self, search: &mut Search<'_>, rows: Vec<Row>) -> Result<bool, Stop> {
        for row in rows {
            let mut cells = Cells::of(row, self.reader());
            let source = cells.bytes()?.unwrap_or_default();
            let halts = cells.whole()? == HALTS;
            let due_at = StoreTime::from_micros(cells.whole()?);
            if !search.visit(Head { source, due_at: (!halts).then_some(due_at) }) {
                return Ok(false);
            }
        }
        Ok(true)
    }
}
