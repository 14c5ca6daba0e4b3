//! Team memory and recall.
//!
//! Three layers: curated [`knowledge`] (Markdown written by people, Metis documents; [`wiki`] reads its links), [`records`] (one JSON object per
//! line, learned from sessions), and the derived [`cache`], which can be rebuilt. [`recall`] searches words and
//! vectors. Every text that enters a prompt, a record or a log is passed through [`redact()`] first.
//!
//! ```
//! use muninn_text::lexical::{Bm25Builder, Tokenizer, counted};
//!
//! let mut tokenizer = Tokenizer::new();
//! let mut index = Bm25Builder::default();
//! for text in ["fn replay_ledger()", "fn parse_header()"] {
//!     index.add(counted(&mut tokenizer, text).iter().map(|(term, n)| (term.as_str(), *n)));
//! }
//! let question = counted(&mut tokenizer, "how does replaying work");
//! let index = index.finish();
//! let known: Vec<_> = question.iter().filter(|(term, _)| index.inverted().frequency(term) > 0).collect();
//! assert_eq!(known.len(), 1, "`replaying` is found as `replay`");
//! ```

pub mod journal;
pub mod personal;
pub mod recall;
pub mod reconcile;
pub mod wiki;
pub mod worklog;

#[cfg(test)]
mod search_tests;

pub use recall::{Memories, MemoryCounts, MemorySources, RecallOptions, Recalled};
