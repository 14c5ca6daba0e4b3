//! Access keys and their hashes.
//!
//! A key is `muninn-` and 256 random bits in hexadecimal digits. People and secret scanners recognise it, and it needs
//! no quoting in a shell or a header. Only the hash is stored. Slow, salted hashes protect passwords, which can be
//! guessed. 256 random bits cannot be guessed, so a fast hash without salt is enough and costs a request no time. Other
//! texts are not accepted as keys, so that a password cannot be configured by its hash.

use std::fmt;

use super::Secret;

/// The prefix of every access key.
pub const PREFIX: &str = "muninn-";
const BYTES: usize = 32;
/// The name of the hash function in a configuration. It allows for another function later.
const SCHEME: &str = "blake3:";

/// The hash of a key. A configuration holds it as `blake3:` and 64 hexadecimal digits. Comparisons take constant time,
/// as documented for `blake3::Hash`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeyHash(blake3::Hash);

impl KeyHash {
    /// Returns the hash of a key, or `None` if the text is not formed like a key.
    pub fn of_key(key: &str) -> Option<KeyHash> {
        let digits = key.strip_prefix(PREFIX)?;
        let is_digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
        (digits.len() == 2 * BYTES && digits.bytes().all(is_digit)).then(|| KeyHash(blake3::hash(key.as_bytes())))
    }

    /// Parses a hash as written in a configuration.
    pub fn parse(written: &str) -> Option<KeyHash> {
        blake3::Hash::from_hex(written.strip_prefix(SCHEME)?).ok().map(KeyHash)
    }
}

impl fmt::Display for KeyHash {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{SCHEME}{}", self.0)
    }
}

/// Generates a key and its hash.
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
    fn a_generated_key_is_valid_and_its_hash_parses() {
        let (key, hash) = generate().unwrap();
        assert_eq!(KeyHash::of_key(key.reveal()), Some(hash));
        assert_eq!(KeyHash::parse(&hash.to_string()), Some(hash));
        assert_ne!(generate().unwrap().0.reveal(), key.reveal());
        assert!(!format!("{hash}").contains(&key.reveal()[PREFIX.len()..]));
    }

    #[test]
    fn other_texts_are_no_keys_or_hashes() {
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
