//! What an access key is, and what is kept of it.
//!
//! A key is `muninn-` and 256 random bits in hexadecimal digits: easy to recognise, for people and for scanners of leaked
//! secrets, and free of characters that a shell or a header would mind. Only its hash is kept. A slow, salted hash would
//! protect a password, which can be guessed; nobody guesses 256 random bits, so a plain fast one gives nothing away and
//! costs a request no time. Nothing but this shape is accepted as a key, so nobody can configure a password by hashing it.

use std::fmt;

use super::Secret;

/// What every key begins with.
pub(crate) const PREFIX: &str = "muninn-";
const BYTES: usize = 32;
/// Names the hash in a configuration, so that another one could stand beside it.
const SCHEME: &str = "blake3:";

/// The hash of a key, as configurations hold it: `blake3:` and 64 hexadecimal digits. Comparing two takes the same time
/// whether and wherever they differ (blake3 says so of its own `Hash`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeyHash(blake3::Hash);

impl KeyHash {
    /// The hash of a key, `None` for what has not the shape of one.
    #[must_use]
    pub fn of_key(key: &str) -> Option<KeyHash> {
        let digits = key.strip_prefix(PREFIX)?;
        let is_digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
        (digits.len() == 2 * BYTES && digits.bytes().all(is_digit)).then(|| KeyHash(blake3::hash(key.as_bytes())))
    }

    /// Reads a hash as it is written in a configuration.
    #[must_use]
    pub fn parse(written: &str) -> Option<KeyHash> {
        blake3::Hash::from_hex(written.strip_prefix(SCHEME)?).ok().map(KeyHash)
    }
}

impl fmt::Display for KeyHash {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{SCHEME}{}", self.0)
    }
}

/// A new key and its hash.
///
/// # Errors
/// Where the system has no randomness to give.
pub fn generate() -> Result<(Secret, KeyHash), getrandom::Error> {
    let mut bits = [0; BYTES];
    getrandom::fill(&mut bits)?;
    let key = format!("{PREFIX}{}", blake3::Hash::from_bytes(bits).to_hex());
    let hash = KeyHash(blake3::hash(key.as_bytes()));
    Ok((Secret::new(key), hash))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_key_has_the_shape_and_the_hash_reads_back() {
        let (key, hash) = generate().unwrap();
        assert_eq!(KeyHash::of_key(key.reveal()), Some(hash));
        assert_eq!(KeyHash::parse(&hash.to_string()), Some(hash));
        assert_ne!(generate().unwrap().0.reveal(), key.reveal());
        assert!(!format!("{hash}").contains(&key.reveal()[PREFIX.len()..]));
    }

    #[test]
    fn nothing_else_is_a_key_or_a_hash() {
        let digits = "0".repeat(64);
        for key in [
            "",
            "muninn-",
            "muninn-hunter2",
            &digits,
            &format!("muninn-{digits}0"),
            &format!("muninn-{}", "A".repeat(64)),
        ] {
            assert_eq!(KeyHash::of_key(key), None, "{key}");
        }
        for hash in ["", &digits, "blake3:", "blake3:00", &format!("sha256:{digits}")] {
            assert_eq!(KeyHash::parse(hash), None, "{hash}");
        }
    }
}
