//! A tree with a ready engine over it.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::Result;
use muninn_context_engine::{Engine, EngineSettings, Exploration, ItemKind, Limits, Tuning};
use muninn_repo_tools::Worktree;
use muninn_text::embed::Embedder;

use crate::command_line::progress;
use crate::place::Place;
use crate::trees::Tree;

/// An engine whose index is ready.
#[derive(Debug)]
pub struct Subject {
    /// The engine.
    pub engine: Engine,
    /// Whether there was no derived cache before.
    pub cold: bool,
    /// The time to make the index ready.
    pub index: Duration,
    /// The time to make its vectors ready after that.
    pub embedding: Duration,
}

impl Subject {
    /// Indexes a tree, with a cache beside it, and makes its vectors if there is an embedder.
    ///
    /// # Errors
    /// When it is no repository, or gone.
    pub fn index(tree: &Tree, embedder: Option<Arc<dyn Embedder>>) -> Result<Self> {
        let worktree = Worktree::discover(&tree.root)?;
        let cold = !tree.cache.is_dir();
        let started = Instant::now();
        let settings = EngineSettings { cache_dir: Some(tree.cache.clone()), embedder, ..EngineSettings::default() };
        let engine = Engine::open(worktree, settings);
        engine.refresh(&())?;
        let index = started.elapsed();
        let started = Instant::now();
        let filled = engine.embed(&|| true);
        filled.notes.iter().for_each(|note| progress(note));
        Ok(Self { engine, cold, index, embedding: started.elapsed() })
    }

    /// Asks, and waits for the answer however long it takes.
    pub fn ask(&self, question: &str, tokens: u32, tuning: Tuning) -> Exploration {
        let deadline = Instant::now() + Duration::from_secs(600);
        self.engine.explore_with(question, &Limits { tokens, deadline }, tuning)
    }

    /// The root of the tree.
    pub fn root(&self) -> &Path {
        self.engine.worktree().root()
    }
}

/// A span of a file that was packed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Packed {
    /// Relative to the root of the tree.
    pub path: String,
    /// Counted from 1.
    pub lines: std::ops::RangeInclusive<usize>,
    /// Its tokens as rendered.
    pub tokens: u32,
}

/// The spans of files among what was found.
pub fn packed(found: &Exploration) -> Vec<Packed> {
    let code = found.items.iter().filter(|item| item.kind == ItemKind::Code);
    code.filter_map(|item| {
        let place = Place::parse(&item.source);
        Some(Packed { path: place.path, lines: place.lines?, tokens: item.tokens })
    })
    .collect()
}
