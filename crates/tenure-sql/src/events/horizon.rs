//! How far a reader may go: where nothing can appear any more.
//!
//! Positions are given out by one counter while transactions run, and events appear when they commit: an event may appear
//! below one that was read. So a reader goes only as far as it can prove that nothing is still to come.
//!
//! **A writer**, before it takes its first position, changes or inserts a row of `append_slots`, and writes its `floor` there: a
//! position that was given out before. The counter only rises, so all its positions are above the floor. The row is its own
//! until the transaction ends, prepared or not. What is committed of the row in the end is of no interest to anyone, only that
//! it is *not yet* committed.
//!
//! - An append of ours changes the row of its connection, and counts its `uses` up. Several connections may share a row, and
//!   wait for each other: each is over in a moment. Appends that go together are one transaction: it takes one row, before the
//!   first position of any of them, and the row is held until all of them have ended, for they end as one.
//!   The floor is asked for each time. A position that this process was told before would be one too, and cheaper, but only
//!   as long as the counter never goes back. It does where a table is emptied, a backup restored, or a replica promoted that has not
//!   seen the last commits, and a proxy may hide that from whoever remembers. Such a floor would be above what is given out.
//! - A user's transaction may last, append again, go back to a savepoint, and have an old snapshot. It inserts a row for each
//!   append: it waits for nobody, and changes nothing that others change. A later row has a floor of its own, which may be
//!   higher; the earlier one stays there with its lower floor until the transaction ends, and the lowest counts. What goes
//!   back to a savepoint takes row and events back together: the row was inserted after that savepoint if the events were,
//!   for it is always inserted between the savepoint of its append and its events. From an old snapshot comes an older
//!   floor, which is as true and only lower. Once committed the row is rubbish, and a connection of ours deletes it.
//!
//! **A reader** asks four things, in this order:
//!
//! 1. `top`, the highest committed position;
//! 2. the rows as committed;
//! 3. the rows as they stand there, committed or not;
//! 4. the events after its position, as committed.
//!
//! A row of (3) that is not in (2) with the same `uses` is *held*. The reader keeps the events up to `H`, the smallest of `top` and
//! all floors of held rows. **Nothing that is not in (4) can appear at or below `H`.** Take any transaction with a position `p`:
//!
//! - It took `p` after (1). The counter had given out `top` before, so `p > top >= H`.
//! - It took `p` before (1), hence its row before that, and has not ended at (3): nobody else can have changed or deleted the
//!   row, so (3) shows it, (2) shows it with fewer `uses` or not at all, and `p > floor >= H`.
//! - It took `p` before (1), and has ended by (3): (4) is younger, and shows its events if it has committed. (That someone
//!   else may hold the row by then, or has deleted it, changes nothing: the server makes a commit visible before it lets go of the locks.)
//!
//! There is no fourth case. (1) must come first and (4) last; (2) and (3) may be asked in any order. No lock is asked for: a
//! reader holds up nobody, is held up by nobody, and need not remember anything. A transaction that has not appended holds
//! no row, however old it is. Of snapshots the proof needs no more than this: what has ended before one is taken is in it, and what
//! is open all the while is not. (MariaDB takes them while others commit, and one that commits meanwhile may be missing from
//! a snapshot that has a later one.)
//!
//! A database may be unable to show what was committed of a row while someone holds it (SQL Server, which keeps one state of a
//! row). There (2) leaves such rows out, and a row that (3) shows alone is held: that is the same proof. A floor may be any
//! position that was given out before, committed or not; `top` may be lower than it is. And (4) may end at `H`, where reading
//! on would mean to wait.

use std::collections::HashMap;
use std::time::Duration;

use tenure_core::event::{Position, Stall};

/// A row of `append_slots` as it stands there, committed or not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Slot {
    pub(super) slot: i64,
    pub(super) uses: i64,
    /// None of its holder's positions is at or below this.
    pub(super) floor: i64,
    /// The connection that has taken it.
    pub(super) holder: i64,
    /// For how long.
    pub(super) lasts: Duration,
}

