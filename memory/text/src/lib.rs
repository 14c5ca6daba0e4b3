//! Texts: their words, the secrets and foreign instructions in them, their vectors, and the model that writes them.
//!
//! Every text that enters a prompt, a record or a log is passed through [`redact()`] first.
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

pub mod background;
pub mod embed;
pub mod fnv;
pub mod hits;
mod known;
pub mod lexical;
pub mod markdown;
pub mod model;
pub mod neutral;
pub mod redact;
pub mod text_index;
pub mod texts;
pub mod tokens;
pub mod vectors;

pub use redact::redact;
