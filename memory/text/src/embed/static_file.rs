//! The file format of static vectors. `memory/training/pack.py` writes it.
//!
//! All numbers are little-endian; `n` pieces, `d` dimensions:
//!
//! | bytes | what |
//! |---|---|
//! | 8 | `MUNINNS1` |
//! | 4 | `d`, even |
//! | 4 | `n` |
//! | 1, then so many | the length of the id, and the id |
//! | 16 x 4 | the codebook: the value of each of the sixteen codes, as f32 |
//! | n | the length of each piece |
//! | their sum | the pieces, one after another, `##` before those that continue a word |
//! | n x 2 | each row's scale: the upper half of an f32 |
//! | n x d / 2 | the rows, two codes a byte, the lower half of the byte first |
//!
//! The number `i` of row `r` is `codebook[code(r, i)] x scale(r)`. The codebook is fitted to the distribution of the
//! numbers. This loses a third less precision than sixteen equal steps.

use std::borrow::Cow;

use super::LoadError;
use super::pieces::Vocabulary;

const MAGIC: &[u8; 8] = b"MUNINNS1";
const CODES: usize = 16;

/// The content of a file. The rows stay encoded.
pub(super) struct StaticFile {
    pub(super) id: String,
    pub(super) dimensions: usize,
    pub(super) vocabulary: Vocabulary,
    /// The decoded values of the two codes in a byte.
    decoded: Vec<[f32; 2]>,
    bytes: Cow<'static, [u8]>,
    /// The offsets of the scales and of the rows in `bytes`.
    scales: usize,
    rows: usize,
}

impl StaticFile {
    /// Parses everything except the rows, and checks that all rows are present.
    pub(super) fn new(bytes: Cow<'static, [u8]>) -> Result<StaticFile, LoadError> {
        let mut reader = Reader { bytes: &bytes, at: 0 };
        if reader.take(MAGIC.len())? != MAGIC {
            return Err(unusable("it begins with other bytes"));
        }
        let (dimensions, count) = (reader.number()?, reader.number()?);
        if dimensions == 0 || !dimensions.is_multiple_of(2) || dimensions > 1 << 14 || count > usize::from(u16::MAX) {
            return Err(unusable(&format!("{count} rows of {dimensions} numbers")));
        }
        let length = usize::from(reader.take(1)?[0]);
        let id = String::from_utf8_lossy(reader.take(length)?).into_owned();
        let mut codebook = [0.0; CODES];
        for (value, four) in codebook.iter_mut().zip(reader.take(CODES * 4)?.chunks_exact(4)) {
            *value = f32::from_le_bytes([four[0], four[1], four[2], four[3]]);
        }
        let lengths = reader.take(count)?;
        let mut letters = reader.take(lengths.iter().map(|length| usize::from(*length)).sum())?;
        let pieces = lengths.iter().map(|length| {
            let (piece, rest) = letters.split_at(usize::from(*length));
            letters = rest;
            piece
        });
        let vocabulary = Vocabulary::new(pieces)?;
        let scales = reader.at;
        reader.take(count * 2)?;
        let rows = reader.at;
        reader.take(count * dimensions / 2)?;
        if reader.at != bytes.len() {
            return Err(unusable(&format!("{} bytes too many", bytes.len() - reader.at)));
        }
        let decoded = (0..=255).map(|byte: usize| [codebook[byte % CODES], codebook[byte / CODES]]).collect();
        Ok(StaticFile { id, dimensions, vocabulary, decoded, bytes, scales, rows })
    }

    /// Adds `weight` times a row to `sum`, which has one number per dimension.
    pub(super) fn add(&self, row: u16, weight: f32, sum: &mut [f32]) {
        let row = usize::from(row);
        let half = &self.bytes[self.scales + row * 2..][..2];
        let weight = weight * f32::from_bits(u32::from(u16::from_le_bytes([half[0], half[1]])) << 16);
        let bytes = self.dimensions / 2;
        let codes = &self.bytes[self.rows + row * bytes..][..bytes];
        for (two, byte) in sum.chunks_exact_mut(2).zip(codes) {
            let [first, second] = self.decoded[usize::from(*byte)];
            two[0] += weight * first;
            two[1] += weight * second;
        }
    }
}

struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    fn take(&mut self, count: usize) -> Result<&'a [u8], LoadError> {
        let end = self.at.saturating_add(count);
        let taken = self.bytes.get(self.at..end);
        self.at = end;
        taken.ok_or_else(|| unusable("it is cut short"))
    }

    fn number(&mut self) -> Result<usize, LoadError> {
        let four = self.take(4)?;
        Ok(u32::from_le_bytes([four[0], four[1], four[2], four[3]]) as usize)
    }
}

fn unusable(reason: &str) -> LoadError {
    LoadError::Unusable { what: "the file of static vectors".to_owned(), reason: reason.to_owned() }
}
