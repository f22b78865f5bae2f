//! Who goes at once, who waits, and who goes together: the decision, and nothing that is done about it.
//!
//! ```text
//!   come ─┬─ there is room ──────────────────▶ under way, alone ──┐
//!         └─ else ─▶ waits ─┬─ with others ──▶ under way, a group ─┤ ended, or enough wait: the next
//!                           ├─ by itself ────▶ under way, alone ──┘
//!                           └─ for too long ─▶ leaves, and goes as if there were no line
//! ```
//!
//! A transaction costs its begin, its commit and a round trip, whatever is in it, and each statement costs more than a row of it.
//! So while [`UNDER_WAY`] transactions are under way whoever comes waits, and then all that wait go together. A second
//! transaction does not begin before as many wait for it as are in the first: so groups come out alike, instead of a large one and
//! many of one. A lone writer waits for nobody, nor do two; and as long as all that wait fit into a group, nobody waits for more than
//! what was under way when he came. There is no clock here: who has waited for too long, and has seen that the line
//! does not move, says so.
//!
//! Of one thing (a stream, a message, a mark) there is never more than one writer in a group, and whoever comes second waits
//! until the first is over and then goes by itself: most likely it meets a conflict, and that must not undo a group.

use std::collections::{HashMap, HashSet, VecDeque};

use tenure_core::event::StreamName;
use tenure_core::outbox::{Consumer, MessageId};

use crate::limits::{STATEMENT_ROWS, TEXT_BYTES};

/// So many transactions are under way before anyone waits: one is written while the disk is waited for by another.
const UNDER_WAY: usize = 2;
/// So many appends are in one group, at most: more would save nothing that can be felt, and all are undone for one.
const TOGETHER: usize = 64;
/// So many stand in line, at most. Who comes then goes at once, as if there were no line.
const WAITING: usize = 1024;
/// An append with more rows or bytes than this goes by itself: there would be little to save, and it would keep small ones
/// waiting.
const ROWS_EACH: usize = 50;
const BYTES_EACH: usize = 16 * 1024;
/// For each append of a group that had to be undone so many go singly, before the next group. What was wasted on the group is
/// less than it would have been singly, so this bounds the waste to about one part in so many, however many conflicts there
/// are; and where conflicts are rare, few go singly.
const SINGLY_FOR_EACH: usize = 16;

/// What no two transactions can write at once.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum Key {
    Stream(StreamName),
    Message(MessageId),
    Mark(Consumer, MessageId),
}

/// How much an append is, as far as a line is concerned.
#[derive(Debug, Clone)]
pub(super) struct Load {
    pub(super) rows: usize,
    pub(super) bytes: usize,
    pub(super) keys: Vec<Key>,
}

impl Load {
    /// Whether it can be in a group.
    pub(super) fn is_light(&self) -> bool {
        let mut seen = HashSet::new();
        self.rows <= ROWS_EACH && self.bytes <= BYTES_EACH && self.keys.iter().all(|key| seen.insert(key))
    }
}

/// A transaction that is under way.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Unit {
    /// How many appends are in it.
    appends: usize,
    /// What they write.
    keys: Vec<Key>,
}

/// What one does who comes.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Way<T> {
    /// Goes at once, and nobody needs to know when it is over.
    Apart,
    /// Is the one that goes next.
    Now(Next<T>),
    /// Stands in line under this number, unless it is among those who go next.
    Wait(u64, Next<T>),
}

/// Who goes next.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Next<T> {
    /// These each by themselves; nobody needs to know when they are over.
    pub(super) apart: Vec<T>,
    /// These in one transaction, which says when it is over. One alone goes by itself.
    pub(super) together: Vec<T>,
    /// Their transaction.
    pub(super) unit: Unit,
}

impl<T> Default for Next<T> {
    fn default() -> Self {
        Self { apart: Vec::new(), together: Vec::new(), unit: Unit::default() }
    }
}

#[derive(Debug)]
struct Waiting<T> {
    number: u64,
    load: Load,
    /// It came second to something.
    second: bool,
    item: T,
}

/// The line, and what is under way.
#[derive(Debug)]
pub(super) struct Line<T> {
    waiting: VecDeque<Waiting<T>>,
    /// How many transactions are under way, and how many appends are in them.
    units: usize,
    under_way: usize,
    /// What is written by those who are under way, and by how many.
    written: HashMap<Key, usize>,
    /// What those write who wait, and how many.
    wanted: HashMap<Key, usize>,
    /// So many go singly before the next group.
    singly: usize,
    /// So many have stood in line, and so many transactions have ended.
    came: u64,
    moves: u64,
}

impl<T> Default for Line<T> {
    fn default() -> Self {
        let (waiting, written, wanted) = Default::default();
        Self { waiting, units: 0, under_way: 0, written, wanted, singly: 0, came: 0, moves: 0 }
    }
}

