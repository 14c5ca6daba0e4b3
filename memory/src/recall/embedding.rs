//! Vectors of memories, made once for each text.
//!
//! A file of records changes with every session and every merge, by a few lines of many, and a transformer takes ten
//! milliseconds a text. So what an earlier process kept is good for the texts that are still there, wherever they stand
//! now.

use std::collections::HashMap;

use super::kept::Store;
use crate::embed::{EmbedError, Embedder};
use crate::index::vectors::bytes;
use crate::memories::Memory;
use crate::records::lines::{Digest, digest};

/// Texts that are embedded at once.
const BATCH: usize = 256;

/// An embedder, and the vectors that it made before.
pub(super) struct Embedding<'a> {
    embedder: &'a dyn Embedder,
    /// As many bytes each as it has dimensions.
    vectors: Vec<u8>,
    /// Which of them is of which text.
    places: HashMap<Digest, usize>,
}

impl<'a> Embedding<'a> {
    /// Takes the vectors out of what was kept, if they are by this embedder, and drops the rest of it.
    pub(super) fn new(embedder: &'a dyn Embedder, kept: Option<Store>) -> Self {
        let kept = kept.filter(|kept| kept.embedder == embedder.id()).unwrap_or_default();
        let texts = kept.items.iter().map(|item| digest(&item.text));
        Self {
            embedder,
            places: texts.zip(0..).collect(),
            vectors: kept.vectors,
        }
    }

    /// The embedder's.
    pub(super) fn id(&self) -> &str {
        self.embedder.id()
    }

    /// A vector for each of some memories, as many bytes as the embedder has dimensions.
    ///
    /// # Errors
    /// Those of the embedder.
    pub(super) fn vectors(&self, items: &[Memory]) -> Result<Vec<u8>, EmbedError> {
        let size = self.embedder.dimensions();
        let mut vectors = vec![0; items.len() * size];
        let mut missing: Vec<(&str, &mut [u8])> = Vec::new();
        for (item, vector) in items.iter().zip(vectors.chunks_exact_mut(size.max(1))) {
            match self.made(&item.text) {
                Some(made) => vector.copy_from_slice(made),
                None => missing.push((&item.text, vector)),
            }
        }
        for batch in missing.chunks_mut(BATCH) {
            let texts: Vec<&str> = batch.iter().map(|(text, _)| *text).collect();
            for ((_, vector), made) in batch.iter_mut().zip(self.embedder.embed(&texts)?) {
                for (to, from) in vector.iter_mut().zip(bytes(&made)) {
                    *to = from.cast_unsigned();
                }
            }
        }
        Ok(vectors)
    }

    fn made(&self, text: &str) -> Option<&[u8]> {
        let at = self.places.get(&digest(text))?;
        let size = self.embedder.dimensions();
        self.vectors.get(at * size..(at + 1) * size)
    }
}
