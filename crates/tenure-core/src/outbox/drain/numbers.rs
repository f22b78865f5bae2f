//! Hashing of row numbers.

use std::hash::{BuildHasherDefault, Hasher};

/// Hashes numbers of rows: they come from a sequence, so nobody chooses them, and a multiplication spreads them well.
pub(super) type Numbers = BuildHasherDefault<NumberHasher>;

#[derive(Debug, Default, Clone, Copy)]
pub(super) struct NumberHasher(u64);

impl Hasher for NumberHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.write_u64(u64::from(*byte));
        }
    }

    fn write_i64(&mut self, number: i64) {
        self.write_u64(number.cast_unsigned());
    }

    fn write_u64(&mut self, number: u64) {
        let spread = (self.0 ^ number).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        // The table looks at the highest and the lowest bits.
        self.0 = spread ^ (spread >> 32);
    }
}
