//! Selecting the context for a prompt.
//!
//! An [`Engine`] keeps an index of one worktree and of its team's knowledge. For a question, it returns the few
//! relevant spans of text, packed into a token budget. The engine is lexical and calls no model. An exploration takes a
//! few milliseconds, so every request can wait for it. If no span is relevant, the engine returns an empty result with
//! a reason, because wrong context is worse than none.
//!
//! A question is answered in these steps. [`question`] analyses it. The ranker scores chunks and files. The threshold
//! decides whether the best ones are relevant. The packer fills the budget and checks each span against the disk.
//! [`render`] writes the block.
//!
//! ```no_run
//! use std::time::{Duration, Instant};
//!
//! use muninn_context_engine::{Engine, EngineSettings, Limits, render};
//! use muninn_repo_tools::Worktree;
//!
//! let worktree = Worktree::discover(std::path::Path::new("."))?;
//! let engine = Engine::open(worktree, EngineSettings::default());
//! engine.refresh(&())?;
//! let limits = Limits { tokens: 2_000, deadline: Instant::now() + Duration::from_millis(150) };
//! let found = engine.explore("How are injected blocks replayed on later turns?", &limits);
//! assert!(found.tokens <= 2_000);
//! let block = render::block(&found.items);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod citations;
mod cost;
mod engine;
pub mod explore;
mod follow_up;
mod item;
mod lexical;
mod memory_selection;
mod pack;
mod partial;
mod prior_context;
pub mod question;
mod rank;
mod relevance;
pub mod render;
pub mod tools;
mod tuning;
pub mod value;
mod vector_list;

pub use citations::Citations;
pub use cost::{measure as measure_item, of_block as block_tokens};
pub use engine::{Action, Engine, EngineSettings, new_notes};
pub use item::{Completeness, Exploration, IndexError, IndexReport, IndexStatus, Item, ItemKind, Limits, Relevance};
pub use memory_selection::Fit;
pub use muninn_index::vectors::Filled;
pub use muninn_text::tokens;
pub use prior_context::PriorContext;
pub use relevance::DEFAULT as DEFAULT_THRESHOLD;
pub use tuning::{Lists, RankedFile, Ranking, Tuning};

#[cfg(test)]
mod tests;
