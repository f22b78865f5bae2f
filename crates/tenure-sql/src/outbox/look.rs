//! Looks at what is pending, in one round trip where nothing has to be found first.
//!
//! The rows of a source come by one statement, and so by one snapshot; whether they are due is judged by a clock that is
//! read after them. Further sources are found first ([`discover`](super::discover)), and their rows read after that.
//!
//! Messages that other programs have inserted are put into the queue first ([`adopt`](super::adopt)). Those that come
//! meanwhile, or cannot be had, are seen in the same snapshot, and hold up what stands behind them in their source.

use std::time::Duration;

use tenure_core::StoreError;
use tenure_core::outbox::{Body, Found};
use tenure_core::outbox::{LaneLook, Limits, Loaded, Look, Page, Place, Sequence, Stored};
use tenure_core::time::StoreTime;

use super::arrivals::Seen;
use super::cells::{Cells, Stand, stored};
use super::unit::Stop;
use super::{discover, unordered};
use crate::driver::{Answer, Call, Session};
use crate::reader::Columns as _;
use crate::row::Row;
use crate::store::Shared;
use crate::value::Value;

/// How many messages that are not in the queue yet a look sees. With so many it cannot know what stands behind them, and takes
/// nothing that has a source.
pub(super) const FRESH_MAX: u32 = 1_000;

/// When to look again that has left some of them which cannot be had: not at once, for they may be locked for long.
pub(super) const AGAIN: Duration = Duration::from_millis(20);

/// How often a look is repeated that has found nothing but what had to be put in order first.
const LOOKS: usize = 5;

/// How many messages on the list of what has just come are seen beside lanes: none by those who read the list itself.
pub(super) fn listed_max(look: &Look) -> u32 {
    if look.arrivals.is_some() { 0 } else { FRESH_MAX }
}

/// The statements that read rows of some sources: where each is read from, and how many; and how much of the list is seen beside them.
pub(super) fn lanes<'s>(
    shared: &'s Shared,
    listed: u32,
    lanes: impl IntoIterator<Item = (impl AsRef<[u8]>, Option<Place>, u32)>,
) -> Vec<Call<'s>> {
    let (mut heads, mut places) = (Vec::new(), Vec::new());
    for (source, after, limit) in lanes {
        let source = Value::from(source.as_ref());
        match after {
            None => heads.push(vec![source, limit.into()]),
            Some(Place { sequence: Sequence { version, index }, id }) => {
                places.push(vec![source, version.into(), index.into(), id.0.into(), limit.into()]);
            }
        }
    }
    let statements = &shared.statements;
    let kinds = [(&statements.outbox_lane_head, heads), (&statements.outbox_lane, places)];
    let asked = kinds.into_iter().filter(|(_, each)| !each.is_empty());
    asked
        .map(|(one, each)| {
            let branches = Value::Branches { one: one.clone(), each };
            Call::new(&statements.outbox_lanes, vec![branches, FRESH_MAX.into(), listed.into()])
        })
        .collect()
}

/// What one look came to.
struct Once {
    page: Page,
    /// There was something to be put into the queue.
    fresh: bool,
    /// What stands in lanes and has no message.
    orphans: Vec<i64>,
    /// What is to be laid into lanes.
    lay: Vec<i64>,
    /// What is on the list and has no message.
    listed_orphans: Vec<i64>,
}

impl Once {
    /// Whether something has to be put in order before the next look sees it.
    fn is_changed(&self) -> bool {
        !(self.orphans.is_empty() && self.lay.is_empty() && self.listed_orphans.is_empty())
    }
}

