//! Parts of an outbox: several relays drain one, each what belongs to its part.
//!
//! Which part a row belongs to is the store's own choice and never written down, so the number of parts can change. Order
//! holds only while all who work go by the same number: it is the cluster that sees to that.

use std::fmt;

use super::RowId;
use crate::hash;

/// How many parts there are at most.
pub const PARTS_MAX: u32 = 1024;
/// How many sources one look visits at most to find some of its part. The next look goes on from there.
const SOURCE_STEPS_MAX: u32 = 4096;
/// The same for rows without a source, each of which costs much less.
const ROW_STEPS_MAX: u32 = 32_768;

/// One of several parts of an outbox, counted from zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Part {
    index: u32,
    count: u32,
}

/// There is no such part.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PartError {
    /// There cannot be so many.
    #[error("an outbox cannot have {count} parts: between 1 and {PARTS_MAX} is possible")]
    Count {
        /// How many were asked for.
        count: u32,
    },
    /// There are fewer.
    #[error("there is no part {index} of {count}: parts are counted from 0 to {}", count - 1)]
    Index {
        /// Which one was asked for.
        index: u32,
        /// How many there are.
        count: u32,
    },
}

impl Part {
    /// Part number `index` of `count`.
    pub fn new(index: u32, count: u32) -> Result<Self, PartError> {
        if count == 0 || count > PARTS_MAX {
            return Err(PartError::Count { count });
        }
        if index >= count {
            return Err(PartError::Index { index, count });
        }
        Ok(Self { index, count })
    }

    /// All parts of so many.
    pub fn all(count: u32) -> Result<impl Iterator<Item = Self>, PartError> {
        let first = Self::new(0, count)?;
        Ok((0..count).map(move |index| Self { index, ..first }))
    }

    /// Which one, from zero.
    pub fn index(self) -> u32 {
        self.index
    }

    /// Of how many.
    pub fn count(self) -> u32 {
        self.count
    }

    /// Whether a source belongs to this part, for a store that computes it here.
    pub fn has_source(self, source: &[u8]) -> bool {
        // The last bytes of a text hardly reach the upper half of its key, and numbers stand at the end of names.
        let key = hash::key([source]).cast_unsigned();
        let mixed = (key ^ (key >> 32)).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 33;
        mixed % u64::from(self.count) == u64::from(self.index)
    }

    /// Whether a row without a source belongs to this part, for a store that computes it here. Numbers that rise in
    /// whatever steps are spread: what an application inserts goes by patterns.
    pub fn has_row(self, id: RowId) -> bool {
        let mixed = ((id.0 & 0x3fff_ffff) * 2_654_435_761) >> 32;
        mixed % i64::from(self.count) == i64::from(self.index)
    }

    /// How many sources a look visits at most to find `wanted` of this part: as many as that takes on average, and never
    /// so many that the look would take long.
    pub fn source_steps(self, wanted: u32) -> u32 {
        self.steps(wanted, SOURCE_STEPS_MAX)
    }

    /// The same for rows without a source.
    pub fn row_steps(self, wanted: u32) -> u32 {
        self.steps(wanted, ROW_STEPS_MAX)
    }

    fn steps(self, wanted: u32, most: u32) -> u32 {
        wanted.saturating_mul(self.count).min(most.max(wanted))
    }
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.index, self.count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_that_cannot_be_is_refused_with_the_limit() {
        assert_eq!(Part::new(3, 8).unwrap().to_string(), "3/8");
        assert!(Part::new(0, 0).unwrap_err().to_string().contains("between 1 and 1024"));
        assert!(Part::new(0, 1025).unwrap_err().to_string().contains("1025 parts"));
        assert!(Part::new(8, 8).unwrap_err().to_string().contains("from 0 to 7"));
        assert!(Part::new(1023, 1024).is_ok());
        assert_eq!(Part::all(3).unwrap().map(Part::index).collect::<Vec<_>>(), [0, 1, 2]);
        assert!(Part::all(0).is_err());
    }

    /// How much each part has, of many names or numbers.
    fn spread(count: u32, has: impl Fn(Part, u32) -> bool) -> Vec<usize> {
        let parts: Vec<_> = Part::all(count).unwrap().collect();
        let mut sizes = vec![0; parts.len()];
        for item in 0..8000 {
            let mut owners = parts.iter().filter(|part| has(**part, item));
            let owner = owners.next().expect("an owner").index();
            assert!(owners.next().is_none(), "two parts have it");
            sizes[owner as usize] += 1;
        }
        sizes
    }

    #[test]
    fn everything_is_in_one_part_and_spread_evenly() {
        for count in [1, 2, 3, 7, 8, 64] {
            let fair = 8000 / count as usize;
            let by_number = |part: Part, item: u32| part.has_source(format!("order-{item}").as_bytes());
            let by_prefix = |part: Part, item: u32| part.has_source(format!("{item}/order").as_bytes());
            let of_rows =
                |step: i64| move |part: Part, item: u32| part.has_row(RowId(i64::from(item) * step));
            let sizes = [
                spread(count, by_number),
                spread(count, by_prefix),
                spread(count, of_rows(1)),
                spread(count, of_rows(2)),
                spread(count, of_rows(64)),
            ];
            for sizes in sizes {
                let even = sizes.iter().all(|size| (fair / 2..=fair * 2).contains(size));
                assert!(even, "{count} parts: {sizes:?}");
            }
        }
        // Also numbers that nobody would give.
        for id in [i64::MIN, -1, 0, i64::MAX] {
            assert_eq!(Part::all(8).unwrap().filter(|part| part.has_row(RowId(id))).count(), 1);
        }
    }

    #[test]
    fn the_steps_of_a_look_are_bounded() {
        let part = |count| Part::new(0, count).unwrap();
        assert_eq!(part(1).source_steps(256), 256);
        assert_eq!(part(8).source_steps(256), 2048);
        assert_eq!(part(1024).source_steps(256), SOURCE_STEPS_MAX);
        assert_eq!(part(8).source_steps(9000), 9000, "never fewer than were asked for");
        assert_eq!(part(8).row_steps(4096), ROW_STEPS_MAX);
    }
}