/// How far one may go, and who stands in the way.
#[derive(Debug)]
pub(super) struct Horizon<'s> {
    top: i64,
    /// Nothing can appear up to here any more.
    pub(super) settled: i64,
    first: Option<&'s Slot>,
}

impl<'s> Horizon<'s> {
    /// By the highest committed position, how often each row was taken as committed, and the rows as they stand there.
    pub(super) fn new(top: i64, settled: &HashMap<i64, i64>, seen: &'s [Slot]) -> Self {
        let held = seen.iter().filter(|slot| settled.get(&slot.slot) != Some(&slot.uses));
        let first = held.min_by_key(|slot| slot.floor).filter(|slot| slot.floor < top);
        Self { top, settled: first.map_or(top, |slot| slot.floor), first }
    }

    /// The highest position.
    pub(super) fn head(&self) -> Position {
        Position(self.top)
    }

    /// How far a page goes that began after a position and ended with what there was up to the horizon.
    pub(super) fn read_to(&self, after: Position) -> Position {
        Position(after.0.max(self.settled).min(self.top))
    }

    /// Why the page does not go to the head.
    pub(super) fn stall(&self, after: Position) -> Option<Stall> {
        let slot = self.first?;
        let at = Position(self.settled.max(after.0) + 1);
        (at.0 <= self.top).then(|| Stall { at, reason: slot.reason(), lasts: Some(slot.lasts) })
    }
}

impl Slot {
    fn reason(&self) -> String {
        format!(
            "a transaction of connection {0} has appended and has not ended, open for {1:.1} s; see the server's list of \
             processes, and KILL {0} ends it",
            self.holder,
            self.lasts.as_secs_f64()
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slot(slot: i64, uses: i64, floor: i64) -> Slot {
        Slot { slot, uses, floor, holder: 40 + slot, lasts: Duration::from_millis(1500) }
    }

    fn settled(rows: &[(i64, i64)]) -> HashMap<i64, i64> {
        rows.iter().copied().collect()
    }

    #[test]
    fn the_lowest_floor_of_those_who_have_not_ended_is_the_limit() {
        let seen = [slot(0, 7, 3), slot(1, 2, 12), slot(2, 9, 8)];
        let limit = |rows: &[(i64, i64)]| Horizon::new(20, &settled(rows), &seen).settled;
        assert_eq!(limit(&[(0, 7), (1, 2), (2, 9)]), 20, "all have ended");
        assert_eq!(limit(&[(0, 7), (1, 1), (2, 8)]), 8);
        assert_eq!(limit(&[(0, 7), (1, 2)]), 8, "a row that was never taken before");
        assert_eq!(limit(&[(0, 6), (1, 2), (2, 9)]), 3);
        assert_eq!(
            Horizon::new(5, &settled(&[(0, 7), (2, 9)]), &seen).settled,
            5,
            "it began after we had looked"
        );
    }

    #[test]
    fn a_page_never_goes_back_unless_the_reader_is_ahead_of_the_store() {
        let (rows, seen) = (settled(&[(3, 1)]), [slot(3, 2, 4)]);
        let horizon = Horizon::new(10, &rows, &seen);
        assert_eq!(horizon.read_to(Position(2)), Position(4));
        assert_eq!(horizon.read_to(Position(7)), Position(7));
        assert_eq!(horizon.read_to(Position(90)), Position(10));
        let stall = horizon.stall(Position(2)).unwrap();
        assert_eq!(stall.at, Position(5));
        assert!(stall.reason.contains("connection 43") && stall.reason.contains("1.5 s"), "{}", stall.reason);
        assert_eq!(horizon.stall(Position(7)).map(|stall| stall.at), Some(Position(8)));
        assert_eq!(horizon.stall(Position(10)), None, "there is nothing that it could be held up before");
        assert_eq!(Horizon::new(10, &settled(&[(3, 2)]), &seen).stall(Position(2)), None);
    }
}