impl Shared {
    pub(super) async fn look_on(&self, session: &mut dyn Session, look: &Look) -> Result<Page, Stop> {
        if let Some(why) = self.driver.no_snapshots() {
            return Err(StoreError::Refused { store: self.label().to_owned(), message: why.into() }.into());
        }
        // With nothing in hand, the first question is whether there is anything at all: mostly that is all.
        let idle = look.lanes.is_empty()
            && look.unordered.as_ref().is_none_or(|look| look.after.is_none())
            && look.arrivals.as_ref().is_none_or(|look| look.after.is_none());
        let mut more = false;
        if idle {
            let answer = session.run(&Call::new(&self.statements.outbox_any, [])).await?;
            let (now, fresh) = self.fresh(&answer)?;
            let queued = self.reader().need(self.only(&answer.rows)?.number("found"), "found")? != 0;
            if !queued && !fresh {
                return Ok(Page::empty(now));
            }
            if fresh {
                more = self.adopt(session, look.arrivals.is_some()).await?;
            }
        }
        let lists = look.arrivals.is_some();
        let mut laid_to = None;
        if !lists {
            laid_to = self.lay_all(session).await?;
        }
        let mut seen = self.look_once(session, look).await?;
        for tried in 0.. {
            let adopts = seen.fresh && !idle;
            if adopts {
                more = self.adopt(session, lists).await?;
            }
            // Of every look, also of the last one: what it tells to have seen is read past.
            self.lay(session, &seen.lay).await?;
            self.delete_orphans(session, &seen.orphans).await?;
            self.delete_listed_orphans(session, &seen.listed_orphans).await?;
            let found = !seen.page.rows.is_empty() || !seen.page.arrivals.rows.is_empty();
            if found || tried == LOOKS || !(adopts || seen.is_changed()) {
                break;
            }
            seen = self.look_once(session, look).await?;
        }
        let left = seen.orphans.len() + seen.listed_orphans.len() > 0;
        let mut page = seen.page;
        page.unseen = seen.fresh || left;
        if page.unseen {
            let again = if more { page.now } else { page.now.after(AGAIN) };
            note_due(&mut page, again);
        }
        if let Some(laid_to) = laid_to {
            Self::leave_out_unlaid(&mut page, laid_to);
        }
        if !seen.lay.is_empty() || laid_to.is_some() {
            // It is in lanes now, where this look has not seen it.
            page.arrivals.more = true;
            let now = page.now;
            note_due(&mut page, now);
        }
        Ok(page)
    }

    /// Looks at what is in the queue.
    async fn look_once(&self, session: &mut dyn Session, look: &Look) -> Result<Once, Stop> {
        let here = |lane: &&LaneLook| look.part.is_none_or(|part| part.has_source(lane.source.as_bytes()));
        let known = look.lanes.iter().filter(here);
        let mut calls =
            lanes(self, listed_max(look), known.map(|lane| (lane.source.as_bytes(), lane.after, lane.limit)));
        let asked_lanes = calls.len();
        if let Some(unordered) = &look.unordered {
            calls.extend(unordered::calls(self, unordered, look.part));
        }
        if let Some(discover) = &look.discover {
            calls.push(discover::page(self, discover, look));
        }
        // What a statement before it took for due is due by this clock too. And what it finds due that comes behind something on the
        // list finds that there: so the list comes after lanes. What is in lanes beside a list that is counted comes after that: see
        // `beside`.
        calls.push(Call::new(&self.statements.fresh_any, []));
        let checked = self.checks_lanes();
        let counted = look.arrivals.as_ref().and_then(|list| self.count_calls(list));
        let before_list = calls.len();
        let is_counted = counted.is_some();
        match counted {
            Some(counted) => calls.extend(counted),
            None => calls.extend(look.arrivals.as_ref().map(|list| self.arrivals_call(list, checked))),
        }
        let mut answers = session.run_all(&calls).await?;
        let mut list = Seen::default();
        if let Some(asked) = &look.arrivals {
            let mut told = answers.split_off(before_list.min(answers.len()));
            let seen = match is_counted {
                true => self.take_counted(session, asked, told).await?,
                false => {
                    let answer = told.pop().unwrap_or_default();
                    Some(self.take_arrivals(asked, answer, checked)?).filter(|seen| !seen.unchecked)
                }
            };
            list = match seen {
                Some(seen) => seen,
                None => {
                    let answer = session.run(&self.arrivals_call(asked, true)).await?;
                    self.take_arrivals(asked, answer, true)?
                }
            };
        }
        let (now, fresh) = self.fresh(&answers.pop().unwrap_or_default())?;
        let mut page = Page::empty(now);
        page.arrivals = std::mem::take(&mut list.found);
        let sources = look.discover.as_ref().and_then(|_| answers.pop());
        let unordered = answers.split_off(asked_lanes.min(answers.len()));
        let mut orphans = Vec::new();
        self.take_lanes(answers, &mut page, &mut orphans)?;
        if let (Some(discover), Some(sources)) = (&look.discover, sources) {
            self.discover(session, discover, look, sources.rows, (&mut page, &mut orphans)).await?;
        }
        if let Some(look_unordered) = &look.unordered {
            let into = (&mut page, &mut orphans);
            self.take_unordered(session, look_unordered, look.part, unordered, into).await?;
        }
        page.rows.retain(|row| !list.held_up.holds(row));
        Ok(Once { page, fresh, orphans, lay: list.lay, listed_orphans: list.orphans })
    }

