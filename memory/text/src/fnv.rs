//! The hash FNV-1a, see <http://www.isthe.com/chongo/tech/comp/fnv/>. Files and test data contain its values, so it must
//! never change.

/// The hash of nothing, of 32 bits.
pub const SEED: u32 = 0x811c_9dc5;

/// One step of the hash of 32 bits. The hash of a text contains the hashes of all its prefixes as intermediate values.
pub fn step(hash: u32, value: impl Into<u32>) -> u32 {
    (hash ^ value.into()).wrapping_mul(0x0100_0193)
}

/// The hash of 32 bits of bytes, or of numbers as if they were bytes.
pub fn hash32<T: Into<u32>>(values: impl IntoIterator<Item = T>) -> u32 {
    values.into_iter().fold(SEED, step)
}

/// The hash of 64 bits of bytes.
pub fn hash64(bytes: impl IntoIterator<Item = u8>) -> u64 {
    let step = |hash: u64, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
    bytes.into_iter().fold(0xcbf2_9ce4_8422_2325, step)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_are_those_of_the_published_vectors() {
        assert_eq!((hash32(*b""), hash32(*b"a"), hash32(*b"foobar")), (0x811c_9dc5, 0xe40c_292c, 0xbf9c_f968));
        assert_eq!(hash64(*b"foobar"), 0x8594_4171_f739_67e8);
    }
}
