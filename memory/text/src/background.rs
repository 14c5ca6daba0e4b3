//! How common words are in other repositories.
//!
//! A question about a repository uses words that are more common in its files than in the files of others, and few that
//! others have and it lacks. The shipped table says, for each term, in what share of a sample of public repositories it
//! occurs, and in what share of their files of code and of prose. `bench background` writes it from the list
//! `benches/background/repositories.json`. All numbers are little-endian; `n` terms:
//!
//! | bytes | what |
//! |---|---|
//! | 8 | `MUNINNB1` |
//! | 4 | `n` |
//! | n x 4 | the hashes of the terms, ascending |
//! | n | the share of repositories |
//! | n | the mean share of files of code |
//! | n | the mean share of files of prose |
//! | 8 | the hash of all bytes before |
//!
//! A share is a code `c` that stands for `2^((c - 255) / 16)`, or 0 for the code 0. Hashes are FNV-1a of 32 and 64 bits.
//! Of a hundred thousand unknown terms, two are taken for known ones.

use std::borrow::Cow;
use std::sync::LazyLock;

use thiserror::Error;

use crate::fnv::{hash32, hash64};

static SHIPPED: &[u8] = include_bytes!("background.bin");

const MAGIC: &[u8; 8] = b"MUNINNB1";
/// Codes for each halving of a share.
const STEPS: f32 = 16.0;

/// Why a table cannot be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("the table of words in other repositories is damaged")]
pub struct DamagedTable;

/// The shares of a term, each from 0 to 1.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Elsewhere {
    /// The share of repositories that contain it.
    pub repositories: f32,
    /// The mean share of a repository's files of code that contain it.
    pub code: f32,
    /// The mean share of a repository's files of prose that contain it.
    pub prose: f32,
}

/// The table; see the module.
pub struct Background {
    bytes: Cow<'static, [u8]>,
    terms: usize,
}

impl Background {
    /// The table that is compiled in, checked once per process.
    ///
    /// # Errors
    /// [`DamagedTable`] if its bytes were changed.
    pub fn shared() -> Result<&'static Background, DamagedTable> {
        static TABLE: LazyLock<Result<Background, DamagedTable>> =
            LazyLock::new(|| Background::parse(Cow::Borrowed(SHIPPED)));
        TABLE.as_ref().map_err(|error| *error)
    }

    /// Checks a table.
    ///
    /// # Errors
    /// [`DamagedTable`] if it is cut, changed or of another version.
    pub fn parse(bytes: Cow<'static, [u8]>) -> Result<Background, DamagedTable> {
        let head = MAGIC.len() + 4;
        let count = bytes.get(MAGIC.len()..head).ok_or(DamagedTable)?;
        let terms = u32::from_le_bytes([count[0], count[1], count[2], count[3]]) as usize;
        let (table, hash) = bytes.split_last_chunk().ok_or(DamagedTable)?;
        let is_whole = table.starts_with(MAGIC) && terms.checked_mul(7).is_some_and(|size| table.len() == head + size);
        if !is_whole || hash64(table.iter().copied()) != u64::from_le_bytes(*hash) {
            return Err(DamagedTable);
        }
        Ok(Background { bytes, terms })
    }

    /// The shares of a term; all 0 if the table lacks it.
    pub fn of(&self, term: &str) -> Elsewhere {
        let (mut low, mut high) = (0, self.terms);
        let hash = hash32(term.bytes());
        while low < high {
            let middle = usize::midpoint(low, high);
            if self.hash(middle) < hash { low = middle + 1 } else { high = middle }
        }
        if low == self.terms || self.hash(low) != hash {
            return Elsewhere::default();
        }
        let shares = MAGIC.len() + 4 + self.terms * 4 + low;
        let share = |column: usize| share_of(self.bytes[shares + column * self.terms]);
        Elsewhere { repositories: share(0), code: share(1), prose: share(2) }
    }

    fn hash(&self, at: usize) -> u32 {
        let at = MAGIC.len() + 4 + at * 4;
        let bytes = &self.bytes[at..at + 4];
        u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]])
    }
}

/// Writes a table. Of terms with one hash, the last counts.
pub fn write<'a>(terms: impl Iterator<Item = (&'a str, Elsewhere)>) -> Vec<u8> {
    let rows: std::collections::BTreeMap<u32, Elsewhere> =
        terms.map(|(term, elsewhere)| (hash32(term.bytes()), elsewhere)).collect();
    let mut bytes = MAGIC.to_vec();
    bytes.extend(u32::try_from(rows.len()).unwrap_or(u32::MAX).to_le_bytes());
    bytes.extend(rows.keys().flat_map(|hash| hash.to_le_bytes()));
    bytes.extend(rows.values().map(|row| code_of(row.repositories)));
    bytes.extend(rows.values().map(|row| code_of(row.code)));
    bytes.extend(rows.values().map(|row| code_of(row.prose)));
    bytes.extend(hash64(bytes.iter().copied()).to_le_bytes());
    bytes
}

fn share_of(code: u8) -> f32 {
    if code == 0 { 0.0 } else { ((f32::from(code) - 255.0) / STEPS).exp2() }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "clamped to a byte")]
fn code_of(share: f32) -> u8 {
    if share <= 0.0 { 0 } else { (255.0 + STEPS * share.log2()).round().clamp(1.0, 255.0) as u8 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn written_shares_are_read() {
        let of = |repositories, code, prose| Elsewhere { repositories, code, prose };
        let terms = [("file", of(1.0, 0.5, 0.25)), ("ledger", of(0.03, 0.001, 0.0)), ("x", of(1e-9, 0.0, 2.0))];
        let table = Background::parse(Cow::Owned(write(terms.into_iter()))).unwrap();
        for (term, written) in terms {
            let read = table.of(term);
            for (a, b) in [
                (read.repositories, written.repositories),
                (read.code, written.code),
                (read.prose, written.prose.min(1.0)),
            ] {
                assert!((a - b).abs() <= 0.03 * b + 2e-5, "{term}: {a} for {b}");
            }
        }
        assert_eq!(table.of("unknown"), Elsewhere::default());
        let empty = Background::parse(Cow::Owned(write(std::iter::empty()))).unwrap();
        assert_eq!(empty.of("file"), Elsewhere::default());
    }

    #[test]
    fn damaged_tables_are_refused() {
        let whole = write([("file", Elsewhere { repositories: 1.0, code: 0.5, prose: 0.5 })].into_iter());
        for length in 0..whole.len() {
            assert!(Background::parse(Cow::Owned(whole[..length].to_vec())).is_err(), "cut to {length}");
        }
        for at in 0..whole.len() {
            let mut changed = whole.clone();
            changed[at] ^= 1;
            assert!(Background::parse(Cow::Owned(changed)).is_err(), "changed at {at}");
        }
    }

    #[test]
    fn shipped_table_knows_common_words() {
        let table = Background::shared().unwrap();
        assert!(table.of("file").repositories > 0.9 && table.of("file").prose > 0.1);
        assert!(table.of("file").code > 10.0 * table.of("ledger").code);
    }
}