    /// The clock, and whether anything is to be put into the queue.
    fn fresh(&self, answer: &Answer) -> Result<(StoreTime, bool), StoreError> {
        let (now, row) = (self.clock(&answer.rows)?, self.only(&answer.rows)?);
        Ok((now, self.reader().need(row.number("fresh"), "fresh")? != 0))
    }

    /// Takes rows of sources, those of each in order, up to one that is not due, or not in the queue yet.
    ///
    /// What has no message any more holds up nobody, and is told in `orphans`.
    pub(super) fn take_lanes(
        &self,
        answers: Vec<Answer>,
        page: &mut Page,
        orphans: &mut Vec<i64>,
    ) -> Result<(), StoreError> {
        let mut found: Vec<(Stored, Stand)> = Vec::new();
        let mut unseen = false;
        for answer in answers {
            let mut fresh = 0;
            for row in answer.rows {
                let (stored, stand) = stored(row, self.reader())?;
                fresh += u32::from(stand == Stand::Fresh);
                if stand == Stand::Orphan {
                    orphans.push(stored.id.0);
                } else if stored.ordered {
                    found.push((stored, stand));
                }
            }
            unseen |= fresh >= FRESH_MAX;
        }
        if unseen {
            return Ok(());
        }
        // The server need not give them in any order.
        found.sort_by(|(one, _), (other, _)| {
            one.source.cmp(&other.source).then_with(|| one.place().cmp(&other.place()))
        });
        let mut stopped: Option<String> = None;
        for (row, stand) in found {
            if stopped.is_some() && stopped == row.source {
                continue;
            }
            if stand != Stand::Waits || row.due_at > page.now {
                stopped.clone_from(&row.source);
            }
            if stand == Stand::Fresh {
                note_due(page, page.now.after(AGAIN));
            }
            if stand == Stand::Waits {
                page.rows.push(row);
            }
        }
        Ok(())
    }

    pub(super) fn load_answer(&self, rows: Vec<Row>, limits: &Limits) -> Result<Loaded, StoreError> {
        let Some(row) = rows.into_iter().next() else { return Ok(Loaded::Gone) };
        let mut cells = Cells::of(row, self.reader());
        let sizes = (cells.number()?, cells.number()?);
        let (text, bytes) = (cells.text()?, cells.bytes()?);
        let size = |size: i64| usize::try_from(size).unwrap_or_default();
        Ok(match sizes {
            (Some(_), Some(_)) => Loaded::Unclear(Found::BOTH),
            (None, None) => Loaded::Unclear(Found::NEITHER),
            (Some(bytes), None) | (None, Some(bytes)) if size(bytes) > limits.payload => {
                Loaded::TooLarge { bytes: size(bytes) }
            }
            (Some(_), None) => Loaded::Body(Body::Text(text.unwrap_or_default())),
            (None, Some(_)) => Loaded::Body(Body::Bytes(bytes.unwrap_or_default())),
        })
    }
}

pub(super) fn note_due(page: &mut Page, due_at: StoreTime) {
    page.next_due = Some(page.next_due.map_or(due_at, |known| known.min(due_at)));
}
