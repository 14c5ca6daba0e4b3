//! A tree with a ready engine over it.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::Result;
use muninn_context_engine::value::Prices;
use muninn_context_engine::{Engine, EngineSettings, Exploration, ItemKind, Limits, PriorContext, Tuning};
use muninn_repo_tools::Worktree;
use muninn_text::embed::Embedder;

use super::place::Place;
use super::trees::Tree;
use crate::harness::progress;

pub(crate) struct Subject {
    pub(crate) engine: Engine,
    /// Whether there was no derived cache before.
    pub(crate) cold: bool,
    pub(crate) index: Duration,
    /// The time to make the vectors after that.
    pub(crate) embedding: Duration,
}

impl Subject {
    /// Indexes a tree, with a cache beside it, and makes its vectors if there is an embedder.
    pub(crate) fn index(tree: &Tree, embedder: Option<Arc<dyn Embedder>>) -> Result<Self> {
        let worktree = Worktree::discover(&tree.root)?;
        let cold = !tree.cache.is_dir();
        let started = Instant::now();
        let settings = EngineSettings { cache_dir: Some(tree.cache.clone()), embedder, ..EngineSettings::default() };
        let engine = Engine::open(worktree, settings);
        engine.refresh(&())?;
        let index = started.elapsed();
        let started = Instant::now();
        engine.embed(&|| true, &|_, _| ()).notes.iter().for_each(|note| progress(note));
        Ok(Self { engine, cold, index, embedding: started.elapsed() })
    }

    /// Asks with a deadline that is never reached.
    pub(crate) fn ask(&self, question: &str, tokens: u32, tuning: Tuning) -> Exploration {
        let deadline = Instant::now() + Duration::from_secs(600);
        self.engine.explore_with(question, &Limits { tokens, deadline }, tuning)
    }

    /// Asks for a map, with the default prices and without a deadline.
    pub(crate) fn map(&self, question: &str, tokens: u32) -> Exploration {
        let deadline = Instant::now() + Duration::from_secs(600);
        let (prior, prices) = (PriorContext::default(), Prices::default());
        self.engine.explore_after(&prior, question, &Limits { tokens, deadline }, Some(&prices))
    }

    pub(crate) fn root(&self) -> &Path {
        self.engine.worktree().root()
    }
}

/// The places of code in a pack, with their tokens.
pub(crate) fn packed(found: &Exploration) -> Vec<(Place, u32)> {
    let code = found.items.iter().filter(|item| item.kind == ItemKind::Code);
    code.map(|item| (Place::parse(&item.source), item.tokens)).collect()
}
