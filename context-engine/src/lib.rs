//! What belongs in this prompt, and why.
//!
//! An [`Engine`] keeps an index of one worktree and of what its team knows, and answers a question with the few spans
//! that matter, packed to a token budget. It is lexical and makes no model call: an exploration takes a few
//! milliseconds, so it can stand on the path of every request. Where nothing in the repository fits, it says so and
//! returns nothing, because a wrong page in a prompt is worse than none.
//!
//! The way of a question: [`question`] takes it apart, the ranker scores chunks and files, the threshold decides
//! whether any of it is to be shown, the packer fills the budget and checks each span against the disk, and [`render`]
//! writes it down.
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

mod already;
mod cost;
mod engine;
pub mod explore;
mod follow_up;
mod item;
mod lexical;
mod likeness;
mod pack;
mod partial;
pub mod question;
mod rank;
mod recalled;
pub mod render;
mod threshold;
pub mod tools;
mod tuning;
mod turnstile;
mod vector_list;

pub use already::PriorContext;
pub use cost::of_block as block_tokens;
pub use engine::{Engine, EngineSettings};
pub use item::{Completeness, Exploration, IndexError, IndexReport, IndexStatus, Item, ItemKind, Limits};
pub use muninn_memory::index::Progress;
pub use muninn_memory::index::vectors::Filled;
pub use muninn_memory::tokens;
pub use tuning::{Lists, RankedFile, Ranking, Tuning};

#[cfg(test)]
mod tests;