impl<T> Line<T> {
    /// Decides about one who comes. `item` is made of all but those who go apart.
    pub(super) fn come(&mut self, load: &Load, item: impl FnOnce() -> T) -> Way<T> {
        if self.singly > 0 {
            self.singly -= 1;
            return Way::Apart;
        }
        if self.waiting.is_empty() && self.has_room_for(1) {
            let unit = self.begin(Unit { appends: 1, keys: load.keys.clone() });
            return Way::Now(Next { apart: Vec::new(), together: vec![item()], unit });
        }
        if self.waiting.len() >= WAITING {
            return Way::Apart;
        }
        let second =
            load.keys.iter().any(|key| self.written.contains_key(key) || self.wanted.contains_key(key));
        add(&mut self.wanted, &load.keys);
        self.came += 1;
        let number = self.came;
        self.waiting.push_back(Waiting { number, load: load.clone(), second, item: item() });
        Way::Wait(number, self.next())
    }

    /// How many transactions have ended: who sees that this has changed knows that the line moves.
    pub(super) fn moves(&self) -> u64 {
        self.moves
    }

    /// One who has waited for too long leaves the line; `None` when it is among those under way.
    pub(super) fn leave(&mut self, number: u64) -> Option<T> {
        let at = self.waiting.iter().position(|waiting| waiting.number == number)?;
        let waiting = self.waiting.remove(at)?;
        remove(&mut self.wanted, &waiting.load.keys);
        Some(waiting.item)
    }

    /// A transaction is over; `undone` if it was a group that came to nothing. Says who goes now.
    pub(super) fn ended(&mut self, unit: &Unit, undone: bool) -> Next<T> {
        self.moves += 1;
        self.units = self.units.saturating_sub(1);
        self.under_way = self.under_way.saturating_sub(unit.appends);
        remove(&mut self.written, &unit.keys);
        if undone {
            self.singly += unit.appends * SINGLY_FOR_EACH;
        }
        self.next()
    }

    /// Whether a transaction of so many may begin.
    fn has_room_for(&self, appends: usize) -> bool {
        self.units == 0 || (self.units < UNDER_WAY && appends >= self.under_way)
    }

    fn next(&mut self) -> Next<T> {
        let mut next = Next::default();
        if !self.has_room_for(self.waiting.len()) {
            return next;
        }
        // What those write who go now, and those who were here first and have to wait on.
        let mut met = HashSet::new();
        let (mut left, mut rows, mut bytes) = (VecDeque::new(), 0, 0);
        while let Some(waiting) = self.waiting.pop_front() {
            let load = &waiting.load;
            if self.singly > 0 {
                self.singly -= 1;
                remove(&mut self.wanted, &load.keys);
                next.apart.push(waiting.item);
                continue;
            }
            if load.keys.iter().any(|key| self.written.contains_key(key) || met.contains(key)) {
                met.extend(load.keys.iter().cloned());
                left.push_back(waiting);
                continue;
            }
            if waiting.second {
                remove(&mut self.wanted, &load.keys);
                next.apart.push(waiting.item);
                continue;
            }
            (rows, bytes) = (rows + load.rows, bytes + load.bytes);
            let is_full = next.together.len() == TOGETHER || rows > STATEMENT_ROWS || bytes > TEXT_BYTES;
            if is_full && !next.together.is_empty() {
                left.push_back(waiting);
                break;
            }
            remove(&mut self.wanted, &load.keys);
            met.extend(load.keys.iter().cloned());
            next.unit.keys.extend(waiting.load.keys);
            next.together.push(waiting.item);
        }
        left.append(&mut self.waiting);
        self.waiting = left;
        if !next.together.is_empty() {
            next.unit.appends = next.together.len();
            next.unit = self.begin(next.unit);
        }
        next
    }

    fn begin(&mut self, unit: Unit) -> Unit {
        self.units += 1;
        self.under_way += unit.appends;
        add(&mut self.written, &unit.keys);
        unit
    }
}

fn add(counts: &mut HashMap<Key, usize>, keys: &[Key]) {
    for key in keys {
        *counts.entry(key.clone()).or_default() += 1;
    }
}

