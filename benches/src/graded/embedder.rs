//! An embedder that embeds each text once.
//!
//! The trees of one repository share nearly all of their chunks, and each tree has a cache of its own. With a transformer
//! on a processor, embedding them all anew would take a night.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use muninn_text::embed::{EmbedError, Embedder};

/// An embedder that embeds each text once.
pub(super) struct Remembered {
    inner: Arc<dyn Embedder>,
    known: Mutex<HashMap<String, Vec<f32>>>,
}

impl Remembered {
    pub(super) fn of(inner: Arc<dyn Embedder>) -> Self {
        let known = Mutex::default();
        Self { inner, known }
    }
}

impl Embedder for Remembered {
    fn id(&self) -> &str {
        self.inner.id()
    }

    fn dimensions(&self) -> usize {
        self.inner.dimensions()
    }

    fn embed(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>, EmbedError> {
        let known = |text: &&str| {
            let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
            known.get(*text).cloned()
        };
        let mut vectors: Vec<Option<Vec<f32>>> = texts.iter().map(known).collect();
        let missing: Vec<usize> = (0..texts.len()).filter(|at| vectors[*at].is_none()).collect();
        let wanted: Vec<&str> = missing.iter().map(|at| texts[*at]).collect();
        if !wanted.is_empty() {
            let made = self.inner.embed(&wanted)?;
            let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
            for (at, vector) in missing.into_iter().zip(made) {
                known.insert(texts[at].to_owned(), vector.clone());
                vectors[at] = Some(vector);
            }
        }
        Ok(vectors.into_iter().flatten().collect())
    }
}
