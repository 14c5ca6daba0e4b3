//! The embedder that a benchmark ranks with.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use anyhow::Result;
use clap::ValueEnum;
use muninn_base::Supervisor;
use muninn_text::embed::{EmbedError, Embedder, StaticVectors, minilm};
use parking_lot::{Mutex, MutexGuard};
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
pub(crate) enum EmbedderName {
    /// Lexical lists alone.
    None,
    /// The compiled-in static vectors.
    Static,
    /// The transformer, from `--model`.
    Minilm,
}

impl EmbedderName {
    /// Loads the embedder; `model` is the directory of minilm's files.
    pub(crate) fn load(self, model: Option<&Path>) -> Result<Option<Arc<dyn Embedder>>> {
        Ok(match self {
            Self::None => None,
            Self::Static => Some(Arc::new(StaticVectors::shipped()?)),
            Self::Minilm => {
                let inner = minilm(model.unwrap_or(Path::new(".")), &Supervisor::default())?;
                Some(Arc::new(CachedEmbedder { inner: Arc::from(inner), known: Mutex::default() }))
            }
        })
    }
}

/// An embedder that embeds each text once. The trees of one repository share nearly all of their chunks, and each tree has
/// a cache of its own. With a transformer on a processor, embedding them all anew takes a night.
struct CachedEmbedder {
    inner: Arc<dyn Embedder>,
    known: Mutex<HashMap<String, Vec<f32>>>,
}

impl Embedder for CachedEmbedder {
    fn id(&self) -> &str {
        self.inner.id()
    }

    fn dimensions(&self) -> usize {
        self.inner.dimensions()
    }

    fn embed(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>, EmbedError> {
        let mut missing = texts.to_vec();
        missing.retain(|text| !self.known().contains_key(*text));
        if !missing.is_empty() {
            let made = self.inner.embed(&missing)?;
            self.known().extend(missing.into_iter().map(str::to_owned).zip(made));
        }
        let known = self.known();
        Ok(texts.iter().filter_map(|text| known.get(*text).cloned()).collect())
    }
}

impl CachedEmbedder {
    fn known(&self) -> MutexGuard<'_, HashMap<String, Vec<f32>>> {
        self.known.lock()
    }
}
