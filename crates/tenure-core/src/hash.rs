//! One number for several texts, for locks whose names are numbers.
//!
//! Every node must come to the same number, whatever program computes it, so this is not the hash of a hash map.

/// FNV-1a over parts, each ended by a zero byte, so that where one part ends makes a difference.
pub fn key<'a>(parts: impl IntoIterator<Item = &'a [u8]>) -> i64 {
    let bytes = parts.into_iter().flat_map(|part| part.iter().chain(&[0]));
    bytes
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3)
        })
        .cast_signed()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_fnv_1a_on_every_node() {
        // Values of the reference: for no byte, for one zero, and for "foobar" and a zero.
        assert_eq!(key([]), 0xcbf2_9ce4_8422_2325_u64.cast_signed());
        assert_eq!(key([&b""[..]]), 0xaf63_bd4c_8601_b7df_u64.cast_signed());
        assert_eq!(key([&b"foobar"[..]]), 0x3453_1ca7_168b_8f38_u64.cast_signed());
    }

    #[test]
    fn where_a_part_ends_makes_a_difference() {
        assert_ne!(key([&b"ab"[..], b"c"]), key([&b"a"[..], b"bc"]));
        assert_ne!(key([&b"a"[..]]), key([&b"a"[..], b""]));
    }
}
