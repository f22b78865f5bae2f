//! Finding sources: each costs a step in the index, whatever stands behind it.
//!
//! First a page of the index is read: where sources have few rows each, it holds all that are asked for, and the numbers of
//! their rows, which are then read by them. Where it does not reach so far, the search goes on in turns of two kinds:
//!
//! - the *names* that stand on a stretch of the index, and nothing else of it: where sources have some rows each, a source costs a
//!   sixth of a step or less, and of those of other parts no more has to be known;
//! - where a stretch holds hardly more than one source, because they have very many rows, a *walk* from source to source, a few
//!   steps in a round trip, and ever more of them.

use std::collections::{HashMap, HashSet};

use tenure_core::outbox::{Discover, Look, Page, Part};
use tenure_core::time::StoreTime;

use super::cells::{Cells, Stand};
use super::look::{AGAIN, FRESH_MAX, lanes, listed_max, note_due};
use super::unit::Stop;
use crate::driver::{Call, Session};
use crate::limits::STATEMENT_ROWS;
use crate::row::Row;
use crate::store::Shared;
use crate::value::Value;

/// The most rows of a page.
const PAGE_MAX: u32 = 1024;
/// How many steps the first round trip of a walk takes, and the most that one takes.
const STEPS: (u32, u32) = (8, 256);
/// How many rows the first stretch has of which the names are read, and the most that one has.
const STRETCH: (u32, u32) = (256, 2048);
/// With more rows than this for a source, a walk is cheaper than to read the names of a stretch.
const DENSE: u32 = 64;
/// How many heads are asked for at once.
const HEADS: usize = 128;
/// The most names that a statement leaves out by seeking between them: beyond, databases read through what they leave out.
const EXCEPT_MAX: usize = 900;

/// The statement that reads a page.
pub(super) fn page<'s>(shared: &'s Shared, discover: &Discover, look: &Look) -> Call<'s> {
    let after = discover.after.as_deref().unwrap_or_default().as_bytes();
    let mut known: Vec<&[u8]> = discover.except.iter().map(String::as_bytes).collect();
    known.retain(|source| *source > after);
    known.sort_unstable();
    // The nearest ones: a page that comes to others is cut there.
    known.truncate(EXCEPT_MAX);
    // No source is empty, and to leave out nothing at all must not leave out everything.
    known.push(b"");
    let rows = rows(discover, look.part);
    let params =
        vec![after.into(), Value::list(known), rows.into(), FRESH_MAX.into(), listed_max(look).into()];
    Call::new(&shared.statements.outbox_sources, params)
}

fn rows(discover: &Discover, part: Option<Part>) -> u32 {
    steps(discover, part).saturating_mul(4).clamp(16, PAGE_MAX)
}

/// How many sources are visited at most.
fn steps(discover: &Discover, part: Option<Part>) -> u32 {
    part.map_or(discover.sources, |part| part.source_steps(discover.sources))
}

/// Tells of a source that has nothing due. One that has no proper name is better met again than taken for another.
fn rest(page: &mut Page, source: Vec<u8>, due_at: Option<StoreTime>) {
    if let Ok(name) = String::from_utf8(source) {
        page.resting.push((name, due_at));
    }
}

/// A source that was found.
struct Head {
    source: Vec<u8>,
    /// Whether more than its name is known.
    seen: bool,
    /// When its head is due; `None` where the source stands still.
    due_at: Option<StoreTime>,
    /// The numbers of its first rows, as far as they were seen.
    ids: Vec<i64>,
    /// Whether these are all, or as many as are asked for.
    whole: bool,
}

impl Head {
    /// One of which nothing but the name is known yet.
    fn of(source: Vec<u8>) -> Self {
        Self { source, seen: false, due_at: None, ids: Vec::new(), whole: false }
    }
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
    /// How many rows of each are asked for.
    rows_each: usize,
}

