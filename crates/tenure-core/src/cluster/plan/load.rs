//! How full a node is: weight beside capacity, compared without rounding.

/// The weight that a node has, or several have, and their capacity.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Load {
    pub(super) weight: u64,
    pub(super) capacity: u64,
}

impl Load {
    pub(super) fn plus(self, weight: u32) -> Self {
        Self { weight: self.weight.saturating_add(u64::from(weight)), ..self }
    }

    pub(super) fn minus(self, weight: u32) -> Self {
        Self { weight: self.weight.saturating_sub(u64::from(weight)), ..self }
    }

    /// The load of several nodes together.
    pub(super) fn sum(loads: impl Iterator<Item = Self>) -> Self {
        loads.fold(Self { weight: 0, capacity: 0 }, |sum, load| Self {
            weight: sum.weight.saturating_add(load.weight),
            capacity: sum.capacity.saturating_add(load.capacity),
        })
    }

    pub(super) fn is_below(self, other: Self) -> bool {
        self.times(100, other) < other.times(100, self)
    }

    /// Whether it is above so many hundredths of another.
    pub(super) fn is_above(self, hundredths: u32, other: Self) -> bool {
        self.times(100, other) > other.times(hundredths, self)
    }

    /// Whether it is below so many hundredths of another.
    pub(super) fn is_short_of(self, hundredths: u32, other: Self) -> bool {
        self.times(100, other) < other.times(hundredths, self)
    }

    /// A number that compares as `hundredths` of this load does, if the other side is multiplied alike.
    fn times(self, hundredths: u32, other: Self) -> u128 {
        let weight = u128::from(self.weight).saturating_mul(u128::from(other.capacity));
        weight.saturating_mul(u128::from(hundredths))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_of_twice_the_capacity_is_as_full_with_twice_the_weight() {
        let small = Load { weight: 6, capacity: 1 };
        let large = Load { weight: 12, capacity: 2 };
        assert!(!small.is_below(large) && !large.is_below(small));
        assert!(large.minus(1).is_below(small) && small.is_below(large.plus(1)));
        let mean = Load::sum([small, large.plus(6)].into_iter());
        assert_eq!(mean, Load { weight: 24, capacity: 3 });
        assert!(small.is_short_of(80, mean) && !small.is_short_of(75, mean));
        assert!(large.plus(6).is_above(112, mean) && !large.plus(6).is_above(113, mean));
    }
}
