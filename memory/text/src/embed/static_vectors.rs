//! The default embedder: the sum of trained word vectors.
//!
//! No neural network runs when a question arrives. MiniLM's knowledge about single words, and about which code words
//! match which prose words, was distilled beforehand into one vector per piece (`memory/training/`). This loses word
//! order and is four orders of magnitude faster. The embedder supports English and code; words of other scripts are
//! dropped.

use std::borrow::Cow;
use std::path::Path;
use std::sync::LazyLock;

use super::static_file::StaticFile;
use super::{EmbedError, Embedder, LoadError, normalise};

/// The shipped vectors, with 4 bits per number.
static SHIPPED: &[u8] = include_bytes!("static.bin");

/// Maximum number of pieces of a text that are read. The vectors were trained on at most as many, and the limit bounds
/// the cost of a huge text.
const MOST_PIECES: usize = 512;

/// Static vectors; see the module. In memory the vectors are 4-bit codes as in the file. A vector is decoded when a
/// text contains its piece.
pub struct StaticVectors {
    file: StaticFile,
}

impl StaticVectors {
    /// Loads the vectors that are compiled in. Loading takes a millisecond, so keep the result.
    ///
    /// # Errors
    /// [`LoadError::Unusable`] if the compiled-in file is damaged. A test checks that file.
    pub fn shipped() -> Result<StaticVectors, LoadError> {
        Ok(StaticVectors { file: StaticFile::new(Cow::Borrowed(SHIPPED))? })
    }

    /// Returns the vectors that are compiled in, loaded once per process; `None` if they are damaged.
    pub fn shared() -> Option<&'static StaticVectors> {
        Self::try_shared().ok()
    }

    /// [`Self::shared`], with the reason if they are damaged.
    pub fn try_shared() -> Result<&'static StaticVectors, &'static LoadError> {
        static VECTORS: LazyLock<Result<StaticVectors, LoadError>> = LazyLock::new(StaticVectors::shipped);
        VECTORS.as_ref()
    }

    /// Loads vectors from a file of the same format, to compare trainings.
    ///
    /// # Errors
    /// [`LoadError`] if the file cannot be read or is invalid.
    pub fn open(path: &Path) -> Result<StaticVectors, LoadError> {
        let bytes = std::fs::read(path).map_err(|source| LoadError::Read { path: path.to_owned(), source })?;
        Ok(StaticVectors { file: StaticFile::new(Cow::Owned(bytes))? })
    }

    /// Returns the vector of one text. It is the zero vector if no word is known.
    pub fn embed_one(&self, text: &str) -> Vec<f32> {
        let mut vector = self.sum(text).unwrap_or_else(|| vec![0.0; self.file.dimensions]);
        normalise(&mut vector);
        vector
    }

    /// Returns the sum of a text's vectors, or `None` if no word is known. Frequent words have short vectors.
    pub fn sum(&self, text: &str) -> Option<Vec<f32>> {
        let mut pieces = Vec::with_capacity(64);
        self.file.vocabulary.pieces(text, MOST_PIECES, &mut pieces);
        if pieces.is_empty() {
            return None;
        }
        let mut vector = vec![0.0; self.file.dimensions];
        pieces.sort_unstable();
        for same in pieces.chunk_by(|a, b| a == b) {
            self.file.add(same[0], weight_of(same.len()), &mut vector);
        }
        Some(vector)
    }
}

/// Returns the weight of a piece by its count in a text. Code repeats its names, and the tenth occurrence says no more
/// than the third.
#[expect(clippy::cast_precision_loss, reason = "at most MOST_PIECES")]
fn weight_of(count: usize) -> f32 {
    if count == 1 { 1.0 } else { 1.0 + (count as f32).ln() }
}

impl Embedder for StaticVectors {
    fn id(&self) -> &str {
        &self.file.id
    }

    fn dimensions(&self) -> usize {
        self.file.dimensions
    }

    /// Never fails. Embeds tens of thousands of short texts per second.
    fn embed(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>, EmbedError> {
        Ok(texts.iter().map(|text| self.embed_one(text)).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::embed::{STATIC_ID, dot};

    impl StaticVectors {
        pub(in crate::embed) fn into_vocabulary(self) -> crate::embed::pieces::Vocabulary {
            self.file.vocabulary
        }
    }

    #[test]
    fn any_text_has_a_unit_vector_or_none() {
        let vectors = StaticVectors::shipped().unwrap();
        let huge = "fn parse_header(input: &str) -> Header { ".repeat(100_000);
        for (text, length) in [
            ("how is the request parsed", 1.0),
            ("parseHTTPHeader", 1.0),
            (huge.as_str(), 1.0),
            ("x\0y", 1.0),
            ("", 0.0),
            ("\0 \u{4e2d} ... \u{1f600}", 0.0),
        ] {
            let vector = vectors.embed_one(text);
            assert_eq!(vector.len(), vectors.dimensions());
            let found = dot(&vector, &vector).sqrt();
            assert!((found - length).abs() < 1e-5, "{found} for {:?}", text.get(..20));
        }
    }

    #[test]
    fn what_means_alike_is_nearer() {
        let vectors = StaticVectors::shipped().unwrap();
        let question = vectors.embed_one("where do we retry a request that failed");
        let near =
            vectors.embed_one("fn send_with_backoff(client: &Client, attempts: u32) { sleep(delay); client.send() }");
        let far = vectors.embed_one("def draw_histogram(axis, bins, color): axis.bar(bins, color=color)");
        assert!(dot(&question, &near) > dot(&question, &far) + 0.1);
    }

    #[test]
    fn the_id_names_the_content() {
        let vectors = StaticVectors::shipped().unwrap();
        assert!(vectors.id().starts_with(STATIC_ID), "{}", vectors.id());
        assert!(vectors.id().bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-._".contains(&byte)));
    }

    #[test]
    fn a_damaged_file_is_refused_wherever_it_ends() {
        let whole = SHIPPED.len();
        let cuts = (0..400).chain((0..64).map(|at| whole / 64 * at)).chain([whole - 1]);
        for cut in cuts {
            assert!(StaticFile::new(Cow::Borrowed(&SHIPPED[..cut])).is_err(), "{cut}");
        }
        let longer = [SHIPPED, b"x"].concat();
        assert!(StaticFile::new(Cow::Owned(longer)).is_err());
        let directory = tempfile::tempdir().unwrap();
        assert!(StaticVectors::open(&directory.path().join("none")).is_err());
    }
}