impl Search<'_> {
    /// Visits sources in order. Answers whether to go on.
    fn visit_all(&mut self, heads: Vec<Head>) -> bool {
        heads.into_iter().all(|head| self.visit(head))
    }

    /// Visits a source. Answers whether to go on.
    fn visit(&mut self, head: Head) -> bool {
        if head.source == self.at {
            if let Some(last) = self.found.last_mut().filter(|last| last.source == head.source)
                && last.ids.len() < self.rows_each
            {
                last.ids.extend(head.ids);
            }
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

    /// After a walk that has come to this source: answers whether there may be others behind it.
    fn go_on_from(&mut self, at: Option<Vec<u8>>) -> bool {
        let Some(at) = at else { return false };
        // It may be one that has no head any more. A walk never goes back.
        if at > self.at {
            self.at = at;
        }
        true
    }

    /// After a page: what is behind its last source is not known if the page was full.
    fn see_whole(&mut self, full: bool) {
        for head in &mut self.found {
            head.whole = !full || head.ids.len() >= self.rows_each || head.source != self.at;
        }
    }
}

impl Shared {
    /// Finds sources from a first page on, and reads the rows of those whose heads are due.
    pub(super) async fn discover(
        &self,
        session: &mut dyn Session,
        discover: &Discover,
        look: &Look,
        first: Vec<Row>,
        (page, orphans): (&mut Page, &mut Vec<i64>),
    ) -> Result<(), Stop> {
        let part = look.part;
        let mut search = Search {
            except: discover.except.iter().map(String::as_bytes).collect(),
            part,
            wanted: discover.sources,
            steps: steps(discover, part),
            visited: None,
            at: discover.after.clone().unwrap_or_default().into_bytes(),
            more: false,
            found: Vec::new(),
            rows_each: discover.rows_each as usize,
        };
        let (first, fresh) = self.heads(first)?;
        let mut full = first.len() >= rows(discover, part) as usize;
        let mut going = search.visit_all(first);
        search.see_whole(full);
        let (mut stride, mut stretch) = (STEPS.0, STRETCH.0);
        let mut dense = false;
        while going && full {
            if dense {
                let walked = self.driver.walk(session, &self.statements, &search.at, stride).await?;
                going = search.visit_all(self.heads(walked.heads)?.0);
                full = search.go_on_from(walked.at);
                stride = stride.saturating_mul(2).min(STEPS.1);
                // Behind these it may be otherwise.
                dense = false;
            } else {
                let names = self.names(session, &search.at, stretch).await?;
                let rows: u32 = names.iter().map(|(_, rows)| rows).sum();
                full = rows >= stretch;
                dense = rows / DENSE >= u32::try_from(names.len()).unwrap_or(u32::MAX);
                stretch = if dense { STRETCH.0 } else { stretch.saturating_mul(2).min(STRETCH.1) };
                going = search.visit_all(names.into_iter().map(|(source, _)| Head::of(source)).collect());
            }
        }
        self.see_heads(session, &mut search.found).await?;
        if search.more {
            page.more_after = search.visited.map(|source| String::from_utf8_lossy(&source).into_owned());
        }
        let (mut ids, mut deep) = (Vec::new(), Vec::new());
        // A source of which something is not in the queue yet waits until it is; with too many to see, all do.
        let unseen = fresh.len() >= FRESH_MAX as usize;
        let fresh: HashSet<Vec<u8>> = fresh.into_iter().collect();
        for head in search.found {
            match head.due_at {
                None => rest(page, head.source, None),
                Some(due_at) if due_at > page.now => {
                    note_due(page, due_at);
                    rest(page, head.source, Some(due_at));
                }
                Some(_) if unseen || fresh.contains(&head.source) => note_due(page, page.now.after(AGAIN)),
                Some(_) if head.whole => ids.extend(head.ids),
                Some(_) => deep.push((head.source, None, discover.rows_each)),
            }
        }
        let mut calls = lanes(self, listed_max(look), deep);
        for ids in ids.chunks(STATEMENT_ROWS) {
            let list = Value::list(ids.iter().copied());
            calls.push(Call::new(&self.statements.outbox_rows, vec![list]));
        }
        if !calls.is_empty() {
            let answers = session.run_all(&calls).await?;
            self.take_lanes(answers, page, orphans)?;
        }
        Ok(())
    }

    /// The names on a stretch of the index, and how many rows of it each has. Also those that are to be left out: where they
    /// have very many rows, a walk passes them by.
    async fn names(
        &self,
        session: &mut dyn Session,
        after: &[u8],
        stretch: u32,
    ) -> Result<Vec<(Vec<u8>, u32)>, Stop> {
        let params = vec![after.into(), stretch.into()];
        let answer = session.run(&Call::new(&self.statements.outbox_names, params)).await?;
        let mut names = Vec::with_capacity(answer.rows.len());
        for row in answer.rows {
            let mut cells = Cells::of(row, self.reader());
            let source = cells.bytes()?.unwrap_or_default();
            names.push((source, u32::try_from(cells.whole()?).unwrap_or(u32::MAX)));
        }
        // The server need not give them in any order.
        names.sort_unstable();
        Ok(names)
    }

    /// Asks for the heads of sources of which only the names are known. Those that have none any more are left out.
    async fn see_heads(&self, session: &mut dyn Session, found: &mut Vec<Head>) -> Result<(), Stop> {
        let names: Vec<Value> =
            found.iter().filter(|head| !head.seen).map(|head| head.source.as_slice().into()).collect();
        let mut calls = Vec::new();
        for some in names.chunks(HEADS) {
            let each = some.iter().map(|name| vec![name.clone()]).collect();
            let branches = Value::Branches { one: self.statements.outbox_head.clone(), each };
            calls.push(Call::new(&self.statements.outbox_heads, vec![branches]));
        }
        if calls.is_empty() {
            return Ok(());
        }
        let answers = session.run_all(&calls).await?;
        let rows = answers.into_iter().flat_map(|answer| answer.rows).collect();
        let mut heads: HashMap<_, _> =
            self.heads(rows)?.0.into_iter().map(|head| (head.source.clone(), head)).collect();
        found.retain_mut(|head| {
            if let Some(seen) = heads.remove(&head.source) {
                *head = seen;
            }
            head.seen
        });
        Ok(())
    }

    /// The heads among these rows, and the sources of what is not in the queue yet.
    fn heads(&self, rows: Vec<Row>) -> Result<(Vec<Head>, Vec<Vec<u8>>), Stop> {
        let (mut heads, mut fresh) = (Vec::with_capacity(rows.len()), Vec::new());
        for row in rows {
            let mut cells = Cells::of(row, self.reader());
            let source = cells.bytes()?.unwrap_or_default();
            let stand = Stand::of(cells.whole()?);
            let due_at = StoreTime::from_micros(cells.whole()?);
            if stand == Stand::Fresh {
                fresh.push(source);
                continue;
            }
            let due_at = (stand != Stand::Halts).then_some(due_at);
            heads.push(Head { source, seen: true, due_at, ids: vec![cells.whole()?], whole: false });
        }
        Ok((heads, fresh))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::driver::Walked;
    use crate::row::Cell;

    fn search() -> Search<'static> {
        Search {
            except: HashSet::new(),
            part: None,
            wanted: 100,
            steps: 100,
            visited: None,
            at: b"a".to_vec(),
            more: false,
            found: Vec::new(),
            rows_each: 1,
        }
    }

    fn head(source: &str) -> Head {
        Head { source: source.into(), seen: true, due_at: None, ids: vec![1], whole: false }
    }

    fn rows(cells: impl IntoIterator<Item = Cell>) -> Vec<Row> {
        let names: Arc<[String]> = Arc::from(["lane".to_owned()]);
        cells.into_iter().map(|cell| Row::new(Arc::clone(&names), vec![cell])).collect()
    }

    /// Of eight steps two found a source that was empty by the time of its head, the last of them at the end.
    #[test]
    fn a_walk_goes_on_behind_sources_that_were_emptied_under_it() {
        let mut search = search();
        let found = Walked::of(rows(
            [b"b", b"d"]
                .map(|lane| Cell::Bytes(lane.to_vec()))
                .into_iter()
                .chain([Cell::Bytes(b"f".to_vec())]),
        ));
        assert_eq!(found.heads.len(), 2);
        assert!(search.visit(head("b")) && search.visit(head("d")));
        assert!(search.go_on_from(found.at), "only two heads are not the end");
        assert_eq!(search.at, b"f", "it goes on where the walk stands, and not at its last head");
        assert!(search.visit(head("g")));
        assert_eq!(search.found.len(), 3);

        // None of the sources had a head any more: that is not the end either.
        let found = Walked::of(rows([Cell::Text("k".into())]));
        assert!(found.heads.is_empty() && search.go_on_from(found.at));
        assert_eq!(search.at, b"k");
        assert!(!search.go_on_from(Walked::of(rows([Cell::Bytes(b"l".to_vec()), Cell::Null])).at));
        assert!(!search.go_on_from(Walked::of(Vec::new()).at));
    }
}
