//! Vectors of memories, computed once for each text.
//!
//! Each session and each merge changes a few lines of a file of records, and a transformer needs ten milliseconds per
//! text. Therefore the stored vectors of an earlier process are reused for all texts that still exist, wherever they
//! are in the files now.

use std::borrow::Cow;
use std::collections::HashMap;

use muninn_team::memories::Memory;
use muninn_team::records::lines::{Digest, digest};
use muninn_text::embed::{EmbedError, Embedder};
use muninn_text::vectors::bytes;

use super::kept::Store;

/// Number of texts that are embedded at once.
const BATCH: usize = 256;

/// Whether to go on with embedding, by the number of vectors and of texts.
pub(super) type GoOn<'a> = &'a dyn Fn(usize, usize) -> bool;

/// The texts that have vectors: one of each memory, then the questions that they answer.
fn texts(items: &[Memory]) -> impl Iterator<Item = Cow<'_, str>> {
    let answers = items.iter().flat_map(|item| &item.answers).map(|question| Cow::Borrowed(question.as_str()));
    items.iter().map(Memory::embedded_text).chain(answers)
}

/// An embedder, and the vectors that it computed earlier.
pub(super) struct Embedding<'a> {
    embedder: &'a dyn Embedder,
    /// One byte per dimension for each vector.
    vectors: Vec<u8>,
    /// The position of each text's vector.
    places: HashMap<Digest, usize>,
}

impl<'a> Embedding<'a> {
    /// Takes the vectors from a stored image if they are by this embedder. The rest of the image is dropped.
    pub(super) fn new(embedder: &'a dyn Embedder, kept: Option<Store>) -> Self {
        let kept = kept.filter(|kept| kept.embedder == embedder.id()).unwrap_or_default();
        let places = texts(&kept.items).map(|text| digest(&text)).zip(0..).collect();
        Self { embedder, places, vectors: kept.vectors }
    }

    /// Returns the embedder's id.
    pub(super) fn id(&self) -> &str {
        self.embedder.id()
    }

    /// Returns the vectors of [`texts`], each with one byte per dimension, and how many are not made yet, because `go_on`
    /// returned `false`. It gets the number of vectors and of texts. A vector that is not made is the zero vector.
    pub(super) fn vectors(&self, items: &[Memory], go_on: GoOn<'_>) -> Result<(Vec<u8>, usize), EmbedError> {
        let size = self.embedder.dimensions();
        let mut vectors = vec![0; texts(items).count() * size];
        let mut missing: Vec<(Cow<'_, str>, &mut [u8])> = Vec::new();
        for (text, vector) in texts(items).zip(vectors.chunks_exact_mut(size.max(1))) {
            match self.made(&text) {
                Some(made) => vector.copy_from_slice(made),
                None => missing.push((text, vector)),
            }
        }
        let all = texts(items).count();
        let mut left = missing.len();
        for batch in missing.chunks_mut(BATCH) {
            if !go_on(all - left, all) {
                break;
            }
            left -= batch.len();
            let texts: Vec<&str> = batch.iter().map(|(text, _)| &**text).collect();
            let embedded = self.embedder.embed(&texts)?;
            for ((_, vector), made) in batch.iter_mut().zip(embedded) {
                for (to, from) in vector.iter_mut().zip(bytes(&made)) {
                    *to = from.cast_unsigned();
                }
            }
        }
        Ok((vectors, left))
    }

    fn made(&self, text: &str) -> Option<&[u8]> {
        let at = self.places.get(&digest(text))?;
        let size = self.embedder.dimensions();
        self.vectors.get(at * size..(at + 1) * size).filter(|made| made.iter().any(|byte| *byte != 0))
    }
}