fn remove(counts: &mut HashMap<Key, usize>, keys: &[Key]) {
    for key in keys {
        if let Some(count) = counts.get_mut(key) {
            *count -= 1;
            if *count == 0 {
                counts.remove(key);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(name: &str) -> Key {
        Key::Stream(StreamName::new(name).unwrap())
    }

    fn load(name: &str) -> Load {
        Load { rows: 2, bytes: 100, keys: vec![key(name)] }
    }

    fn sized(name: &str, rows: usize, bytes: usize) -> Load {
        Load { rows, bytes, ..load(name) }
    }

    fn come(line: &mut Line<String>, load: &Load) -> Way<String> {
        line.come(load, || match &load.keys[0] {
            Key::Stream(stream) => stream.as_str().to_owned(),
            key => format!("{key:?}"),
        })
    }

    fn goes(line: &mut Line<String>, name: &str) -> Unit {
        match come(line, &load(name)) {
            Way::Now(next) => {
                assert_eq!((next.together, next.apart.len()), (vec![name.to_owned()], 0));
                next.unit
            }
            way => panic!("{name}: {way:?}"),
        }
    }

    fn waits(line: &mut Line<String>, load: &Load) {
        let way = come(line, load);
        assert!(matches!(&way, Way::Wait(_, next) if *next == Next::default()), "{way:?}");
    }

    fn wait(line: &mut Line<String>, names: &[&str]) {
        names.iter().for_each(|name| waits(line, &load(name)));
    }

    /// A line with two lone ones under way, `u0` and `u1`.
    fn busy() -> (Line<String>, Unit, Unit) {
        let mut line = Line::default();
        let units = (goes(&mut line, "u0"), goes(&mut line, "u1"));
        (line, units.0, units.1)
    }

    #[test]
    fn a_lone_writer_waits_for_nobody_nor_do_two() {
        let mut line = Line::default();
        let mut other = goes(&mut line, "b");
        for _ in 0..100 {
            let one = goes(&mut line, "a");
            assert_eq!(line.ended(&other, false), Next::default());
            other = goes(&mut line, "b");
            assert_eq!(line.ended(&one, false), Next::default());
        }
        line.ended(&other, false);
        assert!(line.written.is_empty() && line.wanted.is_empty() && line.under_way == 0);
    }

    #[test]
    fn all_that_wait_go_together_as_soon_as_one_is_over() {
        let (mut line, u0, u1) = busy();
        wait(&mut line, &["a", "b", "c"]);
        let next = line.ended(&u0, false);
        assert_eq!(next.together, ["a", "b", "c"]);
        assert_eq!(next.unit, Unit { appends: 3, keys: ["a", "b", "c"].map(key).to_vec() });
        wait(&mut line, &["d"]);
        assert_eq!(line.ended(&next.unit, false).together, ["d"]);
        assert_eq!(line.ended(&u1, false).together.len(), 0);
    }

    #[test]
    fn a_second_group_begins_when_it_is_as_large_as_the_first() {
        let (mut line, u0, u1) = busy();
        wait(&mut line, &["a", "b", "c"]);
        let first = line.ended(&u0, false).unit;
        assert_eq!(line.ended(&u1, false), Next::default());
        wait(&mut line, &["d", "e"]);
        let Way::Wait(_, second) = come(&mut line, &load("f")) else { panic!("it has to wait") };
        assert_eq!(second.together, ["d", "e", "f"]);
        wait(&mut line, &["g"]);
        assert_eq!(line.ended(&first, false), Next::default(), "one against three");
        assert_eq!(line.ended(&second.unit, false).together, ["g"], "nothing is under way");
    }

    /// Whatever they write: there is no order of ends by which somebody is left.
    #[test]
    fn whoever_waits_goes_when_what_is_under_way_is_over() {
        for seed in 0..500_usize {
            let (mut line, u0, u1) = busy();
            let mut running = vec![u0, u1];
            let (mut came, mut went, mut number) = (0, 0, seed);
            let mut take = |next: Next<String>, running: &mut Vec<Unit>| {
                let distinct: HashSet<_> = next.unit.keys.iter().collect();
                assert_eq!(distinct.len(), next.together.len(), "one thing twice in a group");
                let met = running.iter().flat_map(|unit| &unit.keys).any(|key| distinct.contains(key));
                assert!(!met, "a group writes what is under way");
                went += next.apart.len() + next.together.len();
                running.extend((!next.together.is_empty()).then_some(next.unit));
            };
            for step in 0..60 {
                number = number.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                let (name, undone) = (format!("s{}", (number >> 33) % 5), (number >> 40) % 9 == 0);
                if step < 40 && (number >> 50) % 3 > 0 {
                    match come(&mut line, &load(&name)) {
                        Way::Wait(place, next) => {
                            came += 1;
                            take(next, &mut running);
                            if (number >> 43) % 11 == 0 && line.leave(place).is_some() {
                                came -= 1;
                            }
                        }
                        Way::Now(next) => running.push(next.unit),
                        Way::Apart => {}
                    }
                } else if !running.is_empty() {
                    let unit = running.swap_remove((number >> 45) % running.len());
                    take(line.ended(&unit, undone), &mut running);
                }
                assert!(running.len() <= UNDER_WAY);
                assert!(line.waiting.is_empty() || !running.is_empty(), "somebody waits for nothing");
            }
            while let Some(unit) = running.pop() {
                take(line.ended(&unit, false), &mut running);
            }
            assert_eq!((went, line.waiting.len(), line.units, line.under_way), (came, 0, 0, 0), "{seed}");
            assert!(line.written.is_empty() && line.wanted.is_empty());
        }
    }

    #[test]
    fn who_comes_second_to_something_waits_for_the_first_and_goes_by_itself() {
        let (mut line, u0, u1) = busy();
        wait(&mut line, &["a", "a", "u1", "b"]);
        let next = line.ended(&u0, false);
        assert_eq!(next.together, ["a", "b"]);
        assert!(next.apart.is_empty(), "what it has met is under way");
        assert_eq!(line.ended(&u1, false).apart, ["u1"]);
        let after = line.ended(&next.unit, false);
        assert_eq!((after.apart, after.together.len()), (vec!["a".to_owned()], 0));
    }

    #[test]
    fn who_leaves_the_line_is_in_nobody_s_way() {
        let (mut line, u0, u1) = busy();
        let Way::Wait(number, _) = come(&mut line, &load("a")) else { panic!("it has to wait") };
        wait(&mut line, &["b", "c"]);
        assert_eq!(line.leave(number).as_deref(), Some("a"));
        assert_eq!(line.leave(number), None);
        let Way::Wait(number, _) = come(&mut line, &load("a")) else { panic!("it has to wait") };
        let next = line.ended(&u0, false);
        assert_eq!(next.together, ["b", "c", "a"], "nobody was here first");
        assert_eq!(line.leave(number), None, "it is under way");
        line.ended(&u1, false);
        assert_eq!(line.ended(&next.unit, false), Next::default());
        assert!(line.written.is_empty() && line.wanted.is_empty() && line.under_way == 0);
    }

    #[test]
    fn messages_and_marks_are_such_things_too() {
        let id = MessageId::new(uuid::Uuid::from_u128(1));
        let consumer = Consumer::new("c").unwrap();
        for shared in [Key::Message(id), Key::Mark(consumer, id)] {
            let (mut line, u0, _) = busy();
            for name in ["a", "b"] {
                let load = Load { keys: vec![key(name), shared.clone()], ..load(name) };
                assert!(load.is_light());
                waits(&mut line, &load);
            }
            assert_eq!(line.ended(&u0, false).together, ["a"]);
        }
    }

    #[test]
    fn groups_and_the_line_have_an_end() {
        let (mut line, u0, u1) = busy();
        for at in 0..WAITING {
            waits(&mut line, &load(&format!("a{at}")));
        }
        assert_eq!(come(&mut line, &load("b")), Way::Apart);
        assert_eq!(line.ended(&u0, false).together.len(), TOGETHER);
        assert_eq!(line.ended(&u1, false).together[0], format!("a{TOGETHER}"), "in turn");
        let sizes = |rows: usize, bytes: usize| {
            let (mut line, u0, _) = busy();
            for at in 0..TOGETHER {
                waits(&mut line, &sized(&format!("a{at}"), rows, bytes));
            }
            line.ended(&u0, false).together.len()
        };
        assert_eq!(sizes(ROWS_EACH, 1), STATEMENT_ROWS / ROWS_EACH);
        assert_eq!(sizes(1, BYTES_EACH), TEXT_BYTES / BYTES_EACH);
        assert_eq!(sizes(STATEMENT_ROWS + 1, 1), 1, "nobody is too large to go at all");
    }

    #[test]
    fn what_is_large_or_meets_itself_is_for_no_group() {
        assert!(sized("a", ROWS_EACH, BYTES_EACH).is_light());
        assert!(!sized("a", ROWS_EACH + 1, 1).is_light() && !sized("a", 1, BYTES_EACH + 1).is_light());
        assert!(!Load { keys: vec![key("a"), key("a")], ..load("a") }.is_light());
    }

    #[test]
    fn after_a_group_that_was_undone_so_many_go_singly_and_then_groups_again() {
        let (mut line, u0, u1) = busy();
        wait(&mut line, &["a", "b"]);
        let next = line.ended(&u0, false);
        wait(&mut line, &["c", "d"]);
        let after = line.ended(&next.unit, true);
        assert_eq!((after.apart.len(), after.together.len()), (2, 0), "those who wait as well");
        for at in 2..2 * SINGLY_FOR_EACH {
            assert_eq!(come(&mut line, &load("e")), Way::Apart, "{at}");
        }
        let again = goes(&mut line, "e");
        wait(&mut line, &["f", "g"]);
        assert_eq!(line.ended(&again, false).together, ["f", "g"]);
        assert_eq!(line.ended(&u1, false), Next::default());
    }
}
